//! The little statistics there are: a median, and a rate with its interval.

/// The middle of the values, or the mean of the two middle ones. `None` of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// How often something happened in so many trials.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rate {
    pub hits: u64,
    pub trials: u64,
}

impl Rate {
    pub fn add(&mut self, hits: u64, trials: u64) {
        self.hits += hits;
        self.trials += trials;
    }

    pub fn value(self) -> f64 {
        self.hits as f64 / self.trials.max(1) as f64
    }

    /// The 95 % interval of Wilson (1927), which is right for rates near 0 and for none at all.
    pub fn interval(self) -> (f64, f64) {
        const Z: f64 = 1.959_964;
        if self.trials == 0 {
            return (0.0, 1.0);
        }
        let (n, rate) = (self.trials as f64, self.value());
        let spread = Z * (rate * (1.0 - rate) / n + Z * Z / (4.0 * n * n)).sqrt();
        let middle = rate + Z * Z / (2.0 * n);
        let scale = 1.0 + Z * Z / n;
        (((middle - spread) / scale).max(0.0), ((middle + spread) / scale).min(1.0))
    }

    /// How many standard deviations more hits than a rate of `p` gives.
    pub fn excess(self, p: f64) -> f64 {
        let n = self.trials as f64;
        (self.hits as f64 - n * p) / (n * p * (1.0 - p)).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_odd_even_and_none() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    /// Against the worked figures of Newcombe (1998), table I, method 3: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    #[test]
    fn wilson_interval_matches_published_figures() {
        let round = |(low, high): (f64, f64)| ((low * 1e4).round() / 1e4, (high * 1e4).round() / 1e4);
        assert_eq!(round(Rate { hits: 81, trials: 263 }.interval()), (0.2553, 0.3662));
        assert_eq!(round(Rate { hits: 15, trials: 148 }.interval()), (0.0624, 0.1605));
        assert_eq!(round(Rate { hits: 0, trials: 20 }.interval()), (0.0, 0.1611));
        assert_eq!(round(Rate { hits: 1, trials: 29 }.interval()), (0.0061, 0.1718));
        assert_eq!(Rate::default().interval(), (0.0, 1.0));
    }

    #[test]
    fn excess_is_in_standard_deviations() {
        assert!((Rate { hits: 10_000, trials: 1_000_000 }.excess(0.01)).abs() < 1e-9);
        assert!((Rate { hits: 10_100, trials: 1_000_000 }.excess(0.01) - 1.005).abs() < 1e-3);
    }
}
