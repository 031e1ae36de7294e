//! The false-positive rate of keys that lie in lines of a few hundred places, and how many lines a rate takes: pure mathematics.
//!
//! What a place is does not matter here: a bit of a Bloom filter, a counter, a bit of one time window. How a filter kind is sized by it, and what the
//! public sees, is in the kinds.

mod exact;
mod histogram;
mod solve;

pub(crate) use exact::Places;
#[cfg(test)]
pub(crate) use exact::ROUNDING;
pub(crate) use histogram::{Histogram, is_saturated};
#[cfg(test)]
pub(crate) use solve::usual_k;
pub(crate) use solve::{best_k, distinguishable, least_lines};

/// In how many lines a key has its bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LinesPerKey {
    /// By the kind's own rule: one, but two where the rate is at most [`TWO_LINES_FROM`](crate::bloom::sizing::TWO_LINES_FROM); in a rotating filter,
    /// whichever takes less memory, which is two in all but tiny ones.
    #[default]
    Auto,
    /// One cache line a question, all positions in it.
    One,
    /// Two cache lines a question, half the positions in each: less memory for a low rate, more time in a filter that is not in the cache.
    Two,
}
