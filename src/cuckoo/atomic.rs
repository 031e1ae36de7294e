//! [`AtomicCuckoo`]: the filter that many threads change while others ask. What is subtle about it, why no reader misses a key, is in `slots.rs`.

use super::bucket::{Lanes, NARROW, SLOTS, Table};
use super::builder::CuckooBuilder;
use super::error::CuckooError;
use super::filter::CuckooFilter;
use super::geometry::Place;
use super::shape::Shape;
use super::slots::SharedTable;
use crate::filter::{Membership, RemoveShared, batch};
use crate::kernel::{self, Asked, Kernel};
use crate::key::{HasherFingerprint, Key, KeyHash, KeyHasher};
use crate::params::ParamError;
use crate::sync::{AtomicU64, Ordering};
use bitvec::vec::BitVec;
use std::fmt;

/// A set of keys that many threads insert and remove while others ask: `contains` is false only for keys that are not in it.
///
/// Questions take no lock and write nothing. An insert or a removal is one compare-and-exchange of a word; **nothing is ever moved**, so that a
/// reader finds a key that is there at every moment. The price: an insert whose two buckets are full is [`CuckooError::Full`], where a
/// [`CuckooFilter`] would move others out of the way. So there are two ways to one:
///
/// - [`CuckooBuilder::build_atomic`] makes an empty one, with slots enough for its capacity without moves: see
///   [`sizing::plan_shared`](super::sizing::plan_shared).
/// - `AtomicCuckoo::try_from(filter)` takes over a [`CuckooFilter`] that was filled to its capacity. From there it is for asking and removing, and
///   for inserts as far as removals have made room.
///
/// A slot has 8, 16 or 32 bits. A fingerprint of another width lies in the next larger slot, and [`bits`](Self::bits) counts the slot.
///
/// ```
/// use absentia::{AtomicCuckoo, CuckooFilter};
///
/// let online = CuckooFilter::builder().capacity(1000).fpr(0.001).build_atomic()?;
/// std::thread::scope(|s| {
///     s.spawn(|| online.insert("ann"));
///     s.spawn(|| online.insert("bob"));
/// });
/// assert!(online.contains("ann") && online.contains("bob"));
/// assert!(online.remove("ann") && !online.contains("ann"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Limitations
///
/// As for [`CuckooFilter`]. There is no batch of inserts, no `try_extend` and no `grow`. There is no `insert_unique`: two callers that look and then
/// insert would both insert. No `Clone`, which would promise a copy of one moment. As a base of a gate it is made by a
/// [`CuckooFactory`](super::CuckooFactory).
pub struct AtomicCuckoo<H = KeyHasher> {
    shape: Shape,
    table: SharedTable,
    len: AtomicU64,
    hasher: H,
}

impl AtomicCuckoo {
    /// An empty filter with room for `capacity` distinct keys at false-positive rate `p`, with a new random hasher.
    ///
    /// # Errors
    ///
    /// As for [`CuckooBuilder::build`].
    pub fn new(capacity: u64, p: f64) -> Result<Self, ParamError> {
        Self::builder().capacity(capacity).fpr(p).build_atomic()
    }

    /// Every other choice; [`build_atomic`](CuckooBuilder::build_atomic) finishes it.
    pub fn builder() -> CuckooBuilder {
        CuckooBuilder::default()
    }

    /// Adds a copy of `key`. When it returns, every thread that learns of the return finds the key.
    ///
    /// # Errors
    ///
    /// [`CuckooError`], and nothing has changed.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&self, key: &K) -> Result<(), CuckooError> {
        self.insert_hash(self.hasher.hash(key))
    }

    /// `false` means that `key` is not in the filter: its insertion had not returned, or its removal had begun. `true`: it is, or a false positive.
    #[inline]
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_hash(self.hasher.hash(key))
    }

    /// Takes one copy of `key` out, true where there was one. **Removing a key that was never inserted takes out another one's fingerprint, if it is
    /// a false positive, and `contains` then denies a key that is there.** So remove only what you know to be in, and once.
    #[inline]
    pub fn remove<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.remove_hash(self.hasher.hash(key))
    }

    /// How many copies of `key` there are, 0 to 8; while others insert and remove, as of some moment in each bucket.
    #[must_use]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u32 {
        self.count_hash(self.hasher.hash(key))
    }

    /// [`contains`](Self::contains) for every key, a bit each, with overlapping cache misses.
    #[must_use]
    pub fn contains_batch<K: Key>(&self, keys: &[K]) -> BitVec {
        batch::key_answers(self.hasher, keys, |hashes, answers| self.shape.kernel.run(|| self.has_all(hashes, answers)))
    }

    /// The hasher of this filter, for hashes that are computed once and given to several filters.
    #[must_use]
    pub fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }
}

