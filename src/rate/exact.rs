//! [`Places`]: the exact rate of a table of lines with one line a key. All else in sizing is a search over it.
//!
//! `n` keys choose among `L` lines of `B` places (bits, or counters), and set `k` positions each in theirs; all choices independent and uniform. A
//! question chooses a line and `k` positions, `D` of them distinct. By inclusion and exclusion over which of the `D` are *not* set, with `X ~ Bin(n,
//! 1/L)` keys in the line:
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
//! The sum alternates and its weights reach 12 870 at `k = 16`, so that digits cancel: see [`ROUNDING`] for how many, and why rates below
//! [`MIN_FPR`](crate::params::MIN_FPR) are refused. The tests check it against a sum of positive terms and against exact arithmetic.

use crate::kernel::MAX_HASHES;

/// A bound on the rounding error of [`Places::rate`], which a guaranteed rate keeps clear of. Against 60-digit arithmetic the error was 2.2e-12 at
/// most for 512 places (at `k = 16`, where the weights are largest); the rest is room for other platforms' `exp`.
pub(crate) const ROUNDING: f64 = 1e-11;

// The weights double with every position, and so does the error: more positions in one line need that bound measured again.
const _: () = assert!(MAX_HASHES <= 16);

const K: usize = MAX_HASHES as usize;

/// Lines of so many places, `B` at the head of this file: what the rate needs to know of them, worked out once.
pub(crate) struct Places {
    b: f64,
    /// `w_d`, by `k` and `d`.
    weight: [[f64; K + 1]; K + 1],
    /// The chance that one key of `k` positions touches `d` given places: 1 − (1 − d/B)^k. By `k` and `d`.
    touched: [[f64; K + 1]; K + 1],
}

impl Places {
    /// `places` is at least 1.
    pub(crate) const fn of(places: usize) -> Self {
        let b = places as f64;
        Self { b, weight: weights(b), touched: touched(b) }
    }

    /// How many.
    pub(super) const fn count(&self) -> f64 {
        self.b
    }

    /// The exact false-positive rate of `lines` lines that hold `n` keys of `k` independent uniform positions each, all in one line; `k` is taken
    /// into 1..=16 and `lines` to at least 1. Cost: some 0.3 µs. Within [`ROUNDING`] of the true value, so a rate far below that may be given as 0.
    pub(crate) fn rate(&self, n: u64, lines: u64, k: u32) -> f64 {
        let k = k.clamp(1, MAX_HASHES) as usize;
        // Without keys the terms are the weights, whose sum is 0 but for rounding.
        if n == 0 {
            return 0.0;
        }
        let (n, lines) = (n as f64, lines.max(1) as f64);
        // Compensated: `lost` gathers what each addition rounds away (Neumaier 1974).
        let (mut sum, mut lost) = (0.0f64, 0.0f64);
        for d in 0..=k {
            let term = self.weight[k][d] * (n * (-self.touched[k][d] / lines).ln_1p()).exp();
            let next = sum + term;
            lost += if sum.abs() >= term.abs() { (sum - next) + term } else { (term - next) + sum };
            sum = next;
        }
        (sum + lost).clamp(0.0, 1.0)
    }
}

const fn weights(b: f64) -> [[f64; K + 1]; K + 1] {
    let mut weights = [[0.0; K + 1]; K + 1];
    // P(D distinct among k positions), for the k of the round.
    let mut distinct = [0.0; K + 1];
    distinct[0] = 1.0;
    let mut k = 1;
    while k <= K {
        let mut d = k;
        while d > 0 {
            distinct[d] = distinct[d] * (d as f64 / b) + distinct[d - 1] * ((b - (d - 1) as f64) / b);
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

const fn touched(b: f64) -> [[f64; K + 1]; K + 1] {
    let mut touched = [[0.0; K + 1]; K + 1];
    let mut d = 0;
    while d <= K {
        let mut spared = 1.0;
        let mut k = 1;
        while k <= K {
            spared *= 1.0 - d as f64 / b;
            touched[k][d] = 1.0 - spared;
            k += 1;
        }
        d += 1;
    }
    touched
}
