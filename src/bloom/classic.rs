//! [`ClassicBloom`]: the filter of the textbook (Bloom 1970), `k` bits a key anywhere in `m`, where the least memory matters more than time. It is
//! also what the tests measure the blocked filters' sizes and rates against.

use super::sizing::{Classical, classical_fpr};
use super::{BloomBuilder, CombineError};
use crate::filter::{Insert, InsertError, Membership, batch};
use crate::key::{HasherFingerprint, Key, KeyHash, KeyHasher};
use crate::params::{Capacity, ParamError};
use crate::rate;
use crate::sys;
use bitvec::order::Lsb0;
use bitvec::slice::BitSlice;
use bitvec::vec::BitVec;
use std::fmt;
use std::sync::Arc;

mod probe;
#[cfg(all(test, not(absentia_loom)))]
mod tests;

use probe::{Bits, BitsMut, WORD_BITS, halved};

/// A set of keys in the least memory of any Bloom filter: `contains` is false only for keys that were never inserted.
///
/// For others it is true at a rate that was chosen beforehand, for as many keys as the capacity; beyond that the rate rises, and
/// [`is_saturated`](Self::is_saturated) tells when it has doubled. Nothing can be removed.
///
/// Memory is that of the textbook, to the bit: 9.6 bits a key at 1 %, 14.4 at 1e-3, 19.2 at 1e-4, 28.8 at 1e-6; 1.2 MB for a million keys at 1 %.
/// A [`BlockedBloom`](super::BlockedBloom) takes 3.5 % more at 1 % and 8 % more at 1e-6. In exchange a key's bits lie in up to `k` cache lines: once
/// the filter is larger than the caches, an insert and a question whose answer is "maybe" cost `k` cache misses, most others two. At 1 %, hash
/// given, on one core of a shared Zen machine: 7 ns in 0.1 MB; in 12 MB 12 to 25 absent, 15 to 22 present, 50 an insert. Batches of hashes are no
/// faster; of keys up to twice as fast where the filter is large, as hashing then does not stand between the cache misses.
///
/// Keys go through a [`KeyHasher`], by default XXH3 under a random seed; hashes that were computed by the same hasher go through the `_hash`
/// methods.
///
/// ```
/// use absentia::{ParamError, bloom::ClassicBloom};
///
/// let mut orders = ClassicBloom::new(1_000_000, 0.01)?;
/// assert!(orders.insert(&17u64));
/// assert!(!orders.insert(&17u64)); // not new
/// assert!(orders.contains(&17i32)); // an integer is its value
/// assert_eq!((orders.memory_bytes(), orders.k()), (1_198_136, 7));
/// # Ok::<(), ParamError>(())
/// ```
///
/// # Limitations
///
/// The textbook takes the share of set bits for its mean, which is a little too low a rate for small filters: 1 % too low at 1000 bits and 1e-2,
/// 7 % at 1000 bits and 1e-6, 13 to 27 % at 64 bits. Equality compares contents under one secret; two filters with random seeds are never equal.
/// On a 32-bit machine a filter has at most 64 MB.
#[derive(Clone)]
pub struct ClassicBloom<H = KeyHasher> {
    capacity: u64,
    /// The rate that was asked for.
    fpr: f64,
    size: Classical,
    fingerprint: HasherFingerprint,
    /// Exactly `size.bits` of them; what the last word has beyond stays zero. Words are `usize`, as bitvec has no `u64` on 32-bit machines.
    bits: BitVec<usize, Lsb0>,
    hasher: H,
}

impl ClassicBloom {
    /// A filter for `capacity` keys at false-positive rate `p`, with a new random hasher.
    ///
    /// # Errors
    ///
    /// As for [`BloomBuilder::build_classic`].
    pub fn new(capacity: u64, p: f64) -> Result<Self, ParamError> {
        BloomBuilder::default().capacity(capacity).fpr(p).build_classic()
    }

