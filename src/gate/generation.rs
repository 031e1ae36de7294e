//! [`State`]: everything that readers and creators must see together, replaced as a whole.
//!
//! ```text
//! State ─┬─ current ──► Generation { base: filled by a rebuild, then frozen;  delta: takes creates while it serves }
//!        ├─ building ─► Building { delta }      a rebuild under way: creates set their bits here too
//!        ├─ epoch       moves when a doubt begins or ends: tokens of earlier epochs are dead
//!        └─ trust, distrust guards
//! ```
//!
//! A generation answers maybe for a key that is in its base or in its delta. Bits of a delta are never cleared, and from a base that can remove a
//! copy goes only by the rule of [`super::retire`] (R9): otherwise a deleted key is a false positive until the next rebuild. The state only ever
//! changes by read-copy-update, so that two changes at once both happen.

use crate::filter::{InsertShared, Membership, RemoveShared};
use crate::key::KeyHash;
use crate::sync::{AtomicBool, AtomicU64, Ordering};
use crate::time::Timestamp;
use std::sync::Arc;

/// The filter that takes creates, first of a building generation and then of the same one serving.
pub(crate) struct Delta {
    filter: Arc<dyn InsertShared>,
    /// Somebody has set bits, or is about to. While nobody has, readers need not ask.
    touched: AtomicBool,
    /// Keys that were new to it.
    inserts: AtomicU64,
    /// Creates, whether new to it or not: a full filter finds nothing new any more, and that count would stand still.
    creates: AtomicU64,
}

impl Delta {
    fn new(filter: Arc<dyn InsertShared>) -> Self {
        Self { filter, touched: AtomicBool::new(false), inserts: AtomicU64::new(0), creates: AtomicU64::new(0) }
    }

    /// Adds a key, and returns how many creates that makes.
    fn insert(&self, hash: KeyHash) -> u64 {
        // Before the bits, so before the COMMIT and the acknowledgement: a lookup that must see the bits sees this.
        // ORDERING: Relaxed: the reader that counts comes after the acknowledgement, which comes after this store or this load of its value;
        // coherence shows it true from then on.
        if !self.touched.load(Ordering::Relaxed) {
            self.touched.store(true, Ordering::Relaxed);
        }
        if self.filter.insert_hash_shared(hash) {
            // ORDERING: Relaxed: a count, not a signal.
            self.inserts.fetch_add(1, Ordering::Relaxed);
        }
        // ORDERING: Relaxed: a count, not a signal.
        self.creates.fetch_add(1, Ordering::Relaxed) + 1
    }

    #[inline]
    fn is_untouched(&self) -> bool {
        // ORDERING: Relaxed, see `insert`.
        !self.touched.load(Ordering::Relaxed)
    }

    #[inline]
    fn contains(&self, hash: KeyHash) -> bool {
        !self.is_untouched() && self.filter.contains_hash(hash)
    }

    fn keys(&self) -> u64 {
        // ORDERING: Relaxed: a count, not a signal.
        self.inserts.load(Ordering::Relaxed)
    }
}

pub(crate) struct Generation {
    pub(crate) id: u64,
    base: Arc<dyn Membership>,
    /// Of the base as it was swapped in. Copies that are retired make it no higher, and estimating it costs a pass over it.
    base_fpr: f64,
    delta: Arc<Delta>,
    /// Rows that the scan saw.
    pub(crate) rows: u64,
    pub(crate) built: Timestamp,
    /// The epoch in which its build was published. While it serves, is trusted, and that is still the epoch, it has been trustworthy all along.
    pub(crate) epoch: u64,
    switched_off: AtomicBool,
}

impl Generation {
    pub(crate) fn new(building: &Building, base: Arc<dyn Membership>, rows: u64, built: Timestamp) -> Self {
        let base_fpr = base.estimated_fpr();
        let delta = Arc::clone(&building.delta);
        Self { id: building.id, base, base_fpr, delta, rows, built, epoch: building.epoch, switched_off: AtomicBool::new(false) }
    }

    #[inline]
    pub(crate) fn contains(&self, hash: KeyHash) -> bool {
        self.base.contains_hash(hash) || self.delta.contains(hash)
    }

    pub(crate) fn contains_batch(&self, hashes: &[KeyHash]) -> bitvec::vec::BitVec {
        let claimed = self.base.contains_hash_batch(hashes);
        if self.delta.is_untouched() { claimed } else { claimed | self.delta.filter.contains_hash_batch(hashes) }
    }

