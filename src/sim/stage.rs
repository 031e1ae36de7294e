//! The stage: [`play`] plays a scenario in three acts, the setting, the cast, and an audit when all is over.

use super::actors::{Awaited, Gate, attempt, look_up};
use super::check::{Check, Kind, Violation, leftovers};
use super::ports::Scan;
use super::rng::Rng;
use super::scenarios::{BOUND, Cover, Scenario, build, cast, setting};
use super::sched::{Ended, Haste, Line, Part, Run, drive, install, pause, perform, with};
use super::world::{MAX_TRANSACTION, World};
use crate::gate::{Lookup, Proof, RebuildOptions, Trust};
use crate::loader::{Counters, Observer};
use crate::sync::{AtomicBool, Mutant, set_mutants, set_point};
use crate::time::Clock;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What a run showed.
pub(super) struct Played {
    pub(super) violations: Vec<Violation>,
    pub(super) schedule: Vec<Line>,
    /// What the gate counted.
    pub(super) counters: Arc<Counters>,
}

impl Played {
    pub(super) fn shows(&self, kind: Kind) -> Option<&Violation> {
        self.violations.iter().find(|violation| violation.kind == kind)
    }
}

/// The schedule, an event a line, and the violations.
impl fmt::Display for Played {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Line { at, actor, what, number } in &self.schedule {
            let number = number.map(|number| format!(" {number}")).unwrap_or_default();
            writeln!(f, "{at:>6} {actor:<12} {what}{number}")?;
        }
        for Violation { kind, at, text } in &self.violations {
            writeln!(f, "{kind:?} at event {at}: {text}")?;
        }
        Ok(())
    }
}

/// Puts the hooks back, also where a run panics.
struct Stage;

impl Drop for Stage {
    fn drop(&mut self) {
        set_point(None);
        set_mutants(&[]);
        install(None);
    }
}

/// Plays `scenario` under `seed` with some rules switched off. The same arguments give the same run.
pub(super) fn play(scenario: &Scenario, off: &[Mutant], seed: u64) -> Played {
    let mut rng = Rng::new(seed);
    let (clock, hand) = Clock::mock();
    let mut world = World::new(hand);
    world.faults = rng.of(&[0, 5, 20]);
    world.slowness = rng.of(&[0, 10, 40]);
    let haste = Haste { switch: rng.of(&[30, 70, 100]), freeze: rng.of(if scenario.stalls { &[5, 10] } else { &[0, 2, 8] }) };
    // The last key is one that nobody creates.
    let keys = match scenario {
        Scenario { stalls: true, .. } => 1,
        Scenario { retires: true, .. } => rng.of(&[2, 3, 5]),
        _ => rng.of(&[1, 2, 2, 3, 5]),
    } + 1;
    let age = (scenario.cover == Cover::AdvisoryBounded).then_some(BOUND);
    let mut check = Check::new(keys, age, scenario.rows_may_be_stale());
    check.forgets = scenario.retires;
    let held = Arc::new(AtomicBool::new(true));
    let counters = Arc::new(Counters::new());
    let gate = build(scenario, &mut rng, clock, &held, Arc::clone(&counters) as Arc<dyn Observer>);
    install(Some(Run::new(rng, world, check, haste)));
    let stage = Stage;
    set_point(Some(pause));
    set_mutants(off);

    let acts: [Vec<Part>; 3] = [setting(&gate, scenario), cast(&gate, scenario, &held), vec![audit(&gate, scenario)]];
    for (act, parts) in acts.into_iter().enumerate() {
        let mut steps = 0u32;
        let each = || {
            steps += 1;
            // What is lost stays lost, so it need not be looked for at each step.
            if steps.is_multiple_of(8) {
                check_bits(&gate);
            }
        };
        let mut idles = 0;
        let idle = || {
            idles += 1;
            idle(idles)
        };
        with(|run| run.draining = act != 1);
        if let Ended::Stuck(actors) = perform(parts, each, idle) {
            with(|run| run.violate(Kind::Stranded, format!("never finished: {actors:?}")));
            break;
        }
        check_bits(&gate);
    }
    if counters.wrong_absent() > 0 && scenario.cover != Cover::LockLost {
        with(|run| run.violate(Kind::FalseAlarm, "the gate counted a wrong absence".to_owned()));
    }
    set_point(None);
    drop(gate);
    let run = install(None).expect("installed above");
    drop(stage);
    Played { violations: run.check.violations, schedule: run.schedule, counters }
}

