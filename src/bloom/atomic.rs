//! [`AtomicBlockedBloom`]: the filter for many writers at once. The same bits as [`BlockedBloom`](super::BlockedBloom), set through `&self`.
//!
//! A thin shell like its plain twin. What is subtle about it, who hears "new" and which ordering that takes, is in `once.rs`.

use super::{BloomBuilder, batch, occupancy::Occupancy, once, shape::Shape};
use crate::bits::{AtomicLine, index_in};
use crate::filter::{InsertShared, Membership};
use crate::key::{HasherFingerprint, Key, KeyHash, KeyHasher};
use crate::params::ParamError;
use bitvec::vec::BitVec;
use std::fmt;

/// A set of keys that many threads fill while others ask: `contains` is false only for keys whose insertion had not returned.
///
/// Everything that [`BlockedBloom`](super::BlockedBloom) says of rate, memory and hashers holds here, and so does its cost: questions take no lock
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
        batch::key_answers(&self.hasher, keys, |group| self.insert_group(group))
    }

    /// [`contains`](Self::contains) for every key, a bit each.
    #[must_use]
    pub fn contains_batch<K: Key>(&self, keys: &[K]) -> BitVec {
        batch::key_answers(&self.hasher, keys, |group| self.contains_group(group))
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
        let mask = self.shape.kernel.mask(hash.second(), self.shape.plan.k);
        once::insert(&self.lines[index_in(&self.lines, hash.first())], &mask)
    }

    /// `false` means that no insertion of this hash had returned.
    #[inline]
    #[must_use]
    pub fn contains_hash(&self, hash: KeyHash) -> bool {
        let line = &self.lines[index_in(&self.lines, hash.first())];
        self.shape.kernel.contains(line, hash.second(), self.shape.plan.k)
    }

    /// [`insert_hash`](Self::insert_hash) for every hash, a bit each.
    pub fn insert_hash_batch(&self, hashes: &[KeyHash]) -> BitVec {
        batch::answers(hashes, |group| self.insert_group(group))
    }

    /// [`contains_hash`](Self::contains_hash) for every hash, a bit each.
    #[must_use]
    pub fn contains_hash_batch(&self, hashes: &[KeyHash]) -> BitVec {
        batch::answers(hashes, |group| self.contains_group(group))
    }

    fn contains_group(&self, hashes: &[KeyHash]) -> usize {
        self.shape.kernel.contains_group(&self.lines, hashes, self.shape.plan.k)
    }

    /// Asks first: that overlaps the cache misses, and what is there already needs no insert.
    fn insert_group(&self, hashes: &[KeyHash]) -> usize {
        let known = self.contains_group(hashes);
        let insert = |(bit, &hash): (usize, &KeyHash)| usize::from(known >> bit & 1 == 0 && self.set(hash)) << bit;
        hashes.iter().enumerate().map(insert).sum()
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

    /// Bit positions a key.
    #[must_use]
    pub fn k(&self) -> u32 {
        self.shape.plan.k
    }

    /// Lines of 512 bits.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.shape.plan.lines
    }

    /// See [`BlockedBloom::fill_ratio`](super::BlockedBloom::fill_ratio).
    #[must_use]
    pub fn fill_ratio(&self) -> f64 {
        self.occupancy().fill_ratio()
    }

    /// See [`BlockedBloom::estimated_len`](super::BlockedBloom::estimated_len).
    #[must_use]
    pub fn estimated_len(&self) -> u64 {
        self.occupancy().len(self.shape.plan.k)
    }

    /// See [`BlockedBloom::estimated_fpr`](super::BlockedBloom::estimated_fpr).
    #[must_use]
    pub fn estimated_fpr(&self) -> f64 {
        self.occupancy().fpr(self.shape.plan.k)
    }

    /// See [`BlockedBloom::predicted_fpr`](super::BlockedBloom::predicted_fpr).
    #[must_use]
    pub fn predicted_fpr(&self) -> f64 {
        self.shape.plan.predicted_fpr
    }

    /// See [`BlockedBloom::is_saturated`](super::BlockedBloom::is_saturated).
    #[must_use]
    pub fn is_saturated(&self) -> bool {
        self.shape.is_saturated(&self.occupancy())
    }

    /// Which inner loops serve this filter on this machine.
    #[must_use]
    pub fn kernel_name(&self) -> &'static str {
        self.shape.kernel.name()
    }

    fn occupancy(&self) -> Occupancy {
        Occupancy::of(&self.lines)
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
    use crate::bloom::BlockedBloom;

    #[test]
    fn atomic_and_plain_set_the_same_bits() {
        let hasher = KeyHasher::xxh3(11);
        for (capacity, fpr) in [(0, 0.5), (1, 0.01), (1000, 0.3), (1000, 1e-3), (3000, 1e-6)] {
            let builder = BlockedBloom::builder().capacity(capacity).fpr(fpr).hasher(hasher);
            let (mut plain, shared) = (builder.clone().build().unwrap(), builder.build_atomic().unwrap());
            for id in 0..2000u64 {
                assert_eq!(plain.insert(&(id / 2)), shared.insert(&(id / 2)));
            }
            for (plain, shared) in plain.raw_lines().iter().zip(&shared.lines) {
                assert_eq!(plain.0, std::array::from_fn(|index| crate::bits::Words::word(shared, index)));
            }
        }
    }
}
