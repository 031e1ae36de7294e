//! A base filter that can remove, and whose fingerprints collide on purpose: an exact multiset of fingerprints of six bits. Whoever takes out a copy
//! that is not his takes another key's, and that key is denied. With its faults, for the tests of what a gate does about them.

use absentia::bloom::BloomFactory;
use absentia::filter::{FilterFactory, Insert, InsertError, InsertShared, Membership, RemoveShared};
use absentia::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    None,
    /// Takes one copy of a fingerprint, and says of the next that it took it too.
    SkipsDuplicates,
    /// Refuses the second copy of a fingerprint: no size would take it.
    RefusesDuplicates,
    /// Is full with a handful of keys, unless it was made for so many.
    FullBelow(u64),
}

/// Makes such bases. Deltas are Bloom filters.
#[derive(Clone, Debug)]
pub(crate) struct Copies {
    pub(crate) fault: Arc<Mutex<Fault>>,
    /// How many bases were asked for.
    pub(crate) made: Arc<AtomicU64>,
}

impl Copies {
    pub(crate) fn new(fault: Fault) -> Self {
        Self { fault: Arc::new(Mutex::new(fault)), made: Arc::default() }
    }
}

impl FilterFactory for Copies {
    fn base(&self, capacity: Capacity, _: Fpr, hasher: HasherFingerprint) -> Result<Box<dyn Insert>, ParamError> {
        self.made.fetch_add(1, SeqCst);
        let fault = *self.fault.lock().unwrap();
        Ok(Box::new(Base { copies: Mutex::default(), hasher, capacity: capacity.get(), fault }))
    }

    fn delta(&self, capacity: Capacity, fpr: Fpr, hasher: HasherFingerprint) -> Result<Arc<dyn InsertShared>, ParamError> {
        BloomFactory::new().delta(capacity, fpr, hasher)
    }
}

#[derive(Debug)]
struct Base {
    copies: Mutex<BTreeMap<u64, u64>>,
    hasher: HasherFingerprint,
    capacity: u64,
    fault: Fault,
}

pub(crate) fn fingerprint(hash: KeyHash) -> u64 {
    hash.first() >> 58
}

impl Membership for Base {
    fn contains_hash(&self, hash: KeyHash) -> bool {
        self.copies.lock().unwrap().contains_key(&fingerprint(hash))
    }
    fn hasher_fingerprint(&self) -> HasherFingerprint {
        self.hasher
    }
    fn capacity(&self) -> u64 {
        self.capacity
    }
    fn estimated_fpr(&self) -> f64 {
        self.copies.lock().unwrap().len() as f64 / 64.0 / 100.0
    }
    fn memory_bytes(&self) -> u64 {
        1024
    }
    fn remover(&self) -> Option<&dyn RemoveShared> {
        Some(self)
    }
}

impl RemoveShared for Base {
    fn remove_hash_shared(&self, hash: KeyHash) -> bool {
        let mut copies = self.copies.lock().unwrap();
        let Some(count) = copies.get_mut(&fingerprint(hash)) else { return false };
        *count -= 1;
        if *count == 0 {
            copies.remove(&fingerprint(hash));
        }
        true
    }
}

impl Insert for Base {
    fn insert_hash(&mut self, hash: KeyHash) -> Result<(), InsertError> {
        let copies = self.copies.get_mut().unwrap();
        let held: u64 = copies.values().sum();
        let count = copies.entry(fingerprint(hash)).or_default();
        match self.fault {
            Fault::FullBelow(capacity) if self.capacity < capacity && held >= (self.capacity / 2).min(5) => return Err(InsertError::full("no room")),
            Fault::RefusesDuplicates if *count > 0 => return Err(InsertError::refused("too many duplicates")),
            Fault::SkipsDuplicates if *count > 0 => {}
            _ => *count += 1,
        }
        Ok(())
    }
    fn freeze(self: Box<Self>) -> Arc<dyn Membership> {
        Arc::from(self as Box<dyn Membership>)
    }
}
