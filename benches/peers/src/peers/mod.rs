//! The other crates. `bloom.rs` has those that can be given any number of bits and are measured twice, at our bits and at our rate; `fingerprint.rs`
//! those whose fingerprints and tables come in fixed sizes and are measured once, as near as they come.

mod bloom;
mod fingerprint;

use crate::filter::Candidate;
use crate::keys::BenchKey;
use crate::size::Calibration;

/// Every peer whose name `wanted` accepts, for `n` keys, beside a filter of ours of `our_bits`. Sizing takes a while, so it is not done for others.
pub fn candidates<K: BenchKey>(
    n: u64,
    p: f64,
    our_bits: u64,
    calibration: &Calibration<K>,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<Candidate<K>>, String> {
    let mut all = bloom::candidates(n, p, our_bits, calibration, wanted)?;
    all.extend(fingerprint::candidates(n, p).into_iter().filter(|candidate| wanted(&candidate.name)));
    Ok(all)
}

/// The names of all peers, without the work of sizing them.
pub fn names<K: BenchKey>() -> Vec<String> {
    let mut names = bloom::names::<K>();
    names.extend(fingerprint::candidates::<K>(1, 1e-3).into_iter().map(|candidate| candidate.name));
    names
}
