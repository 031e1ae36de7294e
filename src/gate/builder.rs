//! [`GateBuilder`]: every choice of a gate, checked together at `build`.

use super::core::{Core, CoreConfig};
use super::{Coverage, ExistenceGate, Inner, Settings, canary::Canaries, unresolved::Unresolved};
use crate::filter::FilterFactory;
use crate::key::KeyHasher;
use crate::loader::{CacheKey, CacheValue, DynLoader, Lane, LaneConfig, Observer};
use crate::params::{Fpr, MIN_FPR, ParamError};
use crate::sync::{AtomicBool, Mutex};
use crate::time::Clock;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Settings of an [`ExistenceGate`]. Setters never fail; [`build`](Self::build) does.
#[must_use = "a builder does nothing until build"]
pub struct GateBuilder<K, V> {
    loader: Box<dyn DynLoader<K, V>>,
    coverage: Option<Coverage>,
    factory: Option<Arc<dyn FilterFactory>>,
    hasher: Option<KeyHasher>,
    clock: Clock,
    observer: Option<Arc<dyn Observer>>,
    fpr: f64,
    delta_share: f64,
    expected_keys: u64,
    growth: f64,
    fpr_limit: Option<f64>,
    lane: LaneConfig,
    stripes: usize,
    max_transaction: Duration,
    scan_lag: Duration,
    lookup_timeout: Duration,
    many_limit: usize,
}

impl<K: CacheKey, V: CacheValue> GateBuilder<K, V> {
    pub(super) fn new(loader: Box<dyn DynLoader<K, V>>) -> Self {
        Self {
            loader,
            coverage: None,
            factory: None,
            hasher: None,
            clock: Clock::standard(),
            observer: None,
            fpr: 0.01,
            delta_share: 0.1,
            expected_keys: 1 << 16,
            growth: 1.1,
            fpr_limit: None,
            lane: LaneConfig::default(),
            stripes: 1 << 18,
            max_transaction: Duration::from_secs(30),
            scan_lag: Duration::ZERO,
            lookup_timeout: Duration::from_secs(10),
            many_limit: 10_000,
        }
    }

    /// Who creates keys. Must be said.
    pub fn coverage(mut self, coverage: Coverage) -> Self {
        self.coverage = Some(coverage);
        self
    }

    /// False-positive rate of the gate as a whole (default 0.01, at least 1e-7): a tenth of it is for keys created since the last rebuild.
    pub fn fpr(mut self, p: f64) -> Self {
        self.fpr = p;
        self
    }

    /// About how many keys exist (default 65,536): no generation is sized for fewer. Where there are more, the first rebuild scans twice, and later
    /// ones go by the count of the last.
    pub fn expected_keys(mut self, keys: u64) -> Self {
        self.expected_keys = keys;
        self
    }

    /// How many keys may be created between two rebuilds, as a part of those that exist (default 0.1, and never less than 1,024 keys).
    pub fn delta_share(mut self, part: f64) -> Self {
        self.delta_share = part;
        self
    }

    /// A rebuild is sized for the last count times this (default 1.1), so that a growing table is scanned once.
    pub fn growth(mut self, factor: f64) -> Self {
        self.growth = factor;
        self
    }

    /// Above this estimated false-positive rate (default half-way from [`fpr`](Self::fpr) to 1; always above `fpr`) a generation is no longer asked,
    /// until the next rebuild. It is judged when it is swapped in, and at every 4,096th key created since.
    pub fn fpr_limit(mut self, p: f64) -> Self {
        self.fpr_limit = Some(p);
        self
    }

    /// The hasher (default: XXH3-128 under a random secret).
    pub fn hasher(mut self, hasher: KeyHasher) -> Self {
        self.hasher = Some(hasher);
        self
    }

    /// What the filters are made by (default: blocked Bloom filters). With a [`CuckooFactory`](crate::CuckooFactory) deleted keys can be retired:
    /// [`retire_with`](ExistenceGate::retire_with).
    pub fn filters(mut self, factory: impl FilterFactory + 'static) -> Self {
        self.factory = Some(Arc::new(factory));
        self
    }

    /// Is told what happens (default: nobody).
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// The clock (default: the machine's).
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Budget of the suspect lane: lookups of keys that a filter rules out but may not. By default 1,000 reads a second, 200 in a burst, 64 at once,
    /// and one caller at most half of it; lookups without [`lookup_for`](ExistenceGate::lookup_for) count as one caller.
    pub fn suspect_lane(mut self, budget: LaneConfig) -> Self {
        self.lane = budget;
        self
    }

    /// Number of fence words of 8 bytes, rounded up to a power of two (default 262,144, which is 2 MiB). With c creates a second and tombstones that
    /// live T seconds, about c·T/stripes of the tombstones die before their time.
    pub fn fence_stripes(mut self, stripes: usize) -> Self {
        self.stripes = stripes;
        self
    }

    /// The longest that a transaction of the source can be open (default 30 s): enforce it there. Writes whose outcome was not reported stay fenced
    /// for it, and a gate with a predecessor waits it out before its first trust.
    pub fn max_transaction(mut self, limit: Duration) -> Self {
        self.max_transaction = limit;
        self
    }

