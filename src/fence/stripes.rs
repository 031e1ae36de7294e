//! [`Stripes`]: one word a stripe, `[pending:16 | seq:48]`.
//!
//! ```text
//! 63        48 47                                       0
//! ┌───────────┬──────────────────────────────────────────┐
//! │  pending  │                   seq                    │   raise: pending + 1, seq + 1    settle: pending − 1, seq + 1
//! └───────────┴──────────────────────────────────────────┘
//! ```
//!
//! A create costs two compare-and-exchange loops whatever the number of keys, and memory does not depend on the stream of keys. `pending` saturates:
//! at 65,535 it stays, the stripe is fenced, and only [`Stripes::unstick`] clears it, when nobody is registered in it. `seq` wraps after 2^48 writes
//! to one stripe; a token would have to be held exactly that long to be fooled.

use crate::key::KeyHash;
use crate::params::ParamError;
use crate::sync::{AtomicU64, Ordering};

const PENDING_SHIFT: u32 = 48;
const PENDING_MAX: u64 = 0xFFFF;
const SEQ_MASK: u64 = (1 << PENDING_SHIFT) - 1;

/// A stripe's word, unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) pending: u64,
    pub(crate) seq: u64,
}

impl Word {
    const fn unpack(word: u64) -> Self {
        Self { pending: word >> PENDING_SHIFT, seq: word & SEQ_MASK }
    }

    const fn pack(self) -> u64 {
        (self.pending << PENDING_SHIFT) | (self.seq & SEQ_MASK)
    }

    const fn next(self) -> u64 {
        (self.seq + 1) & SEQ_MASK
    }
}

pub(crate) struct Stripes {
    words: Box<[AtomicU64]>,
}

impl Stripes {
    /// `count` is rounded up to a power of two.
    pub(crate) fn new(count: usize) -> Result<Self, ParamError> {
        let count = count.next_power_of_two();
        let mut words = Vec::new();
        words.try_reserve_exact(count).map_err(|_| ParamError::OutOfMemory { needed: count as u64 * 8 })?;
        // Sequence numbers begin at 1: a word of zeros, which is what missing state looks like, equals no token.
        words.resize_with(count, || AtomicU64::new(1));
        Ok(Self { words: words.into() })
    }

    fn word(&self, hash: KeyHash) -> &AtomicU64 {
        &self.words[self.index(hash)]
    }

    pub(crate) fn index(&self, hash: KeyHash) -> usize {
        hash.first() as usize & (self.words.len() - 1)
    }

    pub(crate) fn read(&self, hash: KeyHash) -> Word {
        // ORDERING: Acquire pairs with the Release in `change`: who sees a raise sees what the creator did before it.
        Word::unpack(self.word(hash).load(Ordering::Acquire))
    }

    pub(crate) fn raise(&self, hash: KeyHash) {
        self.change(hash, |word| Word { pending: (word.pending + 1).min(PENDING_MAX), seq: word.next() });
    }

    pub(crate) fn settle(&self, hash: KeyHash) {
        self.change(hash, |word| {
            debug_assert!(word.pending > 0, "settled a fence that was not raised");
            let pending = if word.pending == PENDING_MAX { PENDING_MAX } else { word.pending.saturating_sub(1) };
            Word { pending, seq: word.next() }
        });
    }

    /// Settles, and returns the sequence number that now stands, where `seq` still stood and ours was the only raise: then no other write of the
    /// stripe began since `seq`, and what the caller holds is the newest value of its key.
    pub(crate) fn settle_alone(&self, hash: KeyHash, seq: u64) -> Option<u64> {
        let (alone, after) = (Word { pending: 1, seq }, Word { pending: 0, seq: Word { pending: 1, seq }.next() });
        // ORDERING: as in `change`.
        match self.word(hash).compare_exchange(alone.pack(), after.pack(), Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Some(after.seq),
            Err(_) => {
                self.settle(hash);
                None
            }
        }
    }

