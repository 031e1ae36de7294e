//! The kernels for x86-64, and the questions to the processor on which they rest.

pub(super) mod avx2;
pub(super) mod avx512;

mod load;

use super::portable::SALT;

/// What the functions of `avx2` are compiled for.
pub(super) fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
}

/// What the functions of `avx512` are compiled for.
pub(super) fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl")
}

/// Aligned like a line, so that a load of a vector of salts touches one cache line.
#[repr(C, align(64))]
struct Salts([u32; 16]);

static SALTS: Salts = Salts(SALT);

/// Starts the load of a line into the first-level cache.
#[inline(always)]
fn fetch<L>(line: &L) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch reads nothing into the program and faults on no address; SSE is part of x86-64.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(line).cast()) }
}
