//! Lines of planes under AVX2 and AVX-512: the words of all positions fetched, shifted and put together by AND at once.
//!
//! ```text
//! second in every 64 bits × SALT    │ eight products of 32 bits
//! products >> 29                    │ the word of the line, 0 to 7
//! products >> 13, low 16 bits       │ vpmulhuw by the groups in a word: the group;  vpmullw by the planes: how far to shift
//! widened to lanes of 64 bits       │ vpermq (AVX2: vpermd on each half, and a blend) fetches the words, vpsrlvq shifts their groups to the bottom
//! AND over the lanes                │ one bit a plane
//! ```
//!
//! AVX-512 has eight lanes of 64 bits and does this once, or twice where k > 8; up to four positions live in 256-bit registers, where `vpermt2q` looks
//! a word up in both halves of the line. AVX2 has four lanes.

use super::super::drive;
use super::super::planes::{GROUP_SHIFT, PlaneLayout, WORD_SHIFT, planes_kernel, set};
use super::super::portable::SALT;
use super::super::prefetch::fetch;
use super::load::load;
use super::salts;
use crate::bits::{Line, Words};
use crate::key::KeyHash;
use std::arch::x86_64::*;

/// The word of each of eight positions, and how far to shift it, in lanes of 32 bits.
#[target_feature(enable = "avx2")]
#[inline]
fn at(products: __m256i, layout: PlaneLayout) -> (__m256i, __m256i) {
    let (groups, planes) = (_mm256_set1_epi32(layout.groups() as i32), _mm256_set1_epi32(layout.planes() as i32));
    // The upper 16 bits of each lane meet the upper half of a small number, which is 0.
    let group = _mm256_mulhi_epu16(_mm256_srli_epi32::<{ GROUP_SHIFT as i32 }>(products), groups);
    (_mm256_srli_epi32::<{ WORD_SHIFT as i32 }>(products), _mm256_mullo_epi16(group, planes))
}

pub(in crate::kernel) mod avx2 {
    use super::*;

    planes_kernel! { #[target_feature(enable = "avx2,bmi2")] }

    /// A window of four that begins at `4 - k` is all ones in the lanes from `k` on.
    static REST: [u64; 8] = [0, 0, 0, 0, u64::MAX, u64::MAX, u64::MAX, u64::MAX];

    /// The AND of the shifted words of the first `k` of four lanes with `all`.
    #[target_feature(enable = "avx2,bmi2")]
    #[inline]
    fn four(all: __m256i, (low, high): (__m256i, __m256i), word: __m128i, shift: __m128i, k: u32) -> __m256i {
        let (word, shift) = (_mm256_cvtepu32_epi64(word), _mm256_cvtepu32_epi64(shift));
        // Two dwords a word; of their numbers only the low three bits count.
        let low_dword = _mm256_slli_epi64::<1>(word);
        let dwords = _mm256_or_si256(_mm256_or_si256(low_dword, _mm256_slli_epi64::<33>(word)), _mm256_set1_epi64x(1 << 32));
        let (low, high) = (_mm256_permutevar8x32_epi32(low, dwords), _mm256_permutevar8x32_epi32(high, dwords));
        let upper = _mm256_castsi256_pd(_mm256_slli_epi64::<61>(word));
        let words = _mm256_castpd_si256(_mm256_blendv_pd(_mm256_castsi256_pd(low), _mm256_castsi256_pd(high), upper));
        let window = &REST[4 - k.min(4) as usize..][..4];
        // SAFETY: the window is four words; no alignment is asked for.
        let rest = unsafe { _mm256_loadu_si256(window.as_ptr().cast()) };
        // Never more than 63 in any case; said here, it spares the compiler a comparison for the counts that a shift could have.
        let shift = _mm256_and_si256(shift, _mm256_set1_epi64x(63));
        _mm256_and_si256(all, _mm256_or_si256(_mm256_srlv_epi64(words, shift), rest))
    }

    #[target_feature(enable = "avx2,bmi2")]
    #[inline]
    fn test(line: &impl Words, second: u64, layout: PlaneLayout, live: u32) -> u32 {
        let (line, k) = (load(line), layout.lines().k());
        let second = _mm256_set1_epi64x(second.cast_signed());
        let eight = |all, products, k: u32| {
            let (word, shift) = at(products, layout);
            let all = four(all, line, _mm256_castsi256_si128(word), _mm256_castsi256_si128(shift), k);
            if k <= 4 {
                return all;
            }
            four(all, line, _mm256_extracti128_si256::<1>(word), _mm256_extracti128_si256::<1>(shift), k - 4)
        };
        let mut all = eight(_mm256_set1_epi64x(-1), _mm256_mullo_epi32(second, salts!(0)), k.min(8));
        if k > 8 {
            all = eight(all, _mm256_mullo_epi32(second, salts!(1)), k - 8);
        }
        let two = _mm_and_si128(_mm256_castsi256_si128(all), _mm256_extracti128_si256::<1>(all));
        let one = _mm_and_si128(two, _mm_unpackhi_epi64(two, two));
        _mm_cvtsi128_si32(one).cast_unsigned() & live
    }
}

pub(in crate::kernel) mod avx512 {
    use super::*;

