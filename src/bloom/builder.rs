//! [`BloomBuilder`]: every choice about a filter, and one place where they are checked.
//!
//! Setters take what they are given; the `build` methods decide. Filters that know no hasher come from `factory.rs`.

use super::classic::ClassicBloom;
use super::sizing::{Classical, LinePlan, LinesPerKey, Unit, classical};
use super::{AtomicBlockedBloom, BlockedBloom, CountingBloom, Kernel, Sizing, shape::Shape};
use crate::bits::LINE_BYTES;
#[cfg(feature = "rayon")]
use crate::bits::Line;
use crate::key::{HasherFingerprint, Key, KeyHash, KeyHasher};
use crate::params::{Capacity, DEFAULT_MEMORY_LIMIT, Fpr, ParamError};

/// Describes a Bloom filter: a rate of 1 %, [`Sizing::Guaranteed`], a new random hasher, the fastest kernel and a memory limit of 64 GiB where
/// nothing else is said. A capacity must be said, or the keys given to [`build_from`](Self::build_from).
///
/// What it is finished with decides the kind: [`build`](Self::build) gives a [`BlockedBloom`], [`build_atomic`](Self::build_atomic) an
/// [`AtomicBlockedBloom`], [`build_classic`](Self::build_classic) a [`ClassicBloom`], [`build_counting`](Self::build_counting) a [`CountingBloom`].
///
/// ```
/// use absentia::{BlockedBloom, KeyHasher, ParamError};
///
/// let hasher = KeyHasher::random_siphash()?;
/// let mut seen = BlockedBloom::builder().capacity(10_000).fpr(0.001).hasher(hasher).build()?;
/// seen.insert("sku-17");
/// assert!(seen.contains("sku-17"));
///
/// let known = BlockedBloom::builder().fpr(0.001).build_from(["sku-17", "sku-18"])?; // sized for the keys that there are
/// assert_eq!(known.capacity(), 2);
/// # Ok::<(), ParamError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it builds"]
pub struct BloomBuilder {
    capacity: Option<u64>,
    fpr: f64,
    memory: Option<u64>,
    sizing: Sizing,
    lines_per_key: LinesPerKey,
    foldable: u32,
    kernel: Option<Kernel>,
    hasher: Option<KeyHasher>,
    memory_limit: u64,
}

impl Default for BloomBuilder {
    fn default() -> Self {
        Self {
            capacity: None,
            fpr: 0.01,
            memory: None,
            sizing: Sizing::default(),
            lines_per_key: LinesPerKey::default(),
            foldable: 0,
            kernel: None,
            hasher: None,
            memory_limit: DEFAULT_MEMORY_LIMIT,
        }
    }
}

impl BloomBuilder {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many distinct keys the rate is to hold for. More may be inserted; the rate then rises. 0 is legal, and gives the smallest filter.
    pub fn capacity(mut self, keys: u64) -> Self {
        self.capacity = Some(keys);
        self
    }

    /// The false-positive rate at capacity: below 1, and not below [`MIN_FPR`](crate::params::MIN_FPR).
    pub fn fpr(mut self, p: f64) -> Self {
        self.fpr = p;
        self
    }

    /// The memory, in bytes, in place of a rate: the filter takes as many whole lines as fit, and the best rate that they give for the capacity. For
    /// a filter that must fit a cache level. A rate and a sizing rule that were given as well have no effect.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// The rule from capacity and rate to memory. A [`ClassicBloom`] has the textbook's size by its nature.
    pub fn sizing(mut self, sizing: Sizing) -> Self {
        self.sizing = sizing;
        self
    }

    /// In how many lines a key has its bits: by itself one, but two where the rate is at most 3e-4. In all but tiny filters that saves 8 % and more.
    pub fn lines_per_key(mut self, lines: LinesPerKey) -> Self {
        self.lines_per_key = lines;
        self
    }

    /// Makes a size that can be [folded](BlockedBloom::fold) this many times: a multiple of that power of two of lines, or of twice that with two
    /// lines a key, rounded up (down, where the memory is given). For filters that are sized before anybody knows how many keys will come.
    pub fn foldable(mut self, times: u32) -> Self {
        self.foldable = times;
        self
    }

    /// The inner loops. By itself a filter takes the fastest that the machine has.
    pub fn kernel(mut self, kernel: Kernel) -> Self {
        self.kernel = Some(kernel);
        self
    }

    /// The hasher, and with it the secret. Filters that are to be asked by the same [`KeyHash`](crate::KeyHash) share one.
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
    /// [`ParamError`]: the rate is out of range, the memory is too little for a line, the filter is over the memory limit or the allocator refuses
    /// it, no capacity was given, or no hasher and there is no randomness for a new one. Wrong numbers and a limit are found before anything is
    /// allocated.
    pub fn build(self) -> Result<BlockedBloom, ParamError> {
        let hasher = self.checked_hasher()?;
        BlockedBloom::with_shape(self.shape(Unit::Bit, hasher.fingerprint())?, self.memory_limit, hasher)
    }

