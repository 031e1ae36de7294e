//! Bits without meaning: 512-bit lines, plain and shared, and the way from a hash to a place among `n`.
//!
//! Nothing here knows what a key, a filter or a rate is.

mod block;
mod range;

pub(crate) use block::{AtomicLine, LINE_BITS, LINE_BYTES, Line, View, WORDS, Words};
pub(crate) use range::{index_below, index_in};
