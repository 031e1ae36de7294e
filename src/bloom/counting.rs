//! [`CountingBloom`]: the blocked filter with a counter of four bits where it has a bit, so that keys can be taken out again.
//!
//! Fan, Cao, Almeida and Broder (*Summary Cache*, 2000) put counters in place of bits. Here a key's counters lie in one cache line of 128, or in
//! two, as the bits of a [`BlockedBloom`](super::BlockedBloom) do; shape, layout and loops are its own.
//!
//! Three rules make every removal of a key that was inserted harmless to all others:
//!
//! 1. A key's counters are a *set*. Positions that coincide count once, in an insert and in a removal.
//! 2. A counter at 15 is stuck, for insert and removal, until the filter is cleared.
//! 3. A removal changes nothing unless all the key's counters are above 0.
//!
//! From 1, a counter below 15 is exactly the number of copies of the keys that have it; from 2, a counter that ever was behind by some stays above 0.

mod error;
#[cfg(all(test, not(absentia_loom)))]
mod tests;

pub use error::CountingError;

use super::sizing::Unit;
use super::{BloomBuilder, CombineError, Kernel, occupancy::Occupancy, shape::Shape};
use crate::bits::Line;
use crate::bits::nibbles::{self, Taken};
use crate::filter::{Insert, InsertError, Membership, Remove, batch};
use crate::key::{HasherFingerprint, Key, KeyHash, KeyHasher};
use crate::params::{Capacity, ParamError};
use crate::rate;
use bitvec::vec::BitVec;
use std::fmt;
use std::sync::Arc;

/// A set of keys that may err towards "maybe", and from which keys can be removed: `contains` is false only for keys of which no copy is in it.
///
/// That holds for as long as only keys are removed that were inserted, each as often at most: see [`remove`](Self::remove). For others `contains` is
/// true at a rate that was chosen beforehand, for as many distinct keys as the capacity, which is the number of keys that are in it at one time.
///
/// A question costs one hash and one cache line, or two lines for rates from 3e-4 down, as in a [`BlockedBloom`](super::BlockedBloom). Memory is more
/// than four times that: 43.4 bits a key at 1 %, 76 at 1e-3, 86.8 at 1e-4, 152 at 1e-6. [`LinesPerKey::Two`](super::LinesPerKey::Two) takes 39.4 at 1
/// % and 61.6 at 1e-3.
///
/// ```
/// use absentia::{CountingBloom, ParamError};
///
/// let mut sessions = CountingBloom::new(100_000, 0.01)?;
/// sessions.insert("f3a9");
/// assert!(sessions.contains("f3a9"));
/// assert_eq!(sessions.remove("f3a9"), Ok(true));
/// assert!(!sessions.contains("f3a9"));
/// assert_eq!(sessions.remove("f3a9"), Ok(false)); // not there, and nothing changed
/// # Ok::<(), ParamError>(())
/// ```
///
/// # Copies
///
/// A key that is inserted twice is in it twice, and is there until both are removed. A counter goes to 15 and then is stuck: it no longer changes
/// until [`clear`](Self::clear), so that a key with all its counters stuck stays, and the others of its counters keep answering "maybe" to strangers.
/// In a filter at its capacity, with one copy of each key, it happens to a key once in 1e14 by the model of independent positions: it is copies that
/// fill counters, or many more keys than the capacity. [`saturated_counters`](Self::saturated_counters) counts them.
///
/// # Limitations
///
/// It does not become a [`BlockedBloom`](super::BlockedBloom): a line has 128 places and not 512, so that a key's places are others. There is no
/// intersection, since the lesser of two counters is not the number of copies in both. There is no kind of it for many writers. Equality compares
/// contents under one secret: two filters with random seeds are never equal.
#[derive(Clone)]
pub struct CountingBloom<H = KeyHasher> {
    /// Its plan is one of counters: its rates are asked for through [`Unit::Counter`].
    shape: Shape,
    lines: Vec<Line>,
    hasher: H,
}

impl CountingBloom {
    /// A filter for `capacity` keys at false-positive rate `p`, with a new random hasher.
    ///
    /// # Errors
    ///
    /// As for [`BloomBuilder::build_counting`].
    pub fn new(capacity: u64, p: f64) -> Result<Self, ParamError> {
        Self::builder().capacity(capacity).fpr(p).build_counting()
    }

