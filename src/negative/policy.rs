//! Lifetimes: [`PositiveTtl`], [`NegativeTtl`] and [`Jitter`], checked together as a [`TtlPolicy`].
//!
//! A wrong absence hurts more than a stale value and a right one is worth less, so negatives must be gone well before positives: the longest
//! negative lifetime, jitter included, is at most half the positive one. There is no value that means "for ever": zero is an error, and so is a
//! lifetime beyond the cap. Jitter is on by default, because tombstones written together would expire together.

use crate::key::KeyHash;
use crate::time::Timestamp;
use std::fmt;
use std::time::Duration;

/// The shortest lifetime of either kind.
const SHORTEST: Duration = Duration::from_millis(1);
/// The longest lifetime of a tombstone: a day.
const LONGEST_NEGATIVE: Duration = Duration::from_secs(24 * 3600);
/// The longest lifetime of a value: thirty days.
const LONGEST_POSITIVE: Duration = Duration::from_secs(30 * 24 * 3600);

/// Why a lifetime, or a set of them, was refused.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum TtlError {
    /// Outside of what the kind allows. There is no "for ever".
    OutOfRange {
        /// What was asked for.
        requested: Duration,
        /// The shortest that is allowed.
        shortest: Duration,
        /// The longest that is allowed.
        longest: Duration,
    },
    /// Jitter is a part of the lifetime: 0 to 1.
    Jitter {
        /// What was asked for.
        requested: f64,
    },
    /// The longest negative lifetime, jitter included, is more than half the positive one.
    NegativeTooLong {
        /// Negative lifetime with all its jitter.
        negative: Duration,
        /// Positive lifetime.
        positive: Duration,
    },
}

impl fmt::Display for TtlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange { requested, shortest, longest } => write!(f, "ttl: asked for {requested:?}, must be {shortest:?} to {longest:?}"),
            Self::Jitter { requested } => write!(f, "ttl jitter: asked for {requested}, must be 0 to 1"),
            Self::NegativeTooLong { negative, positive } => {
                write!(f, "negative ttl with jitter is {negative:?}, must be at most half of the positive ttl {positive:?}")
            }
        }
    }
}

impl std::error::Error for TtlError {}

fn in_range(requested: Duration, longest: Duration) -> Result<Duration, TtlError> {
    if requested < SHORTEST || requested > longest {
        return Err(TtlError::OutOfRange { requested, shortest: SHORTEST, longest });
    }
    Ok(requested)
}

/// How long a value is remembered: 1 ms to 30 days.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PositiveTtl(Duration);

impl PositiveTtl {
    /// # Errors
    ///
    /// [`TtlError::OutOfRange`] outside 1 ms to 30 days.
    pub fn new(ttl: Duration) -> Result<Self, TtlError> {
        in_range(ttl, LONGEST_POSITIVE).map(Self)
    }

    /// The lifetime.
    #[must_use]
    pub const fn get(self) -> Duration {
        self.0
    }
}

/// How long an absence is remembered: 1 ms to 24 hours. Seconds are usual.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NegativeTtl(Duration);

impl NegativeTtl {
    /// # Errors
    ///
    /// [`TtlError::OutOfRange`] outside 1 ms to 24 hours.
    pub fn new(ttl: Duration) -> Result<Self, TtlError> {
        in_range(ttl, LONGEST_NEGATIVE).map(Self)
    }

    /// The lifetime.
    #[must_use]
    pub const fn get(self) -> Duration {
        self.0
    }
}

/// How much of a lifetime is added at random: 0.25 stretches each by up to a quarter.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Jitter(f64);

impl Jitter {
    /// # Errors
    ///
    /// [`TtlError::Jitter`] outside 0 to 1, and for NaN.
    pub fn new(part: f64) -> Result<Self, TtlError> {
        if (0.0..=1.0).contains(&part) { Ok(Self(part)) } else { Err(TtlError::Jitter { requested: part }) }
    }
}

impl Default for Jitter {
    /// A quarter.
    fn default() -> Self {
        Self(0.25)
    }
}

