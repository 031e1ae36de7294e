//! A line under AVX2: eight positions at once, in two steps where a key has more.
//!
//! The idea of looking dwords up in both halves of a line is RocksDB's (`FastLocalBloom`, 2019); the salts and what is made of them are ours:
//!
//! ```text
//! second in every 64 bits × SALT   │ eight products of 32 bits; their top 9 bits are the positions
//! products >> 28                   │ low 3 bits: the dword within a half      ──▶ vpermd on the low and on the high half of the line
//! sign of the product              │ which half                              ──▶ vblendvps picks by that very bit
//! products << 4 >> 27              │ the bit in the dword                    ──▶ vpsllvd of a one, of a zero in lanes from k on
//! vptest                           │ all these bits are set
//! ```
//!
//! **An insert** needs the positions as a mask. For each of them, all sixteen dwords shift a one by (position − 32 · their number), and a shift by 32
//! or more, negative numbers included, gives zero in all dwords but the right one. The line is read and written in whole vectors, so that the next
//! load of it finds the store of a vector and does not wait for eight narrow ones.
//!
//! **A line of counters** is asked the same way, with four bits in place of one: none of these fours may be 0 in a lane below k. A counter's mark is the
//! mask of its position without the two lowest bits.

use super::super::counters::counters;
use super::super::drive::{self, kernel};
use super::super::layout::Layout;
use super::super::portable::SALT;
use super::super::prefetch::fetch;
use super::load::{self, load};
use super::salts;
use crate::bits::nibbles::{self, Marks};
use crate::bits::{Line, WORDS, Words};
use crate::key::KeyHash;
use std::arch::x86_64::*;

kernel! { #[target_feature(enable = "avx2,bmi2")] }
counters! { #[target_feature(enable = "avx2,bmi2")] }

/// A window of eight that begins at `8 - k` has a one in each lane below `k`.
static ONES: [u32; 16] = [1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0];

/// Whether the bits of the first `k` lanes of a step are set, for `k` up to 8.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn step(line: (__m256i, __m256i), products: __m256i, k: u32) -> bool {
    let bits = _mm256_sllv_epi32(ones(k), _mm256_srli_epi32::<27>(_mm256_slli_epi32::<4>(products)));
    _mm256_testc_si256(dwords(line, products), bits) != 0
}

/// The dword of each position.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn dwords((low, high): (__m256i, __m256i), products: __m256i) -> __m256i {
    let dword = _mm256_srli_epi32::<28>(products);
    let (low, high) = (_mm256_permutevar8x32_epi32(low, dword), _mm256_permutevar8x32_epi32(high, dword));
    _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high), _mm256_castsi256_ps(products)))
}

/// A one in each of the first `k` lanes, for `k` up to 8.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn ones(k: u32) -> __m256i {
    let window = &ONES[8 - k as usize..][..8];
    // SAFETY: the window is eight dwords; no alignment is asked for.
    unsafe { _mm256_loadu_si256(window.as_ptr().cast()) }
}

#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn test(line: &impl Words, second: u64, layout: Layout) -> bool {
    let (line, k) = (load(line), layout.k());
    let second = _mm256_set1_epi64x(second.cast_signed());
    let first = step(line, _mm256_mullo_epi32(second, salts!(0)), k.min(8));
    if k <= 8 { first } else { first & step(line, _mm256_mullo_epi32(second, salts!(1)), k - 8) }
}

/// [`step`] for counters: the three bits below the dword's are the counter in it.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn step_counters(line: (__m256i, __m256i), products: __m256i, k: u32) -> bool {
    let feet = _mm256_and_si256(_mm256_srli_epi32::<23>(products), _mm256_set1_epi32(0b11100));
    let counters = _mm256_and_si256(_mm256_srlv_epi32(dwords(line, products), feet), _mm256_set1_epi32(15));
    _mm256_testz_si256(_mm256_cmpeq_epi32(counters, _mm256_setzero_si256()), ones(k)) != 0
}

#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn test_counters(line: &Line, second: u64, layout: Layout) -> bool {
    let (line, k) = (load::owned(&line.0), layout.k());
    let second = _mm256_set1_epi64x(second.cast_signed());
    let first = step_counters(line, _mm256_mullo_epi32(second, salts!(0)), k.min(8));
    if k <= 8 { first } else { first & step_counters(line, _mm256_mullo_epi32(second, salts!(1)), k - 8) }
}

#[target_feature(enable = "avx2,bmi2")]
#[inline]
pub(super) fn marks(second: u64, layout: Layout) -> Marks {
    store(mask_vectors::<{ !3 }>(second, layout))
}

/// The positions as a mask, each with those of its bits alone that are `KEPT`.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn mask_vectors<const KEPT: i32>(second: u64, layout: Layout) -> (__m256i, __m256i) {
    let (second, k) = (_mm256_set1_epi64x(second.cast_signed()), layout.k());
    let one = _mm256_set1_epi32(1);
    let firsts = _mm256_setr_epi32(0, 32, 64, 96, 128, 160, 192, 224);
    let (mut low, mut high) = (_mm256_setzero_si256(), _mm256_setzero_si256());
    let mut add = |products, k| {
        let positions = _mm256_and_si256(_mm256_srli_epi32::<23>(products), _mm256_set1_epi32(KEPT));
        let mut lane = _mm256_setzero_si256();
        for _ in 0..k {
            let from_low = _mm256_sub_epi32(_mm256_permutevar8x32_epi32(positions, lane), firsts);
            low = _mm256_or_si256(low, _mm256_sllv_epi32(one, from_low));
            high = _mm256_or_si256(high, _mm256_sllv_epi32(one, _mm256_sub_epi32(from_low, _mm256_set1_epi32(256))));
            lane = _mm256_add_epi32(lane, one);
        }
    };
    add(_mm256_mullo_epi32(second, salts!(0)), k.min(8));
    if k > 8 {
        add(_mm256_mullo_epi32(second, salts!(1)), k - 8);
    }
    (low, high)
}

#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn store((low, high): (__m256i, __m256i)) -> [u64; WORDS] {
    let mut words = [0u64; WORDS];
    let (front, back) = words.split_at_mut(WORDS / 2);
    // SAFETY: half of the array is 32 bytes that may be written; no alignment is asked for.
    unsafe { _mm256_storeu_si256(front.as_mut_ptr().cast(), low) };
    // SAFETY: as above, for the other half.
    unsafe { _mm256_storeu_si256(back.as_mut_ptr().cast(), high) };
    words
}

#[target_feature(enable = "avx2,bmi2")]
#[inline]
pub(super) fn set(line: &mut Line, second: u64, layout: Layout) -> bool {
    let (old, mask) = (load::owned(&line.0), mask_vectors::<{ !0 }>(second, layout));
    line.0 = store((_mm256_or_si256(old.0, mask.0), _mm256_or_si256(old.1, mask.1)));
    // Both halves must be checked, and both at once costs one branch less.
    let missing = _mm256_or_si256(_mm256_andnot_si256(old.0, mask.0), _mm256_andnot_si256(old.1, mask.1));
    _mm256_testz_si256(missing, missing) == 0
}

#[target_feature(enable = "avx2,bmi2")]
pub(in crate::kernel) fn mask(second: u64, layout: Layout) -> [u64; WORDS] {
    store(mask_vectors::<{ !0 }>(second, layout))
}