impl<H> AtomicCuckoo<H> {
    pub(super) fn with_shape(shape: Shape, memory_limit: u64, hasher: H) -> Result<Self, ParamError> {
        let table = SharedTable::new(shape.plan.buckets, shape.plan.width, memory_limit)?;
        Ok(Self { shape, table, len: AtomicU64::new(0), hasher })
    }

    /// [`insert`](AtomicCuckoo::insert) by hash, which must come from a hasher of this filter's fingerprint.
    ///
    /// # Errors
    ///
    /// As there.
    #[inline]
    pub fn insert_hash(&self, hash: KeyHash) -> Result<(), CuckooError> {
        let Place { fingerprint, home, other } = self.shape.geometry.place(hash);
        // Before the copy can be seen, so that no removal of it, rightful or not, makes less than none.
        // ORDERING: Relaxed: a count, not a signal; who takes the copy out comes after this, by the orderings of the table.
        self.len.fetch_add(1, Ordering::Relaxed);
        if self.table.put([home, other], fingerprint) {
            return Ok(());
        }
        // ORDERING: Relaxed, as above.
        self.len.fetch_sub(1, Ordering::Relaxed);
        let copies = self.table.count([home, other], fingerprint);
        if copies == 2 * SLOTS as u32 {
            Err(CuckooError::TooManyDuplicates { copies })
        } else {
            Err(CuckooError::Full { len: self.len(), capacity: self.shape.capacity })
        }
    }

    /// `false` means that no key of this hash is in the filter.
    #[inline]
    #[must_use]
    pub fn contains_hash(&self, hash: KeyHash) -> bool {
        let Place { fingerprint, home, other } = self.shape.geometry.place(hash);
        self.table.either_has([home, other], fingerprint)
    }

    /// [`remove`](AtomicCuckoo::remove) by hash: **of a hash that was never inserted it may take out another one's fingerprint.**
    #[inline]
    pub fn remove_hash(&self, hash: KeyHash) -> bool {
        let Place { fingerprint, home, other } = self.shape.geometry.place(hash);
        self.counted(self.table.take([home, other], fingerprint))
    }

    #[inline(always)]
    fn counted(&self, taken: bool) -> bool {
        if taken {
            // ORDERING: Relaxed: a count, not a signal. The insert of this copy has counted before.
            self.len.fetch_sub(1, Ordering::Relaxed);
        }
        taken
    }

    /// [`count`](AtomicCuckoo::count) by hash.
    #[must_use]
    pub fn count_hash(&self, hash: KeyHash) -> u32 {
        let Place { fingerprint, home, other } = self.shape.geometry.place(hash);
        self.table.count([home, other], fingerprint)
    }

    /// [`contains_hash`](Self::contains_hash) for every hash, a bit each.
    #[must_use]
    pub fn contains_hash_batch(&self, hashes: &[KeyHash]) -> BitVec {
        batch::answers(hashes, |hashes, answers| self.shape.kernel.run(|| self.has_all(hashes, answers)))
    }

    #[inline(always)]
    fn has_all(&self, hashes: &[KeyHash], answers: &mut [usize]) {
        let ask = |filter: &&Self, hash: KeyHash| {
            let Place { fingerprint, home, other } = filter.shape.geometry.place(hash);
            filter.table.fetch([home, other]);
            Asked { lines: [home, other], second: u64::from(fingerprint) }
        };
        let has = |filter: &mut &Self, asked: Asked<2>| filter.table.either_has(asked.lines, asked.second as u32);
        let mut filter = self;
        kernel::batch(&mut filter, hashes, answers, ask, has);
    }

    /// Forgets every key. Parameters, hasher and memory stay.
    pub fn clear(&mut self) {
        self.table.clear();
        self.len = AtomicU64::new(0);
    }

    /// How many copies are in the filter: exact when nobody is changing it.
    #[must_use]
    pub fn len(&self) -> u64 {
        // ORDERING: Relaxed: a count, not a signal.
        self.len.load(Ordering::Relaxed)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many distinct keys it was sized for.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.shape.capacity
    }

    /// Slots for fingerprints, four in each bucket.
    #[must_use]
    pub fn slots(&self) -> u64 {
        self.shape.slots()
    }

    /// Bits of a fingerprint, 7 to 32.
    #[must_use]
    pub fn fingerprint_bits(&self) -> u32 {
        self.shape.plan.width
    }

    /// Bits of a slot: 8, 16 or 32.
    #[must_use]
    pub fn slot_bits(&self) -> u32 {
        self.table.slot_bits()
    }