    /// The filter for many writers.
    ///
    /// # Errors
    ///
    /// As for [`build`](Self::build).
    pub fn build_atomic(self) -> Result<AtomicBlockedBloom, ParamError> {
        let hasher = self.checked_hasher()?;
        AtomicBlockedBloom::with_shape(self.shape(Unit::Bit, hasher.fingerprint())?, self.memory_limit, hasher)
    }

    /// The filter of counters, from which keys can be removed. Everything means the same there; at one rate it takes four times the memory and more.
    ///
    /// # Errors
    ///
    /// As for [`build`](Self::build).
    pub fn build_counting(self) -> Result<CountingBloom, ParamError> {
        let hasher = self.checked_hasher()?;
        CountingBloom::with_shape(self.shape(Unit::Counter, hasher.fingerprint())?, self.memory_limit, hasher)
    }

    /// The textbook filter, whose bits may be anywhere. Sizing rule, lines a key and kernel are not choices there.
    ///
    /// # Errors
    ///
    /// As for [`build`](Self::build).
    pub fn build_classic(self) -> Result<ClassicBloom, ParamError> {
        let hasher = self.checked_hasher()?;
        let (capacity, fpr) = (Capacity::new(self.capacity.ok_or(ParamError::NoCapacity)?), Fpr::new(self.fpr)?);
        let unit = self.unit(1);
        let size = match self.memory {
            None if self.foldable == 0 => classical(capacity, fpr),
            None => Classical::of_bits(rounded_up(classical(capacity, fpr).bits, unit), capacity),
            Some(given) => match given.saturating_mul(8) {
                bits if bits < unit => return Err(ParamError::MemoryTooSmall { given, needed: unit.div_ceil(8) }),
                bits => Classical::of_bits(bits - bits % unit, capacity),
            },
        };
        let promised = if self.memory.is_some() { size.predicted_fpr } else { fpr.value() };
        ClassicBloom::sized(capacity, promised, size, self.memory_limit, hasher, hasher.fingerprint())
    }

    /// A filter of these keys, sized for their number where no capacity was given.
    ///
    /// Then the number must be known before the first key is inserted: an iterator that does not tell it exactly is read to its end first, at 16
    /// bytes a key.
    ///
    /// # Errors
    ///
    /// As for [`build`](Self::build). Where the iterator had to be read first, it has been, up to the number of keys at which the filter would be
    /// over the memory limit; its hashes were in memory.
    pub fn build_from<K: Key>(mut self, keys: impl IntoIterator<Item = K>) -> Result<BlockedBloom, ParamError> {
        let keys = keys.into_iter();
        if self.capacity.is_none() {
            let (least, most) = keys.size_hint();
            if most != Some(least) {
                let hasher = self.checked_hasher()?;
                let hashes = self.gather(least, keys.map(|key| hasher.hash(&key)))?;
                self.capacity = Some(hashes.len() as u64);
                let mut filter = self.hasher(hasher).build()?;
                filter.extend_hashes(hashes);
                return Ok(filter);
            }
            self.capacity = Some(least as u64);
        }
        let mut filter = self.build()?;
        filter.extend(keys);
        Ok(filter)
    }

    /// The hashes of an iterator whose length is not known, which says that there are at least so many.
    ///
    /// Neither the word of the iterator nor its length is worth an allocation that may fail without an error; and where a filter of so many keys
    /// would be over the limit, the rest need not be read.
    fn gather(&self, least: usize, hashes: impl Iterator<Item = KeyHash>) -> Result<Vec<KeyHash>, ParamError> {
        self.fits(least as u64)?;
        let mut gathered: Vec<KeyHash> = Vec::new();
        for hash in hashes {
            if gathered.len() == gathered.capacity() {
                self.fits(gathered.len() as u64)?;
                let more = gathered.len().max(1 << 12);
                let needed = ((gathered.len() + more) * size_of::<KeyHash>()) as u64;
                gathered.try_reserve_exact(more).map_err(|_| ParamError::OutOfMemory { needed })?;
            }
            gathered.push(hash);
        }
        Ok(gathered)
    }

    /// Whether a filter of so many keys is within the memory limit. Where the memory is given, their number does not matter.
    fn fits(&self, keys: u64) -> Result<(), ParamError> {
        if self.memory.is_some() {
            return Ok(());
        }
        let needed = self.planned(Unit::Bit, Capacity::new(keys), Fpr::new(self.fpr)?).lines.saturating_mul(LINE_BYTES as u64);
        let limit = self.memory_limit;
        if needed > limit { Err(ParamError::TooLarge { needed, limit }) } else { Ok(()) }
    }

