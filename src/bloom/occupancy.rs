//! [`Occupancy`]: what the set bits of a filter tell about its contents.
//!
//! One pass counts the lines by how many of their 512 bits are set; everything else is arithmetic on that histogram. Line by line matters: the
//! false-positive rate is the *mean over lines* of (share set)^k, which is more than (mean share)^k, as the fuller lines answer "maybe" far more
//! often than the emptier ones answer less.

use crate::bits::{LINE_BITS, Words};

const B: f64 = LINE_BITS as f64;

/// How many lines have how many bits set.
#[derive(Clone, Debug)]
pub(super) struct Occupancy {
    lines: [u64; LINE_BITS + 1],
}

impl Default for Occupancy {
    fn default() -> Self {
        Self { lines: [0; LINE_BITS + 1] }
    }
}

impl Occupancy {
    pub(super) fn of(lines: &[impl Words]) -> Self {
        let mut occupancy = Self::default();
        lines.iter().for_each(|line| occupancy.add(line.count_ones()));
        occupancy
    }

    pub(super) fn add(&mut self, set: u32) {
        self.lines[set as usize] += 1;
    }

    /// The mean of `of(bits set)` over the lines; 0 without lines.
    fn mean(&self, of: impl Fn(f64) -> f64) -> f64 {
        let (mut total, mut sum) = (0, 0.0);
        for (set, &lines) in self.lines.iter().enumerate().filter(|&(_, &lines)| lines > 0) {
            total += lines;
            sum += lines as f64 * of(set as f64);
        }
        if total == 0 { 0.0 } else { sum / total as f64 }
    }

    pub(super) fn fill_ratio(&self) -> f64 {
        self.mean(|set| set / B)
    }

    /// The chance that `k` independent positions in a random line are all set.
    pub(super) fn fpr(&self, k: u32) -> f64 {
        self.mean(|set| (set / B).powi(k as i32))
    }

    /// Distinct keys: for each line the number at which its expected set bits, 512·(1 − e^(−k·n/512)), are those found. A full line would give
    /// infinity; it counts as one with half a bit clear, so that from there on the sum is a lower bound.
    pub(super) fn len(&self, k: u32) -> u64 {
        let lines: u64 = self.lines.iter().sum();
        let keys_in_line = |set: f64| -(B / f64::from(k)) * (-set.min(B - 0.5) / B).ln_1p();
        (self.mean(keys_in_line) * lines as f64).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sets: &[u32]) -> Occupancy {
        let mut occupancy = Occupancy::default();
        sets.iter().for_each(|&set| occupancy.add(set));
        occupancy
    }

    #[test]
    fn the_rate_is_the_mean_over_lines_and_not_the_rate_of_the_mean() {
        let uneven = of(&[0, 512]);
        assert_eq!((uneven.fill_ratio(), uneven.fpr(6)), (0.5, 0.5));
        assert_eq!(of(&[256, 256]).fpr(6), 0.5f64.powi(6));
    }

    #[test]
    fn no_lines_and_empty_lines_hold_nothing() {
        for empty in [of(&[]), of(&[0]), of(&[0, 0, 0])] {
            assert_eq!((empty.fill_ratio(), empty.fpr(1), empty.len(1)), (0.0, 0.0, 0));
        }
    }

    #[test]
    fn a_full_line_counts_as_many_keys_and_not_infinitely_many() {
        assert_eq!(of(&[512]).len(16), 222); // 32 · ln 1024
        assert_eq!(of(&[512, 512]).len(16), 444);
        assert!(of(&[511]).len(16) < 222);
    }
}