    planes_kernel! { #[target_feature(enable = "avx512f,avx512vl,bmi2")] }

    /// Turned by `shift` and not shifted: the bits above the group do not matter, and a rotation has no count that must be ruled out first. All ones in
    /// the lanes that are not in `lanes`.
    #[target_feature(enable = "avx512f,avx512vl,bmi2")]
    #[inline]
    fn eight(line: __m512i, products: __m256i, layout: PlaneLayout, lanes: __mmask8) -> __m512i {
        let (word, shift) = at(products, layout);
        let words = _mm512_permutexvar_epi64(_mm512_cvtepu32_epi64(word), line);
        _mm512_mask_rorv_epi64(_mm512_set1_epi64(-1), lanes, words, _mm512_cvtepu32_epi64(shift))
    }

    #[target_feature(enable = "avx512f,avx512vl,bmi2")]
    #[inline]
    fn four((low, high): (__m256i, __m256i), products: __m128i, layout: PlaneLayout, lanes: __mmask8) -> __m256i {
        // As in `at`, in lanes of 64 bits.
        let products = _mm256_cvtepu32_epi64(products);
        let words = _mm256_permutex2var_epi64(low, _mm256_srli_epi64::<{ WORD_SHIFT as i32 }>(products), high);
        let (groups, planes) = (_mm256_set1_epi64x(i64::from(layout.groups())), _mm256_set1_epi64x(i64::from(layout.planes())));
        let shift = _mm256_mullo_epi16(_mm256_mulhi_epu16(_mm256_srli_epi64::<{ GROUP_SHIFT as i32 }>(products), groups), planes);
        _mm256_mask_rorv_epi64(_mm256_set1_epi64x(-1), lanes, words, shift)
    }

    #[target_feature(enable = "avx512f,avx512vl,bmi2")]
    #[inline]
    fn test(line: &impl Words, second: u64, layout: PlaneLayout, live: u32) -> u32 {
        let (low, high) = load(line);
        let (second, lanes) = (second.cast_signed(), layout.lines().lanes());
        let all = if lanes < 1 << 4 {
            let products = _mm_mullo_epi32(_mm_set1_epi64x(second), _mm256_castsi256_si128(salts!(0)));
            four((low, high), products, layout, lanes as __mmask8)
        } else {
            let line = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high);
            let second = _mm256_set1_epi64x(second);
            let mut all = eight(line, _mm256_mullo_epi32(second, salts!(0)), layout, lanes as __mmask8);
            if lanes >= 1 << 8 {
                all = _mm512_and_si512(all, eight(line, _mm256_mullo_epi32(second, salts!(1)), layout, (lanes >> 8) as __mmask8));
            }
            _mm256_and_si256(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64::<1>(all))
        };
        let two = _mm_and_si128(_mm256_castsi256_si128(all), _mm256_extracti128_si256::<1>(all));
        let one = _mm_and_si128(two, _mm_unpackhi_epi64(two, two));
        _mm_cvtsi128_si32(one).cast_unsigned() & live
    }
}
