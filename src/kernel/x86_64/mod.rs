//! The kernels for x86-64, and the questions to the processor on which they rest.

pub(super) mod avx2;
pub(super) mod avx512;
pub(super) mod planes;

mod load;

/// What the functions of `avx2` are compiled for.
pub(super) fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("bmi2")
}

/// Runs `loops`, whatever of it is inlined here, on the instructions that came with AVX2.
#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(super) fn run<R>(loops: impl FnOnce() -> R) -> R {
    loops()
}

/// What the functions of `avx512` are compiled for.
pub(super) fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") && has_avx2()
}

/// The salts of lanes `8 · step` to `8 · step + 7`.
macro_rules! salts {
    ($step:literal) => {
        _mm256_setr_epi32(
            SALT[8 * $step].cast_signed(),
            SALT[8 * $step + 1].cast_signed(),
            SALT[8 * $step + 2].cast_signed(),
            SALT[8 * $step + 3].cast_signed(),
            SALT[8 * $step + 4].cast_signed(),
            SALT[8 * $step + 5].cast_signed(),
            SALT[8 * $step + 6].cast_signed(),
            SALT[8 * $step + 7].cast_signed(),
        )
    };
}
use salts;
