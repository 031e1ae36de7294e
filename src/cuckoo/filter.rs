//! [`CuckooFilter`]: the filter for one writer. A thin shell: a shape, a table, a count, and a hasher where keys and not only hashes are given.

use super::bucket::{Lanes, NARROW, SLOTS, Table};
use super::builder::CuckooBuilder;
use super::error::{CuckooError, GrowError};
use super::geometry::Place;
use super::relocate::crowd_in;
use super::shape::Shape;
use crate::filter::{Insert, InsertError, Membership, Remove, batch};
use crate::kernel::{self, Asked, Kernel, fetch};
use crate::key::{HasherFingerprint, Key, KeyHash, KeyHasher};
use crate::params::{Capacity, ParamError};
use bitvec::vec::BitVec;
use std::fmt;
use std::sync::Arc;

/// A set of keys from which keys can be removed, and which may err towards "maybe": `contains` is false only for keys that are not in it.
///
/// It keeps a fingerprint of each key, in one of two buckets of four. For strangers `contains` is true at a rate below the one that was asked for. It
/// holds as many distinct keys as its capacity, and some more; where there is no room, [`insert`](Self::insert) returns an error and **nothing is
/// lost**: all that was accepted before is still found.
///
/// A question costs one hash and two places in memory, whose cache misses overlap, whatever the rate. Memory is f / 0.95 bits a key from 2^13 keys
/// on, with fingerprints of f = 10 bits at 1 %, 13 at 1e-3, 17 at 1e-4, 23 at 1e-6; [`sizing`](super::sizing) has the rest, and
/// [`docs::performance`](crate::docs::performance) the times.
///
/// Keys go through a [`KeyHasher`], by default XXH3 under a random seed; hashes that were computed by the same hasher go through the `_hash` methods.
///
/// ```
/// use absentia::CuckooFilter;
///
/// let mut sessions = CuckooFilter::new(1_000_000, 0.001)?;
/// sessions.insert("session-17")?;
/// assert!(sessions.contains("session-17"));
/// assert!(sessions.remove("session-17"));
/// assert!(!sessions.contains("session-17"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Copies
///
/// A key that is inserted twice is in the filter twice, and must be removed twice. There is room for eight copies, the ninth is
/// [`CuckooError::TooManyDuplicates`]; each takes room that was meant for another key. [`insert_unique`](Self::insert_unique) does without, for keys
/// that are not removed.
///
/// # Limitations
///
/// There is no union: a fingerprint does not tell the hash that it came from, so the entries of two filters can only be put side by side, and there
/// is no room for them. No `Extend`, which could not return an error: [`try_extend`](Self::try_extend). No `PartialEq`: where a fingerprint lies
/// depends on the order of inserts. It does not [grow](Self::grow) by itself.
#[derive(Clone)]
pub struct CuckooFilter<H = KeyHasher> {
    shape: Shape,
    table: Table,
    len: u64,
    hasher: H,
}

/// The same for buckets that fit in a `u64` and for those that take a `u128`.
macro_rules! by_width {
    ($filter:ident.$op:ident($($arg:expr),*)) => {
        if $filter.shape.plan.width <= NARROW { $filter.$op::<u64>($($arg),*) } else { $filter.$op::<u128>($($arg),*) }
    };
}

impl CuckooFilter {
    /// A filter for `capacity` distinct keys at false-positive rate `p`, with a new random hasher.
    ///
    /// # Errors
    ///
    /// As for [`CuckooBuilder::build`].
    pub fn new(capacity: u64, p: f64) -> Result<Self, ParamError> {
        Self::builder().capacity(capacity).fpr(p).build()
    }

    /// Every other choice.
    pub fn builder() -> CuckooBuilder {
        CuckooBuilder::default()
    }