    /// How far behind the primary the scan of a rebuild may be (default not at all). Settled keys stay pending for it. A
    /// [`KeySource::lag`](super::KeySource::lag) above this is refused.
    pub fn scan_lag(mut self, lag: Duration) -> Self {
        self.scan_lag = lag;
        self
    }

    /// How long a lookup may take in all (default 10 s); after it the answer is Unknown.
    pub fn lookup_timeout(mut self, limit: Duration) -> Self {
        self.lookup_timeout = limit;
        self
    }

    /// `begin_create_many` with more keys than this (default 10,000) distrusts the gate until the next rebuild instead of announcing each.
    pub fn announce_limit(mut self, keys: usize) -> Self {
        self.many_limit = keys;
        self
    }

    /// Makes the gate. It starts out loading: until the first rebuild everything is possible.
    ///
    /// # Errors
    ///
    /// [`BuildError`], which names what is wrong.
    pub fn build(self) -> Result<ExistenceGate<K, V>, BuildError> {
        let coverage = self.coverage.ok_or(BuildError::CoverageNotSaid)?;
        let in_range = |name, value: f64, fits: bool, allowed| if fits { Ok(value) } else { Err(BuildError::OutOfRange { name, value, allowed }) };
        let delta_share = in_range("delta_share", self.delta_share, self.delta_share > 0.0 && self.delta_share <= 10.0, "above 0 and at most 10")?;
        let growth = in_range("growth", self.growth, (1.0..=100.0).contains(&self.growth), "1 to 100")?;
        in_range("fence_stripes", self.stripes as f64, (1..=1 << 30).contains(&self.stripes), "1 to 2^30")?;
        for (name, duration) in [("max_transaction", self.max_transaction), ("lookup_timeout", self.lookup_timeout)] {
            if duration.is_zero() {
                return Err(BuildError::ZeroDuration { name });
            }
        }
        if let Some(fault) = self.lane.fault() {
            return Err(BuildError::Lane { fault });
        }
        let fpr = Fpr::new(self.fpr)?.value();
        let fpr_limit = self.fpr_limit.unwrap_or_else(|| f64::midpoint(fpr, 1.0));
        // At or below the rate asked for, each generation would be switched off at once.
        let fpr_limit = in_range("fpr_limit", fpr_limit, fpr_limit > fpr && fpr_limit <= 1.0, "above fpr and at most 1")?;
        if fpr * 0.1 < MIN_FPR {
            return Err(ParamError::FprTooSmall { requested: fpr, smallest: MIN_FPR * 10.0 }.into());
        }
        let (base_fpr, delta_fpr) = (Fpr::new(fpr * 0.9)?, Fpr::new(fpr * 0.1)?);
        let hasher = match self.hasher {
            Some(hasher) => hasher,
            None => KeyHasher::random()?,
        };
        let id = getrandom::u64().map_err(|_| ParamError::NoEntropy)?;
        let factory = self.factory.unwrap_or_else(crate::default_filters);
        let suspects = Lane::new(self.lane, self.clock.now());
        let core = Core::new(CoreConfig {
            id,
            hasher,
            coverage,
            clock: self.clock,
            observer: self.observer,
            stripes: self.stripes,
            pending_shards: 64,
            max_transaction: self.max_transaction,
            scan_lag: self.scan_lag,
            fpr_limit,
        })?;
        let settings = Settings {
            base_fpr,
            delta_fpr,
            delta_share,
            expected_keys: self.expected_keys,
            growth,
            max_transaction: self.max_transaction,
            lookup_timeout: self.lookup_timeout,
            many_limit: self.many_limit,
        };
        Ok(ExistenceGate {
            inner: Arc::new(Inner {
                core,
                loader: self.loader,
                factory,
                suspects,
                settings,
                unresolved: Mutex::new(Unresolved::new()),
                canaries: Canaries::new(),
                rebuilding: AtomicBool::new(false),
                replaced: Mutex::new(Vec::new()),
            }),
        })
    }
}

impl<K, V> fmt::Debug for GateBuilder<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GateBuilder").field("coverage", &self.coverage).field("fpr", &self.fpr).finish_non_exhaustive()
    }
}

/// Why a gate could not be built.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum BuildError {
    /// Who creates keys was not said. `Coverage::Advisory { tombstones: Tombstones::Off }` is the choice that is right for everyone.
    CoverageNotSaid,
    /// A number is outside its range.
    OutOfRange {
        /// The setter.
        name: &'static str,
        /// What it was given.
        value: f64,
        /// What it takes.
        allowed: &'static str,
    },
    /// A duration that cannot be zero is.
    ZeroDuration {
        /// The setter.
        name: &'static str,
    },
    /// The suspect lane's budget makes no sense.
    Lane {
        /// What is wrong with it.
        fault: &'static str,
    },
    /// The false-positive rate, or the seed.
    Params(ParamError),
}

impl From<ParamError> for BuildError {
    fn from(error: ParamError) -> Self {
        Self::Params(error)
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CoverageNotSaid => f.write_str("coverage: not said; who creates keys decides what the gate may answer"),
            Self::OutOfRange { name, value, allowed } => write!(f, "{name}: {value}, must be {allowed}"),
            Self::ZeroDuration { name } => write!(f, "{name}: zero, must be longer"),
            Self::Lane { fault } => f.write_str(fault),
            Self::Params(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Params(error) => Some(error),
            _ => None,
        }
    }
}
