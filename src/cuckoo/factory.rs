//! [`CuckooFactory`]: a base for a gate's generation from which deleted keys can be retired.

use super::atomic::AtomicCuckoo;
use super::filter::CuckooFilter;
use super::shape::Shape;
use super::sizing;
use super::slots::slot_bits;
use crate::filter::{FilterFactory, Insert, InsertError, InsertShared, Membership};
use crate::kernel::Kernel;
use crate::key::{HasherFingerprint, KeyHash};
use crate::params::{Capacity, DEFAULT_MEMORY_LIMIT, Fpr, ParamError};
use bitvec::vec::BitVec;
use std::sync::Arc;

/// Makes a base that a rebuild fills as a [`CuckooFilter`], and that serves as an [`AtomicCuckoo`]: then a gate can retire keys whose rows were
/// deleted. The filter for created keys comes from another factory, since such a one must take every key.
///
/// Fingerprints have 8, 16 or 32 bits, whatever fills a slot: 8.4 bits a key down to a rate of 3 %, 16.8 down to 1.2e-4, 33.7 below. While a
/// rebuild fills it, both forms are in memory. The limit is 64 GiB a form where nothing else is said.
#[derive(Clone, Debug)]
#[must_use]
pub struct CuckooFactory<D> {
    deltas: D,
    memory_limit: u64,
}

impl<D: FilterFactory> CuckooFactory<D> {
    /// Bases of its own, and the filters for created keys from `deltas`.
    ///
    /// ```
    /// use absentia::bloom::BloomFactory;
    /// use absentia::cuckoo::CuckooFactory;
    ///
    /// let filters = CuckooFactory::new(BloomFactory::new()); // for a gate's builder
    /// # drop(filters);
    /// ```
    pub fn new(deltas: D) -> Self {
        Self { deltas, memory_limit: DEFAULT_MEMORY_LIMIT }
    }

    /// The most memory that one form of a base may take, in bytes.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = bytes;
        self
    }
}

impl<D: FilterFactory> FilterFactory for CuckooFactory<D> {
    fn base(&self, capacity: Capacity, fpr: Fpr, hasher: HasherFingerprint) -> Result<Box<dyn Insert>, ParamError> {
        let width = slot_bits(sizing::plan(capacity, fpr).width);
        let plan = sizing::plan_width(capacity, width);
        let shape = Shape::new(capacity, fpr.value(), plan, Kernel::best(), self.memory_limit, hasher)?;
        // Both now, while an error can still be told.
        let shared = AtomicCuckoo::with_shape(shape.clone(), self.memory_limit, ())?;
        Ok(Box::new(Base { filter: CuckooFilter::with_shape(shape, self.memory_limit, ())?, shared }))
    }

    fn delta(&self, capacity: Capacity, fpr: Fpr, hasher: HasherFingerprint) -> Result<Arc<dyn InsertShared>, ParamError> {
        self.deltas.delta(capacity, fpr, hasher)
    }
}

/// A filter that is being filled, and the memory of what it will be.
#[derive(Debug)]
struct Base {
    filter: CuckooFilter<()>,
    shared: AtomicCuckoo<()>,
}

impl Membership for Base {
    fn contains_hash(&self, hash: KeyHash) -> bool {
        self.filter.contains_hash(hash)
    }

    fn contains_hash_batch(&self, hashes: &[KeyHash]) -> BitVec {
        self.filter.contains_hash_batch(hashes)
    }

    fn hasher_fingerprint(&self) -> HasherFingerprint {
        self.filter.hasher_fingerprint()
    }

    fn capacity(&self) -> u64 {
        self.filter.capacity()
    }

    fn estimated_fpr(&self) -> f64 {
        self.filter.estimated_fpr()
    }

    fn memory_bytes(&self) -> u64 {
        self.filter.memory_bytes() + self.shared.memory_bytes()
    }
}

impl Insert for Base {
    fn insert_hash(&mut self, hash: KeyHash) -> Result<(), InsertError> {
        Ok(self.filter.insert_hash(hash)?)
    }

    fn insert_hash_batch(&mut self, hashes: &[KeyHash]) -> Result<(), InsertError> {
        Ok(self.filter.insert_hash_batch(hashes)?)
    }

    fn freeze(self: Box<Self>) -> Arc<dyn Membership> {
        let Self { filter, mut shared } = *self;
        shared.take_over(filter);
        Arc::new(shared)
    }
}