    /// A filter of at most `bytes` bytes, at the lowest rate that `capacity` keys allow in them; [`predicted_fpr`](Self::predicted_fpr) tells it.
    ///
    /// # Errors
    ///
    /// As for [`BloomBuilder::build_counting`]; [`ParamError::MemoryTooSmall`] below 64 bytes.
    pub fn with_memory(bytes: u64, capacity: u64) -> Result<Self, ParamError> {
        Self::builder().memory(bytes).capacity(capacity).build_counting()
    }

    /// Every other choice; [`build_counting`](BloomBuilder::build_counting) finishes it.
    pub fn builder() -> BloomBuilder {
        BloomBuilder::default()
    }

    /// Adds one copy of `key`; true where it was new, that is where one of its counters was 0. A false positive hears "not new", and its copy is
    /// added all the same.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.insert_hash(self.hasher.hash(key))
    }

    /// `false` means that no copy of `key` is in the filter; `true`, that one is, or a false positive.
    #[inline]
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_hash(self.hasher.hash(key))
    }

    /// Takes one copy of `key` out; **of a key that was never inserted, and is a false positive, it takes counters of other keys, which may then be
    /// denied although they are there.** Remove only what you inserted, each key as often at most.
    ///
    /// `Ok(true)`: one copy was taken out. `Ok(false)`: no copy was there, and nothing changed.
    ///
    /// # Errors
    ///
    /// [`CountingError::Saturated`], and nothing changed, exactly where each counter of the key is stuck at 15.
    #[inline]
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool, CountingError> {
        self.remove_hash(self.hasher.hash(key))
    }

    /// At least as many as there are copies of `key`: the least of its counters, 0 to 15, where **15 means "15 or more"**. It is more than there are
    /// where each of its counters serves another key too.
    #[must_use]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u32 {
        self.count_hash(self.hasher.hash(key))
    }

    /// Adds one copy of every key, in order; a bit each, set where it was new. A key that comes twice is new once, and is in the filter twice.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> BitVec {
        let Self { shape, lines, hasher } = self;
        batch::key_answers(*hasher, keys, |hashes, answers| shape.kernel.add_batch(lines, shape.layout, hashes, answers))
    }

    /// [`contains`](Self::contains) for every key, a bit each. Its cache misses overlap.
    #[must_use]
    pub fn contains_batch<K: Key>(&self, keys: &[K]) -> BitVec {
        let Self { shape, lines, hasher } = self;
        batch::key_answers(*hasher, keys, |hashes, answers| shape.kernel.holds_batch(lines, shape.layout, hashes, answers))
    }

    /// Takes one copy of every key out, in order; a bit each, set where [`remove`](Self::remove) says `Ok(true)`, and with the same danger.
    pub fn remove_batch<K: Key>(&mut self, keys: &[K]) -> BitVec {
        let Self { shape, lines, hasher } = self;
        batch::key_answers(*hasher, keys, |hashes, answers| shape.kernel.take_batch(lines, shape.layout, hashes, answers))
    }

    /// The hasher of this filter, for hashes that are computed once and given to several filters.
    #[must_use]
    pub fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }
}

impl<H> CountingBloom<H> {
    /// The plan of the shape is one of counters.
    pub(super) fn with_shape(shape: Shape, memory_limit: u64, hasher: H) -> Result<Self, ParamError> {
        let lines = shape.allocate(memory_limit, || Line::EMPTY)?;
        Ok(Self { shape, lines, hasher })
    }

    /// Adds one copy of a key by its hash; true where it was new. The hash must come from a hasher of this filter's fingerprint.
    #[inline]
    pub fn insert_hash(&mut self, hash: KeyHash) -> bool {
        self.shape.kernel.add(&mut self.lines, self.shape.layout, hash)
    }

    /// `false` means that no copy of a key of this hash is in the filter.
    #[inline]
    #[must_use]
    pub fn contains_hash(&self, hash: KeyHash) -> bool {
        self.shape.kernel.holds(&self.lines, self.shape.layout, hash)
    }

    /// Takes one copy of a hash out; **of one that was never inserted it may take the counters of others**. As [`remove`](Self::remove).
    ///
    /// # Errors
    ///
    /// As there.
    #[inline]
    pub fn remove_hash(&mut self, hash: KeyHash) -> Result<bool, CountingError> {
        match self.shape.kernel.take(&mut self.lines, self.shape.layout, hash) {
            Taken::Nothing => Ok(false),
            Taken::Copy => Ok(true),
            Taken::Stuck => Err(CountingError::Saturated),
        }
    }

