//! What rate a filter has by the mathematics, and how far one filter's may be from it.
//!
//! A filter is one draw of many: which lines its keys fell on is chance, and its true rate R differs from the predicted rate, which is the mean of R.
//! For a line of X keys with `k` positions each and S bits set, the rate is (S/512)^k. Its mean and variance come from the distribution of S, position
//! after position, averaged over the Poisson distribution of X. The mean must agree with the closed form of `sizing`, which was found in another way.
//! As the number of all keys is given and not chance, the variance is what X does not explain: Var(rate) − Cov(rate, X)²/E(X).

use absentia::bloom::sizing::{Classical, CounterPlan, LinePlan};
use absentia::cuckoo::sizing::{CuckooPlan, false_positive_rate};

/// A mean, and a variance over the square of it.
#[derive(Clone, Copy)]
pub(crate) struct Expected {
    pub(crate) rate: f64,
    /// Of the rate of one filter, relative.
    pub(crate) variance: f64,
}

impl Expected {
    /// Standard deviation of the false positives among so many questions: of the questions themselves, and of the filter.
    pub(crate) fn deviation(self, questions: f64) -> f64 {
        let mean = questions * self.rate;
        (mean * (1.0 - self.rate) + mean * mean * self.variance).sqrt()
    }
}

/// Of a filter by this plan with `keys` keys in it.
pub(crate) fn of_lines(plan: &LinePlan, keys: u64) -> Expected {
    let parts = plan.lines_per_key;
    let lines = (plan.lines / u64::from(parts)) as f64;
    of_parts(parts, lines, of_a_line(512, keys as f64 / lines, plan.k_per_line()), plan.fpr_with(keys))
}

/// Of a filter of counters, 128 to a line.
pub(crate) fn of_counters(plan: &CounterPlan, keys: u64) -> Expected {
    let parts = plan.lines_per_key;
    let lines = (plan.lines / u64::from(parts)) as f64;
    of_parts(parts, lines, of_a_line(128, keys as f64 / lines, plan.k / parts), plan.fpr_with(keys))
}

fn of_parts(parts: u32, lines: f64, line: Expected, rate: f64) -> Expected {
    let mixture = line.rate.powi(parts as i32);
    assert!((mixture / rate - 1.0).abs() < 1e-3, "{parts} parts of {lines} lines: predicted {rate:e}, by the distribution of a line {mixture:e}");
    // A part is the mean of its lines; two parts are a product of independent factors, whose relative variances add up.
    Expected { rate, variance: f64::from(parts) * line.variance / lines }
}

/// Of a cuckoo filter with `keys` fingerprints in it. What varies is how many of the cases (`cuckoo::sizing`) have more than one key; as their number is given,
/// with a relative variance below rate / keys.
pub(crate) fn of_fingerprints(plan: &CuckooPlan, keys: u64) -> Expected {
    let rate = false_positive_rate(plan.width, keys as f64 / (plan.buckets * 4) as f64);
    Expected { rate, variance: rate / keys as f64 }
}

/// Of one line of so many places with so many keys on average.
fn of_a_line(places: usize, keys: f64, k: u32) -> Expected {
    assert!(keys < 700.0, "e^-{keys} is no longer a number");
    // The chance of X keys, and the chances of S bits set by them.
    let (mut chance, mut set) = ((-keys).exp(), vec![0.0; places + 1]);
    set[0] = 1.0;
    let (mut mean, mut square, mut product) = (0.0, 0.0, 0.0);
    let rates: Vec<f64> = (0..=places).map(|bits| (bits as f64 / places as f64).powi(k as i32)).collect();
    let most = keys + 12.0 * keys.sqrt() + 30.0;
    for x in (0..).map(f64::from).take_while(|&x| x < most) {
        let first: f64 = set.iter().zip(&rates).map(|(p, rate)| p * rate).sum();
        let second: f64 = set.iter().zip(&rates).map(|(p, rate)| p * rate * rate).sum();
        mean += chance * first;
        square += chance * second;
        product += chance * first * x;
        chance *= keys / (x + 1.0);
        for _ in 0..k {
            for bits in (1..=places).rev() {
                set[bits] = (set[bits] * bits as f64 + set[bits - 1] * (places + 1 - bits) as f64) / places as f64;
            }
            set[0] = 0.0;
        }
    }
    let covariance = product - mean * keys;
    Expected { rate: mean, variance: (square - mean * mean - covariance * covariance / keys) / (mean * mean) }
}

/// Of a textbook filter with `keys` keys in it. Of m bits, those set are m(1 − e^−c) with variance m·e^−c·(1 − (1 + c)·e^−c), for c = k·n/m.
pub(crate) fn of_textbook(size: &Classical, keys: u64) -> Expected {
    let (bits, k) = (size.bits as f64, f64::from(size.k));
    let c = k * keys as f64 / bits;
    let (set, clear) = (-(-c).exp_m1(), (-c).exp());
    Expected { rate: set.powi(size.k as i32), variance: k * k * clear * (1.0 - (1.0 + c) * clear) / (bits * set * set) }
}
