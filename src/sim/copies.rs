//! A base that can remove: an exact multiset of fingerprints of one bit. Keys that share one are told apart by nothing, so a copy that is taken out
//! wrongly is another key's, and the check sees that one denied.

use crate::bloom::BloomFactory;
use crate::filter::{FilterFactory, Insert, InsertError, InsertShared, Membership, RemoveShared};
use crate::key::{HasherFingerprint, KeyHash};
use crate::params::{Capacity, Fpr, ParamError};
use crate::sync::{AtomicU64, Ordering};
use std::sync::Arc;

/// Makes such bases. Deltas are Bloom filters.
#[derive(Debug)]
pub(super) struct Copies;

impl FilterFactory for Copies {
    fn base(&self, capacity: Capacity, _: Fpr, hasher: HasherFingerprint) -> Result<Box<dyn Insert>, ParamError> {
        Ok(Box::new(Base { copies: Default::default(), capacity: capacity.get(), hasher }))
    }

    fn delta(&self, capacity: Capacity, fpr: Fpr, hasher: HasherFingerprint) -> Result<Arc<dyn InsertShared>, ParamError> {
        BloomFactory::new().delta(capacity, fpr, hasher)
    }
}

#[derive(Debug)]
struct Base {
    /// How many copies of either fingerprint there are.
    copies: [AtomicU64; 2],
    capacity: u64,
    hasher: HasherFingerprint,
}

impl Base {
    fn of(&self, hash: KeyHash) -> &AtomicU64 {
        &self.copies[usize::from(fingerprint(hash))]
    }
}

/// Under the hasher of the simulation this is one for keys 0 and 1, and the other for 2.
fn fingerprint(hash: KeyHash) -> bool {
    hash.first() & 2 != 0
}

impl Membership for Base {
    fn contains_hash(&self, hash: KeyHash) -> bool {
        // ORDERING: Relaxed here and below: there is one thread.
        self.of(hash).load(Ordering::Relaxed) > 0
    }
    fn hasher_fingerprint(&self) -> HasherFingerprint {
        self.hasher
    }
    fn capacity(&self) -> u64 {
        self.capacity
    }
    fn estimated_fpr(&self) -> f64 {
        0.0
    }
    fn memory_bytes(&self) -> u64 {
        size_of::<Self>() as u64
    }
    fn remover(&self) -> Option<&dyn RemoveShared> {
        Some(self)
    }
}

impl RemoveShared for Base {
    fn remove_hash_shared(&self, hash: KeyHash) -> bool {
        self.of(hash).fetch_update(Ordering::Relaxed, Ordering::Relaxed, |copies| copies.checked_sub(1)).is_ok()
    }
}

impl Insert for Base {
    fn insert_hash(&mut self, hash: KeyHash) -> Result<(), InsertError> {
        self.of(hash).fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
    fn freeze(self: Box<Self>) -> Arc<dyn Membership> {
        Arc::from(self as Box<dyn Membership>)
    }
}

#[test]
fn the_favourite_key_has_a_twin_and_a_stranger() {
    let print = |key: u64| fingerprint(crate::key::KeyHasher::xxh3(super::scenarios::SEED).hash(&key));
    assert!(print(0) == print(1) && print(0) != print(2));
}
