//! [`CuckooError`]: why a fingerprint was not taken. [`GrowError`]: why a filter was not rebuilt. Nothing has changed in either case.

use crate::filter::InsertError;
use crate::params::ParamError;
use std::error::Error;
use std::fmt;

/// Why a key was not inserted. The filter is as it was, byte for byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CuckooError {
    /// There is no room, nor could any be made. A larger filter would have some.
    Full {
        /// Fingerprints in the filter.
        len: u64,
        /// What it was sized for.
        capacity: u64,
    },
    /// Both buckets of the key hold nothing but its fingerprint: it was inserted eight times (or other keys with it, by a rare coincidence). No size
    /// of filter takes a ninth copy.
    TooManyDuplicates {
        /// Copies that are there.
        copies: u32,
    },
}

impl fmt::Display for CuckooError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { len, capacity } => write!(f, "cuckoo filter full: holds {len} keys, sized for {capacity}"),
            Self::TooManyDuplicates { copies } => {
                write!(f, "too many duplicates: {copies} copies of the key's fingerprint are all that its buckets hold")
            }
        }
    }
}

impl Error for CuckooError {}

impl From<CuckooError> for InsertError {
    fn from(error: CuckooError) -> Self {
        match error {
            CuckooError::Full { .. } => Self::full(error),
            CuckooError::TooManyDuplicates { .. } => Self::refused(error),
        }
    }
}

/// Why a filter did not [grow](super::CuckooFilter::grow). It is as it was.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum GrowError {
    /// The larger filter could not be made.
    Params(ParamError),
    /// The larger filter did not take a key.
    Insert(CuckooError),
    /// Fewer keys were given than are in the filter, so that some would be lost.
    KeysMissing {
        /// Copies in the filter.
        held: u64,
        /// Keys that were given.
        given: u64,
    },
}

impl fmt::Display for GrowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Params(error) => write!(f, "larger filter: {error}"),
            Self::Insert(error) => write!(f, "larger filter: {error}"),
            Self::KeysMissing { held, given } => write!(f, "keys: the filter holds {held}, {given} were given"),
        }
    }
}

impl Error for GrowError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Params(error) => Some(error),
            Self::Insert(error) => Some(error),
            Self::KeysMissing { .. } => None,
        }
    }
}

impl From<ParamError> for GrowError {
    fn from(error: ParamError) -> Self {
        Self::Params(error)
    }
}

impl From<CuckooError> for GrowError {
    fn from(error: CuckooError) -> Self {
        Self::Insert(error)
    }
}
