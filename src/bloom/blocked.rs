//! [`BlockedBloom`]: the filter for one writer. A thin shell: a shape, a vector of lines, and a hasher where keys and not only hashes are given.

use super::{BloomBuilder, CombineError, Kernel, occupancy::Occupancy, shape::Shape};
use crate::bits::Line;
use crate::filter::{Insert, InsertError, Membership, batch};
use crate::kernel::words_of;
use crate::key::{HasherFingerprint, Key, KeyHash, KeyHasher};
use crate::params::ParamError;
use crate::rate;
use bitvec::{order::Lsb0, slice::BitSlice, vec::BitVec};
use std::fmt;
use std::sync::Arc;

/// A set of keys that may err towards "maybe": `contains` is false only for keys that were never inserted.
///
/// For others it is true at a rate that was chosen beforehand, for as many keys as the capacity; beyond that the rate rises, and
/// [`is_saturated`](Self::is_saturated) tells when it has doubled. Nothing can be removed.
///
/// A question costs one hash and one cache line, or two lines for rates from 3e-4 down, whose misses overlap. Memory is 9.9 bits a key at 1 %, 15.5
/// at 1e-3, 19.8 at 1e-4, 31.1 at 1e-6. How long that takes is in [`docs::performance`](crate::docs::performance).
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
/// It takes 3.5 % more bits than the textbook at 1 %, 8 % at 1e-3 and 1e-6. Equality compares contents under one secret: two filters with random
/// seeds are never equal; and what they were sized for, so that a folded filter may differ from a fresh one of the same bits. Compare
/// [`as_bits`](Self::as_bits) for the bits alone.
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

    /// A filter of at most `bytes` bytes, at the lowest rate that `capacity` keys allow in them; [`predicted_fpr`](Self::predicted_fpr) tells it.
    ///
    /// # Errors
    ///
    /// As for [`BloomBuilder::build`]; [`ParamError::MemoryTooSmall`] below 64 bytes.
    pub fn with_memory(bytes: u64, capacity: u64) -> Result<Self, ParamError> {
        Self::builder().memory(bytes).capacity(capacity).build()
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
        batch::key_answers(*hasher, keys, |hashes, answers| shape.kernel.insert_batch(lines, shape.layout, hashes, answers))
    }

    /// [`contains`](Self::contains) for every key, a bit each. Its cache misses overlap: up to three times as fast where the filter is large.
    #[must_use]
    pub fn contains_batch<K: Key>(&self, keys: &[K]) -> BitVec {
        let Self { shape, lines, hasher } = self;
        batch::key_answers(*hasher, keys, |hashes, answers| shape.kernel.contains_batch(lines, shape.layout, hashes, answers))
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
        self.shape.kernel.insert(&mut self.lines, self.shape.layout, hash)
    }

    /// `false` means that no key of this hash was inserted.
    #[inline]
    #[must_use]
    pub fn contains_hash(&self, hash: KeyHash) -> bool {
        self.shape.kernel.contains(&self.lines, self.shape.layout, hash)
    }

    /// [`insert_hash`](Self::insert_hash) for every hash, in order, a bit each.
    pub fn insert_hash_batch(&mut self, hashes: &[KeyHash]) -> BitVec {
        let Self { shape, lines, .. } = self;
        batch::answers(hashes, |hashes, answers| shape.kernel.insert_batch(lines, shape.layout, hashes, answers))
    }

    /// [`contains_hash`](Self::contains_hash) for every hash, a bit each.
    #[must_use]
    pub fn contains_hash_batch(&self, hashes: &[KeyHash]) -> BitVec {
        let Self { shape, lines, .. } = self;
        batch::answers(hashes, |hashes, answers| shape.kernel.contains_batch(lines, shape.layout, hashes, answers))
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

    /// The share of bits that are set. Costs a pass over the filter, as do all estimates.
    #[must_use]
    pub fn fill_ratio(&self) -> f64 {
        self.occupancy().fill_ratio()
    }

    /// About how many distinct keys were inserted, from the bits that are set: −(512/k)·ln(1 − X/512) for a line of X, summed over the lines.
    /// Within a few percent from some thousand keys up to several times the capacity, within a tenth for a hundred keys; a lower bound once lines are
    /// full.
    #[must_use]
    pub fn estimated_len(&self) -> u64 {
        self.occupancy().len()
    }

    /// The false-positive rate of the present contents: the mean over lines of (X/512)^k; with two lines a key, the product of that for each half.
    #[must_use]
    pub fn estimated_fpr(&self) -> f64 {
        self.occupancy().fpr()
    }

    /// The false-positive rate with as many keys as the capacity, from the parameters alone; see [`sizing`](super::sizing).
    #[must_use]
    pub fn predicted_fpr(&self) -> f64 {
        self.shape.plan.predicted_fpr
    }

    /// Whether the filter no longer does what it was made for: [`estimated_fpr`](Self::estimated_fpr) is above twice the promised rate, or above
    /// the middle between that and 1 where this is less. Promised is the rate asked for, or the predicted one where the memory was given or
    /// [`Sizing::Classical`](super::Sizing::Classical) admits more. In a filter of a few lines and a low rate, chance alone may say so at its
    /// capacity.
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

    /// Adds every key of `other`: from here on this filter is the one into which both filters' keys were inserted, bit for bit.
    ///
    /// **Size every shard for the keys of all of them**: one builder with the total capacity and one hasher, cloned for each shard. Shards sized for
    /// their own keys may unite without an error where they happen to have one size, and are then overfull. The capacity stays that of `self`.
    ///
    /// # Errors
    ///
    /// [`CombineError`], and nothing changed, where hasher or secret, size, positions or lines a key differ. Capacities may differ.
    ///
    /// ```
    /// use absentia::{BlockedBloom, KeyHasher};
    ///
    /// let of_all = BlockedBloom::builder().capacity(8000).hasher(KeyHasher::random()?);
    /// let mut all = of_all.clone().build()?;
    /// for shard in 0..8 {
    ///     all.union_with(&of_all.clone().build_from(1000 * shard..1000 * (shard + 1))?)?;
    /// }
    /// assert!(all == of_all.build_from(0..8000)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn union_with<G>(&mut self, other: &BlockedBloom<G>) -> Result<(), CombineError> {
        self.combine(other, |ours, theirs| ours | theirs)
    }

    /// Keeps only what both filters say "maybe" to, every key that was inserted into both among it.
    ///
    /// The false-positive rate is at most that of either filter, and above that of a filter into which only the common keys were inserted: a bit that
    /// one key set here and another key there stays. For the same reason [`estimated_len`](Self::estimated_len) is then an upper bound.
    ///
    /// # Errors
    ///
    /// As for [`union_with`](Self::union_with).
    pub fn intersect_with<G>(&mut self, other: &BlockedBloom<G>) -> Result<(), CombineError> {
        self.combine(other, |ours, theirs| ours & theirs)
    }

    fn combine<G>(&mut self, other: &BlockedBloom<G>, of: impl Fn(u64, u64) -> u64) -> Result<(), CombineError> {
        self.shape.combines_with(&other.shape)?;
        for (ours, theirs) in self.lines.iter_mut().zip(&other.lines) {
            ours.0.iter_mut().zip(&theirs.0).for_each(|(ours, &theirs)| *ours = of(*ours, theirs));
        }
        Ok(())
    }

    /// Halves the filter, for when fewer keys came than it was sized for. Every key stays; the capacity is halved, and so is the memory.
    ///
    /// The result is bit for bit the filter of half the lines into which the same keys were inserted. [`shrink_to_fit`](Self::shrink_to_fit) does it
    /// for as long as the rate allows. Cost: a pass over the filter.
    ///
    /// # Errors
    ///
    /// [`CombineError::Odd`], and nothing changed, where the lines (with two lines a key: those of each half) are an odd number. A builder's
    /// [`foldable`](BloomBuilder::foldable) sees to it that they are not.
    pub fn fold(&mut self) -> Result<(), CombineError> {
        self.shape = self.shape.folded()?;
        // Places are fractions of the length, so the two lines in which a place of half the lines ends up are neighbours.
        for place in 0..self.lines.len() / 2 {
            let (low, high) = (self.lines[2 * place].0, self.lines[2 * place + 1].0);
            self.lines[place] = Line(std::array::from_fn(|word| low[word] | high[word]));
        }
        self.lines.truncate(self.lines.len() / 2);
        self.lines.shrink_to_fit();
        Ok(())
    }

    /// [`fold`](Self::fold)s for as long as the rate of what is in the filter stays within the promised one and the lines are even; how often it did.
    ///
    /// Without [`foldable`](BloomBuilder::foldable), about half of all filters have an odd number of lines and do not fold even once.
    pub fn shrink_to_fit(&mut self) -> u32 {
        let promised = self.shape.promised_fpr();
        let fits = |filter: &Self| Occupancy::of_folded(filter.shape.layout, &filter.lines).fpr() <= promised;
        let mut folds = 0;
        while self.shape.folded().is_ok() && fits(self) && self.fold().is_ok() {
            folds += 1;
        }
        folds
    }

    /// The bits: line `i` is bits `512·i` to `512·i + 511`.
    ///
    /// Not on 32-bit machines with the high end first, whose words would show them in another order.
    #[cfg(any(target_pointer_width = "64", target_endian = "little"))]
    #[must_use]
    pub fn as_bits(&self) -> &BitSlice<usize, Lsb0> {
        BitSlice::from_slice(words_of(&self.lines))
    }

    /// Adds hashes as [`Extend`] adds keys.
    pub fn extend_hashes(&mut self, hashes: impl IntoIterator<Item = KeyHash>) {
        let Self { shape, lines, .. } = self;
        batch::in_chunks(hashes, |hashes, answers| shape.kernel.insert_batch(lines, shape.layout, hashes, answers));
    }

    fn occupancy(&self) -> Occupancy {
        self.shape.occupancy(&self.lines)
    }

    #[cfg(feature = "rayon")]
    pub(super) fn parts_mut(&mut self) -> (&Shape, &mut [Line]) {
        (&self.shape, &mut self.lines)
    }

    /// Takes the filter apart, for whoever keeps its lines in another form.
    pub(super) fn into_parts(self) -> (Shape, Vec<Line>, H) {
        (self.shape, self.lines, self.hasher)
    }

    pub(super) fn from_parts(shape: Shape, lines: Vec<Line>, hasher: H) -> Self {
        Self { shape, lines, hasher }
    }
}

/// A filter of the keys at 1 %, sized for their number, with a new random hasher. For another rate:
/// [`BloomBuilder::build_from`](BloomBuilder::build_from).
///
/// # Panics
///
/// Where the operating system gives no random bytes, or memory runs out; `build_from` says so in an error.
impl<K: Key> FromIterator<K> for BlockedBloom {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        Self::builder().build_from(keys).expect("a filter of these keys")
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

/// Adds keys, owned or borrowed, with overlapping cache misses as [`insert_batch`](BlockedBloom::insert_batch) does.
impl<K: Key> Extend<K> for BlockedBloom {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        let hasher = self.hasher;
        self.extend_hashes(keys.into_iter().map(|key| hasher.hash(&key)));
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
    fn insert_hash(&mut self, hash: KeyHash) -> Result<(), InsertError> {
        self.insert_hash(hash);
        Ok(())
    }

    fn insert_hash_batch(&mut self, hashes: &[KeyHash]) -> Result<(), InsertError> {
        self.extend_hashes(hashes.iter().copied());
        Ok(())
    }

    fn freeze(self: Box<Self>) -> Arc<dyn Membership> {
        Arc::new(*self)
    }
}
