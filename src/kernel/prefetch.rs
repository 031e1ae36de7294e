//! [`fetch`]: starts the load of a line into the first-level cache and waits for nothing.
//!
//! A hint, the same for every kernel of a machine, `portable` included: it changes when a line comes, and nothing else.

#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn fetch<L>(line: &L) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch reads nothing into the program and faults on no address; SSE is part of x86-64.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(line).cast()) }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(crate) fn fetch<L>(line: &L) {
    // SAFETY: a prefetch reads nothing into the program and faults on no address. There is no stable intrinsic for it.
    unsafe { std::arch::asm!("prfm pldl1keep, [{line}]", line = in(reg) std::ptr::from_ref(line), options(nomem, nostack, preserves_flags)) }
}

/// Elsewhere a batch relies on the processor to look ahead by itself. To read a word of the line, whose value nobody waits for, was tried in place of
/// a prefetch: such loads cannot retire before they have come, so that few keys are under way, and a batch of the portable kernel took 27 ns a key at
/// 12 MB in place of 9.5.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
pub(crate) fn fetch<L>(_line: &L) {}
