//! How long does one insert take, of a new key and of one that is there already?
//!
//! Inserts are independent of each other, as the questions of `contains` are, and hashing is included.

mod subject;

use subject::inserts::of_kind;
use subject::kinds::{ATOMIC, ATOMIC_CUCKOO, ATOMIC_ROTATING, BLOCKED, CLASSIC, COUNTING, CUCKOO, CUCKOO_WIDE, ROTATING, TWO_LINES};
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