/// Lifetimes that fit together.
///
/// ```
/// use absentia::{Jitter, NegativeTtl, PositiveTtl, TtlError, TtlPolicy};
/// use std::time::Duration;
///
/// let (minute, five) = (Duration::from_secs(60), Duration::from_secs(300));
/// let policy = TtlPolicy::new(PositiveTtl::new(five)?, NegativeTtl::new(minute)?, Jitter::default())?;
/// let too_long = TtlPolicy::new(PositiveTtl::new(minute)?, NegativeTtl::new(minute)?, Jitter::default());
/// assert!(matches!(too_long, Err(TtlError::NegativeTooLong { .. })));
/// # let _ = policy;
/// # Ok::<(), TtlError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TtlPolicy {
    positive: PositiveTtl,
    negative: NegativeTtl,
    jitter: Jitter,
}

impl TtlPolicy {
    /// # Errors
    ///
    /// [`TtlError::NegativeTooLong`] where the negative lifetime with all its jitter is more than half the positive one.
    pub fn new(positive: PositiveTtl, negative: NegativeTtl, jitter: Jitter) -> Result<Self, TtlError> {
        let longest = negative.0.mul_f64(1.0 + jitter.0);
        if longest > positive.0 / 2 {
            return Err(TtlError::NegativeTooLong { negative: longest, positive: positive.0 });
        }
        Ok(Self { positive, negative, jitter })
    }

    /// When an absence read at `now` is forgotten.
    pub(crate) fn negative_expiry(&self, hash: KeyHash, now: Timestamp) -> Timestamp {
        now.plus(self.stretch(self.negative.0, hash, now))
    }

    /// When a value read at `now` is forgotten.
    pub(crate) fn positive_expiry(&self, hash: KeyHash, now: Timestamp) -> Timestamp {
        now.plus(self.stretch(self.positive.0, hash, now))
    }

    fn stretch(&self, ttl: Duration, hash: KeyHash, now: Timestamp) -> Duration {
        // The key's hash is keyed by a secret and the time moves on, so their sum, well mixed (the finaliser of SplitMix64, Steele et al. 2014), is
        // random enough to spread expiries, and needs no generator to be shared between threads.
        let mut z = hash.second().wrapping_add(now.as_nanos().wrapping_mul(0x9E37_79B9_7F4A_7C15));
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        let uniform = (z >> 11) as f64 / (1u64 << 53) as f64;
        ttl.mul_f64(1.0 + self.jitter.0 * uniform)
    }
}

impl Default for TtlPolicy {
    /// Values for five minutes, absences for thirty seconds, and up to a quarter more of each.
    fn default() -> Self {
        Self { positive: PositiveTtl(Duration::from_secs(300)), negative: NegativeTtl(Duration::from_secs(30)), jitter: Jitter::default() }
    }
}

#[cfg(all(test, not(absentia_loom)))]
mod tests {
    use super::*;

    const fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn zero_sub_millisecond_and_forever_are_errors_of_both_kinds() {
        for bad in [Duration::ZERO, Duration::from_micros(999), Duration::MAX] {
            assert!(matches!(PositiveTtl::new(bad), Err(TtlError::OutOfRange { .. })));
            assert!(matches!(NegativeTtl::new(bad), Err(TtlError::OutOfRange { .. })));
        }
        for bad in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert!(matches!(Jitter::new(bad), Err(TtlError::Jitter { .. })));
        }
    }

    #[test]
    fn a_negative_ttl_with_jitter_beyond_half_the_positive_one_is_refused() {
        let (positive, jitter) = (PositiveTtl::new(secs(60)).unwrap(), Jitter::new(0.5).unwrap());
        assert!(TtlPolicy::new(positive, NegativeTtl::new(secs(20)).unwrap(), jitter).is_ok());
        let refused = TtlPolicy::new(positive, NegativeTtl::new(secs(21)).unwrap(), jitter).unwrap_err();
        assert_eq!(refused.to_string(), "negative ttl with jitter is 31.5s, must be at most half of the positive ttl 60s");
    }

    #[test]
    fn tombstones_written_together_do_not_expire_together() {
        let (policy, now) = (TtlPolicy::default(), Timestamp::default());
        let mut by_second = std::collections::BTreeMap::<u64, u32>::new();
        for n in 0..100_000u64 {
            let hash = crate::key::KeyHasher::xxh3(1).hash(&n);
            let life = policy.negative_expiry(hash, now).since(now);
            assert!(life >= secs(30) && life <= secs(38));
            *by_second.entry(life.as_secs()).or_default() += 1;
        }
        assert!(by_second.values().all(|n| *n < 20_000), "{by_second:?}");
    }
}