    /// A filter of exactly 8·`bytes` bits, at the lowest rate that `capacity` keys allow in them; [`predicted_fpr`](Self::predicted_fpr) tells it.
    ///
    /// The positions a key are (m/n)·ln 2, rounded, from 1 to 64. These are enough for a rate below 1e-19; with more memory the rate goes on
    /// falling, and a question costs no more.
    ///
    /// ```
    /// use absentia::{ParamError, bloom::ClassicBloom};
    ///
    /// let filter = ClassicBloom::with_memory(1 << 20, 1_000_000)?;
    /// assert_eq!((filter.bits(), filter.k()), (1 << 23, 6));
    /// assert!((0.0177..0.0178).contains(&filter.predicted_fpr()));
    /// # Ok::<(), ParamError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`BloomBuilder::build_classic`]; [`ParamError::MemoryTooSmall`] for 0 bytes.
    pub fn with_memory(bytes: u64, capacity: u64) -> Result<Self, ParamError> {
        BloomBuilder::default().memory(bytes).capacity(capacity).build_classic()
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
        let mut bits = BitsMut::of(self.size.k, &mut self.bits);
        batch::key_answers(self.hasher, keys, |hashes, answers| bits.insert_batch(hashes, answers))
    }

    /// [`contains`](Self::contains) for every key, a bit each.
    #[must_use]
    pub fn contains_batch<K: Key>(&self, keys: &[K]) -> BitVec {
        let bits = Bits::of(self.size.k, &self.bits);
        batch::key_answers(self.hasher, keys, |hashes, answers| bits.contains_batch(hashes, answers))
    }

    /// The hasher of this filter, for hashes that are computed once and given to several filters.
    #[must_use]
    pub fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }
}

impl<H> ClassicBloom<H> {
    /// A filter of `size`, which has at least one bit and one position even where `size` has none. Memory is counted in 64 bits before it is asked
    /// for, and then asked for in a way that may be refused.
    pub(super) fn sized(
        capacity: Capacity,
        fpr: f64,
        size: Classical,
        memory_limit: u64,
        hasher: H,
        fingerprint: HasherFingerprint,
    ) -> Result<Self, ParamError> {
        let size = Classical { bits: size.bits.max(1), k: size.k.clamp(1, Classical::MAX_K), ..size };
        let bits = allocate(size.bits, memory_limit)?;
        Ok(Self { capacity: capacity.get(), fpr, size, fingerprint, bits, hasher })
    }

    /// Adds a key by its hash; true where it was new. The hash must come from a hasher of this filter's fingerprint.
    #[inline]
    pub fn insert_hash(&mut self, hash: KeyHash) -> bool {
        BitsMut::of(self.size.k, &mut self.bits).insert(hash)
    }

    /// `false` means that no key of this hash was inserted.
    #[inline]
    #[must_use]
    pub fn contains_hash(&self, hash: KeyHash) -> bool {
        Bits::of(self.size.k, &self.bits).contains(hash)
    }

    /// [`insert_hash`](Self::insert_hash) for every hash, in order, a bit each.
    pub fn insert_hash_batch(&mut self, hashes: &[KeyHash]) -> BitVec {
        let mut bits = BitsMut::of(self.size.k, &mut self.bits);
        batch::answers(hashes, |hashes, answers| bits.insert_batch(hashes, answers))
    }

    /// [`contains_hash`](Self::contains_hash) for every hash, a bit each.
    #[must_use]
    pub fn contains_hash_batch(&self, hashes: &[KeyHash]) -> BitVec {
        let bits = Bits::of(self.size.k, &self.bits);
        batch::answers(hashes, |hashes, answers| bits.contains_batch(hashes, answers))
    }

    /// Forgets every key. Parameters, hasher and memory stay.
    pub fn clear(&mut self) {
        self.bits.as_raw_mut_slice().fill(0);
    }

    /// Adds every key of `other`: from here on this is the filter that both sets of keys would have made, bit for bit. Its capacity stays. Costs a
    /// pass over both.
    ///
    /// # Errors
    ///
    /// [`CombineError`] where the two differ in hasher, bits or positions a key. Nothing has changed then.
    pub fn union_with(&mut self, other: &Self) -> Result<(), CombineError> {
        self.combine(other, |ours, theirs| *ours |= theirs)
    }

