//! Writes whose outcome nobody reported: [`Unresolved`]. Their fences stay up until time and the primary have decided.
//!
//! A guard that is dropped (a cancelled task, a panic), or an error that may hide a COMMIT (a connection that died after it was sent), leaves the
//! gate not knowing whether the key exists now, *or will in a moment*. So the key stays pending and fenced: lookups of it read the source and
//! remember nothing, and rebuilds copy it. After `max_transaction` no COMMIT of it can land any more; then one read of the primary settles what
//! happened, and either answer lowers the fence. The bits stay: at worst one more false positive (I11).
//!
//! A key stands here once, however often its writes failed: an earlier one is settled when a later one joins it, because the later one's wait covers
//! both. A bulk create that was too large to announce stands here as a distrust, which needs no read.

use super::ExistenceGate;
use super::rebuild::caught;
use crate::key::KeyHash;
use crate::loader::{CacheKey, CacheValue, Event, Evidence, Freshness, Hashed, Loaded, Origin};
use crate::sync::lock;
use crate::time::Timestamp;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// A fenced and pending key.
pub(super) struct Write<K> {
    key: K,
    hash: KeyHash,
    since: Timestamp,
    /// How often its key could not be read. Those that failed least are tried first.
    tries: u32,
}

/// What waits to be resolved.
pub(super) struct Unresolved<K> {
    writes: HashTable<Write<K>>,
    /// Since when a bulk create has kept the gate distrusted.
    distrusts: Vec<Timestamp>,
}

impl<K: CacheKey> Unresolved<K> {
    pub(super) fn new() -> Self {
        Self { writes: HashTable::new(), distrusts: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.writes.len() + self.distrusts.len()
    }

    /// True where the key was there already, so that one of its two fences is to be lowered.
    fn add(&mut self, write: Write<K>) -> bool {
        let hash = write.hash.first();
        match self.writes.entry(hash, |other| other.key == write.key, |other| other.hash.first()) {
            Entry::Occupied(mut same) => {
                let same = same.get_mut();
                same.since = same.since.max(write.since);
                true
            }
            Entry::Vacant(free) => {
                free.insert(write);
                false
            }
        }
    }
}

/// After so many keys that could not be read the primary is taken to be down, and the rest waits for the next call: each try may take a time-out.
const GIVE_UP: u32 = 3;

/// What [`ExistenceGate::resolve_unknown`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resolution {
    /// Writes whose fences were lowered.
    pub resolved: usize,
    /// Writes that are too young, or whose key could not be read from the primary.
    pub remaining: usize,
}

impl<K: CacheKey, V: CacheValue> ExistenceGate<K, V> {
    /// Nobody said how the write of this key ended.
    pub(super) fn park_write(&self, key: K, hash: KeyHash) {
        let since = self.inner.core.clock.now();
        self.give_back(Write { key, hash, since, tries: 0 });
    }

    fn give_back(&self, write: Write<K>) {
        let hash = write.hash;
        if lock(&self.inner.unresolved).add(write) {
            self.inner.core.settle(hash);
        }
    }

    /// Nobody said how a bulk create ended that was too large to announce.
    pub(super) fn park_distrust(&self) {
        let since = self.inner.core.clock.now();
        lock(&self.inner.unresolved).distrusts.push(since);
    }

    /// Settles writes whose outcome was never reported, once `max_transaction` has passed since: reads each key from the primary and lowers its
    /// fence.
    ///
    /// Stops early where the primary does not answer. The [`Rebuilder`](super::Rebuilder) calls it on each of its ticks; without one, call it now and
    /// then. Until it has run, such a key costs a read of the source per lookup, and nothing else. A read that panics counts as one that failed.
    ///
    /// # Cancellation
    ///
    /// May be dropped at any await; what was not settled stays unresolved.
    pub async fn resolve_unknown(&self) -> Resolution {
        let core = &self.inner.core;
        let now = core.clock.now();
        let is_due = |since: Timestamp| now.since(since) >= self.inner.settings.max_transaction;
        let (ended, mut writes) = {
            let mut all = lock(&self.inner.unresolved);
            let ended = all.distrusts.extract_if(.., |since| is_due(*since)).count();
            let writes: Vec<_> = all.writes.extract_if(|write| is_due(write.since)).collect();
            (ended, writes)
        };
        for _ in 0..ended {
            core.end_distrust();
            core.record(Event::FenceExpired);
        }
        // Worked off from the end.
        writes.sort_unstable_by_key(|write| std::cmp::Reverse(write.tries));
        let mut due = Due { gate: self, writes };
        let (mut resolved, mut failures) = (ended, 0);
        let mut failed = Due { gate: self, writes: Vec::new() };
        while let Some(write) = due.writes.last()
            && failures < GIVE_UP
        {
            // The await comes first, while the write is still in the list that a cancellation gives back; what follows cannot be interrupted.
            let settled = self.ask_primary(&write.key, write.hash).await;
            let Some(mut write) = due.writes.pop() else { break };
            if settled {
                core.settle(write.hash);
                core.record(Event::FenceExpired);
                resolved += 1;
            } else {
                write.tries = write.tries.saturating_add(1);
                failed.writes.push(write);
                failures += 1;
            }
        }
        drop((due, failed));
        Resolution { resolved, remaining: lock(&self.inner.unresolved).len() }
    }

    /// One read of the primary, after which the outcome is final. What it finds does not matter, that it was read does: a loader that answers from
    /// memory all the same settles nothing.
    async fn ask_primary(&self, key: &K, hash: KeyHash) -> bool {
        let mut context = self.context(hash);
        context.freshness = Freshness::Fresh;
        let limit = self.inner.settings.lookup_timeout;
        let asked = caught(async {
            let asked = self.inner.core.clock.timeout(limit, self.inner.loader.load_boxed(key, &context)).await;
            // Nothing could be stored since the fence went up; this is for what a store failed to drop then.
            self.inner.loader.forget_boxed(Hashed { key, hash }, &context).await;
            asked
        });
        let Ok(Some(Ok(found))) = asked.await else { return false };
        matches!(found, Loaded::Present { origin: Origin::Source | Origin::Replica, .. } | Loaded::Absent(Evidence::Read))
    }
}

/// Gives back what was not settled, also where the resolver is dropped half-way.
struct Due<'a, K: CacheKey, V: CacheValue> {
    gate: &'a ExistenceGate<K, V>,
    writes: Vec<Write<K>>,
}

impl<K: CacheKey, V: CacheValue> Drop for Due<'_, K, V> {
    fn drop(&mut self) {
        self.writes.drain(..).for_each(|write| self.gate.give_back(write));
    }
}