    /// [`build_from`](Self::build_from) on all cores of the rayon pool that it runs in. The same bits, however many there are. Needs the feature
    /// `rayon`.
    ///
    /// # Errors
    ///
    /// As there.
    #[cfg(feature = "rayon")]
    pub fn build_par<K: Key + Send>(mut self, keys: impl rayon::iter::IntoParallelIterator<Item = K>) -> Result<BlockedBloom, ParamError> {
        use rayon::iter::{ParallelExtend, ParallelIterator};
        let keys = keys.into_par_iter();
        if self.capacity.is_none() {
            let Some(count) = keys.opt_len() else {
                let hasher = self.checked_hasher()?;
                let hashes: Vec<_> = keys.map(|key| hasher.hash(&key)).collect();
                self.capacity = Some(hashes.len() as u64);
                let mut filter = self.hasher(hasher).empty_par()?;
                filter.par_extend_hashes(hashes);
                return Ok(filter);
            };
            self.capacity = Some(count as u64);
        }
        let mut filter = self.empty_par()?;
        filter.par_extend(keys);
        Ok(filter)
    }

    /// [`build`](Self::build), its first writing of the memory on all cores: for a large filter that is a part of the time that counts.
    #[cfg(feature = "rayon")]
    fn empty_par(self) -> Result<BlockedBloom, ParamError> {
        use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
        let hasher = self.checked_hasher()?;
        let shape = self.shape(Unit::Bit, hasher.fingerprint())?;
        let mut lines = shape.reserve(self.memory_limit)?;
        (0..shape.plan.lines as usize).into_par_iter().map(|_| Line::EMPTY).collect_into_vec(&mut lines);
        Ok(BlockedBloom::from_parts(shape, lines, hasher))
    }

    /// The rate is checked first, so that a wrong one is named even where there is no randomness.
    fn checked_hasher(&self) -> Result<KeyHasher, ParamError> {
        Fpr::new(self.fpr)?;
        self.hasher.map_or_else(KeyHasher::random, Ok)
    }

    fn shape(&self, unit: Unit, hasher: HasherFingerprint) -> Result<Shape, ParamError> {
        let (capacity, fpr) = (Capacity::new(self.capacity.ok_or(ParamError::NoCapacity)?), Fpr::new(self.fpr)?);
        let plan = match self.memory {
            None => self.planned(unit, capacity, fpr),
            Some(given) => self.planned_in(unit, given, capacity)?,
        };
        let promised = if self.memory.is_some() { plan.predicted_fpr } else { fpr.value() };
        Ok(Shape::new(capacity, promised, plan, self.kernel.unwrap_or_else(Kernel::best), hasher))
    }

    fn planned(&self, unit: Unit, capacity: Capacity, fpr: Fpr) -> LinePlan {
        let plan = unit.plan(self.sizing, capacity, fpr, self.lines_per_key);
        if self.foldable == 0 {
            return plan;
        }
        unit.with_lines(plan, rounded_up(plan.lines, self.unit(plan.lines_per_key)), capacity)
    }

    fn planned_in(&self, of: Unit, given: u64, capacity: Capacity) -> Result<LinePlan, ParamError> {
        let unit = |parts| self.unit(parts).saturating_mul(LINE_BYTES as u64);
        // Rounded down first, so that the positions are the best for what is left.
        let one = || of.plan_memory(given - given % unit(1), capacity, LinesPerKey::One);
        let two = || of.plan_memory(given - given % unit(2), capacity, LinesPerKey::Two);
        let (plan, least) = match self.lines_per_key {
            LinesPerKey::One => (one(), unit(1)),
            LinesPerKey::Two => (two(), unit(2)),
            LinesPerKey::Auto => {
                let best = of.plan_memory(given, capacity, LinesPerKey::Auto).filter(|plan| plan.lines_per_key == 2);
                // Where two lines a key would not fold so often, one may.
                (best.and_then(|_| two()).or_else(one), unit(1))
            }
        };
        plan.ok_or(ParamError::MemoryTooSmall { given, needed: least })
    }

    /// The least size that halves as often as was asked for into multiples of `whole`; `u64::MAX` where that is more.
    fn unit(&self, whole: u32) -> u64 {
        1u64.checked_shl(self.foldable).and_then(|unit| unit.checked_mul(u64::from(whole))).unwrap_or(u64::MAX)
    }
}

/// The least multiple of `unit` that is at least `size`, and not 0; `u64::MAX` where there is none.
fn rounded_up(size: u64, unit: u64) -> u64 {
    size.max(1).checked_next_multiple_of(unit).unwrap_or(u64::MAX)
}
