//! What is a batch worth: how long does a key take when a thousand are given at once?
//!
//! The same keys and filters as in `contains` and `insert`, so that ids which differ only in `_batch` can be compared.

mod subject;

use subject::kinds::{ATOMIC, ATOMIC_CUCKOO, ATOMIC_ROTATING, BLOCKED, CLASSIC, COUNTING, CUCKOO, CUCKOO_WIDE, ROTATING, TWO_LINES};
use subject::ways::Batched;
use subject::{inserts, questions, removes};

fn main() {
    subject::run(&[
        |c| questions::of_kind::<Batched, _>(c, &BLOCKED),
        |c| questions::of_kind::<Batched, _>(c, &TWO_LINES),
        |c| questions::of_kind::<Batched, _>(c, &ATOMIC),
        |c| questions::of_kind::<Batched, _>(c, &CLASSIC),
        |c| questions::of_kind::<Batched, _>(c, &COUNTING),
        |c| questions::of_kind::<Batched, _>(c, &CUCKOO),
        |c| questions::of_kind::<Batched, _>(c, &CUCKOO_WIDE),
        |c| questions::of_kind::<Batched, _>(c, &ATOMIC_CUCKOO),
        |c| questions::of_kind::<Batched, _>(c, &ROTATING),
        |c| questions::of_kind::<Batched, _>(c, &ATOMIC_ROTATING),
        |c| inserts::of_kind::<Batched, _>(c, &BLOCKED),
        |c| inserts::of_kind::<Batched, _>(c, &TWO_LINES),
        |c| inserts::of_kind::<Batched, _>(c, &ATOMIC),
        |c| inserts::of_kind::<Batched, _>(c, &CLASSIC),
        |c| inserts::of_kind::<Batched, _>(c, &COUNTING),
        |c| inserts::of_kind::<Batched, _>(c, &CUCKOO),
        |c| inserts::of_kind::<Batched, _>(c, &CUCKOO_WIDE),
        |c| inserts::of_kind::<Batched, _>(c, &ROTATING),
        |c| inserts::of_kind::<Batched, _>(c, &ATOMIC_ROTATING),
        |c| removes::of_kind::<Batched, _>(c, &COUNTING),
    ]);
}
