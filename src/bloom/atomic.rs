//! [`AtomicBlockedBloom`]: the filter for many writers at once. The same bits as [`BlockedBloom`], set through `&self`.
//!
//! A thin shell like its plain twin. What is subtle about it, who hears "new" and which ordering that takes, is in `bits/once.rs`.

use super::{BlockedBloom, BloomBuilder, CombineError, Kernel, occupancy::Occupancy, shape::Shape};
use crate::bits::{AtomicLine, Line, Words, insert_once};
use crate::filter::{InsertShared, Membership, batch};
use crate::key::{HasherFingerprint, Key, KeyHash, KeyHasher};
use crate::params::ParamError;
use crate::rate;
use crate::sync::Ordering;
use bitvec::vec::BitVec;
use std::fmt;

/// A set of keys that many threads fill while others ask: `contains` is false only for keys whose insertion had not returned.
///
/// Everything that [`BlockedBloom`] says of rate, memory and hashers holds here, and so does its cost: questions take no lock
/// and write nothing. An insert writes only words that lack a bit of the key, so that inserting what is there already does not disturb readers.
///
/// ```
/// use absentia::{AtomicBlockedBloom, ParamError};
///
/// let seen = AtomicBlockedBloom::new(10_000, 0.01)?;
/// let news: usize = std::thread::scope(|s| {
///     let inserts: Vec<_> = (0..4).map(|_| s.spawn(|| seen.insert("event-17"))).collect();
///     inserts.into_iter().map(|insert| usize::from(insert.join().unwrap())).sum()
/// });
/// assert_eq!(news, 1); // one of the four was first
/// assert!(seen.contains("event-17"));
/// # Ok::<(), ParamError>(())
/// ```
///
/// # Limitations
///
/// Estimates read the words one by one while others insert, and are as of some moment in between. There is no `Clone` and no `PartialEq`, which
/// would promise a copy or a comparison of one moment.
pub struct AtomicBlockedBloom<H = KeyHasher> {
    shape: Shape,
    lines: Vec<AtomicLine>,
    hasher: H,
}

impl AtomicBlockedBloom {
    /// A filter for `capacity` keys at false-positive rate `p`, with a new random hasher.
    ///
    /// # Errors
    ///
    /// As for [`BloomBuilder::build`].
    pub fn new(capacity: u64, p: f64) -> Result<Self, ParamError> {
        Self::builder().capacity(capacity).fpr(p).build_atomic()
    }

    /// Every other choice; [`build_atomic`](BloomBuilder::build_atomic) finishes it.
    pub fn builder() -> BloomBuilder {
        BloomBuilder::default()
    }

    /// Adds `key`; true where it was new, for at most one of the callers that add it at once. A false positive hears "not new".
    #[inline]
    pub fn insert<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.insert_hash(self.hasher.hash(key))
    }

    /// `false` means that no insertion of `key` had returned; `true`, that it was inserted, or a false positive.
    #[inline]
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_hash(self.hasher.hash(key))
    }

    /// Adds every key; a bit each, set where it was new. A key that comes twice is new once.
    pub fn insert_batch<K: Key>(&self, keys: &[K]) -> BitVec {
        batch::key_answers(self.hasher, keys, |hashes, answers| self.insert_all(hashes, answers))
    }

    /// [`contains`](Self::contains) for every key, a bit each.
    #[must_use]
    pub fn contains_batch<K: Key>(&self, keys: &[K]) -> BitVec {
        batch::key_answers(self.hasher, keys, |hashes, answers| self.ask(hashes, answers))
    }

    /// The hasher of this filter, for hashes that are computed once and given to several filters.
    #[must_use]
    pub fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }
}

impl<H> AtomicBlockedBloom<H> {
    pub(super) fn with_shape(shape: Shape, memory_limit: u64, hasher: H) -> Result<Self, ParamError> {
        let lines = shape.allocate(memory_limit, AtomicLine::empty)?;
        Ok(Self { shape, lines, hasher })
    }

    /// Adds a key by its hash; see [`insert`](AtomicBlockedBloom::insert). The hash must come from a hasher of this filter's fingerprint.
    #[inline]
    pub fn insert_hash(&self, hash: KeyHash) -> bool {
        // Whoever finds every bit set may say "not new" at once. A known key then costs 6 ns in place of 38, and a new one 6 more than its 50.
        !self.contains_hash(hash) && self.set(hash)
    }