    /// Keeps what is in both: a key that was inserted into both is still contained. Costs a pass over both.
    ///
    /// What remains is at least the filter of the common keys, and commonly more: a bit that different keys set in the two stays. So the rate is
    /// above that of a filter made from the common keys, though not above either filter's before, and [`estimated_len`](Self::estimated_len) is
    /// *not* the number of common keys.
    ///
    /// # Errors
    ///
    /// As for [`union_with`](Self::union_with).
    pub fn intersect_with(&mut self, other: &Self) -> Result<(), CombineError> {
        self.combine(other, |ours, theirs| *ours &= theirs)
    }

    /// Halves the memory of a filter that got fewer keys than expected: it becomes the filter of half the bits that the same keys would have made.
    ///
    /// Every key is still contained. Capacity halves, rounded down, the positions a key stay, and [`predicted_fpr`](Self::predicted_fpr) follows
    /// from these. Costs a pass over the filter.
    ///
    /// # Errors
    ///
    /// [`CombineError::Odd`] where the number of bits is odd. Nothing has changed then.
    pub fn fold(&mut self) -> Result<(), CombineError> {
        if !self.size.bits.is_multiple_of(2) {
            return Err(CombineError::Odd { bits: self.size.bits });
        }
        // As a position is ⌊x·m⌋ of a fraction x, that of half the bits is half of it, rounded down: neighbours fall together.
        let words = self.bits.as_raw_mut_slice();
        for pair in 0..words.len().div_ceil(2) {
            words[pair] = halved(words[2 * pair]) | (words.get(2 * pair + 1).map_or(0, |&word| halved(word)) << (WORD_BITS / 2));
        }
        self.bits.truncate(self.bits.len() / 2);
        self.bits.shrink_to_fit();
        self.capacity /= 2;
        self.size.bits /= 2;
        self.size.predicted_fpr = classical_fpr(self.capacity as f64, self.size.bits, self.size.k);
        Ok(())
    }

    fn combine(&mut self, other: &Self, word: impl Fn(&mut usize, usize)) -> Result<(), CombineError> {
        if self.fingerprint != other.fingerprint {
            return Err(CombineError::Hasher { ours: self.fingerprint, theirs: other.fingerprint });
        }
        if self.size.bits != other.size.bits {
            return Err(CombineError::Bits { ours: self.size.bits, theirs: other.size.bits });
        }
        if self.size.k != other.size.k {
            return Err(CombineError::Positions { ours: self.size.k, theirs: other.size.k });
        }
        self.bits.as_raw_mut_slice().iter_mut().zip(other.bits.as_raw_slice()).for_each(|(ours, &theirs)| word(ours, theirs));
        Ok(())
    }

    /// How many distinct keys it was sized for.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Bits of the filter: exactly those that its size comes to, at least 1.
    #[must_use]
    pub fn bits(&self) -> u64 {
        self.size.bits
    }

    /// Bytes of filter memory: an eighth of [`bits`](Self::bits), in whole words of the machine.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        memory_of(self.size.bits)
    }

    /// Bits over capacity; a capacity of 0 counts as 1.
    #[must_use]
    pub fn bits_per_key(&self) -> f64 {
        self.size.bits as f64 / self.capacity.max(1) as f64
    }

    /// Bit positions a key.
    #[must_use]
    pub fn k(&self) -> u32 {
        self.size.k
    }

    /// The bits themselves, in the order of positions.
    #[must_use]
    pub fn as_bits(&self) -> &BitSlice<usize, Lsb0> {
        &self.bits
    }

    /// The share of bits that are set. Costs a pass over the filter, as do all estimates.
    #[must_use]
    pub fn fill_ratio(&self) -> f64 {
        self.ones() / self.size.bits as f64
    }

    /// About how many distinct keys were inserted, from the X bits that are set: −(m/k)·ln(1 − X/m) (Swamidass and Baldi 2007). A full filter, for
    /// which that is infinite, counts as one with half a bit clear: a lower bound.
    #[must_use]
    pub fn estimated_len(&self) -> u64 {
        let bits = self.size.bits as f64;
        (-(bits / f64::from(self.size.k)) * (-self.ones().min(bits - 0.5) / bits).ln_1p()).round() as u64
    }

    /// The false-positive rate of the present contents: (X/m)^k.
    #[must_use]
    pub fn estimated_fpr(&self) -> f64 {
        self.fill_ratio().powi(self.size.k as i32)
    }

    /// The false-positive rate with as many keys as the capacity, from the parameters alone: (1 − e^(−k·n/m))^k.
    #[must_use]
    pub fn predicted_fpr(&self) -> f64 {
        self.size.predicted_fpr
    }

    /// Whether the filter no longer does what it was made for: [`estimated_fpr`](Self::estimated_fpr) is above twice the promised rate, or above
    /// the middle between that and 1 where this is less. Promised is the rate asked for, or the predicted one where that is more.
    #[must_use]
    pub fn is_saturated(&self) -> bool {
        rate::is_saturated(self.estimated_fpr(), self.fpr.max(self.size.predicted_fpr))
    }

    fn ones(&self) -> f64 {
        self.bits.count_ones() as f64
    }
}

