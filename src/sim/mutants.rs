//! Each rule is needed: with it switched off, a caller is told "absent" of a key whose create was acknowledged (I1, [`Kind::Promise`]).
//!
//! The measured table stands in [`super`]. `cargo test --lib sim::mutants::measure -- --ignored --nocapture` measures it again.

use super::check::Kind;
use super::scenarios::{Scenario, scenario};
use super::stage::play;
use crate::sync::Mutant::{self, *};

/// A rule, and where its absence shows.
struct Case {
    rule: &'static str,
    off: &'static [Mutant],
    scenario: &'static str,
    /// The scan opens its snapshot before `rebuild` is called, which no switch in the protocol can do.
    early_cursor: bool,
    /// How it shows.
    shows: Kind,
}

impl Case {
    fn scenario(&self) -> Scenario {
        Scenario { early_cursor: self.early_cursor, ..scenario(self.scenario) }
    }

    fn breaks(&self, seed: u64) -> bool {
        play(&self.scenario(), self.off, seed).shows(self.shows).is_some()
    }
}

const fn case(rule: &'static str, off: &'static [Mutant], scenario: &'static str) -> Case {
    Case { rule, off, scenario, early_cursor: false, shows: Kind::Promise }
}

/// Within so many seeds each must show. The rarest shows in one of them.
const WITHIN: u64 = 6_000;

const CASES: &[Case] = &[
    case("R1 (i): pending", &[BeginWithoutPending], "rebuilds"),
    case("R1 (ii): fence", &[BeginWithoutFence], "hot key"),
    case("R1 (iii): current bits", &[BeginWithoutCurrentBits], "hot key"),
    case("R1 (iii): building bits", &[BeginWithoutBuildingBits], "rebuilds"),
    case("R1: pending before bits", &[PendingAfterBits], "rebuilds"),
    case("R2: token compared", &[TokenNotCompared], "hot key"),
    case("R2: pending is 0", &[PendingIgnored], "hot key"),
    case("R3: flights validated", &[JoinWithoutRevalidation, JoinWithoutLook], "hot key"),
    case("Advisory: join next", &[AdvisoryRevalidates], "advisory"),
    case("R8: pending copied", &[RebuildWithoutCopy], "rebuilds"),
    case("R8: copy before scan", &[CopyAfterScan], "rebuilds"),
    Case { early_cursor: true, ..case("R8: cursor after publish", &[], "rebuilds") },
    case("distrust is lasting", &[OneShotDistrust], "import"),
    case("unknown is not aborted", &[ErrTakenAsAborted], "unknown outcomes"),
    case("ready: new epoch", &[ReadyInOldEpoch], "successor"),
    case("distrust outlives lag", &[LagForgotten], "lagging import"),
    case("retire: confirmed", &[RetireUnconfirmed], "retire"),
    case("retire: the last row", &[RetireNotLast], "retire"),
    case("retire: as captured", &[RetireReloads], "retire"),
    // While the filter is a hint it denies nobody, so only its bits show these two.
    Case { shows: Kind::Bits, ..case("retire: trusted", &[RetireUntrusted], "retire, import") },
    Case { shows: Kind::Bits, ..case("retire: exclusive", &[RetireAdvisory], "retire, advisory") },
    case("retire: not in the delta", &[RetireDeltaIgnored], "retire"),
];

/// Switched off alone these show nowhere, and cannot: see the table.
const EQUIVALENT: &[(Mutant, &str)] = &[(JoinWithoutRevalidation, "hot key"), (JoinWithoutLook, "hot key"), (RetireOtherWrite, "retire")];

macro_rules! claims {
    ($($claim:ident: $rule:literal,)*) => {
        $(
            #[test]
            fn $claim() {
                let case = CASES.iter().find(|case| case.rule == $rule).expect("a case");
                let seed = (0..WITHIN).find(|seed| case.breaks(*seed));
                let seed = seed.unwrap_or_else(|| panic!("{}: nothing shows in {} within {WITHIN} seeds", case.rule, case.scenario));
                println!("{:<26} {:<58} {:<18} seed {seed}", case.rule, format!("{:?}", case.off), case.scenario);
            }
        )*

        #[test]
        fn every_rule_has_its_claim() {
            assert!(CASES.iter().map(|case| case.rule).eq([$($rule),*]));
        }
    };
}

claims! {
    without_pending_a_rebuild_loses_a_key: "R1 (i): pending",
    without_a_fence_a_tombstone_outlives_a_create: "R1 (ii): fence",
    without_bits_in_the_current_generation_it_denies_a_key: "R1 (iii): current bits",
    without_bits_in_the_building_generation_it_denies_a_key: "R1 (iii): building bits",
    pending_after_the_bits_is_too_late_for_the_copy: "R1: pending before bits",
    a_token_that_is_not_compared_vouches_for_nothing: "R2: token compared",
    a_token_of_a_pending_key_vouches_for_nothing: "R2: pending is 0",
    a_flight_that_nobody_validates_answers_too_late: "R3: flights validated",
    an_unannounced_create_needs_the_next_flight: "Advisory: join next",
    without_the_copy_a_rebuild_loses_a_key: "R8: pending copied",
    a_copy_after_the_scan_is_too_late: "R8: copy before scan",
    a_cursor_opened_before_the_publication_is_too_early: "R8: cursor after publish",
    a_rebuild_during_a_distrust_may_not_end_it: "distrust is lasting",
    an_error_is_no_rollback: "unknown is not aborted",
    tokens_from_before_the_predecessor_was_gone_must_die: "ready: new epoch",
    a_lagging_scan_does_not_end_a_distrust_at_once: "distrust outlives lag",
    a_delete_that_nobody_confirmed_may_not_have_been: "retire: confirmed",
    a_delete_of_no_row_takes_the_copy_of_another_key: "retire: the last row",
    a_generation_that_never_saw_the_row_has_no_copy_of_it: "retire: as captured",
    an_imported_key_has_no_copy: "retire: trusted",
    an_unannounced_key_has_no_copy: "retire: exclusive",
    a_key_that_was_created_since_has_no_copy: "retire: not in the delta",
}

#[test]
fn where_two_rules_say_the_same_either_does() {
    for (off, name) in EQUIVALENT {
        for seed in 0..1_000 {
            let played = play(&scenario(name), &[*off], seed);
            assert!(played.violations.is_empty(), "{off:?}, {name}, seed {seed}:\n{played}");
        }
    }
}

#[test]
#[ignore = "measures the table"]
fn measure() {
    for case in CASES {
        let breaks: Vec<u64> = (0..WITHIN).filter(|seed| case.breaks(*seed)).collect();
        let (first, rate) = (breaks.first().map(|seed| seed + 1), WITHIN as f64 / breaks.len() as f64);
        println!("{:<26} {:<58} {:<18} {first:?} {rate:.0}", case.rule, format!("{:?}", case.off), case.scenario);
    }
}
