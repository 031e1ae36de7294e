//! [`MemoryStore`]: entries in this process, sharded, bounded, values and absences apart.
//!
//! A shard is one lock around two rings, one for values and one for tombstones, each with its own byte budget. That is why a flood of ids that do
//! not exist cannot push out what does: it is another ring. A ring evicts by CLOCK (Corbató 1968): a hand goes round, spares what was used since it
//! last came by, and takes what was not. Its table holds slot numbers only and takes the hash that the gate computed, so a key is stored once and
//! hashed not at all; the key itself is compared.

use super::{Entry, Put, Store, StoreError};
use crate::loader::{CacheKey, CacheValue, Hashed};
use crate::sync::{Mutex, lock};
use hashbrown::HashTable;
use std::fmt;
use std::sync::Arc;

struct Slot<K, V> {
    key: K,
    hash: u64,
    entry: Entry<V>,
    bytes: usize,
    used: bool,
}

/// One kind of entry of one shard: a table of slot numbers over a slab with a clock hand.
struct Ring<K, V> {
    table: HashTable<u32>,
    slots: Vec<Option<Slot<K, V>>>,
    free: Vec<u32>,
    hand: usize,
    bytes: usize,
    budget: usize,
    evictions: u64,
}

impl<K: CacheKey, V: CacheValue> Ring<K, V> {
    fn new(budget: usize) -> Self {
        Self { table: HashTable::new(), slots: Vec::new(), free: Vec::new(), hand: 0, bytes: 0, budget, evictions: 0 }
    }

    fn find(&self, key: Hashed<'_, K>) -> Option<u32> {
        let is_key = |slot: &u32| self.slots[*slot as usize].as_ref().is_some_and(|s| s.key == *key.key);
        self.table.find(key.hash.first(), is_key).copied()
    }

    fn get(&mut self, key: Hashed<'_, K>) -> Option<Entry<V>> {
        let slot = self.find(key)?;
        let slot = self.slots[slot as usize].as_mut()?;
        slot.used = true;
        Some(slot.entry.clone())
    }

    fn remove(&mut self, key: Hashed<'_, K>) -> bool {
        self.find(key).is_some_and(|slot| self.take(slot as usize))
    }

    /// Empties a slot and gives back its bytes.
    fn take(&mut self, index: usize) -> bool {
        let Some(slot) = self.slots[index].take() else { return false };
        if let Ok(found) = self.table.find_entry(slot.hash, |i| *i as usize == index) {
            found.remove();
        }
        self.bytes -= slot.bytes;
        self.free.push(index as u32);
        true
    }

    /// False where it does not fit at all.
    fn put(&mut self, key: Hashed<'_, K>, entry: Entry<V>, bytes: usize) -> bool {
        self.remove(key);
        if bytes > self.budget {
            return false;
        }
        // Neither is above the budget, so the difference exists.
        while self.bytes > self.budget - bytes {
            self.evict_one();
        }
        let slot = Slot { key: key.key.clone(), hash: key.hash.first(), entry, bytes, used: false };
        let index = match self.free.pop() {
            Some(index) => {
                self.slots[index as usize] = Some(slot);
                index
            }
            None => {
                if self.slots.len() == self.slots.capacity() {
                    // By a quarter and not by doubling: `overhead` reckons with the unused part.
                    self.slots.reserve_exact(self.slots.len() / 4 + 4);
                }
                self.slots.push(Some(slot));
                (self.slots.len() - 1) as u32
            }
        };
        self.bytes += bytes;
        let slots = &self.slots;
        self.table.insert_unique(key.hash.first(), index, |i| slots[*i as usize].as_ref().map_or(0, |s| s.hash));
        true
    }

    /// Ends, because the second time round no slot is spared. Called only where something is stored.
    fn evict_one(&mut self) {
        loop {
            self.hand = (self.hand + 1) % self.slots.len();
            match &mut self.slots[self.hand] {
                Some(slot) if slot.used => slot.used = false,
                Some(_) => {
                    self.take(self.hand);
                    self.evictions += 1;
                    return;
                }
                None => {}
            }
        }
    }
}

struct Shard<K, V> {
    positive: Ring<K, V>,
    negative: Ring<K, V>,
}

