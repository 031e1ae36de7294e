//! A line under NEON: sixteen positions at once, byte by byte.
//!
//! **Never run.** It compiles by inspection and goes through the same suite as the others on a machine that has it; see docs/limitations.
//!
//! ```text
//! second in every 64 bits × SALT   │ four vectors of four products; their top 9 bits are the positions
//! position >> 3                    │ narrowed to bytes: which of the 64 bytes of the line      ──▶ tbl looks sixteen up at once
//! 1 << (position & 7)              │ narrowed to bytes: which bit of it                        ──▶ ushl of a one
//! tst, or with lanes from k on, uminv │ all set
//! ```
//!
//! An insert takes the portable way: a scatter of bits has no shorter form here, and narrow stores into a line are followed by `tbl` loads of it
//! only where keys of one line come right behind one another.

use super::drive::{self, kernel};
use super::layout::Layout;
use super::portable::{self, SALT};
use crate::bits::{Line, WORDS, Words};
use crate::key::KeyHash;
use std::arch::aarch64::*;

pub(super) fn has_neon() -> bool {
    // The lines are read as bytes, and byte 0 of a word is its lowest only where memory is little-endian.
    cfg!(target_endian = "little") && std::arch::is_aarch64_feature_detected!("neon")
}

kernel! { #[target_feature(enable = "neon")] }

/// A window of sixteen that begins at `16 - k` has zeros in the lanes below `k`, and ones from there on.
static BEYOND: [u8; 32] = {
    let mut lanes = [0; 32];
    let mut lane = 16;
    while lane < 32 {
        lanes[lane] = 0xff;
        lane += 1;
    }
    lanes
};

/// The four positions of lanes `4 · STEP` and up.
#[target_feature(enable = "neon")]
#[inline]
fn positions<const STEP: usize>(halves: uint32x4_t) -> uint32x4_t {
    const { assert!(STEP < 4) };
    // SAFETY: four of the sixteen salts, from a multiple of four on, are 16 bytes inside the array.
    let salts = unsafe { vld1q_u32(SALT.as_ptr().add(4 * STEP)) };
    vshrq_n_u32::<23>(vmulq_u32(halves, salts))
}

#[target_feature(enable = "neon")]
#[inline]
fn narrow(a: uint32x4_t, b: uint32x4_t) -> uint16x8_t {
    vcombine_u16(vmovn_u32(a), vmovn_u32(b))
}

#[target_feature(enable = "neon")]
#[inline]
fn test(line: &impl Words, second: u64, k: u32) -> bool {
    let halves = vreinterpretq_u32_u64(vdupq_n_u64(second));
    let low = narrow(positions::<0>(halves), positions::<1>(halves));
    let high = narrow(positions::<2>(halves), positions::<3>(halves));
    let bytes = vcombine_u8(vshrn_n_u16::<3>(low), vshrn_n_u16::<3>(high));
    let bits = vandq_u8(vcombine_u8(vmovn_u16(low), vmovn_u16(high)), vdupq_n_u8(7));

    let [a, b, c, d, e, f, g, h] = line.words();
    let pair = |low, high| vreinterpretq_u8_u64(vcombine_u64(vcreate_u64(low), vcreate_u64(high)));
    let table = uint8x16x4_t(pair(a, b), pair(c, d), pair(e, f), pair(g, h));

    let set = vtstq_u8(vqtbl4q_u8(table, bytes), vshlq_u8(vdupq_n_u8(1), vreinterpretq_s8_u8(bits)));
    let window = &BEYOND[16 - k.min(16) as usize..][..16];
    // SAFETY: the window is sixteen bytes.
    let beyond = unsafe { vld1q_u8(window.as_ptr()) };
    vminvq_u8(vorrq_u8(set, beyond)) == 0xff
}

#[inline(always)]
fn set(line: &mut Line, second: u64, k: u32) -> bool {
    portable::set(line, second, k)
}

#[target_feature(enable = "neon")]
pub(super) fn mask(second: u64, k: u32) -> [u64; WORDS] {
    portable::mask(second, k)
}

/// There is no stable prefetch here; the loads of a group are started by reading a word of each line.
#[inline(always)]
fn fetch(line: &impl Words) {
    portable::fetch(line);
}
