//! A line under AVX-512: all positions of a key computed, fetched and tested at once.
//!
//! ```text
//! second in every 64 bits   │ lo  hi  lo  hi …          a lane is 32 bits: even lanes hold the low half, odd ones the high
//! × SALT                    │ products; their top 9 bits are the positions
//! products >> 28            │ the dword of the line, 0 to 15     ──▶ vpermd (k ≤ 8: vpermt2d) fetches these dwords, one to a lane
//! products >> 23            │ its low 5 bits are the bit          ──▶ vprorvd turns that bit to the bottom, taking the count modulo 32 itself
//! vptestnm under k lanes    │ all bits set where no lane shows a zero
//! ```
//!
//! A line of counters has its counter in the dword in the 3 bits below the dword's own, and all four of the bits that are turned to the bottom count.
//!
//! Up to eight positions live in 256-bit registers, where `vpermt2d` looks a dword up in both halves of the line.
//!
//! **An insert** is that of `avx2.rs`: the same in 512-bit registers was 15 to 25 % slower.

use super::super::counters::counters;
use super::super::drive::{self, kernel};
use super::super::layout::Layout;
use super::super::portable::SALT;
use super::super::prefetch::fetch;
pub(in crate::kernel) use super::avx2::mask;
use super::avx2::{marks, set};
use super::load::{self, load};
use super::salts;
use crate::bits::nibbles;
use crate::bits::{Line, Words};
use crate::key::KeyHash;
use std::arch::x86_64::*;

kernel! { #[target_feature(enable = "avx512f,avx512vl,bmi2")] }
counters! { #[target_feature(enable = "avx512f,avx512vl,bmi2")] }

#[target_feature(enable = "avx512f,avx512vl,bmi2")]
#[inline]
fn test(line: &impl Words, second: u64, layout: Layout) -> bool {
    let (low, high) = load(line);
    let second = second.cast_signed();
    if layout.lanes() < 1 << 8 {
        let products = _mm256_mullo_epi32(_mm256_set1_epi64x(second), salts!(0));
        let dwords = _mm256_permutex2var_epi32(low, _mm256_srli_epi32::<28>(products), high);
        let bits = _mm256_rorv_epi32(dwords, _mm256_srli_epi32::<23>(products));
        _mm256_mask_testn_epi32_mask(layout.lanes() as __mmask8, bits, _mm256_set1_epi32(1)) == 0
    } else {
        let salts = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(salts!(0)), salts!(1));
        let products = _mm512_mullo_epi32(_mm512_set1_epi64(second), salts);
        let line = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high);
        let dwords = _mm512_permutexvar_epi32(_mm512_srli_epi32::<28>(products), line);
        let bits = _mm512_rorv_epi32(dwords, _mm512_srli_epi32::<23>(products));
        _mm512_mask_testn_epi32_mask(layout.lanes(), bits, _mm512_set1_epi32(1)) == 0
    }
}

#[target_feature(enable = "avx512f,avx512vl,bmi2")]
#[inline]
fn test_counters(line: &Line, second: u64, layout: Layout) -> bool {
    let (low, high) = load::owned(&line.0);
    let second = second.cast_signed();
    if layout.lanes() < 1 << 8 {
        let products = _mm256_mullo_epi32(_mm256_set1_epi64x(second), salts!(0));
        let dwords = _mm256_permutex2var_epi32(low, _mm256_srli_epi32::<28>(products), high);
        let feet = _mm256_slli_epi32::<2>(_mm256_srli_epi32::<25>(products));
        let counters = _mm256_rorv_epi32(dwords, feet);
        _mm256_mask_testn_epi32_mask(layout.lanes() as __mmask8, counters, _mm256_set1_epi32(15)) == 0
    } else {
        let salts = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(salts!(0)), salts!(1));
        let products = _mm512_mullo_epi32(_mm512_set1_epi64(second), salts);
        let line = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high);
        let dwords = _mm512_permutexvar_epi32(_mm512_srli_epi32::<28>(products), line);
        let feet = _mm512_slli_epi32::<2>(_mm512_srli_epi32::<25>(products));
        let counters = _mm512_rorv_epi32(dwords, feet);
        _mm512_mask_testn_epi32_mask(layout.lanes(), counters, _mm512_set1_epi32(15)) == 0
    }
}
