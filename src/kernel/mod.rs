//! [`Kernel`]: the inner loops of a filter, chosen once per filter and called with lines and hashes.
//!
//! A kernel knows one line and one `second` at a time, or a group of hashes over all lines; it does not know what a filter promises. `portable.rs`
//! is the meaning: a kernel for an instruction set joins as another variant here and must give the same bits and answers. Dispatch is a `match`
//! on a byte, once for a key or once for a group, never a pointer call for a key.

mod portable;

use crate::bits::{Line, WORDS, Words};
use crate::key::KeyHash;

/// The most hashes that a group call takes, one for each bit of its answer.
pub(crate) const GROUP: usize = usize::BITS as usize;

/// The most bit positions that a key may have in its line.
pub(crate) const MAX_HASHES: u32 = portable::SALT.len() as u32;

/// A set of inner loops that this machine can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    Portable,
}

impl Kernel {
    /// The fastest that this machine can run.
    pub(crate) fn best() -> Self {
        Self::Portable
    }

    /// For people: logs and `Debug`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
        }
    }

    /// Whether the first `k` bits of `second` are all set in `line`.
    #[inline]
    pub(crate) fn contains(self, line: &impl Words, second: u64, k: u32) -> bool {
        match self {
            Self::Portable => portable::contains(line, second, k),
        }
    }

    /// Sets the first `k` bits of `second` in `line`; true where one of them was not set.
    #[inline]
    pub(crate) fn insert(self, line: &mut Line, second: u64, k: u32) -> bool {
        match self {
            Self::Portable => portable::insert(line, second, k),
        }
    }

    /// The first `k` bits of `second` as a line of their own: what an insert into a shared line sets.
    #[inline]
    pub(crate) fn mask(self, second: u64, k: u32) -> [u64; WORDS] {
        match self {
            Self::Portable => portable::mask(second, k),
        }
    }

    /// [`contains`](Self::contains) for up to [`GROUP`] hashes, each in its line among `lines`. Bit `i` of the answer is for `hashes[i]`.
    #[inline]
    pub(crate) fn contains_group<L: Words>(self, lines: &[L], hashes: &[KeyHash], k: u32) -> usize {
        debug_assert!(hashes.len() <= GROUP);
        match self {
            Self::Portable => portable::contains_group(lines, hashes, k),
        }
    }

    /// [`insert`](Self::insert) for up to [`GROUP`] hashes, in order: a hash that comes twice is new once.
    #[inline]
    pub(crate) fn insert_group(self, lines: &mut [Line], hashes: &[KeyHash], k: u32) -> usize {
        debug_assert!(hashes.len() <= GROUP);
        match self {
            Self::Portable => portable::insert_group(lines, hashes, k),
        }
    }
}
