//! [`Fpr`], [`Capacity`] and [`ParamError`]: what a filter is asked for, checked before any memory is.
//!
//! Every constructor of every filter kind goes through these, so that NaN, zero, overflow and over-limit memory have one answer each.

use std::fmt;

/// The memory limit of a filter when the builder names none: 64 GiB, so that a capacity with a few zeros too many is an error and not a dead machine.
pub const DEFAULT_MEMORY_LIMIT: u64 = 64 << 30;

/// The smallest false-positive rate that a filter is sized for. One 512-bit line a key takes 1.7 times the bits of the classical rule there, and
/// below it the sizing sum would lose its last three digits to cancellation. Two lines a key could go lower; one limit holds for both.
pub const MIN_FPR: f64 = 1e-8;

/// A false-positive rate: strictly between 0 and 1, and not below [`MIN_FPR`].
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Fpr(f64);

impl Fpr {
    /// # Errors
    ///
    /// [`ParamError::FprOutOfRange`] for NaN, infinities, and anything not inside (0, 1); [`ParamError::FprTooSmall`] below [`MIN_FPR`].
    pub fn new(p: f64) -> Result<Self, ParamError> {
        // NaN fails both comparisons and so the whole condition.
        if !(p > 0.0 && p < 1.0) {
            return Err(ParamError::FprOutOfRange { requested: p });
        }
        if p < MIN_FPR {
            return Err(ParamError::FprTooSmall { requested: p, smallest: MIN_FPR });
        }
        Ok(Self(p))
    }

    /// The rate as a number.
    #[must_use]
    pub const fn value(self) -> f64 {
        self.0
    }
}

/// How many distinct keys a filter is sized for. Zero is legal: an empty filter, which answers false until something is inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Capacity(u64);

impl Capacity {
    /// Any number is a capacity; whether the memory for it may be had is decided by the memory limit.
    #[must_use]
    pub const fn new(keys: u64) -> Self {
        Self(keys)
    }

    /// The number of keys.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// Why a filter could not be made.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ParamError {
    /// The false-positive rate is not inside (0, 1), or is not a number.
    FprOutOfRange {
        /// The rate that was asked for.
        requested: f64,
    },
    /// The false-positive rate is inside (0, 1) but smaller than this layout is sized for.
    FprTooSmall {
        /// The rate that was asked for.
        requested: f64,
        /// The smallest rate that is accepted.
        smallest: f64,
    },
    /// The filter would need more memory than the limit allows, or more than can be counted.
    TooLarge {
        /// Bytes that the filter would need; `u64::MAX` where that number itself overflows.
        needed: u64,
        /// The limit in force.
        limit: u64,
    },
    /// The builder was told no capacity, nor given the keys. A capacity of 0 is said as such.
    NoCapacity,
    /// The memory that was given holds no filter of this kind.
    MemoryTooSmall {
        /// Bytes that were given.
        given: u64,
        /// The least that would do.
        needed: u64,
    },
    /// The width of fingerprints is out of range.
    FingerprintBits {
        /// Bits that were asked for.
        requested: u32,
        /// The fewest that are accepted.
        smallest: u32,
        /// The most that are accepted.
        largest: u32,
    },
    /// The allocator refused.
    OutOfMemory {
        /// Bytes that were asked for.
        needed: u64,
    },
    /// No random seed could be had from the operating system.
    NoEntropy,
    /// A filter that forgets by windows of time cannot have so many of them, or none.
    Windows {
        /// The number that was asked for; 0 where none was.
        requested: u32,
        /// The largest that is accepted; the smallest is 1.
        largest: u32,
    },
    /// A window of time would last no time.
    ZeroDuration,
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FprOutOfRange { requested } => write!(f, "false-positive rate: asked for {requested}, must be above 0 and below 1"),
            Self::FprTooSmall { requested, smallest } => write!(f, "false-positive rate: asked for {requested:e}, the smallest is {smallest:e}"),
            Self::TooLarge { needed, limit } => write!(f, "filter memory: needs {needed} bytes, the limit is {limit}"),
            Self::NoCapacity => f.write_str("capacity: none was given"),
            Self::MemoryTooSmall { given, needed } => write!(f, "filter memory: given {given} bytes, at least {needed} are needed"),
            Self::FingerprintBits { requested, smallest, largest } => {
                write!(f, "fingerprint: asked for {requested} bits, must be {smallest} to {largest}")
            }
            Self::OutOfMemory { needed } => write!(f, "filter memory: the allocator refused {needed} bytes"),
            Self::NoEntropy => f.write_str("hash seed: the operating system gave no random bytes"),
            Self::Windows { requested, largest } => write!(f, "windows: asked for {requested}, must be 1 to {largest}"),
            Self::ZeroDuration => f.write_str("duration of a window: is zero"),
        }
    }
}

impl std::error::Error for ParamError {}
