//! Writes whose outcome nobody reported: [`Unresolved`]. Their fences stay up until time and the primary have decided.
//!
//! A guard that is dropped (a cancelled task, a panic), or an error that may hide a COMMIT (a connection that died after it was sent), leaves the gate
//! not knowing whether the key exists now, *or will in a moment*. So the key stays pending and fenced: lookups of it read the source and remember
//! nothing, and rebuilds copy it. After `max_transaction` no COMMIT of it can land any more; then one read of the primary settles what happened, and
//! either answer lowers the fence. The bits stay: at worst one more false positive (I11).

use super::ExistenceGate;
use crate::key::KeyHash;
use crate::loader::{CacheKey, CacheValue, Event, Freshness, Hashed};
use crate::sync::lock;
use crate::time::Timestamp;

/// What is still up.
pub(super) enum Held<K> {
    /// A write of this key: pending and fenced.
    Key(K, KeyHash),
    /// A bulk create beyond the announce limit: the whole gate is distrusted until this is resolved.
    Distrust,
}

pub(super) struct Unresolved<K> {
    pub(super) held: Held<K>,
    pub(super) since: Timestamp,
}

/// After so many keys that could not be read the primary is taken to be down, and the rest waits for the next call: each try may take a time-out. What
/// failed goes to the front of the list, which is worked off from its end, so it does not keep others from being tried.
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
    pub(super) fn park(&self, held: Held<K>) {
        let since = self.inner.core.clock.now();
        lock(&self.inner.unresolved).push(Unresolved { held, since });
    }

    /// Settles writes whose outcome was never reported, once `max_transaction` has passed since: reads each key from the primary and lowers its fence.
    ///
    /// Stops early where the primary does not answer. The [`Rebuilder`](super::Rebuilder) calls it on each of its ticks; without one, call it now and then. Until it has run, such a key costs a read
    /// of the source per lookup, and nothing else.
    ///
    /// # Cancellation
    ///
    /// May be dropped at any await; what was not settled stays unresolved.
    pub async fn resolve_unknown(&self) -> Resolution {
        let core = &self.inner.core;
        let due = core.clock.now();
        let due: Vec<_> = {
            let mut all = lock(&self.inner.unresolved);
            all.extract_if(.., |write| due.since(write.since) >= self.inner.settings.max_transaction).collect()
        };
        let mut due = Due { gate: self, writes: due, failed: Vec::new() };
        let (mut resolved, mut failures) = (0, 0);
        while let Some(write) = due.writes.last() {
            if failures == GIVE_UP {
                break;
            }
            // Awaits come first, while the write is still in the list that a cancellation gives back; what follows them cannot be interrupted.
            let settled = match &write.held {
                Held::Distrust => true,
                Held::Key(key, hash) => self.ask_primary(key, *hash).await,
            };
            let Some(write) = due.writes.pop() else { break };
            if !settled {
                due.failed.push(write);
                failures += 1;
                continue;
            }
            match write.held {
                Held::Key(_, hash) => core.settle(hash),
                Held::Distrust => core.end_distrust(),
            }
            core.record(Event::FenceExpired);
            resolved += 1;
        }
        drop(due);
        Resolution { resolved, remaining: lock(&self.inner.unresolved).len() }
    }

    /// One read of the primary, after which the outcome is final. What it finds does not matter, that it answers does.
    async fn ask_primary(&self, key: &K, hash: KeyHash) -> bool {
        let mut context = self.context(hash);
        context.freshness = Freshness::Fresh;
        let limit = self.inner.settings.lookup_timeout;
        let asked = self.inner.core.clock.timeout(limit, self.inner.loader.load_boxed(key, &context)).await;
        // Nothing could be stored since the fence went up; this is for what a store failed to drop then.
        self.inner.loader.forget_boxed(Hashed { key, hash }, &context).await;
        matches!(asked, Some(Ok(_)))
    }
}

/// Gives back what was not settled, also where the resolver is dropped half-way.
struct Due<'a, K: CacheKey, V: CacheValue> {
    gate: &'a ExistenceGate<K, V>,
    writes: Vec<Unresolved<K>>,
    failed: Vec<Unresolved<K>>,
}

impl<K: CacheKey, V: CacheValue> Drop for Due<'_, K, V> {
    fn drop(&mut self) {
        let mut all = lock(&self.gate.inner.unresolved);
        self.failed.append(&mut self.writes);
        self.failed.append(&mut all);
        *all = std::mem::take(&mut self.failed);
    }
}