/// All who are left wait. Either time passes, or the source recovers and everybody must get away.
fn idle(idles: u32) -> bool {
    with(|run| {
        if !run.draining {
            if run.rng.percent(40) {
                run.recover();
            } else {
                run.advance(Duration::from_secs(3));
            }
            return true;
        }
        let asking = run.asking();
        if !asking.is_empty() {
            run.violate(Kind::Stranded, format!("the source answers, yet these wait: {asking:?}"));
        }
        // Who waits for time, such as the successor's first rebuild, gets it.
        run.advance(MAX_TRANSACTION);
        idles < 50
    })
}

fn check_bits(gate: &Gate) {
    with(|run| run.check_bits(|key| gate.check(&key), || gate.status().generation));
}

/// I8, I10, I11: all is over, and nothing is left behind.
fn audit(gate: &Gate, scenario: &Scenario) -> Part {
    let (gate, scenario) = (gate.clone(), *scenario);
    let act = move || {
        with(|run| run.advance(2 * MAX_TRANSACTION));
        attempt(gate.resolve_unknown(), None);
        if let Some(left) = leftovers(&gate) {
            with(|run| run.violate(Kind::Pending, left));
        }
        for round in ["before", "after"] {
            for key in with(|run| run.check.keys()) {
                audit_key(&gate, &scenario, key, round);
            }
            if round == "before" {
                let scan = Scan { lag: scenario.lag, ..Scan::default() };
                let rebuilt = attempt(gate.rebuild_with(&scan, RebuildOptions::default().allow_empty().max_shrink(1.0)), None);
                let good = matches!(rebuilt, Awaited::Output(Ok(rebuilt)) if rebuilt.trusted || scenario.cover == Cover::LockLost);
                if !good || (gate.status().trust != Trust::Trusted && scenario.cover != Cover::LockLost) {
                    with(|run| run.violate(Kind::Ending, "the last rebuild did not restore trust".to_owned()));
                }
            }
        }
    };
    ("audit", Box::new(act))
}

fn audit_key(gate: &Gate, scenario: &Scenario, key: u64, round: &str) {
    look_up(gate, key, None);
    let asked = with(|run| {
        run.check.last_token = None;
        run.ask("audit: lookup", key)
    });
    let answer = drive(gate.lookup(&key), None).expect("patient");
    with(|run| {
        run.answer(asked, &answer);
        let row = run.world.rows().get(&key).copied();
        let outside = scenario.outsiders > 0 && scenario.cover == Cover::AdvisoryBounded;
        let right = match answer {
            // A store that fails to drop an old row, or is not waited for, may serve it until it expires.
            Lookup::Present(value) => row == Some(value) || scenario.rows_may_be_stale(),
            Lookup::Absent(_) => row.is_none() || outside,
            Lookup::Unknown(_) => false,
        };
        if !right {
            run.violate(Kind::Ending, format!("key {key}, {round} the last rebuild: {answer:?}, the database has {row:?}"));
        }
        let remembers = matches!(scenario.cover, Cover::Exclusive | Cover::Successor | Cover::AdvisoryBounded) && scenario.store_faults == 0;
        if remembers && matches!(answer, Lookup::Absent(Proof::Source)) {
            run.violate(Kind::Pending, format!("key {key}, {round} the last rebuild: its absence is not remembered"));
        }
        if run.check.last_token.is_some_and(|token| !token.is_usable()) {
            run.violate(Kind::Pending, format!("key {key}, {round} the last rebuild: its fence is still up"));
        }
    });
}
