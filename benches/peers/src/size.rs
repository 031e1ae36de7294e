//! Sizing peers for the measured rate of ours: a search over bits a key, and the small filters that it measures.
//!
//! The rate of a Bloom filter depends on bits a key and hardly on the number of keys, so peers are sized on at most [`MOST_KEYS`] keys, which takes
//! milliseconds where a build of 10^8 would take seconds each. The rows show the rate measured at full size, so an error here would be seen.

use crate::filter::Filter;
use crate::keys::{BenchKey, SIZING, keys_from};
use crate::stats::Rate;

const MOST_KEYS: u64 = 1_000_000;

/// From so many keys on a filter is in memory, at 10 bits a key 62 MB, and a fill takes seconds.
pub const MANY_KEYS: u64 = 50_000_000;

/// How near to ours a peer's rate must be.
const TOLERANCE: f64 = 0.03;

/// More bits a key than any peer is given.
const MOST_BITS: f64 = 128.0;

/// What a search came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    pub bits_per_key: f64,
    /// Whether the first guess was left as it was.
    pub first_guess: bool,
}

/// Bits a key at which `rate` is `target`, from a first guess on. The logarithm of a Bloom filter's rate is nearly linear in its bits, so this is a
/// secant through the last two points, and at first through the origin. Where the number of hashes jumps it may wander: the best of eight points is
/// taken.
pub fn adjust(guess: f64, target: f64, mut rate: impl FnMut(f64) -> f64) -> Found {
    let error = |rate: f64| (rate.max(1e-12) / target).ln();
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut bits = guess;
    for _ in 0..8 {
        let off = error(rate(bits));
        points.push((bits, off));
        if off.abs() <= TOLERANCE {
            break;
        }
        let through_origin = off + target.ln();
        let slope = match points[..] {
            [.., (before, off_before), _] if bits != before => (off - off_before) / (bits - before),
            _ => through_origin / bits,
        };
        // A slope that is not falling is noise; the line through the origin always falls.
        let slope = if slope < 0.0 { slope } else { through_origin / bits };
        bits = (bits - off / slope).clamp(bits / 2.0, bits * 2.0).clamp(0.5, MOST_BITS);
    }
    let nearest = points.iter().min_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
    let (bits_per_key, _) = *nearest.expect("eight points were tried");
    Found { bits_per_key, first_guess: bits_per_key == guess }
}

/// Keys and questions for sizing, and the rate of ours on them.
pub struct Calibration<K> {
    keys: Vec<K>,
    questions: Vec<K>,
    target: f64,
}

impl<K: BenchKey> Calibration<K> {
    /// `ours` makes our filter for so many keys.
    pub fn new(n: u64, p: f64, ours: impl FnOnce(u64) -> Box<dyn Filter<K>>) -> Result<Self, String> {
        let keys = n.min(MOST_KEYS);
        // Five thousand false positives are a standard deviation of 1.4 %; rarer ones would take too long and are sized less exactly.
        let questions = (5_000.0 / p).clamp(1e6, 2e7) as u64;
        let mut this = Self { keys: keys_from(0, keys), questions: keys_from(SIZING, questions), target: 0.0 };
        this.target = this.rate(ours(keys))?;
        Ok(this)
    }

    pub fn keys(&self) -> u64 {
        self.keys.len() as u64
    }

    /// Bits a key at which a peer has our rate. `make` gives an empty one of so many bits for so many keys.
    pub fn bits_per_key(&self, guess: f64, make: impl Fn(u64, u64) -> Box<dyn Filter<K>>) -> Result<Found, String> {
        if self.target == 0.0 {
            // So rare that none was seen: there is nothing to search for, and the crate's own rule is what there is.
            return Ok(Found { bits_per_key: guess, first_guess: true });
        }
        let mut failed = None;
        let keys = self.keys();
        let found = adjust(guess, self.target, |bits_per_key| {
            let filter = make(bits_for(bits_per_key, keys), keys);
            self.rate(filter).unwrap_or_else(|error| {
                failed = Some(error);
                self.target
            })
        });
        failed.map_or(Ok(found), Err)
    }

    fn rate(&self, mut filter: Box<dyn Filter<K>>) -> Result<f64, String> {
        filter.fill(&self.keys)?;
        Ok(Rate { hits: filter.count(&self.questions) as u64, trials: self.questions.len() as u64 }.value())
    }
}

/// Bits in all.
pub fn bits_for(bits_per_key: f64, keys: u64) -> u64 {
    ((bits_per_key * keys as f64).round() as u64).max(1)
}

/// The textbook's bits a key: log2(1/p) / ln 2.
pub fn classical_bits_per_key(p: f64) -> f64 {
    -p.log2() / std::f64::consts::LN_2
}

/// The rule of the Parquet specification for split-block filters, without its rounding up to a power of two: eight bits a key, each alone in a word.
pub fn parquet_bits_per_key(p: f64) -> f64 {
    -8.0 / (-p.powf(1.0 / 8.0)).ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::LN_2;

    /// The textbook's rate with its rounded number of hashes.
    fn bloom(bits_per_key: f64) -> f64 {
        let k = (bits_per_key * LN_2).round().max(1.0);
        (1.0 - (-k / bits_per_key).exp()).powf(k)
    }

    fn split_block(bits_per_key: f64) -> f64 {
        (1.0 - (-8.0 / bits_per_key).exp()).powi(8)
    }

    #[test]
    fn a_good_guess_is_left_alone() {
        let guess = classical_bits_per_key(0.01);
        assert_eq!(adjust(guess, 0.0101, bloom), Found { bits_per_key: guess, first_guess: true });
    }

    #[test]
    fn a_bad_guess_is_corrected() {
        for target in [0.1, 0.01, 1e-3, 1e-4, 1e-6] {
            for guess in [2.0, 8.0, 40.0] {
                let found = adjust(guess, target, bloom);
                assert!((bloom(found.bits_per_key) / target).ln().abs() <= TOLERANCE, "{target} from {guess}: {found:?}");
                let found = adjust(guess, target, split_block);
                assert!((split_block(found.bits_per_key) / target).ln().abs() <= TOLERANCE, "{target} from {guess}: {found:?}");
            }
        }
    }

    #[test]
    fn a_rate_that_cannot_be_reached_gives_the_nearest() {
        let found = adjust(10.0, 0.01, |bits| if bits < 20.0 { 0.05 } else { 0.004 });
        assert!(found.bits_per_key >= 20.0, "{found:?}");
        assert!(adjust(10.0, 0.01, |_| 0.0).bits_per_key.is_finite());
    }

    #[test]
    fn a_rate_too_rare_to_be_measured_leaves_the_guess() {
        let calibration = Calibration::<u64> { keys: Vec::new(), questions: Vec::new(), target: 0.0 };
        let found = calibration.bits_per_key(38.0, |_, _| unreachable!("no filter is made")).unwrap();
        assert_eq!(found, Found { bits_per_key: 38.0, first_guess: true });
    }

    #[test]
    fn rules_give_the_known_figures() {
        assert!((classical_bits_per_key(0.01) - 9.585).abs() < 1e-3);
        assert!((parquet_bits_per_key(0.01) - 9.682).abs() < 1e-2, "{}", parquet_bits_per_key(0.01));
        assert!((split_block(parquet_bits_per_key(1e-3)) - 1e-3).abs() < 1e-9);
    }
}
