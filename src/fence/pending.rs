//! [`Pending`]: the hashes of the keys whose creates are under way, for the rebuild to copy.
//!
//! Lock-sharded and counted, because two creates of one key may be under way. It holds hashes and not keys: all it is for is to set their bits
//! in a building filter, and two keys with one hash have the same bits. Nothing is ever concluded from a hash that is *not* here.
//!
//! Where the source of a rebuild may lag (a replica), a settled key has to stay for that lag, or a scan begun after the settle could miss the row
//! and the copy would miss the key. [`Pending::retire`] puts it into the list of recent ones *before* it leaves the shards, and [`Pending::each`]
//! reads the shards first and that list after, so a key on its way from one to the other is seen at least once.

use crate::key::KeyHash;
use crate::sync::{Mutex, lock};
use crate::time::Timestamp;
use hashbrown::HashTable;
use std::collections::VecDeque;

struct Entry {
    hash: KeyHash,
    count: u32,
}

pub(crate) struct Pending {
    shards: Box<[Mutex<HashTable<Entry>>]>,
    /// Settled keys and until when a lagging scan may miss them, oldest first.
    recent: Mutex<VecDeque<(Timestamp, KeyHash)>>,
}

impl Pending {
    pub(crate) fn new(shards: usize) -> Self {
        let shards = (0..shards.next_power_of_two()).map(|_| Mutex::new(HashTable::new())).collect();
        Self { shards, recent: Mutex::new(VecDeque::new()) }
    }

    fn shard(&self, hash: KeyHash) -> &Mutex<HashTable<Entry>> {
        // The upper half of the hash that the stripes take from below.
        &self.shards[(hash.first() >> 32) as usize & (self.shards.len() - 1)]
    }

    pub(crate) fn register(&self, hash: KeyHash) {
        let mut shard = lock(self.shard(hash));
        let entry = shard.entry(hash.first(), |e| e.hash == hash, |e| e.hash.first()).or_insert(Entry { hash, count: 0 });
        entry.into_mut().count += 1;
    }

    /// Takes one registration back. `until` keeps the key visible to rebuilds until then.
    pub(crate) fn retire(&self, hash: KeyHash, now: Timestamp, until: Option<Timestamp>) {
        if let Some(until) = until {
            let mut recent = lock(&self.recent);
            while recent.front().is_some_and(|(end, _)| *end <= now) {
                recent.pop_front();
            }
            recent.push_back((until, hash));
        }
        let mut shard = lock(self.shard(hash));
        if let Ok(mut entry) = shard.find_entry(hash.first(), |e| e.hash == hash) {
            entry.get_mut().count -= 1;
            if entry.get().count == 0 {
                entry.remove();
            }
        }
    }

    /// Calls `each` for every key that was registered before this call and is not retired, or was retired but may be missed by a lagging scan.
    pub(crate) fn each(&self, now: Timestamp, mut each: impl FnMut(KeyHash)) {
        for shard in &self.shards {
            // Collected under the lock, used outside: a create waits for the copy of one shard, not for the setting of bits.
            let hashes: Vec<KeyHash> = lock(shard).iter().map(|entry| entry.hash).collect();
            hashes.into_iter().for_each(&mut each);
        }
        let hashes: Vec<KeyHash> = lock(&self.recent).iter().filter(|(until, _)| *until > now).map(|(_, hash)| *hash).collect();
        hashes.into_iter().for_each(each);
    }

    /// Runs `f` with the hashes of all registered keys while every shard is locked, so that none can be registered meanwhile.
    pub(crate) fn frozen(&self, f: impl FnOnce(&[KeyHash])) {
        let shards: Vec<_> = self.shards.iter().map(lock).collect();
        let hashes: Vec<KeyHash> = shards.iter().flat_map(|shard| shard.iter().map(|entry| entry.hash)).collect();
        f(&hashes);
    }

    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).len()).sum()
    }
}

#[cfg(all(test, not(absentia_loom)))]
mod tests {
    use super::*;
    use std::time::Duration;

    fn hash(n: u64) -> KeyHash {
        KeyHash::from_parts(n.wrapping_mul(0x9E37_79B9_7F4A_7C15), n)
    }

    fn all(pending: &Pending, now: Timestamp) -> Vec<KeyHash> {
        let mut all = Vec::new();
        pending.each(now, |hash| all.push(hash));
        all
    }

    #[test]
    fn two_creates_of_one_key_need_two_settlements() {
        let pending = Pending::new(4);
        let now = Timestamp::default();
        pending.register(hash(1));
        pending.register(hash(1));
        pending.retire(hash(1), now, None);
        assert_eq!(all(&pending, now), [hash(1)]);
        pending.retire(hash(1), now, None);
        assert!(all(&pending, now).is_empty());
        assert_eq!(pending.len(), 0);
    }

    #[test]
    fn a_settled_key_stays_for_the_lag_of_the_scan() {
        let pending = Pending::new(4);
        let now = Timestamp::default();
        let lag = Duration::from_secs(5);
        pending.register(hash(1));
        pending.retire(hash(1), now, Some(now.plus(lag)));
        assert_eq!(all(&pending, now), [hash(1)]);
        assert!(all(&pending, now.plus(lag)).is_empty());
        pending.register(hash(2));
        pending.retire(hash(2), now.plus(lag), Some(now.plus(2 * lag)));
        assert_eq!(lock(&pending.recent).len(), 1, "what is over is dropped at the next settlement");
    }
}