    /// [`count`](Self::count) of a hash.
    #[must_use]
    pub fn count_hash(&self, hash: KeyHash) -> u32 {
        self.shape.kernel.least(&self.lines, self.shape.layout, hash)
    }

    /// [`insert_hash`](Self::insert_hash) for every hash, in order, a bit each.
    pub fn insert_hash_batch(&mut self, hashes: &[KeyHash]) -> BitVec {
        let Self { shape, lines, .. } = self;
        batch::answers(hashes, |hashes, answers| shape.kernel.add_batch(lines, shape.layout, hashes, answers))
    }

    /// [`contains_hash`](Self::contains_hash) for every hash, a bit each.
    #[must_use]
    pub fn contains_hash_batch(&self, hashes: &[KeyHash]) -> BitVec {
        let Self { shape, lines, .. } = self;
        batch::answers(hashes, |hashes, answers| shape.kernel.holds_batch(lines, shape.layout, hashes, answers))
    }

    /// [`remove_hash`](Self::remove_hash) for every hash, in order; a bit each, set where it says `Ok(true)`.
    pub fn remove_hash_batch(&mut self, hashes: &[KeyHash]) -> BitVec {
        let Self { shape, lines, .. } = self;
        batch::answers(hashes, |hashes, answers| shape.kernel.take_batch(lines, shape.layout, hashes, answers))
    }

    /// Forgets every key, and frees the counters that were stuck. Parameters, hasher and memory stay.
    pub fn clear(&mut self) {
        self.lines.fill(Line::EMPTY);
    }

