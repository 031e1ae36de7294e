//! How long does one question take, of a key that is there and of one that is not?
//!
//! Questions are independent, as those of a server's requests are, and the processor works on several at once: this is how many answers a core gives,
//! not how long one takes. Hashing is included.

mod subject;

use subject::kinds::{ATOMIC, ATOMIC_CUCKOO, ATOMIC_ROTATING, BLOCKED, CLASSIC, COUNTING, CUCKOO, CUCKOO_WIDE, ROTATING, TWO_LINES};
use subject::questions::of_kind;
use subject::ways::OneByOne;

fn main() {
    subject::run(&[
        |c| of_kind::<OneByOne, _>(c, &BLOCKED),
        |c| of_kind::<OneByOne, _>(c, &TWO_LINES),
        |c| of_kind::<OneByOne, _>(c, &ATOMIC),
        |c| of_kind::<OneByOne, _>(c, &CLASSIC),
        |c| of_kind::<OneByOne, _>(c, &COUNTING),
        |c| of_kind::<OneByOne, _>(c, &CUCKOO),
        |c| of_kind::<OneByOne, _>(c, &CUCKOO_WIDE),
        |c| of_kind::<OneByOne, _>(c, &ATOMIC_CUCKOO),
        |c| of_kind::<OneByOne, _>(c, &ROTATING),
        |c| of_kind::<OneByOne, _>(c, &ATOMIC_ROTATING),
    ]);
}
