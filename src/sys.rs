//! What only the operating system can do: larger pages.
//!
//! Outside of `kernel/` this is the only place with `unsafe`.

// Calls into the system's C library.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

/// Below this there are too few large pages in an allocation to matter: its misaligned ends alone are up to two of them.
const WORTH_ASKING: usize = 8 << 20;

/// Asks for large pages behind memory that has not been written yet, so that a random access misses one cache and not the address translation too.
///
/// A request: where it is refused, or is not known (anywhere but on Linux), nothing changes. What it brings is in docs/performance.
pub(crate) fn advise_huge_pages<T>(memory: &mut [MaybeUninit<T>]) {
    if size_of_val(memory) < WORTH_ASKING {
        return;
    }
    #[cfg(target_os = "linux")]
    {
        // madvise takes whole pages. Rounding inwards to the largest base page there is (64 KiB, on some ARM systems) is right for all smaller ones.
        const PAGE: usize = 64 << 10;
        let start = memory.as_mut_ptr().cast::<libc::c_void>();
        let skipped = start.align_offset(PAGE);
        let length = (size_of_val(memory) - skipped) & !(PAGE - 1);
        // SAFETY: MADV_HUGEPAGE changes how pages are backed and not what is in them, whatever they hold; the range lies inside `memory`, which is
        // borrowed for the call: `skipped` is less than a page, and `length` ends before the end.
        let _ = unsafe { libc::madvise(start.wrapping_byte_add(skipped), length, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(all(test, not(absentia_loom)))]
mod tests {
    use super::*;

    #[test]
    fn asking_changes_nothing_about_the_memory() {
        for bytes in [0, 1, WORTH_ASKING - 1, WORTH_ASKING, WORTH_ASKING + 12345] {
            let mut memory: Vec<u8> = Vec::with_capacity(bytes);
            advise_huge_pages(memory.spare_capacity_mut());
            memory.resize(bytes, 7);
            assert!(memory.iter().all(|&byte| byte == 7));
        }
    }
}
