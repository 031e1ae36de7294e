//! [`RebuildOptions`], [`Rebuilt`] and [`RebuildError`]: what a rebuild is allowed, what it did, and why it did not.

use crate::filter::InsertError;
use crate::key::HasherFingerprint;
use crate::loader::BoxError;
use crate::params::ParamError;
use std::fmt;
use std::time::Duration;

/// What a rebuild may do that it would otherwise refuse.
#[derive(Clone, Copy, Debug)]
pub struct RebuildOptions {
    pub(super) allow_empty: bool,
    pub(super) max_shrink: f64,
}

impl Default for RebuildOptions {
    /// An empty scan is refused, and so is one with fewer than half the rows of the last.
    fn default() -> Self {
        Self { allow_empty: false, max_shrink: 0.5 }
    }
}

impl RebuildOptions {
    /// A scan without a single row is believed: a new table, or an emptied one.
    #[must_use]
    pub fn allow_empty(mut self) -> Self {
        self.allow_empty = true;
        self
    }

    /// A scan may have lost up to this part of the rows of the last one: 0.5 by default, 1 for any. NaN counts as 0.
    #[must_use]
    pub fn max_shrink(mut self, part: f64) -> Self {
        self.max_shrink = part.max(0.0);
        self
    }
}

/// What a rebuild did.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rebuilt {
    /// The new generation.
    pub generation: u64,
    /// Rows that the scan pushed.
    pub rows: u64,
    /// How often the source was scanned: more than once where the keys outgrew the size that was guessed, or the filter was full before that.
    pub scans: u32,
    /// From the first publication to the swap.
    pub took: Duration,
    /// False where a distrust lived, a wrong absence was found during the rebuild, or the lock is lost: the filter stays a hint. (Under Advisory
    /// coverage it is one anyway.)
    pub trusted: bool,
}

/// Why a rebuild did not happen. The generation that served before goes on serving.
#[derive(Debug)]
#[non_exhaustive]
pub enum RebuildError {
    /// Another rebuild is under way.
    AlreadyRunning,
    /// The scan may lag further behind the primary than settled keys are kept for.
    LagNotCovered {
        /// What the key source says.
        lag: Duration,
        /// What the gate was built with.
        covered: Duration,
    },
    /// The scan failed.
    Scan(BoxError),
    /// The scan panicked, or the loader, or a filter.
    Panicked {
        /// What the panic said.
        message: String,
    },
    /// The scan says that it pushed another number of rows than arrived: it ended early, or lost some.
    RowsDiffer {
        /// What the scan says.
        reported: u64,
        /// What arrived.
        arrived: u64,
    },
    /// The scan pushed nothing.
    Empty,
    /// The scan pushed far fewer rows than the one before.
    Shrunken {
        /// Rows of the generation that serves.
        before: u64,
        /// Rows of this scan.
        now: u64,
    },
    /// The keys outgrew the filter again and again: the source grows faster than it can be scanned.
    Outgrown {
        /// Rows of the last scan.
        rows: u64,
        /// What that scan had room for.
        capacity: u64,
    },
    /// A scanned key is not in the finished filter: the filter kind breaks its contract.
    SelfTest,
    /// A key that the source lately had is not in the finished filter, and the source does not say that it is gone: the scan does not see what the
    /// source sees.
    CanaryMissing,
    /// The filter was made for another hasher.
    ForeignHasher {
        /// The gate's.
        gate: HasherFingerprint,
        /// The filter's.
        filter: HasherFingerprint,
    },
    /// The filter could not be made.
    Params(ParamError),
    /// The filter did not take a key: no size of its kind would, or several larger ones were full as well.
    Insert(InsertError),
}

impl fmt::Display for RebuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadyRunning => f.write_str("another rebuild is under way"),
            Self::LagNotCovered { lag, covered } => write!(f, "scan lag: the key source says {lag:?}, the gate covers {covered:?}"),
            Self::Scan(error) => write!(f, "scan failed: {error}"),
            Self::Panicked { message } => write!(f, "rebuild panicked: {message}"),
            Self::RowsDiffer { reported, arrived } => write!(f, "scanned rows: the scan reports {reported}, {arrived} arrived"),
            Self::Empty => f.write_str("scanned rows: none; if the table may be empty, rebuild_with RebuildOptions::default().allow_empty()"),
            Self::Shrunken { before, now } => {
                write!(f, "scanned rows: {now}, down from {before}; if that is so, rebuild_with RebuildOptions::default().max_shrink(1.0)")
            }
            Self::Outgrown { rows, capacity } => write!(f, "scanned rows: {rows}, more than the room for {capacity}, again and again"),
            Self::SelfTest => f.write_str("a scanned key is not in the finished filter"),
            Self::CanaryMissing => f.write_str("a key that the source lately had is not in the finished filter, and is not said to be gone"),
            Self::ForeignHasher { gate, filter } => write!(f, "hasher: the gate's is {gate}, the filter's is {filter}"),
            Self::Params(error) => write!(f, "{error}"),
            Self::Insert(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for RebuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Scan(error) => Some(&**error),
            Self::Params(error) => Some(error),
            Self::Insert(error) => Some(error),
            _ => None,
        }
    }
}

impl From<ParamError> for RebuildError {
    fn from(error: ParamError) -> Self {
        Self::Params(error)
    }
}

impl From<InsertError> for RebuildError {
    fn from(error: InsertError) -> Self {
        Self::Insert(error)
    }
}
