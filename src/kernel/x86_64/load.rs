//! [`load`]: a line into two vector registers, owned or shared.
//!
//! A shared line is written by other threads meanwhile. Eight relaxed loads of a word each, put together in registers, are right and slow: 3.5 ns a key
//! more in L2, and 18 more at 124 MB, where so many instructions for a key leave room for fewer keys under way. Rust has no vector load that may race. An
//! assembly block has one: it does what eight relaxed loads would do, in four instructions.

#[cfg(not(absentia_loom))]
use crate::bits::View;
use crate::bits::{WORDS, Words};
use std::arch::x86_64::*;

/// The low and the high half of a line.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn load(line: &impl Words) -> (__m256i, __m256i) {
    #[cfg(not(absentia_loom))]
    return match line.view() {
        View::Owned(words) => owned(words),
        View::Shared(words) => shared(words),
    };
    #[cfg(absentia_loom)]
    owned(&line.words())
}

#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn owned(words: &[u64; WORDS]) -> (__m256i, __m256i) {
    let [a, b, c, d, e, f, g, h] = words.map(u64::cast_signed);
    (_mm256_setr_epi64x(a, b, c, d), _mm256_setr_epi64x(e, f, g, h))
}

/// Each word is loaded once, as by `load(Relaxed)`, in no particular order.
#[cfg(not(absentia_loom))]
#[target_feature(enable = "avx2")]
#[inline]
fn shared(words: &[crate::sync::AtomicU64; WORDS]) -> (__m256i, __m256i) {
    let (a, b, c, d): (__m128i, __m128i, __m128i, __m128i);
    // SAFETY: the block must do nothing that Rust code could not do in its place, and that is eight relaxed atomic loads of words that are borrowed and
    // valid. The processor may not tear a word: on x86-64 with AVX, an aligned 16-byte load by VEX-encoded VMOVDQA is one access (Intel SDM volume 3A,
    // section 9.1.1; AMD says the same of its processors), and `AtomicLine`, the only place for such an array, is aligned to 64. It writes no memory,
    // uses no stack, and leaves the flags. It is not `pure`, so that a loop that waits for a key to appear looks again each time.
    unsafe {
        std::arch::asm!(
            "vmovdqa {a}, [{line}]",
            "vmovdqa {b}, [{line} + 16]",
            "vmovdqa {c}, [{line} + 32]",
            "vmovdqa {d}, [{line} + 48]",
            line = in(reg) words.as_ptr(),
            a = out(xmm_reg) a,
            b = out(xmm_reg) b,
            c = out(xmm_reg) c,
            d = out(xmm_reg) d,
            options(readonly, nostack, preserves_flags),
        );
    }
    (_mm256_set_m128i(b, a), _mm256_set_m128i(d, c))
}