    /// How many distinct keys it was sized for.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.shape.capacity
    }

    /// Bits of filter memory: four a counter.
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

    /// Counters a key, in all its lines together; where positions coincide, fewer.
    #[must_use]
    pub fn k(&self) -> u32 {
        self.shape.plan.k
    }

    /// Lines of 128 counters.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.shape.plan.lines
    }

    /// In how many lines a key has its counters, 1 or 2.
    #[must_use]
    pub fn lines_per_key(&self) -> u32 {
        self.shape.plan.lines_per_key
    }

    /// The share of counters that are not 0. Costs a pass over the filter, as do all estimates.
    #[must_use]
    pub fn fill_ratio(&self) -> f64 {
        self.occupancy().fill_ratio()
    }

    /// About how many distinct keys are in the filter, from the counters that are not 0: −(128/k)·ln(1 − X/128) for a line of X, summed over the
    /// lines. A lower bound once lines are full.
    #[must_use]
    pub fn estimated_len(&self) -> u64 {
        self.occupancy().len()
    }

    /// The false-positive rate of the present contents: the mean over lines of (X/128)^k; with two lines a key, the product of that for each half.
    #[must_use]
    pub fn estimated_fpr(&self) -> f64 {
        self.occupancy().fpr()
    }

    /// The false-positive rate with as many keys as the capacity, from the parameters alone; see [`sizing`](super::sizing).
    #[must_use]
    pub fn predicted_fpr(&self) -> f64 {
        self.shape.plan.predicted_fpr
    }

    /// Whether the filter no longer does what it was made for, by the rule of [`BlockedBloom::is_saturated`](super::BlockedBloom::is_saturated). It
    /// is about the rate, and another thing than [`saturated_counters`](Self::saturated_counters).
    #[must_use]
    pub fn is_saturated(&self) -> bool {
        rate::is_saturated(self.estimated_fpr(), self.shape.promised_fpr())
    }

    /// How many counters are stuck at 15. A pass over the filter.
    #[must_use]
    pub fn saturated_counters(&self) -> u64 {
        self.lines.iter().map(|line| u64::from(nibbles::count_stuck(&line.0))).sum()
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

    /// Adds every copy of `other`: from here on this filter is the one into which both filters' copies were inserted. Sums of 15 and more are stuck.
    ///
    /// **A key that both hold is in it twice**, and is there until it is removed twice. Size every shard for the keys of all of them, as for
    /// [`BlockedBloom::union_with`](super::BlockedBloom::union_with). The capacity stays that of `self`.
    ///
    /// # Errors
    ///
    /// [`CombineError`], and nothing changed, where hasher or secret, size, counters or lines a key differ. Capacities may differ.
    pub fn union_with<G>(&mut self, other: &CountingBloom<G>) -> Result<(), CombineError> {
        self.shape.combines_with(&other.shape)?;
        for (ours, theirs) in self.lines.iter_mut().zip(&other.lines) {
            *ours = sums(ours, theirs);
        }
        Ok(())
    }

    /// Halves the filter, for when fewer keys came than it was sized for. Every copy stays; the capacity is halved, and so is the memory.
    ///
    /// Counters are added, so that the result is, counter for counter, the filter of half the lines into which the same copies were inserted; but for
    /// counters that are stuck, which may be those of copies that were removed since. Cost: a pass over the filter.
    ///
    /// # Errors
    ///
    /// [`CombineError::Odd`], and nothing changed, where the lines (with two lines a key: those of each half) are an odd number. A builder's
    /// [`foldable`](BloomBuilder::foldable) sees to it that they are not.
    pub fn fold(&mut self) -> Result<(), CombineError> {
        self.shape = self.folded()?;
        // Places are fractions of the length, so the two lines in which a place of half the lines ends up are neighbours.
        for place in 0..self.lines.len() / 2 {
            self.lines[place] = sums(&self.lines[2 * place], &self.lines[2 * place + 1]);
        }
        self.lines.truncate(self.lines.len() / 2);
        self.lines.shrink_to_fit();
        Ok(())
    }

    /// [`fold`](Self::fold)s for as long as the rate of what is in the filter stays within the promised one and the lines are even; how often it did.
    pub fn shrink_to_fit(&mut self) -> u32 {
        let promised = self.shape.promised_fpr();
        let fits = |filter: &Self| Occupancy::of_folded_counters(filter.shape.layout, &filter.lines).fpr() <= promised;
        let mut folds = 0;
        while self.folded().is_ok() && fits(self) && self.fold().is_ok() {
            folds += 1;
        }
        folds
    }

    /// Adds one copy of each hash, as [`Extend`] does of keys.
    pub fn extend_hashes(&mut self, hashes: impl IntoIterator<Item = KeyHash>) {
        let Self { shape, lines, .. } = self;
        batch::in_chunks(hashes, |hashes, answers| shape.kernel.add_batch(lines, shape.layout, hashes, answers));
    }

    /// The shape of half the size. What a shape makes of itself is of bits, so the rate is told anew.
    fn folded(&self) -> Result<Shape, CombineError> {
        let mut shape = self.shape.folded()?;
        shape.plan = Unit::Counter.with_lines(shape.plan, shape.plan.lines, Capacity::new(shape.capacity));
        Ok(shape)
    }

    fn occupancy(&self) -> Occupancy {
        Occupancy::of_counters(self.shape.layout, &self.lines)
    }
}

/// Counter by counter, at most 15.
fn sums(ours: &Line, theirs: &Line) -> Line {
    Line(std::array::from_fn(|word| nibbles::sums(ours.0[word], theirs.0[word])))
}

/// Equal where parameters, hasher fingerprint and counters are.
impl<H> PartialEq for CountingBloom<H> {
    fn eq(&self, other: &Self) -> bool {
        self.shape == other.shape && self.lines == other.lines
    }
}

/// Shows kind, bits, k, fill and kernel, which costs a pass over the filter; never the counters themselves or the secret.
impl<H> fmt::Debug for CountingBloom<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shape.debug(f, "CountingBloom", &self.occupancy())
    }
}

/// Adds one copy of each key, owned or borrowed, with overlapping cache misses as [`insert_batch`](CountingBloom::insert_batch) does.
impl<K: Key> Extend<K> for CountingBloom {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        let hasher = self.hasher;
        self.extend_hashes(keys.into_iter().map(|key| hasher.hash(&key)));
    }
}

impl<H: Send + Sync> Membership for CountingBloom<H> {
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

impl<H: Send + Sync + 'static> Insert for CountingBloom<H> {
    /// Always `Ok`.
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

impl<H: Send + Sync> Remove for CountingBloom<H> {
    /// False also where all counters are stuck, and the key stays: see [`CountingBloom::remove_hash`], which tells the two apart.
    fn remove_hash(&mut self, hash: KeyHash) -> bool {
        self.remove_hash(hash) == Ok(true)
    }
}