    /// The share of slots that are taken.
    #[must_use]
    pub fn load_factor(&self) -> f64 {
        self.shape.load_factor(self.len())
    }

    /// [`load_factor`](Self::load_factor) by the name that other kinds have for it.
    #[must_use]
    pub fn fill_ratio(&self) -> f64 {
        self.load_factor()
    }

    /// Bits of filter memory: [`slots`](Self::slots) times [`slot_bits`](Self::slot_bits).
    #[must_use]
    pub fn bits(&self) -> u64 {
        self.slots() * u64::from(self.slot_bits())
    }

    /// Bytes of filter memory: an eighth of [`bits`](Self::bits), in whole words of 8.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.table.memory_bytes()
    }

    /// Bits over capacity; a capacity of 0 counts as 1.
    #[must_use]
    pub fn bits_per_key(&self) -> f64 {
        self.shape.per_key(self.bits())
    }

    /// See [`CuckooFilter::estimated_fpr`](CuckooFilter::estimated_fpr).
    #[must_use]
    pub fn estimated_fpr(&self) -> f64 {
        self.shape.estimated_fpr(self.len())
    }

    /// The false-positive rate with as many keys as the capacity.
    #[must_use]
    pub fn predicted_fpr(&self) -> f64 {
        self.shape.plan.predicted_fpr
    }

    /// See [`CuckooFilter::is_saturated`](CuckooFilter::is_saturated).
    #[must_use]
    pub fn is_saturated(&self) -> bool {
        self.shape.is_saturated(self.len())
    }

    /// See [`CuckooFilter::kernel`](CuckooFilter::kernel).
    #[must_use]
    pub fn kernel(&self) -> Kernel {
        self.shape.kernel
    }

    /// Its name: `portable`, `avx2`, `avx512` or `neon`.
    #[must_use]
    pub fn kernel_name(&self) -> &'static str {
        self.shape.kernel.name()
    }

    /// Becomes what a filter of the same shape is. It is empty before.
    pub(super) fn take_over<G>(&mut self, filter: CuckooFilter<G>) {
        let (shape, table, len, _) = filter.into_parts();
        debug_assert!(self.is_empty() && shape.geometry == self.shape.geometry);
        if shape.plan.width <= NARROW {
            copy::<u64>(&table, &self.table)
        } else {
            copy::<u128>(&table, &self.table)
        }
        self.len = AtomicU64::new(len);
    }

    #[cfg(all(test, absentia_loom))]
    pub(super) fn remove_backwards(&self, hash: KeyHash) -> bool {
        let Place { fingerprint, home, other } = self.shape.geometry.place(hash);
        self.counted(self.table.take_backwards([home, other], fingerprint))
    }
}

fn copy<L: Lanes>(table: &Table, shared: &SharedTable) {
    table.each::<L>(|bucket, fingerprint| assert!(shared.put([bucket, bucket], fingerprint), "as many slots as before"));
}

/// Takes over a filter as it is, copies and all. Both are in memory meanwhile.
///
/// # Errors
///
/// [`ParamError`] where there is no memory.
impl<H: Clone> TryFrom<CuckooFilter<H>> for AtomicCuckoo<H> {
    type Error = ParamError;

    fn try_from(filter: CuckooFilter<H>) -> Result<Self, ParamError> {
        let (shape, hasher) = filter.shape_and_hasher();
        let mut shared = Self::with_shape(shape, u64::MAX, hasher)?;
        shared.take_over(filter);
        Ok(shared)
    }
}

/// Shows kind, bits, width and load; never the fingerprints or the secret.
impl<H> fmt::Debug for AtomicCuckoo<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shape.debug(f, "AtomicCuckoo", self.bits(), self.len())
    }
}

impl<H: Send + Sync> Membership for AtomicCuckoo<H> {
    fn contains_hash(&self, hash: KeyHash) -> bool {
        self.contains_hash(hash)
    }

    fn contains_hash_batch(&self, hashes: &[KeyHash]) -> BitVec {
        self.contains_hash_batch(hashes)
    }

    fn hasher_fingerprint(&self) -> HasherFingerprint {
        self.shape.hasher
    }

    fn capacity(&self) -> u64 {
        self.capacity()
    }

    fn estimated_fpr(&self) -> f64 {
        self.estimated_fpr()
    }

    fn memory_bytes(&self) -> u64 {
        self.memory_bytes()
    }

    fn remover(&self) -> Option<&dyn RemoveShared> {
        Some(self)
    }
}

impl<H: Send + Sync> RemoveShared for AtomicCuckoo<H> {
    fn remove_hash_shared(&self, hash: KeyHash) -> bool {
        self.remove_hash(hash)
    }
}
