//! [`SharedTable`]: the buckets of [`AtomicCuckoo`](super::AtomicCuckoo), each slot inside one atomic word.
//!
//! ```text
//! slots of  8 bits   two buckets a word      │b+1: s3 s2 s1 s0│b: s3 s2 s1 s0│
//! slots of 16 bits   a bucket a word         │ s3 │ s2 │ s1 │ s0 │
//! slots of 32 bits   two words a bucket      │   s1   │   s0   │  │   s3   │   s2   │
//! ```
//!
//! A slot changes by one compare-and-exchange of its word, from 0 to a fingerprint or back, and nothing moves from slot to slot.
//!
//! # Why no reader misses a copy that is there
//!
//! Copies of one fingerprint in one pair of buckets cannot be told apart. So when two keys share both, the removal of the one may take the slot that
//! the other was put into. That is a move in disguise: a copy disappears here while one stays there. A reader that looks in the wrong order, into the
//! place where a copy will come, and then into the one from which a copy has gone, would miss both.
//!
//! **The rule.** The words of the two buckets are `p_0 < p_1 < … < p_m`, in the order of the table. Readers look in this order, and a removal takes
//! the first copy that it finds in this order. Loads acquire; every change is a read-modify-write that acquires and releases. Inserts go where they
//! like.
//!
//! **Claim.** A reader finds a copy, if some key X of this fingerprint and pair was inserted before it began and is not removed before it ends, and
//! nothing is removed that was not inserted before.
//!
//! **Proof.** All changes of a word form one order, and whoever reads a value acquires from all changes up to it, as each is a read-modify-write.
//! Suppose that the reader finds nothing: in the order of `p_i` it read at position `a_i`, where no copy is, for every `i`. The vector `a` has a
//! property, *closed*: if an insert or removal `g` of `p_i` happens before a change at or before `a_j` of `p_j`, `j < i`, then `g` is at or before
//! `a_i`. (The reader acquired that change when it read `p_j`, and read `p_i` after.)
//!
//! Take any closed vector `a` of positions without copies, no earlier than the reader's. Up to `a`, as many copies were taken out as were put in. X
//! was put in and not taken out. So some removal up to `a`, at `p_j`, was of a key Y whose insert is not up to `a`: at `p_i`, after `a_i`. Not `i =
//! j`, since the insert happens before the removal. Not `i > j`, since `a` is closed. So `i < j`, and before it took from `p_j` the removal looked
//! into `p_0 … p_{j−1}` and found nothing, at positions `c_0 … c_{j−1}`, with `c_i > a_i` as it came after the insert. Now let `a'` be the later of
//! `a_k` and `c_k` for `k < j`, and `a_k` from `j` on. There are no copies at `a'` either, and it is closed: what happens before a change at or
//! before `c_k` happens before the removal's later looks and before its change of `p_j`, which is at or before `a_j`, so that it lies up to `c` in
//! words before `p_j`, up to `a_j` in `p_j`, and up to `a` beyond since `a` is closed. But `a'` is later than `a` in word `i`. So there is no last
//! such vector, though there were only finitely many changes. ∎
//!
//! A removal is such a reader too: as long as its key is in, it finds a copy to take. `loom_tests.rs` has the smallest cases, and a removal in the
//! wrong order that fails.

use super::bucket::SLOTS;
use crate::bits;
use crate::kernel::fetch;
use crate::params::ParamError;
use crate::sync::{AtomicU64, Ordering};

/// The buckets.
pub(super) struct SharedTable {
    words: Vec<AtomicU64>,
    layout: Layout,
    #[cfg(absentia_loom)]
    steps: AtomicU64,
}

/// Where buckets are in words.
#[derive(Clone, Copy)]
struct Layout {
    /// 8, 16 or 32.
    slot_bits: u32,
    /// 1 in the lowest bit of each slot of a bucket's part of a word, at the bottom.
    ones: u64,
}

/// A part of a word that belongs to one bucket.
#[derive(Clone, Copy)]
struct Part {
    word: usize,
    /// Where it begins.
    shift: u32,
}

/// Bits of a slot that holds fingerprints of so many bits.
pub(super) const fn slot_bits(width: u32) -> u32 {
    if width <= 8 {
        8
    } else if width <= 16 {
        16
    } else {
        32
    }
}

/// Bytes of so many buckets; `u64::MAX` where that is more.
pub(super) const fn shared_bytes(buckets: u64, width: u32) -> u64 {
    buckets.saturating_mul((slot_bits(width) / 8 * SLOTS as u32) as u64).saturating_add(7) & !7
}

impl Layout {
    const fn new(width: u32) -> Self {
        match slot_bits(width) {
            8 => Self { slot_bits: 8, ones: 0x0101_0101 },
            16 => Self { slot_bits: 16, ones: 0x0001_0001_0001_0001 },
            bits => Self { slot_bits: bits, ones: 0x0000_0001_0000_0001 },
        }
    }

    /// Parts of a bucket: 1, or 2 of two slots each.
    #[inline(always)]
    const fn parts(self) -> usize {
        if self.slot_bits == 32 { 2 } else { 1 }
    }

    #[inline(always)]
    const fn part(self, bucket: usize, part: usize) -> Part {
        match self.slot_bits {
            8 => Part { word: bucket / 2, shift: bucket as u32 % 2 * 32 },
            16 => Part { word: bucket, shift: 0 },
            _ => Part { word: 2 * bucket + part, shift: 0 },
        }
    }