    /// Adds a copy of `key`.
    ///
    /// # Errors
    ///
    /// [`CuckooError`], and every byte is as it was.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<(), CuckooError> {
        self.insert_hash(self.hasher.hash(key))
    }

    /// Adds `key` unless it seems to be there; true where it was added.
    ///
    /// **Not for keys that are removed later**: what is there may be the fingerprint of another key, and the removal of either would take both.
    ///
    /// # Errors
    ///
    /// As for [`insert`](Self::insert).
    #[inline]
    pub fn insert_unique<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool, CuckooError> {
        self.insert_unique_hash(self.hasher.hash(key))
    }

    /// `false` means that `key` is not in the filter; `true`, that it is, or a false positive.
    #[inline]
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_hash(self.hasher.hash(key))
    }

    /// Takes one copy of `key` out, true where there was one. **Removing a key that was never inserted takes out another one's fingerprint, if it is
    /// a false positive, and `contains` then denies a key that is there.** So remove only what you know to be in.
    #[inline]
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.remove_hash(self.hasher.hash(key))
    }

    /// How many copies of `key` there are, 0 to 8: never too few, and too many as often as a stranger is a false positive.
    #[inline]
    #[must_use]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u32 {
        self.count_hash(self.hasher.hash(key))
    }

    /// [`insert`](Self::insert) for every key, in order, with overlapping cache misses.
    ///
    /// # Errors
    ///
    /// The first that there is. The keys before that one are in the filter, it and those after it are not; [`len`](Self::len) tells how many.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> Result<(), CuckooError> {
        self.try_extend(keys).map(|_| ())
    }

    /// [`contains`](Self::contains) for every key, a bit each. Its cache misses overlap: two to three times as fast where the filter is large.
    #[must_use]
    pub fn contains_batch<K: Key>(&self, keys: &[K]) -> BitVec {
        batch::key_answers(self.hasher, keys, |hashes, answers| self.ask(hashes, answers))
    }

    /// [`insert`](Self::insert) for every key of an iterator, and how many there were.
    ///
    /// # Errors
    ///
    /// As for [`insert_batch`](Self::insert_batch). Up to 512 keys that were taken from the iterator are then not in the filter; nor are they where
    /// the iterator panics.
    pub fn try_extend<K: Key>(&mut self, keys: impl IntoIterator<Item = K>) -> Result<u64, CuckooError> {
        let hasher = self.hasher;
        self.try_extend_hashes(keys.into_iter().map(|key| hasher.hash(&key)))
    }

    /// Becomes a filter for `capacity` keys of the same rate, memory limit and hasher, filled from `keys`: everything that is in the filter, each key
    /// as often as it has copies, and new ones besides if you like.
    ///
    /// The keys are needed because a filter of twice the size has its buckets chosen by one more bit of the hash, which a fingerprint does not hold.
    /// (To keep such bits would cost one a key for every doubling.) Both filters are in memory meanwhile.
    ///
    /// # Errors
    ///
    /// [`GrowError`], and the filter is as it was. Fewer keys than it holds are an error; that they are the right ones cannot be checked.
    pub fn grow<K: Key>(&mut self, capacity: u64, keys: impl IntoIterator<Item = K>) -> Result<(), GrowError> {
        let hasher = self.hasher;
        let shape = self.shape.for_capacity(Capacity::new(capacity))?;
        let mut larger = Self::with_shape(shape, self.shape.limit, hasher)?;
        let given = larger.try_extend(keys)?;
        if given < self.len {
            return Err(GrowError::KeysMissing { held: self.len, given });
        }
        *self = larger;
        Ok(())
    }

    /// The hasher of this filter, for hashes that are computed once and given to several filters.
    #[must_use]
    pub fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }
}

impl<H> CuckooFilter<H> {
    pub(super) fn with_shape(shape: Shape, memory_limit: u64, hasher: H) -> Result<Self, ParamError> {
        let table = Table::new(shape.plan.buckets, shape.plan.width, memory_limit)?;
        Ok(Self { shape, table, len: 0, hasher })
    }

    /// Adds a copy of a key by its hash, which must come from a hasher of this filter's fingerprint.
    ///
    /// # Errors
    ///
    /// [`CuckooError`], and every byte is as it was.
    #[inline]
    pub fn insert_hash(&mut self, hash: KeyHash) -> Result<(), CuckooError> {
        let place = self.shape.geometry.place(hash);
        by_width!(self.put(place))
    }

    /// [`insert_unique`](CuckooFilter::insert_unique) by hash.
    ///
    /// # Errors
    ///
    /// As there.
    #[inline]
    pub fn insert_unique_hash(&mut self, hash: KeyHash) -> Result<bool, CuckooError> {
        if self.contains_hash(hash) { Ok(false) } else { self.insert_hash(hash).map(|()| true) }
    }

    /// `false` means that no key of this hash is in the filter.
    #[inline]
    #[must_use]
    pub fn contains_hash(&self, hash: KeyHash) -> bool {
        let place = self.shape.geometry.place(hash);
        by_width!(self.has(place))
    }

    /// [`remove`](CuckooFilter::remove) by hash: **of a hash that was never inserted it may take out another one's fingerprint.**
    #[inline]
    pub fn remove_hash(&mut self, hash: KeyHash) -> bool {
        let place = self.shape.geometry.place(hash);
        by_width!(self.take(place))
    }

