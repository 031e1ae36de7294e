//! [`CountingError`]: why a key that is there was not taken out.

use std::fmt;

/// Why a copy of a key that a [`CountingBloom`](super::CountingBloom) says to hold could not be taken out. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CountingError {
    /// Every counter of the key is stuck at 15, so that nobody knows how many copies are behind them. The key stays until the filter is cleared.
    Saturated,
}

impl fmt::Display for CountingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Saturated => f.write_str("counters: all of the key's are stuck at 15, nothing was taken out"),
        }
    }
}

impl std::error::Error for CountingError {}
