//! Lines of counters: the kernels' second set of loops, for a filter from which keys are taken out.
//!
//! A line of 128 counters of four bits is asked as a line of 512 bits is. Lane `i` makes the same product, and its top 7 bits in place of 9 are the
//! counter; a counter that is not 0 stands for a set bit. The top 4 bits are the dword in either case, so that a kernel fetches the same dwords and differs
//! only in the last step:
//!
//! ```text
//! product   │ dword: 4 bits │ bit in it: 5 bits                  │ …      a line of bits
//! product   │ dword: 4 bits │ counter in it: 3 bits              │ …      a line of counters, 4 bits each
//! ```
//!
//! A kernel brings two functions on one line: `test_counters`, and `marks`, the key's counters as a set. What a change does to marked counters is
//! `bits/nibbles.rs`, whose plain words the compiler makes vectors of in a function for such; the loops around all of it are those of `drive.rs`.

#[cfg(target_arch = "aarch64")]
use super::aarch64;
#[cfg(target_arch = "x86_64")]
use super::x86_64;
use super::{Kernel, Kind, Layout, dispatch, portable};
use crate::bits::Line;
use crate::bits::nibbles::Taken;
use crate::key::KeyHash;

#[cfg(all(test, not(absentia_loom)))]
mod tests;

impl Kernel {
    /// Whether no counter of `hash` is 0.
    #[inline(always)]
    pub(crate) fn holds(self, lines: &[Line], layout: Layout, hash: KeyHash) -> bool {
        dispatch!(self, holds(lines, layout, hash))
    }

    /// One more in each counter of `hash`; true where one of them was 0.
    #[inline(always)]
    pub(crate) fn add(self, lines: &mut [Line], layout: Layout, hash: KeyHash) -> bool {
        dispatch!(self, add(lines, layout, hash))
    }

    /// One less in each counter of `hash`, of all lines or of none.
    #[inline(always)]
    pub(crate) fn take(self, lines: &mut [Line], layout: Layout, hash: KeyHash) -> Taken {
        dispatch!(self, take(lines, layout, hash))
    }

    /// The least of the counters of `hash`.
    pub(crate) fn least(self, lines: &[Line], layout: Layout, hash: KeyHash) -> u32 {
        portable::least(lines, layout, hash)
    }

    /// [`holds`](Self::holds) for every hash: bit `i` of the words of `answers`, of which there must be enough, is for `hashes[i]`.
    #[inline]
    pub(crate) fn holds_batch(self, lines: &[Line], layout: Layout, hashes: &[KeyHash], answers: &mut [usize]) {
        debug_assert!(hashes.len() <= answers.len() * usize::BITS as usize);
        dispatch!(self, holds_batch(lines, layout, hashes, answers));
    }

    /// [`add`](Self::add) for every hash, in order.
    #[inline]
    pub(crate) fn add_batch(self, lines: &mut [Line], layout: Layout, hashes: &[KeyHash], answers: &mut [usize]) {
        debug_assert!(hashes.len() <= answers.len() * usize::BITS as usize);
        dispatch!(self, add_batch(lines, layout, hashes, answers));
    }

    /// [`take`](Self::take) for every hash, in order; a bit is set where it was [`Taken::Copy`].
    #[inline]
    pub(crate) fn take_batch(self, lines: &mut [Line], layout: Layout, hashes: &[KeyHash], answers: &mut [usize]) {
        debug_assert!(hashes.len() <= answers.len() * usize::BITS as usize);
        dispatch!(self, take_batch(lines, layout, hashes, answers));
    }

    /// The counters of `second` as marks.
    #[cfg(all(test, not(absentia_loom)))]
    pub(crate) fn marks(self, second: u64, layout: Layout) -> crate::bits::nibbles::Marks {
        dispatch!(self, marks_of(second, layout))
    }
}

/// The functions of a kernel for counters, from its `test_counters`, `marks` and `fetch` in the scope of the macro's caller. As
/// [`kernel!`](super::drive::kernel).
macro_rules! counters {
    ($(#[$features:meta])?) => {
        $(#[$features])?
        pub(in crate::kernel) fn holds(lines: &[Line], layout: Layout, hash: KeyHash) -> bool {
            drive::contains(lines, layout, hash, |line, second| test_counters(line, second, layout))
        }

        $(#[$features])?
        pub(in crate::kernel) fn add(lines: &mut [Line], layout: Layout, hash: KeyHash) -> bool {
            drive::insert(lines, layout, hash, |line, second| nibbles::add(&mut line.0, &marks(second, layout)))
        }

        $(#[$features])?
        pub(in crate::kernel) fn take(lines: &mut [Line], layout: Layout, hash: KeyHash) -> nibbles::Taken {
            drive::take(lines, layout, hash, |second| marks(second, layout))
        }

        $(#[$features])?
        pub(in crate::kernel) fn holds_batch(lines: &[Line], layout: Layout, hashes: &[KeyHash], answers: &mut [usize]) {
            drive::contains_batch(lines, layout, hashes, answers, |line| fetch(line), |line, second| test_counters(line, second, layout));
        }

        $(#[$features])?
        pub(in crate::kernel) fn add_batch(lines: &mut [Line], layout: Layout, hashes: &[KeyHash], answers: &mut [usize]) {
            let add = |line: &mut Line, second| nibbles::add(&mut line.0, &marks(second, layout));
            drive::insert_batch(lines, layout, hashes, answers, |line| fetch(line), add);
        }

        $(#[$features])?
        pub(in crate::kernel) fn take_batch(lines: &mut [Line], layout: Layout, hashes: &[KeyHash], answers: &mut [usize]) {
            drive::take_batch(lines, layout, hashes, answers, |line| fetch(line), |second| marks(second, layout));
        }

        $(#[$features])?
        #[cfg(all(test, not(absentia_loom)))]
        pub(in crate::kernel) fn marks_of(second: u64, layout: Layout) -> nibbles::Marks {
            marks(second, layout)
        }
    };
}
pub(super) use counters;
