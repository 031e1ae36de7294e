//! [`Occupancy`]: what the set bits of a filter tell about its contents.
//!
//! One pass counts the lines by how many of their places are set, 512 bits or 128 counters; everything else is arithmetic on that histogram. A
//! counter is set where it is not 0.
//!
//! Where a key has two lines, each half of the filter has a histogram of its own: a stranger must pass both, so their rates multiply, and each tells
//! the number of keys.

use crate::bits::nibbles::{self, COUNTERS};
use crate::bits::{LINE_BITS, Line, Words};
use crate::kernel::Layout;
use crate::rate::Histogram;

/// What fills a filter.
#[derive(Clone, Debug)]
pub(super) struct Occupancy {
    /// Positions a key in each of its lines.
    k: u32,
    /// A part for each line of a key.
    parts: Vec<Histogram>,
}

impl Occupancy {
    pub(super) fn of(layout: Layout, lines: &[impl Words]) -> Self {
        Self::by(layout, lines, |part| Histogram::of(LINE_BITS, part.iter().map(Words::count_ones)))
    }

    /// What the filter would be filled with if its lines were folded in pairs.
    pub(super) fn of_folded(layout: Layout, lines: &[impl Words]) -> Self {
        Self::by(layout, lines, |part| Histogram::of(LINE_BITS, part.chunks_exact(2).map(|pair| pair_ones(&pair[0], &pair[1]))))
    }

    /// Of lines of counters.
    pub(super) fn of_counters(layout: Layout, lines: &[Line]) -> Self {
        Self::by(layout, lines, |part| Histogram::of(COUNTERS, part.iter().map(|line| nibbles::count_occupied(&line.0))))
    }

    /// [`of_folded`](Self::of_folded) for lines of counters.
    pub(super) fn of_folded_counters(layout: Layout, lines: &[Line]) -> Self {
        // A sum of counters is 0 where the or of their bits is.
        let both = |pair: &[Line]| nibbles::count_occupied(&std::array::from_fn(|word| pair[0].0[word] | pair[1].0[word]));
        Self::by(layout, lines, |part| Histogram::of(COUNTERS, part.chunks_exact(2).map(both)))
    }

    fn by<L>(layout: Layout, lines: &[L], of: impl Fn(&[L]) -> Histogram) -> Self {
        let (front, back) = layout.parts(lines);
        let parts = [front, back].into_iter().filter(|part| !part.is_empty());
        Self { k: layout.k(), parts: parts.map(of).collect() }
    }

    /// The share of places that are set.
    pub(super) fn fill_ratio(&self) -> f64 {
        self.parts.iter().map(Histogram::fill_ratio).sum::<f64>() / self.parts.len().max(1) as f64
    }

    /// The chance that independent positions in random lines are all set.
    pub(super) fn fpr(&self) -> f64 {
        self.parts.iter().map(|part| part.rate(self.k)).product()
    }

    /// Distinct keys: the mean of what the parts tell.
    pub(super) fn len(&self) -> u64 {
        (self.parts.iter().map(|part| part.keys(self.k)).sum::<f64>() / self.parts.len().max(1) as f64).round() as u64
    }
}

fn pair_ones(a: &impl Words, b: &impl Words) -> u32 {
    a.words().iter().zip(b.words()).map(|(a, b)| (a | b).count_ones()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_lines_of(places: usize, k: u32, sets: &[u32]) -> Occupancy {
        Occupancy { k, parts: vec![Histogram::of(places, sets.iter().copied())] }
    }

    fn of(k: u32, sets: &[u32]) -> Occupancy {
        in_lines_of(LINE_BITS, k, sets)
    }

    #[test]
    fn the_rate_is_the_mean_over_lines_and_not_the_rate_of_the_mean() {
        let uneven = of(6, &[0, 512]);
        assert_eq!((uneven.fill_ratio(), uneven.fpr()), (0.5, 0.5));
        assert_eq!(of(6, &[256, 256]).fpr(), 0.5f64.powi(6));
    }

    #[test]
    fn a_stranger_must_pass_both_halves() {
        let line = |set: u32| crate::bits::Line(std::array::from_fn(|word| if word < set as usize { u64::MAX } else { 0 }));
        let occupancy = Occupancy::of(Layout::new(2, true), &[line(4), line(4), line(8), line(0)]);
        assert_eq!(occupancy.fill_ratio(), 0.5);
        assert_eq!(occupancy.fpr(), 0.25 * 0.5);
        let keys = |sets: &[u32]| of(2, sets).len() as f64;
        assert!((occupancy.len() as f64 - (keys(&[256, 256]) + keys(&[512, 0])) / 2.0).abs() <= 1.0);
        let folded = Occupancy::of_folded(Layout::new(2, true), &[line(4), line(4), line(8), line(0)]);
        assert_eq!((folded.fill_ratio(), folded.fpr()), (0.75, 0.25));
    }

    /// Four bits a place, whatever is in them.
    #[test]
    fn a_counter_is_set_where_it_is_not_zero() {
        let lines = [Line([0xf; 8]), Line([0x31; 8]), Line::EMPTY, Line([0x0008; 8])];
        let of = |k: u32, sets: &[u32]| in_lines_of(COUNTERS, k, sets);
        for (have, want) in [
            (Occupancy::of_counters(Layout::new(3, false), &lines), of(3, &[8, 16, 0, 8])),
            (Occupancy::of_folded_counters(Layout::new(3, false), &lines), of(3, &[16, 8])),
        ] {
            assert_eq!((have.fill_ratio(), have.fpr(), have.len()), (want.fill_ratio(), want.fpr(), want.len()));
        }
        assert_eq!(of(3, &[8, 16, 0, 8]).fill_ratio(), 32.0 / 512.0);
        assert_eq!(of(1, &[128]).len(), 710); // 128 · ln 256
        let halves = Occupancy::of_counters(Layout::new(1, true), &lines);
        assert_eq!(halves.fpr(), (24.0 / 256.0) * (8.0 / 256.0));
    }

    #[test]
    fn no_lines_and_empty_lines_hold_nothing() {
        for empty in [of(1, &[]), of(1, &[0]), of(1, &[0, 0, 0])] {
            assert_eq!((empty.fill_ratio(), empty.fpr(), empty.len()), (0.0, 0.0, 0));
        }
    }

    #[test]
    fn a_full_line_counts_as_many_keys_and_not_infinitely_many() {
        assert_eq!(of(16, &[512]).len(), 222); // 32 · ln 1024
        assert_eq!(of(16, &[512, 512]).len(), 444);
        assert!(of(16, &[511]).len() < 222);
    }
}
