//! [`RotatingBuilder`]: every choice about a filter that forgets, and one place where they are checked.

use super::sizing::plan;
use super::{AtomicRotatingBloom, RotatingBloom, shape::Shape, timer::Timer};
use crate::kernel::Kernel;
use crate::key::{HasherFingerprint, KeyHasher};
use crate::params::{Capacity, DEFAULT_MEMORY_LIMIT, Fpr, ParamError};
use crate::rate::LinesPerKey;
use crate::time::Clock;
use std::time::Duration;

/// Describes a filter that forgets: a rate of 1 %, windows that are begun by hand, a new random hasher, the fastest kernel and a memory limit of 64
/// GiB where nothing else is said. The number of windows and the capacity of one must be said.
///
/// [`build`](Self::build) gives a [`RotatingBloom`], [`build_atomic`](Self::build_atomic) an [`AtomicRotatingBloom`].
///
/// ```
/// use absentia::{ParamError, RotatingBloom};
/// use std::time::Duration;
///
/// // "Was this message seen in the last ten minutes?" Remembered for ten to eleven.
/// let mut seen = RotatingBloom::builder().windows(11).every(Duration::from_secs(60)).capacity(50_000).fpr(0.001).build()?;
/// assert!(seen.insert("message-17"));
/// assert!(seen.contains("message-17"));
/// # Ok::<(), ParamError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it builds"]
pub struct RotatingBuilder {
    windows: u32,
    capacity: Option<u64>,
    fpr: f64,
    lines_per_key: LinesPerKey,
    every: Option<Duration>,
    clock: Clock,
    kernel: Option<Kernel>,
    hasher: Option<KeyHasher>,
    memory_limit: u64,
}

impl Default for RotatingBuilder {
    fn default() -> Self {
        Self {
            windows: 0,
            capacity: None,
            fpr: 0.01,
            lines_per_key: LinesPerKey::default(),
            every: None,
            clock: Clock::standard(),
            kernel: None,
            hasher: None,
            memory_limit: DEFAULT_MEMORY_LIMIT,
        }
    }
}

impl RotatingBuilder {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many windows are remembered, the current one among them: 1 to [`MAX_WINDOWS`](super::MAX_WINDOWS). A key is remembered for at least
    /// one window less than this, and at most for all of them.
    pub fn windows(mut self, windows: u32) -> Self {
        self.windows = windows;
        self
    }

    /// How many distinct keys **each window** is to hold.
    pub fn capacity(mut self, keys: u64) -> Self {
        self.capacity = Some(keys);
        self
    }

    /// The false-positive rate of **all windows together**, each with as many keys as the capacity: below 1, and not below
    /// [`MIN_FPR`](crate::params::MIN_FPR).
    pub fn fpr(mut self, p: f64) -> Self {
        self.fpr = p;
        self
    }

    /// In how many lines a key has its bits; by itself in whichever number takes less memory.
    pub fn lines_per_key(mut self, lines: LinesPerKey) -> Self {
        self.lines_per_key = lines;
        self
    }

    /// Windows of this length, that begin by themselves; the first one when the filter is built. Without it, windows are begun by
    /// [`rotate`](RotatingBloom::rotate), which with it puts off those of the clock.
    pub fn every(mut self, window: Duration) -> Self {
        self.every = Some(window);
        self
    }

    /// The clock for [`every`](Self::every); by itself the machine's monotonic one.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// The inner loops. By itself a filter takes the fastest that the machine has.
    pub fn kernel(mut self, kernel: Kernel) -> Self {
        self.kernel = Some(kernel);
        self
    }

    /// The hasher, and with it the secret.
    pub fn hasher(mut self, hasher: KeyHasher) -> Self {
        self.hasher = Some(hasher);
        self
    }

    /// The most memory that the filter may take, in bytes.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = bytes;
        self
    }

    /// The filter for one writer.
    ///
    /// # Errors
    ///
    /// [`ParamError`]: there are no windows or too many, a window lasts no time, the rate is out of range, no capacity was given, the filter is over
    /// the memory limit or the allocator refuses it, or there is no randomness for a hasher. Wrong numbers are found before anything is allocated.
    pub fn build(self) -> Result<RotatingBloom, ParamError> {
        let (shape, hasher) = self.shape_and_hasher()?;
        RotatingBloom::with_shape(shape, self.memory_limit, self.timer()?, hasher)
    }

    /// The filter for many writers.
    ///
    /// # Errors
    ///
    /// As for [`build`](Self::build).
    pub fn build_atomic(self) -> Result<AtomicRotatingBloom, ParamError> {
        let (shape, hasher) = self.shape_and_hasher()?;
        AtomicRotatingBloom::with_shape(shape, self.memory_limit, self.timer()?, hasher)
    }

    /// The filter for one writer, without a hasher: it takes hashes only, which come from the hasher of this fingerprint.
    ///
    /// # Errors
    ///
    /// As for [`build`](Self::build).
    pub fn build_for(self, hasher: HasherFingerprint) -> Result<RotatingBloom<()>, ParamError> {
        RotatingBloom::with_shape(self.shape(hasher)?, self.memory_limit, self.timer()?, ())
    }

    /// The filter for many writers, without a hasher; see [`build_for`](Self::build_for).
    ///
    /// # Errors
    ///
    /// As for [`build`](Self::build).
    pub fn build_atomic_for(self, hasher: HasherFingerprint) -> Result<AtomicRotatingBloom<()>, ParamError> {
        AtomicRotatingBloom::with_shape(self.shape(hasher)?, self.memory_limit, self.timer()?, ())
    }

    /// Wrong numbers are named first, even where there is no randomness.
    fn shape_and_hasher(&self) -> Result<(Shape, KeyHasher), ParamError> {
        let fingerprint = self.hasher.as_ref().map_or_else(|| KeyHasher::xxh3(0).fingerprint(), KeyHasher::fingerprint);
        let mut shape = self.shape(fingerprint)?;
        let hasher = self.hasher.map_or_else(KeyHasher::random, Ok)?;
        shape.hasher = hasher.fingerprint();
        Ok((shape, hasher))
    }

    fn timer(&self) -> Result<Option<Timer>, ParamError> {
        self.every.map(|every| Timer::new(every, self.clock.clone())).transpose()
    }

    fn shape(&self, hasher: HasherFingerprint) -> Result<Shape, ParamError> {
        if self.every == Some(Duration::ZERO) {
            return Err(ParamError::ZeroDuration);
        }
        let fpr = Fpr::new(self.fpr)?;
        // The number of windows is named before the capacity, and with it a builder that was told nothing.
        let plan_of = |capacity| plan(self.windows, capacity, fpr, self.lines_per_key);
        let Some(capacity) = self.capacity else {
            plan_of(Capacity::new(0))?;
            return Err(ParamError::NoCapacity);
        };
        let plan = plan_of(Capacity::new(capacity))?;
        Ok(Shape { capacity, fpr: fpr.value(), plan, layout: plan.layout(), kernel: self.kernel.unwrap_or_else(Kernel::best), hasher })
    }
}
