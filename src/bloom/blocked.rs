//! [`BlockedBloom`]: the filter for one writer. A thin shell: a shape, a vector of lines, and a hasher where keys and not only hashes are given.

use super::{BloomBuilder, batch, occupancy::Occupancy, shape::Shape};
use crate::bits::{Line, index_in};
use crate::filter::{Insert, Membership};
use crate::key::{HasherFingerprint, Key, KeyHash, KeyHasher};
use crate::params::ParamError;
use bitvec::vec::BitVec;
use std::fmt;
use std::sync::Arc;

/// A set of keys that may err towards "maybe": `contains` is false only for keys that were never inserted.
///
/// For others it is true at a rate that was chosen beforehand, for as many keys as the capacity; beyond that the rate rises, and
/// [`is_saturated`](Self::is_saturated) tells when it has doubled. Nothing can be removed.
///
/// A question costs one hash and one cache line, whatever the rate. At 1 %, for integers under XXH3, on one core of a shared Zen machine with the
/// portable kernel: 14 ns in a filter of 0.1 MB, 40 ns at 12 MB, 110 ns at 124 MB; in batches 14, 22 and 40. Memory is 9.9 bits a key at 1 %, 15.5 at
/// 1e-3, 22 at 1e-4, 38.8 at 1e-6.
///
/// Keys go through a [`KeyHasher`], by default XXH3 under a random seed; hashes that were computed by the same hasher go through the `_hash`
/// methods. `H = ()` is a filter without a hasher, as a gate's [`BloomFactory`](super::BloomFactory) makes them: it takes hashes only.
///
/// ```
/// use absentia::{BlockedBloom, ParamError};
///
/// let mut orders = BlockedBloom::new(1_000_000, 0.001)?;
/// assert!(orders.insert(&17u64));
/// assert!(!orders.insert(&17u64)); // not new
/// assert!(orders.contains(&17i32)); // an integer is its value
/// let answers = orders.contains_batch(&[17, 18, 19]);
/// assert!(answers[0]);
/// # Ok::<(), ParamError>(())
/// ```
///
/// # Limitations
///
/// Rates below 1e-3 are dear in this layout: 15 % more bits than the textbook at 1e-4, 35 % at 1e-6. Equality compares contents under one secret;
/// two filters with random seeds are never equal.
#[derive(Clone)]
pub struct BlockedBloom<H = KeyHasher> {
    shape: Shape,
    lines: Vec<Line>,
    hasher: H,
}

impl BlockedBloom {
    /// A filter for `capacity` keys at false-positive rate `p`, with a new random hasher.
    ///
    /// # Errors
    ///
    /// As for [`BloomBuilder::build`].
    pub fn new(capacity: u64, p: f64) -> Result<Self, ParamError> {
        Self::builder().capacity(capacity).fpr(p).build()
    }

    /// Every other choice.
    pub fn builder() -> BloomBuilder {
        BloomBuilder::default()
    }

    /// Adds `key`; true where it was new. A false positive hears "not new".
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.insert_hash(self.hasher.hash(key))
    }

    /// `false` means that `key` was never inserted; `true`, that it was, or a false positive.
    #[inline]
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_hash(self.hasher.hash(key))
    }

    /// Adds every key, in order; a bit each, set where it was new. A key that comes twice is new once.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> BitVec {
        let Self { shape, lines, hasher } = self;
        batch::key_answers(hasher, keys, |group| shape.kernel.insert_group(lines, group, shape.plan.k))
    }

    /// [`contains`](Self::contains) for every key, a bit each. Its cache misses overlap: up to three times as fast where the filter is large.
    #[must_use]
    pub fn contains_batch<K: Key>(&self, keys: &[K]) -> BitVec {
        batch::key_answers(&self.hasher, keys, |group| self.shape.kernel.contains_group(&self.lines, group, self.shape.plan.k))
    }

    /// The hasher of this filter, for hashes that are computed once and given to several filters.
    #[must_use]
    pub fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }
}

impl<H> BlockedBloom<H> {
    pub(super) fn with_shape(shape: Shape, memory_limit: u64, hasher: H) -> Result<Self, ParamError> {
        let lines = shape.allocate(memory_limit, || Line::EMPTY)?;
        Ok(Self { shape, lines, hasher })
    }

