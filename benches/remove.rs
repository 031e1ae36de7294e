//! How long does it take to remove a key that is there?
//!
//! Removals are independent of each other, and hashing is included. Each is of a filter between full and empty.

mod subject;

use subject::kinds::{ATOMIC_CUCKOO, COUNTING, CUCKOO, CUCKOO_WIDE};
use subject::removes::of_kind;
use subject::ways::OneByOne;

fn main() {
    subject::run(&[
        |c| of_kind::<OneByOne, _>(c, &COUNTING),
        |c| of_kind::<OneByOne, _>(c, &CUCKOO),
        |c| of_kind::<OneByOne, _>(c, &CUCKOO_WIDE),
        |c| of_kind::<OneByOne, _>(c, &ATOMIC_CUCKOO),
    ]);
}
