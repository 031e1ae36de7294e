//! [`index_below`] and [`index_in`]: from a 64-bit hash to one of `n` places, without division and for any `n`.
//!
//! The hash is read as a fraction of 2^64 and multiplied by `n`; the whole part is the place. The high bits decide, and each place gets
//! ⌊2^64/n⌋ or one more of the hashes. The method is Lemire's (*Fast Random Integer Generation in an Interval*, 2019). Because it needs no power
//! of two, a filter has exactly the lines that its rate asks for.

/// A place below `n`, for `n` ≥ 1; monotone in `hash`.
#[inline(always)]
const fn fastrange64(hash: u64, n: u64) -> u64 {
    ((hash as u128 * n as u128) >> 64) as u64
}

/// The place of `hash` among `n` ≥ 1.
#[inline(always)]
pub(crate) const fn index_below(n: usize, hash: u64) -> usize {
    fastrange64(hash, n as u64) as usize
}

/// The place of `hash` in a slice that is not empty.
#[inline(always)]
pub(crate) const fn index_in<T>(places: &[T], hash: u64) -> usize {
    index_below(places.len(), hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_below_n_at_the_edges() {
        for n in [1, 2, 3, 1000, u64::from(u32::MAX), 1 << 32, (1 << 32) + 1, u64::MAX] {
            assert_eq!(fastrange64(0, n), 0);
            assert_eq!(fastrange64(u64::MAX, n), n - 1);
        }
    }

    /// A 32-bit product anywhere on the way would fold the places above 2^32 onto those below; that is how filters of 16 GiB go wrong.
    #[test]
    fn reaches_places_beyond_32_bits() {
        let n = (1 << 32) + 1;
        assert_eq!(fastrange64(1 << 63, n), 1 << 31);
        assert_eq!(fastrange64(u64::MAX - (1 << 31), n), 1 << 32);
        assert_eq!(fastrange64((1 << 32) - 1, n), 0);
        assert_eq!(fastrange64(1 << 32, n), 1);
    }

    #[test]
    fn a_slice_is_reached_from_end_to_end() {
        let places = [0u8; 3];
        assert_eq!([0, u64::MAX / 2, u64::MAX].map(|hash| index_in(&places, hash)), [0, 1, 2]);
    }

    #[test]
    fn places_are_equally_likely() {
        let mut counts = [0u32; 7];
        for step in 0..7 * 1000 {
            counts[fastrange64(step * (u64::MAX / 7000), 7) as usize] += 1;
        }
        assert!(counts.iter().all(|count| count.abs_diff(1000) <= 1), "{counts:?}");
    }
}