    /// Adds a key by its hash; true where it was new. The hash must come from a hasher of this filter's fingerprint.
    #[inline]
    pub fn insert_hash(&mut self, hash: KeyHash) -> bool {
        let place = index_in(&self.lines, hash.first());
        self.shape.kernel.insert(&mut self.lines[place], hash.second(), self.shape.plan.k)
    }

    /// `false` means that no key of this hash was inserted.
    #[inline]
    #[must_use]
    pub fn contains_hash(&self, hash: KeyHash) -> bool {
        let line = &self.lines[index_in(&self.lines, hash.first())];
        self.shape.kernel.contains(line, hash.second(), self.shape.plan.k)
    }

    /// [`insert_hash`](Self::insert_hash) for every hash, in order, a bit each.
    pub fn insert_hash_batch(&mut self, hashes: &[KeyHash]) -> BitVec {
        let Self { shape, lines, .. } = self;
        batch::answers(hashes, |group| shape.kernel.insert_group(lines, group, shape.plan.k))
    }

    /// [`contains_hash`](Self::contains_hash) for every hash, a bit each.
    #[must_use]
    pub fn contains_hash_batch(&self, hashes: &[KeyHash]) -> BitVec {
        batch::answers(hashes, |group| self.shape.kernel.contains_group(&self.lines, group, self.shape.plan.k))
    }

    /// Forgets every key. Parameters, hasher and memory stay.
    pub fn clear(&mut self) {
        self.lines.fill(Line::EMPTY);
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

    /// The share of bits that are set. Costs a pass over the filter, as do all estimates.
    #[must_use]
    pub fn fill_ratio(&self) -> f64 {
        self.occupancy().fill_ratio()
    }

    /// About how many distinct keys were inserted, from the bits that are set: −(512/k)·ln(1 − X/512) for a line of X, summed over the lines.
    /// Within a few percent up to several times the capacity; a lower bound once lines are full.
    #[must_use]
    pub fn estimated_len(&self) -> u64 {
        self.occupancy().len(self.shape.plan.k)
    }

    /// The false-positive rate of the present contents: the mean over lines of (X/512)^k.
    #[must_use]
    pub fn estimated_fpr(&self) -> f64 {
        self.occupancy().fpr(self.shape.plan.k)
    }

    /// The false-positive rate with as many keys as the capacity, from the parameters alone; see [`line_fpr`](super::sizing::line_fpr).
    #[must_use]
    pub fn predicted_fpr(&self) -> f64 {
        self.shape.plan.predicted_fpr
    }

    /// Whether the filter no longer does what it was made for: [`estimated_fpr`](Self::estimated_fpr) is above twice the promised rate, or above
    /// the middle between that and 1 where this is less. Promised is the rate asked for, or the predicted one where
    /// [`Sizing::Classical`](super::Sizing::Classical) admits more.
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

    #[cfg(all(test, not(absentia_loom)))]
    pub(super) fn raw_lines(&self) -> &[Line] {
        &self.lines
    }
}

/// Equal where parameters, hasher fingerprint and bits are.
impl<H> PartialEq for BlockedBloom<H> {
    fn eq(&self, other: &Self) -> bool {
        self.shape == other.shape && self.lines == other.lines
    }
}

/// Shows kind, bits, k, fill and kernel, which costs a pass over the filter; never the bits themselves or the secret.
impl<H> fmt::Debug for BlockedBloom<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shape.debug(f, "BlockedBloom", &self.occupancy())
    }
}

/// Adds keys, owned or borrowed, in groups as [`insert_batch`](BlockedBloom::insert_batch) does.
impl<K: Key> Extend<K> for BlockedBloom {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        let Self { shape, lines, hasher } = self;
        batch::in_groups(hasher, keys, |group| {
            shape.kernel.insert_group(lines, group, shape.plan.k);
        });
    }
}

impl<H: Send + Sync> Membership for BlockedBloom<H> {
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

impl<H: Send + Sync + 'static> Insert for BlockedBloom<H> {
    fn insert_hash(&mut self, hash: KeyHash) -> bool {
        self.insert_hash(hash)
    }

    fn freeze(self: Box<Self>) -> Arc<dyn Membership> {
        Arc::new(*self)
    }
}
