//! Readers, rebuilders, and the machinery around them: the resolver, the network that decides about orphans, the clock.
//!
//! An actor is a plain function that plays a number of scenes; what it does in each is drawn from the run's generator.

use super::check::Asked;
use super::ports::{Scan, Staged};
use super::scenarios::Scenario;
use super::sched::{drive, pause, with};
use crate::gate::{ExistenceGate, RebuildOptions};
use crate::loader::CallerId;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

pub(super) type Gate = ExistenceGate<u64, u64>;

/// What became of something that was awaited.
pub(super) enum Awaited<T> {
    Output(T),
    /// It was dropped half-way, or the source panicked in it.
    Lost,
}

/// Awaits, for so many polls at most. A staged panic ends here, any other goes on.
pub(super) fn attempt<F: Future>(future: F, patience: Option<u64>) -> Awaited<F::Output> {
    match catch_unwind(AssertUnwindSafe(|| drive(future, patience))) {
        Ok(Some(output)) => Awaited::Output(output),
        Ok(None) => Awaited::Lost,
        Err(payload) if payload.is::<Staged>() => {
            with(|run| run.event("panicked as staged", None));
            Awaited::Lost
        }
        Err(payload) => resume_unwind(payload),
    }
}

/// A number that is drawn.
pub(super) fn draw(n: u64) -> u64 {
    with(|run| run.rng.below(n))
}

pub(super) fn chance(percent: u64) -> bool {
    with(|run| run.rng.percent(percent))
}

/// How long something is waited for that may be cancelled: mostly as long as it takes.
pub(super) fn patience(percent: u64) -> Option<u64> {
    chance(percent).then(|| draw(12))
}

/// A key that somebody may create.
pub(super) fn some_key() -> u64 {
    with(|run| {
        let keys = run.check.keys().end - 1;
        // One of them is everybody's favourite.
        if run.rng.percent(50) { 0 } else { run.rng.below(keys) }
    })
}

pub(super) fn reader(gate: &Gate, scenes: u64) {
    for _ in 0..scenes {
        let key = if chance(5) { with(|run| run.check.keys().end - 1) } else { some_key() };
        match draw(12) {
            0..=5 => look_up(gate, key, None),
            6 => {
                let mut asked = with(|run| run.ask("lookup_fresh", key));
                asked.fresh = true;
                settle_question(asked, attempt(gate.lookup_fresh(&key), None));
            }
            7 => {
                let asked = with(|run| run.ask("lookup_for", key));
                settle_question(asked, attempt(gate.lookup_for(CallerId::new(7), &key), None));
            }
            8 => {
                let asked = with(|run| run.ask("check", key));
                let verdict = gate.check(&key);
                with(|run| run.verdict(asked, verdict));
            }
            9 => {
                let keys: Vec<u64> = with(|run| run.check.keys()).collect();
                let asked: Vec<_> = keys.iter().map(|key| with(|run| run.ask("check_batch", *key))).collect();
                let verdicts = gate.check_batch(&keys);
                asked.into_iter().zip(verdicts).for_each(|(asked, verdict)| with(|run| run.verdict(asked, verdict)));
            }
            _ => look_up(gate, key, Some(draw(12))),
        }
        pause("reader: next");
    }
}

pub(super) fn look_up(gate: &Gate, key: u64, patience: Option<u64>) {
    let asked = with(|run| run.ask("lookup", key));
    settle_question(asked, attempt(gate.lookup(&key), patience));
}

fn settle_question(asked: Asked, awaited: Awaited<crate::gate::Lookup<u64>>) {
    with(|run| match awaited {
        Awaited::Output(answer) => run.answer(asked, &answer),
        Awaited::Lost => run.gave_up(asked),
    });
}

/// Where its cursor is early the scan breaks its contract: its snapshot is opened before `rebuild` is called.
pub(super) fn rebuilder(gate: &Gate, scenes: u64, scenario: &Scenario) {
    let Scenario { early_cursor: early, lag, retires, .. } = *scenario;
    for _ in 0..scenes {
        let options = if chance(90) { RebuildOptions::default().allow_empty().max_shrink(1.0) } else { RebuildOptions::default() };
        let paged = lag.is_zero() && !early && chance(40);
        let early = early.then(|| with(|run| (run.event("scan: snapshot, too early", None), run.world.rows().clone())));
        if early.is_some() {
            linger(60);
        }
        pause("rebuild: called");
        // Time for a whole delete between the copy of the pending keys and the snapshot.
        let hesitant = retires && chance(50);
        let scan = Scan { paged, lag, hesitant, early };
        let _ = attempt(gate.rebuild_with(&scan, options), patience(15));
        pause("rebuild: returned");
    }
}

/// Settles what is unknown, now and then.
pub(super) fn resolver(gate: &Gate, scenes: u64) {
    for _ in 0..scenes {
        linger(40);
        let _ = attempt(gate.resolve_unknown(), patience(20));
    }
}

/// Decides about transactions whose clients are gone.
pub(super) fn network(scenes: u64) {
    for _ in 0..scenes {
        linger(30);
        with(|run| run.decide_one());
    }
}

/// Lets time pass: a little, a source's time-out, a tombstone's life, a transaction's.
pub(super) fn clock(scenes: u64) {
    for _ in 0..scenes {
        linger(60);
        with(|run| {
            let by = run.rng.of(&[1, 1, 500, 2_000, 2_000, 6_000, 11_000, 30_000]);
            run.advance(Duration::from_millis(by));
        });
    }
}

/// Lets others go first.
pub(super) fn linger(most: u64) {
    for _ in 0..draw(most) {
        pause("lingers");
    }
}
