//! [`Layout`]: which lines are a key's, and how many positions it has in each.
//!
//! ```text
//! one line a key    │ every line                       │   line: first, positions: second
//! two lines a key   │ first half      │ second half    │   second line: both hashes turned by 32 bits
//! ```
//!
//! With two lines, each half is a filter of its own that holds every key with half of its positions; the second half sees the hash with the halves
//! of both its words exchanged. So its line comes from the bits of `first` that decide least about the other line, and each of its lanes multiplies
//! the half of `second` that the same lane of the first line does not: thirty-two different functions of `second` in all. Halves rather than one
//! table, because then a key's two lines are never the same one, and the two tests are independent events: the rate is exactly the square.

use super::MAX_HASHES;
use crate::bits::index_below;
use crate::key::KeyHash;

/// How a key's bits lie in a filter's lines. Small enough to be passed in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// A bit for each of the lanes below `k`.
    lanes: u16,
    k: u8,
    halves: bool,
}

/// One of a key's lines, and what chooses the positions in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// Among all lines.
    pub(crate) line: usize,
    pub(crate) second: u64,
}

/// The hash as the second half sees it.
#[inline(always)]
pub(crate) const fn turned(hash: KeyHash) -> KeyHash {
    KeyHash::from_parts(hash.first().rotate_left(32), turned_second(hash.second()))
}

/// What chooses the positions in the second line, from what does in the first.
#[inline(always)]
pub(super) const fn turned_second(second: u64) -> u64 {
    second.rotate_left(32)
}

impl Layout {
    /// `k` positions in each of a key's lines, taken into 1 to 16; with `halves`, a key has a line in each half, and the number of lines is even.
    pub(crate) const fn new(k: u32, halves: bool) -> Self {
        let k = if k == 0 {
            1
        } else if k > MAX_HASHES {
            MAX_HASHES
        } else {
            k
        };
        Self { lanes: (u16::MAX as u32 >> (MAX_HASHES - k)) as u16, k: k as u8, halves }
    }

    /// Positions in each of the key's lines, 1 to 16.
    #[inline(always)]
    pub(crate) const fn k(self) -> u32 {
        self.k as u32
    }

    /// A bit for each of the lanes below [`k`](Self::k).
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) const fn lanes(self) -> u16 {
        self.lanes
    }

    /// Whether a key has a second line.
    #[inline(always)]
    pub(super) const fn halves(self) -> bool {
        self.halves
    }

    /// The lines among which the first line of a key is chosen, and those of the second: none where there is no second.
    #[inline(always)]
    pub(crate) fn parts<L>(self, lines: &[L]) -> (&[L], &[L]) {
        lines.split_at(self.cut(lines.len()))
    }

    #[inline(always)]
    pub(crate) fn parts_mut<L>(self, lines: &mut [L]) -> (&mut [L], &mut [L]) {
        lines.split_at_mut(self.cut(lines.len()))
    }

    #[inline(always)]
    fn cut(self, lines: usize) -> usize {
        lines >> u32::from(self.halves)
    }

    /// The first line of a key, or its only one.
    #[inline(always)]
    pub(crate) fn first(self, lines: usize, hash: KeyHash) -> Place {
        Place { line: index_below(self.cut(lines), hash.first()), second: hash.second() }
    }

    /// Its second line, which comes after the first.
    #[inline(always)]
    pub(crate) fn second(self, lines: usize, hash: KeyHash) -> Option<Place> {
        self.halves.then(|| {
            let (cut, hash) = (self.cut(lines), turned(hash));
            Place { line: cut + index_below(lines - cut, hash.first()), second: hash.second() }
        })
    }

    /// Every line of a key, in ascending order.
    #[inline]
    pub(crate) fn places(self, lines: usize, hash: KeyHash) -> impl Iterator<Item = Place> {
        std::iter::once(self.first(lines, hash)).chain(self.second(lines, hash))
    }
}