    /// Clears a saturated stripe. The caller holds every pending lock and found nobody registered in the stripe: whoever raises it from here on
    /// registers first, so waits for those locks; whoever raised it before has settled, or would be registered.
    pub(crate) fn unstick(&self, index: usize) {
        let word = &self.words[index];
        // ORDERING: Acquire and AcqRel as in `change`; a failed exchange means that somebody is there, and then it stays.
        let old = word.load(Ordering::Acquire);
        let now = Word::unpack(old);
        if now.pending == PENDING_MAX {
            let _ = word.compare_exchange(old, Word { pending: 0, seq: now.next() }.pack(), Ordering::AcqRel, Ordering::Acquire);
        }
    }

    /// The saturated stripes.
    pub(crate) fn stuck(&self) -> Vec<usize> {
        // ORDERING: Relaxed: a hint, `unstick` looks again.
        (0..self.words.len()).filter(|&i| Word::unpack(self.words[i].load(Ordering::Relaxed)).pending == PENDING_MAX).collect()
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        (self.words.len() * size_of::<AtomicU64>()) as u64
    }

    fn change(&self, hash: KeyHash, change: impl Fn(Word) -> Word) {
        let word = self.word(hash);
        // ORDERING: the first read only seeds the exchange. AcqRel on success: Release so that a reader of this word sees the registration before it,
        // Acquire so that who settles sees what the raise did. Acquire on failure for the value that the next try builds on.
        let mut old = word.load(Ordering::Relaxed);
        while let Err(now) = word.compare_exchange_weak(old, change(Word::unpack(old)).pack(), Ordering::AcqRel, Ordering::Acquire) {
            old = now;
        }
    }
}

#[cfg(all(test, not(absentia_loom)))]
mod tests {
    use super::*;

    const H: KeyHash = KeyHash::from_parts(3, 9);

    #[test]
    fn raise_and_settle_count_and_always_move_the_sequence() {
        let stripes = Stripes::new(4).unwrap();
        let start = stripes.read(H);
        stripes.raise(H);
        stripes.raise(H);
        assert_eq!(stripes.read(H), Word { pending: 2, seq: start.seq + 2 });
        stripes.settle(H);
        stripes.settle(H);
        assert_eq!(stripes.read(H), Word { pending: 0, seq: start.seq + 4 });
    }

    #[test]
    fn a_saturated_stripe_stays_fenced_and_never_wraps() {
        let stripes = Stripes::new(1).unwrap();
        for _ in 0..PENDING_MAX + 10 {
            stripes.raise(H);
        }
        assert_eq!(stripes.read(H).pending, PENDING_MAX);
        for _ in 0..PENDING_MAX + 10 {
            stripes.settle(H);
        }
        assert_eq!(stripes.read(H).pending, PENDING_MAX, "the count is lost, so it must stay fenced");
        assert_eq!(stripes.stuck(), [0]);
        stripes.unstick(0);
        assert_eq!(stripes.read(H).pending, 0);
    }

    #[test]
    fn the_sequence_wraps_without_touching_pending() {
        let stripes = Stripes::new(1).unwrap();
        // ORDERING: a single-threaded test.
        stripes.words[0].store(Word { pending: 5, seq: SEQ_MASK }.pack(), Ordering::Relaxed);
        stripes.raise(H);
        assert_eq!(stripes.read(H), Word { pending: 6, seq: 0 });
    }

    #[test]
    fn settling_alone_is_refused_when_another_write_began() {
        let stripes = Stripes::new(1).unwrap();
        stripes.raise(H);
        let seq = stripes.read(H).seq;
        assert_eq!(stripes.settle_alone(H, seq), Some(seq + 1));
        stripes.raise(H);
        let seq = stripes.read(H).seq;
        stripes.raise(H);
        assert_eq!(stripes.settle_alone(H, seq), None);
        assert_eq!(stripes.read(H).pending, 1);
    }
}
