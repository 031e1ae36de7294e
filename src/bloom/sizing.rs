//! How many bits and how many positions a key: pure mathematics, public, no filter needed.
//!
//! The textbook rule (Bloom 1970) assumes that a key's `k` bits may be anywhere. A filter that keeps them in one 512-bit line, for one cache miss
//! a question, has lines that are fuller than others, and the full ones answer "maybe" too often: at 1 % the textbook size gives 1.15 %, at 1e-6
//! thirteen times the rate. So [`Sizing::Guaranteed`] solves the exact rate instead.
//!
//! **The exact rate.** `n` keys choose among `L` lines of `B = 512` bits, and set `k` positions each in theirs; all choices independent and
//! uniform. A question chooses a line and `k` positions, `D` of them distinct. By inclusion and exclusion over which of the `D` are *not* set,
//! with `X ~ Bin(n, 1/L)` keys in the line:
//!
//! ```text
//! P(all D set) = Σ_d (−1)^d · C(D, d) · E[(1 − d/B)^(k·X)]          E[(1 − d/B)^(k·X)] = (1 − (1 − (1 − d/B)^k)/L)^n
//!
//! rate(n, L, k) = Σ_{d=0..k} w_d · (1 − (1 − (1 − d/B)^k)/L)^n      w_d = (−1)^d · Σ_{D≥d} P(D distinct of k) · C(D, d)
//! ```
//!
//! For `n`, `L` → ∞ at `λ = n/L` the power becomes `exp(−λ(1 − (1 − d/B)^k))`: the Poisson mixture of Putze, Sanders and Singler (*Cache-, Hash-
//! and Space-Efficient Bloom Filters*, 2007) with the occupancy's own moment in place of the moment of its mean, which is about 1 % too low.
//!
//! The sum alternates and its weights reach 12 870 at `k = 16`, so that digits cancel: see `ROUNDING` for how many, and why rates below
//! [`MIN_FPR`](crate::params::MIN_FPR) are refused. The tests check it against a sum of positive terms and against exact arithmetic.

use crate::bits::LINE_BITS;
use crate::kernel::MAX_HASHES;
use crate::params::{Capacity, Fpr};
use std::f64::consts::LN_2;

/// By which rule a filter is sized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Sizing {
    /// The least memory at which the rate, with as many keys as the capacity, is at most the rate asked for. Over the textbook size: 4 % at 1e-2,
    /// 8 % at 1e-3, 15 % at 1e-4, 24 % at 1e-5, 35 % at 1e-6.
    #[default]
    Guaranteed,
    /// The textbook size, rounded up to whole lines; for a given budget of bits. **The rate is then above the one asked for**: 1.15 % for 1 %,
    /// 1.6e-3 for 1e-3, 1.3e-5 for 1e-6, and `predicted_fpr` says so. The number of positions is the best for this layout, at most the textbook's.
    Classical,
}

/// What a rule came to, for a filter of 512-bit lines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinePlan {
    /// Number of lines, at least 1.
    pub lines: u64,
    /// Bit positions a key, 1 to 16.
    pub k: u32,
    /// The rate with as many keys as the capacity: [`line_fpr`] of the two.
    pub predicted_fpr: f64,
}

/// What the textbook says, for a filter whose bits may be anywhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Classical {
    /// m = ⌈n · log2(1/p) / ln 2⌉; `u64::MAX` where that is more.
    pub bits: u64,
    /// k = round((m/n) · ln 2), at least 1.
    pub k: u32,
    /// (1 − e^(−k·n/m))^k.
    pub predicted_fpr: f64,
}

impl Sizing {
    /// Lines and positions for `capacity` keys at rate `fpr`. Cost: 3 to 15 µs, no memory. Never fails: a plan too large to build is still a plan.
    ///
    /// A capacity of 0 gives one line, with the positions that a large filter of this rate would have.
    ///
    /// ```
    /// use absentia::bloom::sizing::Sizing;
    /// use absentia::{Capacity, Fpr, ParamError};
    ///
    /// let plan = Sizing::Guaranteed.plan(Capacity::new(1_000_000), Fpr::new(0.01)?);
    /// assert!(plan.predicted_fpr <= 0.01);
    /// assert_eq!(plan.k, 6);
    /// assert_eq!(plan.lines * 512 / 100_000, 99); // 9.9 bits a key
    /// # Ok::<(), ParamError>(())
    /// ```
    #[must_use]
    pub fn plan(self, capacity: Capacity, fpr: Fpr) -> LinePlan {
        let (n, p) = (capacity.get(), fpr.value());
        let (lines, k) = match self {
            Self::Guaranteed => least_lines(n, p),
            Self::Classical => classical_lines(capacity, fpr),
        };
        LinePlan { lines, k, predicted_fpr: line_fpr(n, lines, k) }
    }
}

/// The textbook size for `capacity` keys at rate `fpr`.
///
/// ```
/// use absentia::bloom::sizing::classical;
/// use absentia::{Capacity, Fpr, ParamError};
///
/// let size = classical(Capacity::new(1_000_000), Fpr::new(0.01)?);
/// assert_eq!((size.bits / 8, size.k), (1_198_132, 7)); // 1.2 MB
/// # Ok::<(), ParamError>(())
/// ```
#[must_use]
pub fn classical(capacity: Capacity, fpr: Fpr) -> Classical {
    let n = capacity.get() as f64;
    let log = -fpr.value().log2();
    // A float becomes an integer by saturation, which is what the field promises.
    let bits = (n * log / LN_2).ceil() as u64;
    if bits == 0 {
        return Classical { bits, k: (log.round() as u32).max(1), predicted_fpr: 0.0 };
    }
    let k = ((bits as f64 / n * LN_2).round() as u32).max(1);
    let predicted_fpr = (-(-f64::from(k) * n / bits as f64).exp_m1()).powi(k as i32);
    Classical { bits, k, predicted_fpr }
}