    /// An insert without a look first.
    #[inline]
    fn set(&self, hash: KeyHash) -> bool {
        let Shape { layout, kernel, .. } = self.shape;
        let places = layout.places(self.lines.len(), hash);
        insert_once(places.map(|place| (&self.lines[place.line], kernel.mask(place.second, layout))))
    }

    /// `false` means that no insertion of this hash had returned.
    #[inline]
    #[must_use]
    pub fn contains_hash(&self, hash: KeyHash) -> bool {
        self.shape.kernel.contains(&self.lines, self.shape.layout, hash)
    }

    /// [`insert_hash`](Self::insert_hash) for every hash, a bit each.
    pub fn insert_hash_batch(&self, hashes: &[KeyHash]) -> BitVec {
        batch::answers(hashes, |hashes, answers| self.insert_all(hashes, answers))
    }

    /// [`contains_hash`](Self::contains_hash) for every hash, a bit each.
    #[must_use]
    pub fn contains_hash_batch(&self, hashes: &[KeyHash]) -> BitVec {
        batch::answers(hashes, |hashes, answers| self.ask(hashes, answers))
    }

    fn ask(&self, hashes: &[KeyHash], answers: &mut [usize]) {
        self.shape.kernel.contains_batch(&self.lines, self.shape.layout, hashes, answers);
    }

    /// Asks first: that overlaps the cache misses, and what is there already needs no insert.
    fn insert_all(&self, hashes: &[KeyHash], answers: &mut [usize]) {
        self.ask(hashes, answers);
        for (hashes, answer) in hashes.chunks(usize::BITS as usize).zip(answers) {
            let known = *answer;
            let insert = |(bit, &hash): (usize, &KeyHash)| usize::from(known >> bit & 1 == 0 && self.set(hash)) << bit;
            *answer = hashes.iter().enumerate().map(insert).sum();
        }
    }

    /// Forgets every key. Parameters, hasher and memory stay.
    pub fn clear(&mut self) {
        self.lines.fill_with(AtomicLine::empty);
    }

    /// How many distinct keys it was sized for.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.shape.capacity
    }

    /// Bits of filter memory.
    #[must_use]
    pub fn bits(&self) -> u64 {
        self.shape.bits()
    }

    /// Bytes of filter memory: an eighth of [`bits`](Self::bits).
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.shape.memory_bytes()
    }

    /// Bits over capacity; a capacity of 0 counts as 1.
    #[must_use]
    pub fn bits_per_key(&self) -> f64 {
        self.shape.bits_per_key()
    }

    /// Bit positions a key, in all its lines together.
    #[must_use]
    pub fn k(&self) -> u32 {
        self.shape.plan.k
    }

    /// Lines of 512 bits.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.shape.plan.lines
    }

    /// In how many lines a key has its bits, 1 or 2.
    #[must_use]
    pub fn lines_per_key(&self) -> u32 {
        self.shape.plan.lines_per_key
    }

    /// See [`BlockedBloom::fill_ratio`](BlockedBloom::fill_ratio).
    #[must_use]
    pub fn fill_ratio(&self) -> f64 {
        self.occupancy().fill_ratio()
    }

    /// See [`BlockedBloom::estimated_len`](BlockedBloom::estimated_len).
    #[must_use]
    pub fn estimated_len(&self) -> u64 {
        self.occupancy().len()
    }

    /// See [`BlockedBloom::estimated_fpr`](BlockedBloom::estimated_fpr).
    #[must_use]
    pub fn estimated_fpr(&self) -> f64 {
        self.occupancy().fpr()
    }

    /// See [`BlockedBloom::predicted_fpr`](BlockedBloom::predicted_fpr).
    #[must_use]
    pub fn predicted_fpr(&self) -> f64 {
        self.shape.plan.predicted_fpr
    }

    /// See [`BlockedBloom::is_saturated`](BlockedBloom::is_saturated).
    #[must_use]
    pub fn is_saturated(&self) -> bool {
        rate::is_saturated(self.estimated_fpr(), self.shape.promised_fpr())
    }

    /// Which inner loops serve this filter on this machine.
    #[must_use]
    pub fn kernel(&self) -> Kernel {
        self.shape.kernel
    }

    /// Its name: `portable`, `avx2`, `avx512` or `neon`.
    #[must_use]
    pub fn kernel_name(&self) -> &'static str {
        self.shape.kernel.name()
    }

    /// Adds every key of `other`, while others insert and ask; see [`BlockedBloom::union_with`]. Keys that are inserted into `other` meanwhile may
    /// or may not be among them.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn union_with<G>(&self, other: &AtomicBlockedBloom<G>) -> Result<(), CombineError> {
        self.shape.combines_with(&other.shape)?;
        for (ours, theirs) in self.lines.iter().zip(&other.lines) {
            for (index, bits) in theirs.words().into_iter().enumerate().filter(|&(_, bits)| bits != 0) {
                // ORDERING: Relaxed, as all bits are; see `bits/once.rs`. Nobody is told that a key was new.
                ours.0[index].fetch_or(bits, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// See [`BlockedBloom::intersect_with`]. It clears bits, and so takes the filter for itself.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn intersect_with<G>(&mut self, other: &AtomicBlockedBloom<G>) -> Result<(), CombineError> {
        self.shape.combines_with(&other.shape)?;
        for (ours, theirs) in self.lines.iter_mut().zip(&other.lines) {
            let (old, theirs) = (ours.words(), theirs.words());
            *ours = AtomicLine::from(Line(std::array::from_fn(|index| old[index] & theirs[index])));
        }
        Ok(())
    }

    /// See [`BlockedBloom::fold`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn fold(&mut self) -> Result<(), CombineError> {
        self.shape = self.shape.folded()?;
        for place in 0..self.lines.len() / 2 {
            let (low, high) = (self.lines[2 * place].words(), self.lines[2 * place + 1].words());
            self.lines[place] = AtomicLine::from(Line(std::array::from_fn(|word| low[word] | high[word])));
        }
        self.lines.truncate(self.lines.len() / 2);
        self.lines.shrink_to_fit();
        Ok(())
    }

    fn occupancy(&self) -> Occupancy {
        self.shape.occupancy(&self.lines)
    }
}

