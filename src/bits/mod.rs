//! Bits without meaning: 512-bit lines, plain, shared and of counters, and the way from a hash to a place among `n`.
//!
//! Nothing here knows what a key, a filter or a rate is.

mod block;
mod memory;
pub(crate) mod nibbles;
mod once;
mod range;

#[cfg(all(target_arch = "x86_64", not(absentia_loom)))]
pub(crate) use block::View;
pub(crate) use block::{AtomicLine, LINE_BITS, LINE_BYTES, Line, WORDS, Words};
pub(crate) use memory::allocate;
#[cfg(feature = "rayon")]
pub(crate) use memory::reserve;
pub(crate) use once::insert_once;
pub(crate) use range::{index_below, index_in};
