//! What the benches measure: the kinds of filter ([`kinds`]), the keys they are given ([`keys`]), and the bounds that answers are held to ([`check`]).
//!
//! Every id is `op/filter/outcome/keys/kernel`. Its first three parts are a group of criterion's, so that a page of the report compares the sizes and
//! kernels of one filter.

// Every bench is a program of its own, and takes from here what it needs.
#![allow(dead_code)]

pub(crate) mod check;
pub(crate) mod inserts;
pub(crate) mod keys;
pub(crate) mod kinds;
pub(crate) mod questions;
pub(crate) mod removes;
pub(crate) mod ways;

use criterion::Criterion;
use std::time::Duration;

/// Whether each bench is only to run once, as after `cargo bench -- --test`. By criterion's own rule, which it keeps to itself.
pub(crate) fn is_test() -> bool {
    let given = |flag: &str| std::env::args().any(|arg| arg == flag);
    given("--test") || !given("--bench")
}

/// Criterion with short runs: there are hundreds of ids, and a loop of a few nanoseconds needs no longer. All of this can be overridden by arguments.
pub(crate) fn criterion() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_millis(150))
        .measurement_time(Duration::from_millis(600))
        .sample_size(20)
        .nresamples(5000)
        // What two runs of the same code differ by on a machine that others use too.
        .noise_threshold(0.05)
        .configure_from_args()
}

/// Runs `benches`, and writes the summary of the report.
pub(crate) fn run(benches: &[fn(&mut Criterion)]) {
    let mut criterion = criterion();
    benches.iter().for_each(|bench| bench(&mut criterion));
    criterion.final_summary();
}

/// A number of keys as ids show it: `1e5`.
pub(crate) fn short(keys: u64) -> String {
    format!("{keys:e}")
}
