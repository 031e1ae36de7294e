//! What is a batch worth: how long does a key take when a thousand are given at once?
//!
//! The same keys and filters as in `contains` and `insert`, so that ids which differ only in `_batch` can be compared.

mod subject;

use subject::kinds::{ATOMIC, BLOCKED, CLASSIC, COUNTING, CUCKOO, ROTATING, TWO_LINES};
use subject::ways::Batched;
use subject::{inserts, questions};

fn main() {
    subject::run(&[
        |c| questions::of_kind::<Batched, _>(c, &BLOCKED),
        |c| questions::of_kind::<Batched, _>(c, &TWO_LINES),
        |c| questions::of_kind::<Batched, _>(c, &ATOMIC),
        |c| questions::of_kind::<Batched, _>(c, &CLASSIC),
        |c| questions::of_kind::<Batched, _>(c, &COUNTING),
        |c| questions::of_kind::<Batched, _>(c, &CUCKOO),
        |c| questions::of_kind::<Batched, _>(c, &ROTATING),
        |c| inserts::of_kind::<Batched, _>(c, &BLOCKED),
        |c| inserts::of_kind::<Batched, _>(c, &TWO_LINES),
        |c| inserts::of_kind::<Batched, _>(c, &ATOMIC),
        |c| inserts::of_kind::<Batched, _>(c, &CLASSIC),
        |c| inserts::of_kind::<Batched, _>(c, &COUNTING),
    ]);
}