    /// [`count`](CuckooFilter::count) by hash.
    #[inline]
    #[must_use]
    pub fn count_hash(&self, hash: KeyHash) -> u32 {
        let place = self.shape.geometry.place(hash);
        by_width!(self.copies(place))
    }

    /// [`insert_batch`](CuckooFilter::insert_batch) by hash.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn insert_hash_batch(&mut self, hashes: &[KeyHash]) -> Result<(), CuckooError> {
        self.shape.kernel.run(|| by_width!(self.put_all(hashes)))
    }

    /// [`contains_hash`](Self::contains_hash) for every hash, a bit each.
    #[must_use]
    pub fn contains_hash_batch(&self, hashes: &[KeyHash]) -> BitVec {
        batch::answers(hashes, |hashes, answers| self.ask(hashes, answers))
    }

    /// [`try_extend`](CuckooFilter::try_extend) by hash.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn try_extend_hashes(&mut self, hashes: impl IntoIterator<Item = KeyHash>) -> Result<u64, CuckooError> {
        let before = self.len;
        batch::try_in_chunks(hashes, |hashes| self.insert_hash_batch(hashes))?;
        Ok(self.len - before)
    }

    #[inline(always)]
    fn has<L: Lanes>(&self, place: Place) -> bool {
        self.table.either_has::<L>([place.home, place.other], place.fingerprint)
    }

    #[inline(always)]
    fn put<L: Lanes>(&mut self, place: Place) -> Result<(), CuckooError> {
        let (home, other) = (self.table.find::<L>(place.home, 0), self.table.find::<L>(place.other, 0));
        let emptier = usize::from(other.seems_more_than(home));
        let (empty, bucket) = ([home, other][emptier], [place.home, place.other][emptier]);
        if empty.is_none() {
            self.crowd_in::<L>(place)?;
        } else {
            self.table.fill_first::<L>(bucket, empty, place.fingerprint);
        }
        self.len += 1;
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn crowd_in<L: Lanes>(&mut self, place: Place) -> Result<(), CuckooError> {
        if crowd_in::<L>(&mut self.table, self.shape.geometry, place) {
            return Ok(());
        }
        let copies = self.copies::<L>(place);
        if copies == 2 * SLOTS as u32 {
            Err(CuckooError::TooManyDuplicates { copies })
        } else {
            Err(CuckooError::Full { len: self.len, capacity: self.shape.capacity })
        }
    }

    #[inline(always)]
    fn take<L: Lanes>(&mut self, place: Place) -> bool {
        let (home, other) = (self.table.find::<L>(place.home, place.fingerprint), self.table.find::<L>(place.other, place.fingerprint));
        // By index and not by a branch, which nobody could foresee.
        let second = usize::from(home.is_none());
        let (found, bucket) = ([home, other][second], [place.home, place.other][second]);
        if found.is_none() {
            return false;
        }
        self.table.empty_first::<L>(bucket, found);
        self.len -= 1;
        true
    }

    #[inline(always)]
    fn copies<L: Lanes>(&self, place: Place) -> u32 {
        self.table.find::<L>(place.home, place.fingerprint).count() + self.table.find::<L>(place.other, place.fingerprint).count()
    }

    fn ask(&self, hashes: &[KeyHash], answers: &mut [usize]) {
        if self.table.is_cached() {
            by_width!(self.has_each(hashes, answers));
        } else {
            self.shape.kernel.run(|| by_width!(self.has_ahead(hashes, answers)));
        }
    }

    fn has_each<L: Lanes>(&self, hashes: &[KeyHash], answers: &mut [usize]) {
        kernel::each(hashes, answers, |hash| self.has::<L>(self.shape.geometry.place(hash)));
    }

    #[inline(always)]
    fn has_ahead<L: Lanes>(&self, hashes: &[KeyHash], answers: &mut [usize]) {
        let ask = |filter: &&Self, hash: KeyHash| {
            let place = filter.ask_for(hash);
            Asked { lines: [place.home, place.other], second: u64::from(place.fingerprint) }
        };
        let has = |filter: &mut &Self, asked: Asked<2>| {
            filter.has::<L>(Place { fingerprint: asked.second as u32, home: asked.lines[0], other: asked.lines[1] })
        };
        let mut filter = self;
        kernel::batch(&mut filter, hashes, answers, ask, has);
    }

    /// The place of a hash, whose buckets are on their way from then on.
    #[inline(always)]
    fn ask_for(&self, hash: KeyHash) -> Place {
        let place = self.shape.geometry.place(hash);
        fetch(self.table.first_byte(place.home));
        fetch(self.table.first_byte(place.other));
        place
    }

    #[inline(always)]
    fn put_all<L: Lanes>(&mut self, hashes: &[KeyHash]) -> Result<(), CuckooError> {
        /// Keys that are asked for while as many others are inserted.
        const STEP: usize = 16;
        let mut rows = [[Place { fingerprint: 0, home: 0, other: 0 }; STEP]; 2];
        let mut coming = hashes.chunks(STEP);
        for (number, step) in std::iter::once(&[][..]).chain(hashes.chunks(STEP)).enumerate() {
            for (place, &hash) in rows[(number + 1) % 2].iter_mut().zip(coming.next().unwrap_or(&[])) {
                *place = self.ask_for(hash);
            }
            for &place in &rows[number % 2][..step.len()] {
                self.put::<L>(place)?;
            }
        }
        Ok(())
    }

    /// Forgets every key. Parameters, hasher and memory stay.
    pub fn clear(&mut self) {
        self.table.clear();
        self.len = 0;
    }

    /// How many copies are in the filter, exactly: inserts that were accepted less removals that found something.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
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

    /// The share of slots that are taken.
    #[must_use]
    pub fn load_factor(&self) -> f64 {
        self.shape.load_factor(self.len)
    }

    /// [`load_factor`](Self::load_factor) by the name that other kinds have for it.
    #[must_use]
    pub fn fill_ratio(&self) -> f64 {
        self.load_factor()
    }

    /// Bits of filter memory: [`slots`](Self::slots) times [`fingerprint_bits`](Self::fingerprint_bits).
    #[must_use]
    pub fn bits(&self) -> u64 {
        self.slots() * u64::from(self.fingerprint_bits())
    }

    /// Bytes of filter memory: an eighth of [`bits`](Self::bits) and 16 more.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.table.bytes().len() as u64
    }

    /// Bits over capacity; a capacity of 0 counts as 1.
    #[must_use]
    pub fn bits_per_key(&self) -> f64 {
        self.shape.per_key(self.bits())
    }

    /// The false-positive rate at the present load: [`sizing::false_positive_rate`](super::sizing::false_positive_rate). Costs nothing. With many
    /// copies of few keys the rate is lower.
    #[must_use]
    pub fn estimated_fpr(&self) -> f64 {
        self.shape.estimated_fpr(self.len)
    }

    /// The false-positive rate with as many keys as the capacity.
    #[must_use]
    pub fn predicted_fpr(&self) -> f64 {
        self.shape.plan.predicted_fpr
    }

    /// Whether it holds more keys than it was sized for, or its rate is above the one asked for, as an overfull one's may be.
    #[must_use]
    pub fn is_saturated(&self) -> bool {
        self.shape.is_saturated(self.len)
    }

    /// Which instruction set the batches run on.
    #[must_use]
    pub fn kernel(&self) -> Kernel {
        self.shape.kernel
    }

    /// Its name: `portable`, `avx2`, `avx512` or `neon`. The second and third are one and the same here, the last is the first.
    #[must_use]
    pub fn kernel_name(&self) -> &'static str {
        self.shape.kernel.name()
    }

    /// Takes the filter apart, for whoever keeps its fingerprints in another form.
    pub(super) fn into_parts(self) -> (Shape, Table, u64, H) {
        (self.shape, self.table, self.len, self.hasher)
    }

    pub(super) fn shape_and_hasher(&self) -> (Shape, H)
    where
        H: Clone,
    {
        (self.shape.clone(), self.hasher.clone())
    }

    #[cfg(all(test, not(absentia_loom)))]
    pub(super) fn image(&self) -> &[u8] {
        self.table.bytes()
    }
}

/// Shows kind, bits, width and load; never the fingerprints or the secret.
impl<H> fmt::Debug for CuckooFilter<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shape.debug(f, "CuckooFilter", self.bits(), self.len)
    }
}

impl<H: Send + Sync> Membership for CuckooFilter<H> {
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
}

/// Frozen, it is read-only; [`CuckooFactory`](super::CuckooFactory) makes bases from which a gate can retire keys.
impl<H: Send + Sync + 'static> Insert for CuckooFilter<H> {
    fn insert_hash(&mut self, hash: KeyHash) -> Result<(), InsertError> {
        Ok(self.insert_hash(hash)?)
    }

    fn insert_hash_batch(&mut self, hashes: &[KeyHash]) -> Result<(), InsertError> {
        Ok(self.insert_hash_batch(hashes)?)
    }

    fn freeze(self: Box<Self>) -> Arc<dyn Membership> {
        Arc::new(*self)
    }
}

impl<H: Send + Sync> Remove for CuckooFilter<H> {
    fn remove_hash(&mut self, hash: KeyHash) -> bool {
        self.remove_hash(hash)
    }
}
