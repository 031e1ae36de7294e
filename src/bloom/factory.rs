//! [`BloomFactory`]: the filters of a generation, made from nothing but numbers and a hasher's fingerprint.
//!
//! The gate hashes a key once and gives the hash to every filter; its filters need no hasher of their own, and so have none (`H = ()`).

use super::{AtomicBlockedBloom, BlockedBloom, Kernel, Sizing, shape::Shape};
use crate::filter::{FilterFactory, Insert, InsertShared};
use crate::key::HasherFingerprint;
use crate::params::{Capacity, DEFAULT_MEMORY_LIMIT, Fpr, ParamError};
use std::sync::Arc;

/// Makes a [`BlockedBloom`] for the base of a generation and an [`AtomicBlockedBloom`] for its delta.
///
/// [`Sizing::Guaranteed`] and a memory limit of 64 GiB a filter where nothing else is said.
#[derive(Clone, Debug)]
#[must_use]
pub struct BloomFactory {
    sizing: Sizing,
    memory_limit: u64,
}

impl Default for BloomFactory {
    fn default() -> Self {
        Self { sizing: Sizing::default(), memory_limit: DEFAULT_MEMORY_LIMIT }
    }
}

impl BloomFactory {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The rule from capacity and rate to memory.
    pub fn sizing(mut self, sizing: Sizing) -> Self {
        self.sizing = sizing;
        self
    }

    /// The most memory that one filter may take, in bytes.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = bytes;
        self
    }

    fn shape(&self, capacity: Capacity, fpr: Fpr, hasher: HasherFingerprint) -> Shape {
        Shape::new(capacity, fpr.value(), self.sizing.plan(capacity, fpr), Kernel::best(), hasher)
    }
}

impl FilterFactory for BloomFactory {
    fn base(&self, capacity: Capacity, fpr: Fpr, hasher: HasherFingerprint) -> Result<Box<dyn Insert>, ParamError> {
        Ok(Box::new(BlockedBloom::with_shape(self.shape(capacity, fpr, hasher), self.memory_limit, ())?))
    }

    fn delta(&self, capacity: Capacity, fpr: Fpr, hasher: HasherFingerprint) -> Result<Arc<dyn InsertShared>, ParamError> {
        Ok(Arc::new(AtomicBlockedBloom::with_shape(self.shape(capacity, fpr, hasher), self.memory_limit, ())?))
    }
}

#[cfg(all(test, not(absentia_loom)))]
mod tests {
    use super::*;
    use crate::key::KeyHasher;

    #[test]
    fn base_and_delta_answer_hashes_and_carry_the_fingerprint() {
        let hasher = KeyHasher::xxh3(5);
        let (capacity, fpr) = (Capacity::new(1000), Fpr::new(0.01).unwrap());
        let mut base = BloomFactory::new().base(capacity, fpr, hasher.fingerprint()).unwrap();
        let delta = BloomFactory::new().delta(capacity, fpr, hasher.fingerprint()).unwrap();
        for id in 0..1000u32 {
            let hash = hasher.hash(&id);
            base.insert_hash(hash).unwrap();
            delta.insert_hash_shared(hash);
        }
        let base = base.freeze();
        assert_eq!((base.hasher_fingerprint(), delta.hasher_fingerprint()), (hasher.fingerprint(), hasher.fingerprint()));
        assert_eq!((base.capacity(), base.memory_bytes()), (1000, delta.memory_bytes()));
        let asked: Vec<_> = (0..2000u32).map(|id| hasher.hash(&id)).collect();
        assert_eq!(base.contains_hash_batch(&asked), delta.contains_hash_batch(&asked));
        assert!(base.contains_hash_batch(&asked)[..1000].all());
        assert_eq!(base.estimated_fpr(), delta.estimated_fpr());
    }

    #[test]
    fn settings_reach_both_filters() {
        let hasher = KeyHasher::xxh3(5).fingerprint();
        let (capacity, fpr) = (Capacity::new(1_000_000), Fpr::new(1e-4).unwrap());
        let small = BloomFactory::new().memory_limit(1000);
        assert!(matches!(small.base(capacity, fpr, hasher), Err(ParamError::TooLarge { limit: 1000, .. })));
        assert!(matches!(small.delta(capacity, fpr, hasher), Err(ParamError::TooLarge { limit: 1000, .. })));
        let textbook = BloomFactory::new().sizing(Sizing::Classical).base(capacity, fpr, hasher).unwrap();
        let guaranteed = BloomFactory::new().base(capacity, fpr, hasher).unwrap();
        assert!(textbook.memory_bytes() < guaranteed.memory_bytes());
    }
}