    /// Adds a key to the delta, and returns how many creates that makes.
    pub(crate) fn insert(&self, hash: KeyHash) -> u64 {
        self.delta.insert(hash)
    }

    /// The way to take copies out of the base, where there is one.
    pub(crate) fn remover(&self) -> Option<&dyn RemoveShared> {
        self.base.remover()
    }

    /// A create of the key has set its bits here, or it seems so.
    pub(crate) fn was_created(&self, hash: KeyHash) -> bool {
        self.delta.contains(hash)
    }

    pub(crate) fn delta_keys(&self) -> u64 {
        self.delta.keys()
    }

    pub(crate) fn delta_capacity(&self) -> u64 {
        self.delta.filter.capacity()
    }

    /// How many more keys may be created before it is saturated.
    pub(crate) fn room(&self) -> u64 {
        self.delta_capacity().saturating_sub(self.delta_keys())
    }

    /// More keys were created than the delta was sized for: the rate of false positives rises from here on.
    pub(crate) fn is_saturated(&self) -> bool {
        self.delta_keys() > self.delta_capacity()
    }

    /// The chance that either filter claims a key that is in neither. Costs a pass over the delta.
    pub(crate) fn estimated_fpr(&self) -> f64 {
        1.0 - (1.0 - self.base_fpr) * (1.0 - self.delta.filter.estimated_fpr())
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        self.base.memory_bytes() + self.delta.filter.memory_bytes()
    }

    /// True for the call that switches it off.
    pub(crate) fn switch_off(&self) -> bool {
        // ORDERING: Relaxed: a reader that sees it late asks the filter once more, which is never wrong.
        !self.switched_off.swap(true, Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn is_switched_off(&self) -> bool {
        // ORDERING: Relaxed, see `switch_off`.
        self.switched_off.load(Ordering::Relaxed)
    }
}

/// A generation that a rebuild is filling.
pub(crate) struct Building {
    pub(crate) id: u64,
    delta: Arc<Delta>,
    /// The epoch in which it was published. Restores trust only if that is still the epoch at the swap.
    pub(crate) epoch: u64,
}

impl Building {
    pub(crate) fn new(id: u64, delta: Arc<dyn InsertShared>, epoch: u64) -> Self {
        Self { id, delta: Arc::new(Delta::new(delta)), epoch }
    }

    pub(crate) fn insert(&self, hash: KeyHash) {
        self.delta.insert(hash);
    }

    pub(crate) fn contains(&self, hash: KeyHash) -> bool {
        self.delta.contains(hash)
    }
}

/// How far the filter may be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trust {
    /// No rebuild has finished yet.
    Loading,
    /// A rebuild that began after every doubt has been swapped in.
    Trusted,
    /// Writers that bypass the gate are, or were, at work; the next rebuild restores trust.
    Distrusted,
    /// An answer Absent was found to be wrong: somebody creates keys unannounced. The next rebuild restores trust, but find out who it is.
    WrongAbsence,
    /// The exclusive lock was lost. Never trusted again.
    LockLost,
}

pub(crate) struct State {
    pub(crate) epoch: u64,
    pub(crate) current: Option<Arc<Generation>>,
    pub(crate) building: Option<Arc<Building>>,
    pub(crate) guards: u32,
    pub(crate) trust: Trust,
    /// No COMMIT of a predecessor can be in flight any more. Until then nothing absent is remembered, and no filter is trusted.
    pub(crate) ready: bool,
    /// A scan that begins before this moment may, by its lag, miss what was written unannounced, and so does not restore trust.
    pub(crate) seen_from: Timestamp,
}

impl State {
    /// The start: loading, everything is possible. Epochs begin at 1, so that no token of missing state matches.
    pub(crate) fn loading(ready: bool, seen_from: Timestamp) -> Self {
        Self { epoch: 1, current: None, building: None, guards: 0, trust: Trust::Loading, ready, seen_from }
    }

    /// A copy to change.
    pub(crate) fn copy(&self) -> Self {
        let (current, building) = (self.current.clone(), self.building.clone());
        Self { epoch: self.epoch, current, building, guards: self.guards, trust: self.trust, ready: self.ready, seen_from: self.seen_from }
    }
}
