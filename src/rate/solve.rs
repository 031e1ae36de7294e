//! The searches over [`Places::rate`], each for a table of one line a key: the least lines at a rate, and the best `k` of given lines.
//!
//! A filter of two lines a key is two such tables with the same plan, asked one after the other. The rate `p` of both is the rate `√p` of each, so
//! the least lines at `√p`, twice, are the least even number of lines at `p`.

use super::exact::{Places, ROUNDING};
use crate::kernel::MAX_HASHES;
use std::f64::consts::LN_2;

/// The best `k` of large tables at rate `p`, within one. At the lower rates it falls behind the textbook's log2(1/p), since more positions fill the
/// full lines first; the two numbers are a fit to the solutions from 0.6 to 1e-8, which meets all but those closest to a step.
pub(crate) fn usual_k(p: f64) -> u32 {
    let textbook = -p.log2();
    ((textbook * (1.04 - 0.0115 * textbook)).round() as u32).clamp(1, MAX_HASHES)
}

/// The least lines over all `k`, and the `k`. Among equals, as they abound in filters of a few lines, the `k` nearest to the usual one: it also
/// stays best when the filter is filled beyond its capacity.
///
/// What keeps clear of [`ROUNDING`] here is the rate of one line. With `r + ROUNDING ≤ √p` the true rate of two is at most `(r + ROUNDING)² ≤ p`:
/// a margin of about `2·√p·ROUNDING`, 2e-15 at 1e-8, where rounding in the root and in the square comes to some 1e-24.
///
/// The rate depends on the keys in a line, so of numbers beyond [`COUNTED`] a multiple is taken: their lines could not be counted on the way. A plan
/// of more than `u64::MAX` lines has that many.
pub(crate) fn least_lines(places: &Places, n: u64, p: f64) -> (u64, u32) {
    let times = 1u64 << (u64::BITS - n.leading_zeros()).saturating_sub(COUNTED);
    let (lines, k) = least_lines_of(places, n.div_ceil(times), p);
    (lines.saturating_mul(times), k)
}

/// Bits of the largest number of keys for which lines are counted one by one. The lowest rate in lines of the fewest places takes some 2^27 lines a
/// key.
const COUNTED: u32 = 36;

fn least_lines_of(places: &Places, n: u64, p: f64) -> (u64, u32) {
    let fits = |lines, k| places.rate(n, lines, k) + ROUNDING <= p;
    let usual = usual_k(p);

    // Enough lines for the usual k: the textbook's, and half as many again until it fits.
    let mut best = ((n as f64 / places.count() * -p.log2() / LN_2) as u64).max(1);
    while !fits(best, usual) {
        best += best.div_ceil(2);
    }
    let mut best_k = usual;

    let mut others: [u32; MAX_HASHES as usize] = std::array::from_fn(|index| index as u32 + 1);
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

/// The `k` of the lowest rate in `lines` lines, up to `most`; the fewest positions among equals. No keys count as one, since no keys have no rate.
pub(crate) fn best_k(places: &Places, n: u64, lines: u64, most: u32) -> u32 {
    let rate = |k: &u32| distinguishable(places.rate(n.max(1), lines, *k));
    (1..=most.clamp(1, MAX_HASHES)).min_by(|a, b| rate(a).total_cmp(&rate(b))).expect("1 is in the range")
}

/// Rates below [`ROUNDING`] are equal: what tells them apart is noise, which differs from platform to platform and must not choose a layout.
pub(crate) fn distinguishable(rate: f64) -> f64 {
    rate.max(ROUNDING)
}