/// The exact false-positive rate of `lines` lines that hold `n` keys of `k` independent uniform positions each; `k` is taken into 1..=16 and
/// `lines` to at least 1. Cost: some 0.3 µs. The result is within 1e-11 of the true value, so a rate far below that may be given as 0.
#[must_use]
pub fn line_fpr(n: u64, lines: u64, k: u32) -> f64 {
    let k = k.clamp(1, MAX_HASHES) as usize;
    // Without keys the terms are the weights, whose sum is 0 but for rounding.
    if n == 0 {
        return 0.0;
    }
    let (n, lines) = (n as f64, lines.max(1) as f64);
    // Compensated: `lost` gathers what each addition rounds away (Neumaier 1974).
    let (mut sum, mut lost) = (0.0f64, 0.0f64);
    for d in 0..=k {
        let term = WEIGHT[k][d] * (n * (-TOUCHED[k][d] / lines).ln_1p()).exp();
        let next = sum + term;
        lost += if sum.abs() >= term.abs() { (sum - next) + term } else { (term - next) + sum };
        sum = next;
    }
    (sum + lost).clamp(0.0, 1.0)
}

/// A bound on the rounding error of [`line_fpr`], which a guaranteed rate keeps clear of. Against 60-digit arithmetic the error was 2.2e-12 at most
/// (at `k = 16`, where the weights are largest); the rest is room for other platforms' `exp`.
const ROUNDING: f64 = 1e-11;

const K: usize = MAX_HASHES as usize;
const B: f64 = LINE_BITS as f64;

/// `w_d` of the head of this file, by `k` and `d`.
const WEIGHT: [[f64; K + 1]; K + 1] = weights();

/// The chance that one key of `k` positions touches `d` given bits: 1 − (1 − d/B)^k.
const TOUCHED: [[f64; K + 1]; K + 1] = touched();

const fn weights() -> [[f64; K + 1]; K + 1] {
    let mut weights = [[0.0; K + 1]; K + 1];
    // P(D distinct among k positions), for the k of the round.
    let mut distinct = [0.0; K + 1];
    distinct[0] = 1.0;
    let mut k = 1;
    while k <= K {
        let mut d = k;
        while d > 0 {
            distinct[d] = distinct[d] * (d as f64 / B) + distinct[d - 1] * ((B - (d - 1) as f64) / B);
            d -= 1;
        }
        distinct[0] = 0.0;
        let mut all = 1;
        while all <= k {
            // (−1)^d · C(all, d), from one d to the next.
            let mut signed = 1.0;
            let mut d = 0;
            while d <= all {
                weights[k][d] += distinct[all] * signed;
                signed *= -((all - d) as f64) / (d + 1) as f64;
                d += 1;
            }
            all += 1;
        }
        k += 1;
    }
    weights
}

const fn touched() -> [[f64; K + 1]; K + 1] {
    let mut touched = [[0.0; K + 1]; K + 1];
    let mut d = 0;
    while d <= K {
        let mut spared = 1.0;
        let mut k = 1;
        while k <= K {
            spared *= 1.0 - d as f64 / B;
            touched[k][d] = 1.0 - spared;
            k += 1;
        }
        d += 1;
    }
    touched
}

/// About the best `k` for large filters at rate `p`: nine tenths of the textbook's, which fits the solutions from 0.3 to 1e-6 within one.
fn usual_k(p: f64) -> u32 {
    ((-0.9 * p.log2()).round() as u32).clamp(1, MAX_HASHES)
}

/// The least lines over all `k`, and the `k`. Among equals, as they abound in filters of a few lines, the `k` nearest to the usual one: it also
/// stays best when the filter is filled beyond its capacity.
fn least_lines(n: u64, p: f64) -> (u64, u32) {
    let fits = |lines, k| line_fpr(n, lines, k) + ROUNDING <= p;
    let usual = usual_k(p);

    // Enough lines for the usual k: the textbook's, and half as many again until it fits.
    let mut best = ((n as f64 / B * -p.log2() / LN_2) as u64).max(1);
    while !fits(best, usual) {
        best += best.div_ceil(2);
    }
    let mut best_k = usual;

    let mut others: Vec<u32> = (1..=MAX_HASHES).collect();
    others.sort_by_key(|k| k.abs_diff(usual));
    for k in others {
        // One look tells whether this k can do with less. The rate falls as lines are added, so the least is found by halving.
        if best == 1 || !(k == usual || fits(best - 1, k)) {
            continue;
        }
        let (mut short, mut enough) = (0, best);
        while enough - short > 1 {
            let middle = short + (enough - short) / 2;
            if fits(middle, k) { enough = middle } else { short = middle }
        }
        (best, best_k) = (enough, k);
    }
    (best, best_k)
}

/// The textbook's bits in whole lines, and the `k` of the lowest rate in this layout. More than the textbook's `k` is never best but in filters so
/// small that rounding up to a line gave them bits to spare, and would only cost time there.
fn classical_lines(capacity: Capacity, fpr: Fpr) -> (u64, u32) {
    let textbook = classical(capacity, fpr);
    let lines = textbook.bits.div_ceil(LINE_BITS as u64).max(1);
    let rate = |k: &u32| line_fpr(capacity.get().max(1), lines, *k);
    let best = (1..=textbook.k.min(MAX_HASHES)).min_by(|a, b| rate(a).total_cmp(&rate(b)));
    (lines, best.expect("the textbook's k is at least 1"))
}

#[cfg(test)]
mod tests;