/// Adds keys, owned or borrowed.
impl<K: Key> Extend<K> for AtomicBlockedBloom {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        (&*self).extend(keys);
    }
}

/// Adds keys while others do: `(&filter).extend(keys)`.
impl<K: Key> Extend<K> for &AtomicBlockedBloom {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        batch::in_chunks(keys.into_iter().map(|key| self.hasher.hash(&key)), |hashes, answers| self.insert_all(hashes, answers));
    }
}

/// As for a plain filter: 1 %, sized for the keys.
///
/// # Panics
///
/// As there.
impl<K: Key> FromIterator<K> for AtomicBlockedBloom {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        BlockedBloom::from_iter(keys).into()
    }
}

/// The same filter, for many writers from now on. Costs a pass over it.
impl<H> From<BlockedBloom<H>> for AtomicBlockedBloom<H> {
    fn from(plain: BlockedBloom<H>) -> Self {
        let (shape, lines, hasher) = plain.into_parts();
        Self { shape, lines: lines.into_iter().map(AtomicLine::from).collect(), hasher }
    }
}

/// The same filter, for readers and one writer from now on: to compare, clone or look at its bits. Costs a pass over it.
impl<H> From<AtomicBlockedBloom<H>> for BlockedBloom<H> {
    fn from(shared: AtomicBlockedBloom<H>) -> Self {
        let lines = shared.lines.into_iter().map(|line| Line(line.words())).collect();
        Self::from_parts(shared.shape, lines, shared.hasher)
    }
}

/// Shows kind, bits, k, fill and kernel, which costs a pass over the filter; never the bits themselves or the secret.
impl<H> fmt::Debug for AtomicBlockedBloom<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shape.debug(f, "AtomicBlockedBloom", &self.occupancy())
    }
}

impl<H: Send + Sync> Membership for AtomicBlockedBloom<H> {
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

impl<H: Send + Sync> InsertShared for AtomicBlockedBloom<H> {
    fn insert_hash_shared(&self, hash: KeyHash) -> bool {
        self.insert_hash(hash)
    }
}

#[cfg(all(test, not(absentia_loom)))]
mod tests {
    use super::*;

    #[test]
    fn atomic_and_plain_set_the_same_bits() {
        let hasher = KeyHasher::xxh3(11);
        for (capacity, fpr) in [(0, 0.5), (1, 0.01), (1000, 0.3), (1000, 1e-3), (3000, 1e-6)] {
            let builder = BlockedBloom::builder().capacity(capacity).fpr(fpr).hasher(hasher);
            let (mut plain, shared) = (builder.clone().build().unwrap(), builder.build_atomic().unwrap());
            for id in 0..2000u64 {
                assert_eq!(plain.insert(&(id / 2)), shared.insert(&(id / 2)));
            }
            assert_eq!(plain, BlockedBloom::from(shared));
        }
    }
}
