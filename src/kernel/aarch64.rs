//! A line under NEON: sixteen positions at once, byte by byte.
//!
//! **Run under an emulator only** (`ci/cross.sh`), where it passes the same suite as the others; nobody has measured it. See docs/limitations.
//!
//! ```text
//! second in every 64 bits × SALT   │ four vectors of four products; their top 9 bits are the positions
//! top 6 bits                       │ packed to bytes: which of the 64 bytes of the line      ──▶ tbl looks sixteen up at once
//! the 3 below them                 │ packed to bytes: which bit of it                        ──▶ ushl of a one, of a zero in lanes from k on
//! bic, umaxv                       │ none of these bits is missing
//! ```
//!
//! A line of counters: the byte is the same one, and the bit below says which half of it. `tst` tells where a counter is not 0, and a lane below k in
//! which it does not is missing.
//!
//! An insert takes the portable way, into counters too: a scatter of bits has no shorter form here. A shift by a lane of 64 bits looks at the low byte of the distance
//! alone, so that the mask cannot be made as under AVX2, and to compare bytes takes fourteen instructions a position.

use super::counters::counters;
use super::drive::{self, kernel};
use super::layout::Layout;
use super::portable::{self, SALT};
use super::prefetch::fetch;
use crate::bits::nibbles::{self, Marks};
use crate::bits::{Line, WORDS, Words};
use crate::key::KeyHash;
use std::arch::aarch64::*;

pub(super) fn has_neon() -> bool {
    // The lines are read as bytes, and byte 0 of a word is its lowest only where memory is little-endian.
    cfg!(target_endian = "little") && std::arch::is_aarch64_feature_detected!("neon")
}

kernel! { #[target_feature(enable = "neon")] }
counters! { #[target_feature(enable = "neon")] }

/// A window of sixteen that begins at `16 - k` has a one in each lane below `k`.
static ONES: [u8; 32] = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// The products of lanes `4 · STEP` and up.
#[target_feature(enable = "neon")]
#[inline]
fn products<const STEP: usize>(halves: uint32x4_t) -> uint16x8_t {
    const { assert!(STEP < 4) };
    // SAFETY: four of the sixteen salts, from a multiple of four on, are 16 bytes inside the array; no alignment is asked for.
    let salts = unsafe { vld1q_u32(SALT.as_ptr().add(4 * STEP)) };
    vreinterpretq_u16_u32(vmulq_u32(halves, salts))
}

/// Of each position the byte in the line, and the three bits below.
#[target_feature(enable = "neon")]
#[inline]
fn positions(second: u64) -> (uint8x16_t, uint8x16_t) {
    let halves = vreinterpretq_u32_u64(vdupq_n_u64(second));
    // The odd lanes of 16 bits are the high halves of the products, and their odd bytes the highest ones.
    let low = vuzp2q_u16(products::<0>(halves), products::<1>(halves));
    let high = vuzp2q_u16(products::<2>(halves), products::<3>(halves));
    let bytes = vshrq_n_u8::<2>(vuzp2q_u8(vreinterpretq_u8_u16(low), vreinterpretq_u8_u16(high)));
    let shifts = vandq_u8(vshrn_high_n_u16::<7>(vshrn_n_u16::<7>(low), high), vdupq_n_u8(7));
    (bytes, shifts)
}

/// A one in each of the first `k` lanes.
#[target_feature(enable = "neon")]
#[inline]
fn ones(k: u32) -> uint8x16_t {
    let window = &ONES[16 - k as usize..][..16];
    // SAFETY: the window is sixteen bytes; no alignment is asked for.
    unsafe { vld1q_u8(window.as_ptr()) }
}

/// The bytes of a line at these places.
#[target_feature(enable = "neon")]
#[inline]
fn bytes_at(line: &impl Words, places: uint8x16_t) -> uint8x16_t {
    let [a, b, c, d, e, f, g, h] = line.words();
    let pair = |low, high| vreinterpretq_u8_u64(vcombine_u64(vcreate_u64(low), vcreate_u64(high)));
    vqtbl4q_u8(uint8x16x4_t(pair(a, b), pair(c, d), pair(e, f), pair(g, h)), places)
}

#[target_feature(enable = "neon")]
#[inline]
fn test(line: &impl Words, second: u64, layout: Layout) -> bool {
    let (bytes, shifts) = positions(second);
    let bits = vshlq_u8(ones(layout.k()), vreinterpretq_s8_u8(shifts));
    let missing = vbicq_u8(bits, bytes_at(line, bytes));
    // Four lanes are sooner reduced to one than sixteen.
    vmaxvq_u32(vreinterpretq_u32_u8(missing)) == 0
}

#[target_feature(enable = "neon")]
#[inline]
fn test_counters(line: &Line, second: u64, layout: Layout) -> bool {
    let (bytes, shifts) = positions(second);
    // The topmost of the three bits chooses between the lower and the upper four of the byte.
    let counters = vshlq_u8(vdupq_n_u8(15), vreinterpretq_s8_u8(vandq_u8(shifts, vdupq_n_u8(4))));
    let missing = vbicq_u8(ones(layout.k()), vtstq_u8(bytes_at(line, bytes), counters));
    vmaxvq_u32(vreinterpretq_u32_u8(missing)) == 0
}

#[inline(always)]
fn marks(second: u64, layout: Layout) -> Marks {
    portable::marks(second, layout)
}

#[inline(always)]
fn set(line: &mut Line, second: u64, layout: Layout) -> bool {
    portable::set(line, second, layout)
}

#[target_feature(enable = "neon")]
pub(super) fn mask(second: u64, layout: Layout) -> [u64; WORDS] {
    portable::mask(second, layout)
}