    /// The parts of two buckets in the order of the table.
    #[inline(always)]
    fn ordered(self, buckets: [usize; 2]) -> impl Iterator<Item = Part> {
        let [low, high] = if buckets[0] < buckets[1] { buckets } else { [buckets[1], buckets[0]] };
        [low, high].into_iter().flat_map(move |bucket| (0..self.parts()).map(move |part| self.part(bucket, part)))
    }

    /// The highest bit of each slot of a part that holds `fingerprint`, which 0 is for an empty one; see `bucket.rs`.
    #[inline(always)]
    const fn equal(self, word: u64, part: Part, fingerprint: u32) -> u64 {
        let (ones, pattern) = (self.ones << part.shift, self.ones.wrapping_mul(fingerprint as u64) << part.shift);
        let high = ones << (self.slot_bits - 1);
        let (x, low) = (word ^ pattern, high.wrapping_sub(ones));
        !((x & low).wrapping_add(low) | x) & high
    }

    /// A fingerprint in the slot of which `found` has the highest bit, among others.
    #[inline(always)]
    const fn in_first(self, found: u64, fingerprint: u32) -> u64 {
        (fingerprint as u64) << (found.trailing_zeros() + 1 - self.slot_bits)
    }
}

impl SharedTable {
    pub(super) fn new(buckets: u64, width: u32, limit: u64) -> Result<Self, ParamError> {
        Ok(Self {
            words: bits::allocate(shared_bytes(buckets, width) / 8, limit, || AtomicU64::new(0))?,
            layout: Layout::new(width),
            #[cfg(absentia_loom)]
            steps: AtomicU64::new(0),
        })
    }

    pub(super) fn clear(&mut self) {
        self.words.iter_mut().for_each(|word| *word = AtomicU64::new(0));
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        (self.words.len() * size_of::<u64>()) as u64
    }

    pub(super) fn slot_bits(&self) -> u32 {
        self.layout.slot_bits
    }

    /// Starts the loads of two buckets.
    #[inline(always)]
    pub(super) fn fetch(&self, buckets: [usize; 2]) {
        for bucket in buckets {
            fetch(&self.words[self.layout.part(bucket, 0).word]);
        }
    }

    /// Whether one of two buckets has a fingerprint.
    #[inline(always)]
    pub(super) fn either_has(&self, buckets: [usize; 2], fingerprint: u32) -> bool {
        self.layout.ordered(buckets).fold(0, |found, part| found | self.layout.equal(self.look(part), part, fingerprint)) != 0
    }

    /// How many slots of the two buckets hold a fingerprint, as of some moment each.
    pub(super) fn count(&self, buckets: [usize; 2], fingerprint: u32) -> u32 {
        self.layout.ordered(buckets).map(|part| self.layout.equal(self.look(part), part, fingerprint).count_ones()).sum()
    }

    /// Nothing, but under loom an access that no two threads may exchange without a difference. Loom looks for another order only at the latest
    /// access of a location, and the look at a word would hide everybody else's before a change of it: whole interleavings would go untested.
    #[inline(always)]
    fn step(&self) {
        // ORDERING: Relaxed, of a word of its own that nothing else reads: it is there to be counted, and adds no edge.
        #[cfg(absentia_loom)]
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    #[inline(always)]
    fn look(&self, part: Part) -> u64 {
        self.step();
        // ORDERING: Acquire, for the proof at the head: who sees what a change left comes after what that change saw.
        self.words[part.word].load(Ordering::Acquire)
    }

    /// Puts a fingerprint into an empty slot, of the emptier bucket if there is a choice. False where there is none.
    #[inline]
    pub(super) fn put(&self, buckets: [usize; 2], fingerprint: u32) -> bool {
        let room = |bucket: usize| {
            (0..self.layout.parts()).map(|n| self.layout.part(bucket, n)).map(|p| self.layout.equal(self.look(p), p, 0).count_ones()).sum::<u32>()
        };
        let [first, second] = if room(buckets[0]) >= room(buckets[1]) { buckets } else { [buckets[1], buckets[0]] };
        [first, second].into_iter().any(|bucket| (0..self.layout.parts()).any(|n| self.change(self.layout.part(bucket, n), 0, fingerprint)))
    }

    /// Empties the first slot in the order of the table that holds a fingerprint. False where none does.
    #[inline]
    pub(super) fn take(&self, buckets: [usize; 2], fingerprint: u32) -> bool {
        self.layout.ordered(buckets).any(|part| self.change(part, fingerprint, 0))
    }

    /// Changes a slot of the part from one content to another, where a slot has that.
    #[inline(always)]
    fn change(&self, part: Part, from: u32, to: u32) -> bool {
        let word = &self.words[part.word];
        let mut old = self.look(part);
        loop {
            let found = self.layout.equal(old, part, from);
            if found == 0 {
                return false;
            }
            let new = old ^ self.layout.in_first(found, from ^ to);
            self.step();
            // ORDERING: AcqRel: Release hands on all that came before this change, Acquire what came before those that it builds on; both for the
            // proof at the head. Acquire on failure, since a value without the slot ends this as a load would.
            match word.compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return true,
                Err(now) => old = now,
            }
        }
    }

    /// The same rule with the order of looks turned round: what the proof forbids, for a test that must see it fail.
    #[cfg(all(test, absentia_loom))]
    pub(super) fn take_backwards(&self, buckets: [usize; 2], fingerprint: u32) -> bool {
        let parts: Vec<Part> = self.layout.ordered(buckets).collect();
        parts.into_iter().rev().any(|part| self.change(part, fingerprint, 0))
    }
}
