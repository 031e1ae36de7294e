//! [`Histogram`]: how many lines have how many of their places set, and what that tells of a filter's contents.
//!
//! Line by line matters: the false-positive rate is the *mean over lines* of (share set)^k, which is more than (mean share)^k, as the fuller lines
//! answer "maybe" far more often than the emptier ones answer less.

/// Of lines of so many places: index `i` is for those with `i` set.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    lines: Vec<u64>,
}

impl Histogram {
    /// Of no lines yet.
    pub(crate) fn new(places: usize) -> Self {
        Self { lines: vec![0; places + 1] }
    }

    /// Of lines that have so many set each.
    pub(crate) fn of(places: usize, sets: impl Iterator<Item = u32>) -> Self {
        let mut histogram = Self::new(places);
        sets.for_each(|set| histogram.add(set));
        histogram
    }

    /// A line more.
    pub(crate) fn add(&mut self, set: u32) {
        self.lines[set as usize] += 1;
    }

    fn places(&self) -> f64 {
        (self.lines.len() - 1) as f64
    }

    fn total(&self) -> u64 {
        self.lines.iter().sum()
    }

    /// The share of places that are set.
    pub(crate) fn fill_ratio(&self) -> f64 {
        self.mean(|set| set / self.places())
    }

    /// The chance that `k` independent positions in a random line are all set.
    pub(crate) fn rate(&self, k: u32) -> f64 {
        self.mean(|set| (set / self.places()).powi(k as i32))
    }

    /// Distinct keys of `k` positions: for each line the number at which its expected set places, B·(1 − e^(−k·n/B)) of B, are those found. A full
    /// line would give infinity; it counts as one with half a place clear, so that from there on the sum is a lower bound.
    pub(crate) fn keys(&self, k: u32) -> f64 {
        let b = self.places();
        self.mean(|set| -(b / f64::from(k)) * (-set.min(b - 0.5) / b).ln_1p()) * self.total() as f64
    }

    /// The mean of `of(places set)` over the lines; 0 without lines.
    fn mean(&self, of: impl Fn(f64) -> f64) -> f64 {
        let occupied = self.lines.iter().enumerate().filter(|&(_, &lines)| lines > 0);
        let sum: f64 = occupied.map(|(set, &lines)| lines as f64 * of(set as f64)).sum();
        if sum == 0.0 { 0.0 } else { sum / self.total() as f64 }
    }
}

/// Whether a rate is too far above the one that a filter was made for: above twice it, or above the middle between it and 1 where that is less.
pub(crate) fn is_saturated(estimated: f64, promised: f64) -> bool {
    estimated > promised + promised.min((1.0 - promised) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saturation_is_twice_the_promise_or_half_way_to_certainty() {
        assert!(!is_saturated(0.2, 0.1) && is_saturated(0.21, 0.1));
        assert!(!is_saturated(0.75, 0.5) && is_saturated(0.76, 0.5));
        assert!(!is_saturated(0.0, 0.1));
    }
}