type KeyWeigher<K> = Arc<dyn Fn(&K) -> usize + Send + Sync>;
type Weigher<K, V> = Arc<dyn Fn(&K, &V) -> usize + Send + Sync>;

/// What an entry costs besides what its key and its value own: the slot and the unused quarter behind it, its number in the table (4 bytes and a
/// tag in at most 16/7 as many buckets), its number in the free list, and 16 bytes that an allocator adds to what the key owns. A guess on the high
/// side, so that a budget is not exceeded.
fn overhead<K, V>() -> usize {
    size_of::<Option<Slot<K, V>>>() * 5 / 4 + 12 + 4 + 16
}

/// Entries in this process: one lock per shard, values and absences in separate byte budgets.
///
/// A hit costs one uncontended lock, one table probe, a comparison of the key and a clone of the value. Clones of a store share their entries.
pub struct MemoryStore<K, V> {
    inner: Arc<Inner<K, V>>,
}

struct Inner<K, V> {
    shards: Box<[Mutex<Shard<K, V>>]>,
    weigher: Option<Weigher<K, V>>,
    key_weigher: Option<KeyWeigher<K>>,
}

/// Sizes a [`MemoryStore`].
pub struct MemoryStoreBuilder<K, V> {
    positive_bytes: usize,
    negative_bytes: usize,
    shards: usize,
    weigher: Option<Weigher<K, V>>,
    key_weigher: Option<KeyWeigher<K>>,
}

impl<K: CacheKey, V: CacheValue> MemoryStoreBuilder<K, V> {
    /// Budget for values, in bytes (default 64 MiB). Zero: values are not stored.
    #[must_use]
    pub fn positive_bytes(mut self, bytes: usize) -> Self {
        self.positive_bytes = bytes;
        self
    }

    /// Budget for absences, in bytes (default 8 MiB). Zero: absences are not stored.
    #[must_use]
    pub fn negative_bytes(mut self, bytes: usize) -> Self {
        self.negative_bytes = bytes;
        self
    }

    /// Number of locks, rounded up to a power of two (default 64). Each shard has its part of both budgets; where that part would be under 4 KiB
    /// there are fewer shards.
    #[must_use]
    pub fn shards(mut self, shards: usize) -> Self {
        self.shards = shards.clamp(1, 1 << 16);
        self
    }

    /// What a value weighs in bytes, beyond its own `size_of`: what it owns on the heap. Default nothing, so say it for values that own much.
    #[must_use]
    pub fn weigher(mut self, heap_bytes: impl Fn(&K, &V) -> usize + Send + Sync + 'static) -> Self {
        self.weigher = Some(Arc::new(heap_bytes));
        self
    }

    /// What a key owns on the heap, in bytes. Default the length of its [`Key`](crate::Key) bytes, so say it for keys that hold more than what makes
    /// them the same key.
    #[must_use]
    pub fn key_weigher(mut self, heap_bytes: impl Fn(&K) -> usize + Send + Sync + 'static) -> Self {
        self.key_weigher = Some(Arc::new(heap_bytes));
        self
    }

    /// Makes the store, empty.
    #[must_use]
    pub fn build(self) -> MemoryStore<K, V> {
        let least = [self.positive_bytes, self.negative_bytes].into_iter().filter(|budget| *budget > 0).min().unwrap_or(0);
        let mut count = self.shards.next_power_of_two();
        while count > 1 && least / count < 4096 {
            count /= 2;
        }
        let (positive, negative) = (self.positive_bytes / count, self.negative_bytes / count);
        let shards = (0..count).map(|_| Mutex::new(Shard { positive: Ring::new(positive), negative: Ring::new(negative) })).collect();
        MemoryStore { inner: Arc::new(Inner { shards, weigher: self.weigher, key_weigher: self.key_weigher }) }
    }
}

/// What a [`MemoryStore`] holds, summed over its shards one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryStoreStats {
    /// Values.
    pub positive_entries: usize,
    /// Bytes of values, by the store's own reckoning.
    pub positive_bytes: usize,
    /// Values evicted for room.
    pub positive_evictions: u64,
    /// Absences.
    pub negative_entries: usize,
    /// Bytes of absences.
    pub negative_bytes: usize,
    /// Absences evicted for room.
    pub negative_evictions: u64,
}

