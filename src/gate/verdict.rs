//! The outcomes: [`Verdict`] of a check, [`Lookup`] of a lookup. Absence is said only together with its [`Proof`].

use crate::loader::Cause;
use std::fmt;
use std::time::Duration;

/// Why "absent" may be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Proof {
    /// The filter covers every key created and acknowledged until now, and this one is not in it.
    Filter {
        /// The gate's epoch.
        epoch: u64,
        /// Which generation of the filter.
        generation: u64,
    },
    /// The source had no such row when it was read `age` ago, and no create of the key has begun since.
    Tombstone {
        /// How long ago that read began.
        age: Duration,
    },
    /// The source was read for this lookup, or for one that it validly shared, and has no such row.
    Source,
}

/// Why a check could not rule a key out. Each of these sends a lookup on to the loader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The filter says maybe.
    Maybe,
    /// No rebuild has finished yet.
    Loading,
    /// The filter says no, but coverage is advisory: others may create keys unannounced.
    Hint,
    /// The filter says no, but somebody may have created keys unannounced, and no rebuild has seen them yet.
    Distrusted,
    /// The filter says no, but the lock that made this process the only creator is lost.
    LockLost,
    /// The estimated false-positive rate passed its limit: the filter is not asked until the next rebuild.
    SwitchedOff,
}

/// The answer of a check, which reads memory only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a check does nothing but answer"]
pub enum Verdict {
    /// The key does not exist, and this is the proof.
    Absent(Proof),
    /// It may exist; only a lookup can tell.
    Possible(Reason),
}

impl Verdict {
    /// True where the key is proven not to exist.
    #[must_use]
    pub const fn is_absent(&self) -> bool {
        matches!(self, Self::Absent(_))
    }
}

/// The answer of a lookup. There are three, and the third one is not the second: errors, time-outs and load that was turned away are Unknown, which
/// is a 503 or a 429 and never a 404.
#[derive(Clone, Debug)]
#[must_use = "a lookup is asked for its answer"]
pub enum Lookup<V> {
    /// The key exists.
    Present(V),
    /// The key does not exist, and this is the proof.
    Absent(Proof),
    /// It could not be found out.
    Unknown(Cause),
}

impl<V> Lookup<V> {
    /// True for [`Lookup::Present`].
    #[must_use]
    pub const fn is_present(&self) -> bool {
        matches!(self, Self::Present(_))
    }

    /// True for [`Lookup::Absent`].
    #[must_use]
    pub const fn is_absent(&self) -> bool {
        matches!(self, Self::Absent(_))
    }

    /// True for [`Lookup::Unknown`].
    #[must_use]
    pub const fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown(_))
    }

    /// The row, if the key exists.
    #[must_use]
    pub fn present(self) -> Option<V> {
        match self {
            Self::Present(value) => Some(value),
            Self::Absent(_) | Self::Unknown(_) => None,
        }
    }

    /// The proof of an absence.
    #[must_use]
    pub const fn proof(&self) -> Option<Proof> {
        match self {
            Self::Absent(proof) => Some(*proof),
            Self::Present(_) | Self::Unknown(_) => None,
        }
    }

    /// `Some` row, `None` for a proven absence, `Err` for neither: the shape of a repository method. Unknown does not become `None`.
    ///
    /// # Errors
    ///
    /// The cause, where the answer is Unknown.
    pub fn into_result(self) -> Result<Option<V>, Cause> {
        match self {
            Self::Present(value) => Ok(Some(value)),
            Self::Absent(_) => Ok(None),
            Self::Unknown(cause) => Err(cause),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Maybe => "the filter says maybe",
            Self::Loading => "no rebuild has finished yet",
            Self::Hint => "the filter says no, and coverage is advisory",
            Self::Distrusted => "the filter says no, and is distrusted",
            Self::LockLost => "the filter says no, and the exclusive lock is lost",
            Self::SwitchedOff => "the filter is switched off until the next rebuild",
        })
    }
}