/// Equal where parameters, hasher fingerprint and bits are.
impl<H> PartialEq for ClassicBloom<H> {
    fn eq(&self, other: &Self) -> bool {
        (self.capacity, self.fpr, self.size, self.fingerprint) == (other.capacity, other.fpr, other.size, other.fingerprint)
            && self.bits.as_raw_slice() == other.bits.as_raw_slice()
    }
}

/// Shows kind, capacity, bits, k and fill, which costs a pass over the filter; never the bits themselves or the secret.
impl<H> fmt::Debug for ClassicBloom<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClassicBloom")
            .field("capacity", &self.capacity)
            .field("bits", &self.size.bits)
            .field("k", &self.size.k)
            .field("fill", &format_args!("{:.4}", self.fill_ratio()))
            .finish()
    }
}

/// Adds keys, owned or borrowed, in groups as [`insert_batch`](ClassicBloom::insert_batch) does.
impl<K: Key> Extend<K> for ClassicBloom {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        let mut bits = BitsMut::of(self.size.k, &mut self.bits);
        let hasher = &self.hasher;
        batch::in_chunks(keys.into_iter().map(|key| hasher.hash(&key)), |hashes, answers| bits.insert_batch(hashes, answers));
    }
}

impl<H: Send + Sync> Membership for ClassicBloom<H> {
    fn contains_hash(&self, hash: KeyHash) -> bool {
        self.contains_hash(hash)
    }

    fn contains_hash_batch(&self, hashes: &[KeyHash]) -> BitVec {
        self.contains_hash_batch(hashes)
    }

    fn hasher_fingerprint(&self) -> HasherFingerprint {
        self.fingerprint
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

impl<H: Send + Sync + 'static> Insert for ClassicBloom<H> {
    fn insert_hash(&mut self, hash: KeyHash) -> Result<(), InsertError> {
        self.insert_hash(hash);
        Ok(())
    }

    fn freeze(self: Box<Self>) -> Arc<dyn Membership> {
        Arc::new(*self)
    }
}

/// Bytes of the words of so many bits; `u64::MAX` bits stand for a number that overflowed.
fn memory_of(bits: u64) -> u64 {
    if bits == u64::MAX { u64::MAX } else { bits.div_ceil(WORD_BITS as u64) * (WORD_BITS / 8) as u64 }
}

/// So many zeros.
fn allocate(bits: u64, limit: u64) -> Result<BitVec<usize, Lsb0>, ParamError> {
    // A bit vector counts bits in what `usize` has beyond three: less than may be allocated, so that isize::MAX need not be looked at.
    const MOST: u64 = (BitSlice::<usize, Lsb0>::MAX_BITS / WORD_BITS * (WORD_BITS / 8)) as u64;
    let (needed, limit) = (memory_of(bits), limit.min(MOST));
    if needed > limit {
        return Err(ParamError::TooLarge { needed, limit });
    }
    let count = usize::try_from(bits).expect("a number of bits whose words fit in a bit vector");
    let mut words = Vec::new();
    words.try_reserve_exact(count.div_ceil(WORD_BITS)).map_err(|_| ParamError::OutOfMemory { needed })?;
    // Before the first write: pages that exist are not made larger at once.
    sys::advise_huge_pages(words.spare_capacity_mut());
    words.resize(count.div_ceil(WORD_BITS), 0);
    let mut zeros = BitVec::from_vec(words);
    zeros.truncate(count);
    Ok(zeros)
}