impl<K: CacheKey, V: CacheValue> MemoryStore<K, V> {
    /// A store with the default budgets: 64 MiB for values, 8 MiB for absences.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Sizes one.
    #[must_use]
    pub fn builder() -> MemoryStoreBuilder<K, V> {
        MemoryStoreBuilder { positive_bytes: 64 << 20, negative_bytes: 8 << 20, shards: 64, weigher: None, key_weigher: None }
    }

    fn shard(&self, key: Hashed<'_, K>) -> &Mutex<Shard<K, V>> {
        // Bits 32 and up of the first hash: the table inside the shard uses its ends, the fence stripes its low bits.
        &self.inner.shards[(key.hash.first() >> 32) as usize & (self.inner.shards.len() - 1)]
    }

    fn get_now(&self, key: Hashed<'_, K>) -> Option<Entry<V>> {
        let mut shard = lock(self.shard(key));
        // At most one of the rings has it: `put_now` and `remove_now` touch both.
        shard.positive.get(key).or_else(|| shard.negative.get(key))
    }

    fn put_now(&self, key: Hashed<'_, K>, entry: Entry<V>, still_valid: &(dyn Fn() -> bool + Sync)) -> Put {
        let owned = self.inner.key_weigher.as_ref().map_or_else(|| key.key.with_bytes(<[u8]>::len), |weigh| weigh(key.key));
        let bytes = overhead::<K, V>().saturating_add(owned);
        let mut shard = lock(self.shard(key));
        // Under the lock: a write raises its fence and then removes. If its removal came before, the raise did too, and this says no; if this says
        // yes, the removal is still to come.
        if !still_valid() {
            return Put::Stale;
        }
        let Shard { positive, negative } = &mut *shard;
        let stored = match &entry.state {
            super::EntryState::Present(value) => {
                let bytes = bytes.saturating_add(self.inner.weigher.as_ref().map_or(0, |weigh| weigh(key.key, value)));
                negative.remove(key);
                positive.put(key, entry, bytes)
            }
            super::EntryState::Absent => {
                positive.remove(key);
                negative.put(key, entry, bytes)
            }
        };
        if stored { Put::Stored } else { Put::NoRoom }
    }

    fn remove_now(&self, key: Hashed<'_, K>) {
        let mut shard = lock(self.shard(key));
        shard.positive.remove(key);
        shard.negative.remove(key);
    }

    /// What it holds now.
    #[must_use]
    pub fn stats(&self) -> MemoryStoreStats {
        self.inner.shards.iter().fold(MemoryStoreStats::default(), |sum, shard| {
            let shard = lock(shard);
            MemoryStoreStats {
                positive_entries: sum.positive_entries + shard.positive.table.len(),
                positive_bytes: sum.positive_bytes + shard.positive.bytes,
                positive_evictions: sum.positive_evictions + shard.positive.evictions,
                negative_entries: sum.negative_entries + shard.negative.table.len(),
                negative_bytes: sum.negative_bytes + shard.negative.bytes,
                negative_evictions: sum.negative_evictions + shard.negative.evictions,
            }
        })
    }
}

impl<K: CacheKey, V: CacheValue> Default for MemoryStore<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V> Clone for MemoryStore<K, V> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<K: CacheKey, V: CacheValue> Store<K, V> for MemoryStore<K, V> {
    async fn get(&self, key: Hashed<'_, K>) -> Result<Option<Entry<V>>, StoreError> {
        Ok(self.get_now(key))
    }

    async fn put(&self, key: Hashed<'_, K>, entry: Entry<V>, still_valid: &(dyn Fn() -> bool + Sync)) -> Result<Put, StoreError> {
        Ok(self.put_now(key, entry, still_valid))
    }

    async fn remove(&self, key: Hashed<'_, K>) -> Result<(), StoreError> {
        self.remove_now(key);
        Ok(())
    }
}

impl<K: CacheKey, V: CacheValue> fmt::Debug for MemoryStore<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("shards", &self.inner.shards.len()).field("stats", &self.stats()).finish()
    }
}

impl<K, V> fmt::Debug for MemoryStoreBuilder<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStoreBuilder")
            .field("positive_bytes", &self.positive_bytes)
            .field("negative_bytes", &self.negative_bytes)
            .field("shards", &self.shards)
            .finish_non_exhaustive()
    }
}
