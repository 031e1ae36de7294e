//! [`Line`] and [`AtomicLine`]: 512 bits that a processor fetches as one, owned by one thread or shared by many.
//!
//! Both are eight 64-bit words, aligned to 64 bytes so that no line straddles two cache lines; bit `b` of a line is bit `b % 64` of word
//! `b / 64`. [`Words`] is what a test needs of either, so that the meaning of a test is written once.

use crate::sync::{AtomicU64, Ordering};

/// Bits in a line.
pub(crate) const LINE_BITS: usize = 512;
/// Bytes in a line.
pub(crate) const LINE_BYTES: usize = LINE_BITS / 8;
/// Words in a line.
pub(crate) const WORDS: usize = LINE_BITS / 64;

/// What a line is made of, for a kernel that loads more than a word at a time. (The model checker's atomics are not memory.)
#[cfg(all(target_arch = "x86_64", not(absentia_loom)))]
pub(crate) enum View<'a> {
    /// Nobody writes it while it is lent.
    Owned(&'a [u64; WORDS]),
    /// Others may write it at any time.
    Shared(&'a [AtomicU64; WORDS]),
}

/// A line that can be read.
pub(crate) trait Words {
    #[cfg(all(target_arch = "x86_64", not(absentia_loom)))]
    fn view(&self) -> View<'_>;

    /// The word at `index`, below [`WORDS`]. For a shared line a relaxed load: see the head of `bits/once.rs` for why a reader needs no more.
    fn word(&self, index: usize) -> u64;

    /// All words. Of a shared line each word is a relaxed load of its own, and they are not of one moment.
    #[inline(always)]
    fn words(&self) -> [u64; WORDS] {
        std::array::from_fn(|index| self.word(index))
    }

    /// How many of the 512 bits are set. For a shared line not a snapshot: words are read one by one.
    fn count_ones(&self) -> u32 {
        self.words().iter().map(|word| word.count_ones()).sum()
    }
}

/// A line that one thread owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub(crate) struct Line(pub(crate) [u64; WORDS]);

impl Line {
    pub(crate) const EMPTY: Self = Self([0; WORDS]);
}

impl Words for Line {
    #[cfg(all(target_arch = "x86_64", not(absentia_loom)))]
    #[inline(always)]
    fn view(&self) -> View<'_> {
        View::Owned(&self.0)
    }

    #[inline(always)]
    fn word(&self, index: usize) -> u64 {
        self.0[index]
    }
}

/// A line that many threads read and set bits in.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct AtomicLine(pub(crate) [AtomicU64; WORDS]);

impl AtomicLine {
    pub(crate) fn empty() -> Self {
        // Not a constant: loom's atomics are born at run time.
        Line::EMPTY.into()
    }
}

impl From<Line> for AtomicLine {
    fn from(line: Line) -> Self {
        Self(line.0.map(AtomicU64::new))
    }
}

impl Words for AtomicLine {
    #[cfg(all(target_arch = "x86_64", not(absentia_loom)))]
    #[inline(always)]
    fn view(&self) -> View<'_> {
        View::Shared(&self.0)
    }

    #[inline(always)]
    fn word(&self, index: usize) -> u64 {
        // ORDERING: Relaxed. A thread to which an insert happened before reads that word's bits or later ones by coherence, and bits only ever
        // become set while lines are shared; nothing else is reached through a bit.
        self.0[index].load(Ordering::Relaxed)
    }
}

#[cfg(all(test, not(absentia_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_cache_line() {
        assert_eq!((size_of::<Line>(), align_of::<Line>()), (64, 64));
        assert_eq!((size_of::<AtomicLine>(), align_of::<AtomicLine>()), (64, 64));
    }

    #[test]
    fn counting_sees_every_word() {
        let mut line = Line::EMPTY;
        for (index, word) in line.0.iter_mut().enumerate() {
            *word = (1 << index) | 1 << 63;
        }
        let shared = AtomicLine(line.0.map(AtomicU64::new));
        assert_eq!((line.count_ones(), shared.count_ones()), (16, 16));
        assert_eq!(AtomicLine::empty().count_ones(), 0);
    }
}
