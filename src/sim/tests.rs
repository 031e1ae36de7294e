//! The unmutated protocol holds in every scenario, a run is a function of its seed, and the simulation gets into the corners that it is for.
//!
//! `ABSENTIA_SIM_SEEDS=100000 cargo test --lib sim` plays more. A failure names its scenario and seed; to see the schedule of one again:
//! `ABSENTIA_SIM_REPLAY="hot key/17" cargo test --lib sim::tests::replay -- --ignored --nocapture`.

use super::scenarios::{SCENARIOS, scenario};
use super::stage::play;
use crate::sync::Mutant;
use std::collections::BTreeMap;

/// How many seeds a scenario is played under, unless more are asked for.
const SEEDS: u64 = 6_000;

fn seeds() -> u64 {
    std::env::var("ABSENTIA_SIM_SEEDS").ok().map_or(SEEDS, |seeds| seeds.parse().expect("ABSENTIA_SIM_SEEDS is a number"))
}

/// Plays one run again, and shows it.
fn show(name: &str, off: &[Mutant], seed: u64) {
    println!("scenario {name}, seed {seed}, switched off: {off:?}\n{}", play(&scenario(name), off, seed));
}

#[track_caller]
fn holds(name: &str) {
    for seed in 0..seeds() {
        let played = play(&scenario(name), &[], seed);
        assert!(played.violations.is_empty(), "scenario {name}, seed {seed}:\n{played}");
    }
}

macro_rules! claims {
    ($($claim:ident: $name:literal,)*) => {
        $(
            #[test]
            fn $claim() {
                holds($name);
            }
        )*

        #[test]
        fn every_scenario_is_played() {
            let played = [$($name),*];
            assert!(SCENARIOS.iter().map(|scenario| scenario.name).eq(played));
        }
    };
}

claims! {
    no_wrong_absence_when_all_act_at_once: "mixed",
    no_wrong_absence_of_a_key_that_is_read_created_and_deleted_all_the_time: "hot key",
    no_wrong_absence_across_rebuilds_that_fail_and_are_dropped: "rebuilds",
    no_wrong_absence_when_outcomes_are_unknown_and_commits_land_late: "unknown outcomes",
    no_wrong_absence_of_what_an_import_wrote: "import",
    no_wrong_absence_when_reads_outlive_their_time: "over age",
    no_wrong_absence_when_the_store_fails: "failing store",
    no_wrong_absence_when_the_scan_lags: "lagging scan",
    no_wrong_absence_of_what_an_import_wrote_when_the_scan_lags: "lagging import",
    no_wrong_absence_of_what_a_predecessor_commits_late: "successor",
    no_wrong_absence_of_what_a_predecessor_commits_late_when_the_scan_lags: "lagging successor",
    no_wrong_absence_after_the_lock_is_lost: "lock lost",
    no_wrong_absence_of_unannounced_rows_under_advisory_coverage: "advisory",
    no_older_absence_than_was_allowed_under_advisory_coverage: "advisory, bounded",
    no_wrong_absence_of_a_key_whose_twin_is_retired: "retire",
    no_wrong_absence_of_a_key_whose_twin_was_imported_and_is_retired: "retire, import",
    no_wrong_hint_of_a_key_whose_twin_was_created_unannounced_and_deleted: "retire, advisory",
}

#[test]
fn the_same_seed_is_the_same_run() {
    for scenario in SCENARIOS {
        for seed in 0..20 {
            assert!(play(scenario, &[], seed).schedule == play(scenario, &[], seed).schedule, "{}, seed {seed}", scenario.name);
        }
    }
}

#[test]
fn the_simulation_gets_into_every_corner() {
    let mut sums = BTreeMap::<&str, u64>::new();
    for scenario in SCENARIOS {
        for seed in 0..100 {
            play(scenario, &[], seed).counters.iter().for_each(|(name, count)| *sums.entry(name).or_default() += count);
        }
    }
    // A store in memory cannot be undecodable, the negative cache offers no evidence that it has not checked just before, and a handful of keys fills
    // no filter.
    // What a delete did is what the database says it did.
    let never = [
        "gate_filter_retired_total{result=\"not_there\"}",
        "gate_decode_errors_total",
        "gate_evidence_refused_total",
        "gate_filter_switched_off_total",
        "gate_wrong_absent_total",
    ];
    let missed: Vec<_> = sums.iter().filter(|(name, count)| **count == 0 && !never.contains(name)).collect();
    assert!(missed.is_empty(), "{missed:?}\nof {sums:#?}");
}

#[test]
#[ignore = "shows the run that ABSENTIA_SIM_REPLAY names"]
fn replay() {
    let run = std::env::var("ABSENTIA_SIM_REPLAY").expect("ABSENTIA_SIM_REPLAY is scenario/seed");
    let (name, seed) = run.split_once('/').expect("scenario/seed");
    show(name, &[], seed.parse().expect("a seed"));
}
