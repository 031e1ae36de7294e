//! [`CuckooBuilder`]: every choice about a cuckoo filter, and one place where they are checked.

use super::atomic::AtomicCuckoo;
use super::filter::CuckooFilter;
use super::shape::Shape;
use super::sizing::{self, CuckooPlan, MAX_WIDTH, MIN_WIDTH};
use crate::kernel::Kernel;
use crate::key::KeyHasher;
use crate::params::{Capacity, DEFAULT_MEMORY_LIMIT, Fpr, ParamError};

/// Describes a cuckoo filter: a rate of 1 %, a new random hasher and a memory limit of 64 GiB where nothing else is said. A capacity must be said.
///
/// ```
/// use absentia::{CuckooFilter, KeyHasher};
///
/// let hasher = KeyHasher::random_siphash()?;
/// let mut seen = CuckooFilter::builder().capacity(10_000).fpr(0.001).hasher(hasher).build()?;
/// seen.insert("sku-17")?;
/// assert_eq!((seen.fingerprint_bits(), seen.len()), (13, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it builds"]
pub struct CuckooBuilder {
    capacity: Option<u64>,
    fpr: f64,
    width: Option<u32>,
    kernel: Option<Kernel>,
    hasher: Option<KeyHasher>,
    memory_limit: u64,
}

impl Default for CuckooBuilder {
    fn default() -> Self {
        Self { capacity: None, fpr: 0.01, width: None, kernel: None, hasher: None, memory_limit: DEFAULT_MEMORY_LIMIT }
    }
}

impl CuckooBuilder {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many distinct keys there must be room for. 0 is legal, and gives the smallest filter.
    pub fn capacity(mut self, keys: u64) -> Self {
        self.capacity = Some(keys);
        self
    }

    /// The false-positive rate at capacity: below 1, and not below [`MIN_FPR`](crate::params::MIN_FPR). The width of fingerprints follows from it.
    pub fn fpr(mut self, p: f64) -> Self {
        self.fpr = p;
        self
    }

    /// The width of fingerprints, in place of a rate: 7 to 32 bits. A rate that was given as well has no effect.
    pub fn fingerprint_bits(mut self, width: u32) -> Self {
        self.width = Some(width);
        self
    }

    /// The instruction set for batches. By itself a filter takes the best that the machine has.
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
    /// [`ParamError`]: rate or width are out of range, the filter is over the memory limit or the allocator refuses it, no capacity was given, or no
    /// hasher and there is no randomness for a new one. Wrong numbers and a limit are found before anything is allocated.
    pub fn build(self) -> Result<CuckooFilter, ParamError> {
        let (shape, hasher) = self.shape(sizing::plan, sizing::plan_width)?;
        CuckooFilter::with_shape(shape, self.memory_limit, hasher)
    }

    /// The filter for many writers, empty. Since it moves nothing, it takes more room for as many keys: see [`AtomicCuckoo`].
    ///
    /// # Errors
    ///
    /// As for [`build`](Self::build).
    pub fn build_atomic(self) -> Result<AtomicCuckoo, ParamError> {
        let (shape, hasher) = self.shape(sizing::plan_shared, sizing::plan_shared_width)?;
        AtomicCuckoo::with_shape(shape, self.memory_limit, hasher)
    }

    fn shape(
        &self,
        by_rate: impl Fn(Capacity, Fpr) -> CuckooPlan,
        by_width: impl Fn(Capacity, u32) -> CuckooPlan,
    ) -> Result<(Shape, KeyHasher), ParamError> {
        let capacity = || self.capacity.map(Capacity::new).ok_or(ParamError::NoCapacity);
        let (plan, promised) = match self.width {
            None => {
                let fpr = Fpr::new(self.fpr)?;
                (by_rate(capacity()?, fpr), fpr.value())
            }
            Some(width) if !(MIN_WIDTH..=MAX_WIDTH).contains(&width) => {
                return Err(ParamError::FingerprintBits { requested: width, smallest: MIN_WIDTH, largest: MAX_WIDTH });
            }
            Some(width) => (by_width(capacity()?, width), 0.0),
        };
        let hasher = self.hasher.map_or_else(KeyHasher::random, Ok)?;
        let kernel = self.kernel.unwrap_or_else(Kernel::best);
        Ok((Shape::new(capacity()?, promised, plan, kernel, self.memory_limit, hasher.fingerprint())?, hasher))
    }
}
