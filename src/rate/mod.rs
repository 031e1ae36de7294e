//! The false-positive rate of keys that lie in lines of a few hundred places, and how many lines a rate takes: pure mathematics.
//!
//! What a place is does not matter here: a bit of a Bloom filter, a counter, a bit of one time window. How a filter kind is sized by it, and what the
//! public sees, is in the kinds.

mod exact;
mod solve;

pub(crate) use exact::Places;
#[cfg(test)]
pub(crate) use exact::ROUNDING;
#[cfg(test)]
pub(crate) use solve::usual_k;
pub(crate) use solve::{best_k, distinguishable, least_lines};
