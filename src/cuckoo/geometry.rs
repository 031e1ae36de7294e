//! [`Geometry`]: from a hash to a fingerprint and the two buckets where it may be.
//!
//! ```text
//! KeyHash.first   ──▶ home bucket        ⌊first · m / 2^64⌋, any m
//! KeyHash.second  ──▶ fingerprint        1 + ⌊second · (2^f − 1) / 2^64⌋, so 1 ..= 2^f − 1
//! fingerprint     ──▶ r, odd, below m    2·⌊spread(fingerprint) · (m/2) / 2^64⌋ + 1
//! bucket b        ──▶ other bucket       (r − b) mod m
//! ```
//!
//! **Any number of buckets.** The original filter (Fan, Andersen, Kaminsky and Mitzenmacher, *Cuckoo Filter: Practically Better Than Bloom*, 2014)
//! takes `b xor hash(fingerprint)` for the other bucket, which leads back only where the number of buckets is a power of two; a filter is then up to
//! twice as large as its keys need. `r − b` leads back for every m. With m even and r odd the two buckets of a fingerprint are always an even and an
//! odd one, so never the same. (Additive involutions are known from `CuckooFilterStable` of the fastfilter_cpp collection.)
//!
//! **Zero is an empty slot.** A fingerprint is spread evenly over the 2^f − 1 other values, none of which is special; what that costs is in
//! [`false_positive_rate`](super::sizing::false_positive_rate), which counts 2^f − 1 values and not 2^f.

use crate::bits::index_below;
use crate::key::KeyHash;

/// Outputs 1 and 2 of SplitMix64 started at 0, lowest bit set.
const SPREAD: [u64; 2] = [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f5];

/// A fingerprint, spread over 64 bits so that nothing simple holds between the images of two.
///
/// A product alone will not do. Then `r` grows by the same step from each fingerprint to the next, and two moves lead from a bucket not to 2^2f
/// others but to 2·2^f, the same differences again and again: searches for room went round in circles, and a filter of 10^7 keys with f = 8 was full
/// at a load of 0.942. With two products and a shift between them it takes the 0.95 that it is sized for.
#[inline(always)]
const fn spread(fingerprint: u32) -> u64 {
    let x = (fingerprint as u64).wrapping_mul(SPREAD[0]);
    (x ^ x >> 32).wrapping_mul(SPREAD[1])
}

/// Everything that decides where a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Geometry {
    /// Even, at least 2.
    pub(super) buckets: usize,
    /// Bits of a fingerprint.
    pub(super) width: u32,
    /// Of fingerprints: 2^width − 1.
    values: u64,
}

/// A fingerprint and its two buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) fingerprint: u32,
    pub(super) home: usize,
    pub(super) other: usize,
}

impl Geometry {
    pub(super) const fn new(buckets: usize, width: u32) -> Self {
        Self { buckets, width, values: (1 << width) - 1 }
    }

    #[inline(always)]
    pub(super) const fn place(self, hash: KeyHash) -> Place {
        let fingerprint = self.fingerprint(hash);
        let home = index_below(self.buckets, hash.first());
        Place { fingerprint, home, other: self.other(home, fingerprint) }
    }

    /// 1 to 2^width − 1.
    #[inline(always)]
    const fn fingerprint(self, hash: KeyHash) -> u32 {
        1 + ((hash.second() as u128 * self.values as u128) >> 64) as u32
    }

    /// The bucket where a fingerprint that is in `bucket` may also be. Its own inverse.
    #[inline(always)]
    pub(super) const fn other(self, bucket: usize, fingerprint: u32) -> usize {
        let r = 2 * index_below(self.buckets / 2, spread(fingerprint)) + 1;
        if r >= bucket { r - bucket } else { r + self.buckets - bucket }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(n: u64) -> KeyHash {
        KeyHash::from_parts(n.wrapping_mul(0xd1b5_4a32_d192_ed03), n.wrapping_mul(0xaef1_7502_108e_f2d9).rotate_left(29))
    }

    #[test]
    fn the_other_bucket_leads_back_and_is_never_the_same() {
        for buckets in [2, 4, 6, 10, 254, 256, 1000, 65_538, 10_000_002, (1 << 40) + 2] {
            for width in [7, 8, 13, 31, 32] {
                let geometry = Geometry::new(buckets, width);
                for n in 0..2000 {
                    let place = geometry.place(hash(n));
                    assert!(place.home < buckets && place.other < buckets && place.home % 2 != place.other % 2, "{geometry:?} {place:?}");
                    assert_eq!(geometry.other(place.other, place.fingerprint), place.home);
                    assert!(place.fingerprint >= 1 && u64::from(place.fingerprint) < 1 << width);
                }
            }
        }
    }

    #[test]
    fn fingerprints_reach_from_one_to_the_largest_and_are_equally_likely() {
        let geometry = Geometry::new(2, 7);
        let at = |second| geometry.fingerprint(KeyHash::from_parts(0, second));
        assert_eq!((at(0), at(u64::MAX)), (1, 127));
        assert_eq!(Geometry::new(2, 32).fingerprint(KeyHash::from_parts(0, u64::MAX)), u32::MAX);
        let mut counts = [0u32; 128];
        (0..12_700u64).for_each(|step| counts[at(step * (u64::MAX / 12_700)) as usize] += 1);
        assert!(counts[0] == 0 && counts[1..].iter().all(|count| count.abs_diff(100) <= 1), "{counts:?}");
    }

    /// **A change here makes every stored filter deny keys that are in it.** Worked out by an independent implementation of the picture at the head.
    #[test]
    fn golden_places() {
        let at = |buckets, width, first, second| {
            let place = Geometry::new(buckets, width).place(KeyHash::from_parts(first, second));
            (place.fingerprint, place.home, place.other)
        };
        assert_eq!(at(2, 7, 0, 0), (1, 0, 1));
        assert_eq!(at(1000, 12, 0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210), GOLDEN_A);
        assert_eq!(at(2_631_580, 16, u64::MAX, 0x8000_0000_0000_0000), GOLDEN_B);
        assert_eq!(at((1 << 22) + 2, 32, 1 << 63, 12_345 << 40), GOLDEN_C);
    }

    const GOLDEN_A: (u32, usize, usize) = (4077, 4, 741);
    const GOLDEN_B: (u32, usize, usize) = (32768, 2631579, 2380408);
    const GOLDEN_C: (u32, usize, usize) = (3160320, 2097153, 794914);
}
