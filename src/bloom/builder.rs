//! [`BloomBuilder`]: every choice about a filter, and one place where they are checked.
//!
//! Setters take what they are given; `build` and `build_atomic` decide. Filters that know no hasher come from `factory.rs`.

use super::{AtomicBlockedBloom, BlockedBloom, Sizing, shape::Shape};
use crate::key::{HasherFingerprint, KeyHasher};
use crate::params::{Capacity, DEFAULT_MEMORY_LIMIT, Fpr, ParamError};

/// Describes a [`BlockedBloom`] or an [`AtomicBlockedBloom`]: capacity 0, a rate of 1 %, [`Sizing::Guaranteed`], a new random hasher and a memory
/// limit of 64 GiB where nothing else is said.
///
/// ```
/// use absentia::{BlockedBloom, KeyHasher, ParamError};
///
/// let hasher = KeyHasher::random_siphash()?;
/// let mut seen = BlockedBloom::builder().capacity(10_000).fpr(0.001).hasher(hasher).build()?;
/// seen.insert("sku-17");
/// assert!(seen.contains("sku-17"));
/// # Ok::<(), ParamError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it builds"]
pub struct BloomBuilder {
    capacity: u64,
    fpr: f64,
    sizing: Sizing,
    hasher: Option<KeyHasher>,
    memory_limit: u64,
}

impl Default for BloomBuilder {
    fn default() -> Self {
        Self { capacity: 0, fpr: 0.01, sizing: Sizing::default(), hasher: None, memory_limit: DEFAULT_MEMORY_LIMIT }
    }
}

impl BloomBuilder {
    /// How many distinct keys the rate is to hold for. More may be inserted; the rate then rises.
    pub fn capacity(mut self, keys: u64) -> Self {
        self.capacity = keys;
        self
    }

    /// The false-positive rate at capacity: below 1, and not below [`MIN_FPR`](crate::params::MIN_FPR).
    pub fn fpr(mut self, p: f64) -> Self {
        self.fpr = p;
        self
    }

    /// The rule from capacity and rate to memory.
    pub fn sizing(mut self, sizing: Sizing) -> Self {
        self.sizing = sizing;
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
    /// [`ParamError`]: the rate is out of range, the filter is over the memory limit or the allocator refuses it, or no hasher was given and there
    /// is no randomness for a new one. A wrong rate and a limit are found before anything is allocated.
    pub fn build(self) -> Result<BlockedBloom, ParamError> {
        let hasher = self.checked_hasher()?;
        BlockedBloom::with_shape(self.shape(hasher.fingerprint())?, self.memory_limit, hasher)
    }

    /// The filter for many writers.
    ///
    /// # Errors
    ///
    /// As for [`build`](Self::build).
    pub fn build_atomic(self) -> Result<AtomicBlockedBloom, ParamError> {
        let hasher = self.checked_hasher()?;
        AtomicBlockedBloom::with_shape(self.shape(hasher.fingerprint())?, self.memory_limit, hasher)
    }

    /// The rate is checked first, so that a wrong one is named even where there is no randomness.
    fn checked_hasher(&self) -> Result<KeyHasher, ParamError> {
        Fpr::new(self.fpr)?;
        self.hasher.map_or_else(KeyHasher::random, Ok)
    }

    fn shape(&self, hasher: HasherFingerprint) -> Result<Shape, ParamError> {
        Ok(Shape::new(Capacity::new(self.capacity), Fpr::new(self.fpr)?, self.sizing, hasher))
    }
}
