//! Those who write: creators, deleters, importers that bypass the gate, and outsiders who do not know that there is one.

use super::actors::{Awaited, Gate, attempt, chance, draw, linger, look_up, patience, some_key};
use super::sched::{drive, pause, with};
use super::world::{Write, nap};
use crate::gate::WriteError::{Abort, Unknown};
use crate::gate::{Removed, WriteError};
use std::future::Future;

/// How a transaction goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Course {
    Commits,
    /// The client rolls back.
    RollsBack,
    /// The connection dies before the answer to COMMIT: it may land later.
    Lost,
    /// The connection dies after COMMIT took effect.
    LostAfterCommit,
}

fn course(unknown: u64) -> Course {
    match () {
        () if chance(unknown) => with(|run| run.rng.of(&[Course::Lost, Course::Lost, Course::LostAfterCommit])),
        () if chance(15) => Course::RollsBack,
        () => Course::Commits,
    }
}

/// What the check knows the transaction as.
#[derive(Clone, Default)]
struct Known {
    /// The announced creates of it.
    duties: Vec<usize>,
    deletion: Option<usize>,
}

/// A transaction as its client sees it. A client that goes away leaves an orphan.
struct Open(usize);

impl Open {
    fn over(&self) -> bool {
        with(|run| run.world.txs[self.0].end.is_some())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if !self.over() {
            with(|run| run.orphan(self.0));
        }
    }
}

async fn transact(course: Course, writes: Vec<(u64, Write)>, announced: bool, known: Known) -> Result<(), WriteError<&'static str>> {
    transact_counted(course, writes, announced, known).await.map(drop)
}

/// Gives the number of rows that it deleted.
async fn transact_counted(course: Course, writes: Vec<(u64, Write)>, announced: bool, known: Known) -> Result<u64, WriteError<&'static str>> {
    nap().await;
    let tx = with(|run| {
        let tx = run.open(writes, announced);
        run.world.txs[tx].deletion = known.deletion;
        known.duties.into_iter().for_each(|duty| run.check.duty_opened(duty, tx));
        tx
    });
    let open = Open(tx);
    nap().await;
    pause("tx: before COMMIT");
    if course == Course::RollsBack {
        with(|run| run.abort(tx));
        return Err(Abort("rolled back"));
    }
    if course == Course::Lost {
        drop(open);
        pause("tx: lost");
        return Err(Unknown("connection reset"));
    }
    let committed = with(|run| run.commit(tx));
    pause("tx: after COMMIT");
    nap().await;
    match (committed, course) {
        (false, _) => Err(Abort("conflict")),
        (true, Course::LostAfterCommit) => Err(Unknown("connection reset")),
        (true, _) => Ok(with(|run| run.world.txs[tx].deleted)),
    }
}

pub(super) fn creator(gate: &Gate, scenes: u64, unknown: u64) {
    for _ in 0..scenes {
        let key = some_key();
        if chance(50) {
            create_with(gate, key, course(unknown), patience(unknown / 3))
        } else {
            begin_create(gate, key, course(unknown))
        }
        if chance(60) {
            look_up(gate, key, None);
        }
        linger(20);
    }
}

fn create_with(gate: &Gate, key: u64, course: Course, patience: Option<u64>) {
    let value = with(|run| run.world.fresh_value());
    let hand_over = chance(60);
    let duty = std::cell::Cell::new(None);
    let work = || {
        // Announced by now: whatever `create_with` does before this is its own affair.
        let begun = with(|run| run.duty_begins(key));
        duty.set(Some(begun));
        async move {
            let result = transact(course, vec![(key, Write::Insert(value))], true, Known { duties: vec![begun], deletion: None }).await;
            with(|run| run.check.duty_settling(begun, run.now));
            result.map(|()| hand_over.then_some(value))
        }
    };
    let outcome = attempt(gate.create_with(&key, work), patience);
    if let Some(duty) = duty.get() {
        with(|run| run.check.duty_settling(duty, run.now));
    }
    match outcome {
        Awaited::Output(Ok(_)) => with(|run| run.ack(key, value)),
        Awaited::Output(Err(Abort(_))) => {}
        Awaited::Output(Err(Unknown(_))) | Awaited::Lost => find_out(key, value),
    }
}

fn begin_create(gate: &Gate, key: u64, course: Course) {
    let value = with(|run| run.world.fresh_value());
    let guard = gate.begin_create(&key);
    let duty = with(|run| run.duty_begins(key));
    let settling = || with(|run| run.check.duty_settling(duty, run.now));
    if chance(5) {
        settling();
        drop(guard); // It never came to a transaction.
        return;
    }
    let handed = chance(60).then_some(value);
    match drive(transact(course, vec![(key, Write::Insert(value))], true, Known { duties: vec![duty], deletion: None }), None) {
        // R4: the success may be passed on before the guard is settled, since the fence is still up.
        Some(Ok(())) if chance(60) => {
            with(|run| run.ack(key, value));
            linger(30);
            settling();
            if chance(80) { guard.committed(handed) } else { drop(guard) }
        }
        Some(Ok(())) => {
            settling();
            guard.committed(handed);
            with(|run| run.ack(key, value));
        }
        Some(Err(Abort(_))) => {
            settling();
            if chance(80) { guard.aborted() } else { drop(guard) }
        }
        _ => {
            settling();
            drop(guard);
            find_out(key, value);
        }
    }
}

/// A client that was not told looks for itself. What it has seen is acknowledged.
fn find_out(key: u64, value: u64) {
    for _ in 0..6 {
        linger(10);
        let seen = with(|run| {
            run.event("client reads the row itself", Some(key));
            run.world.rows().get(&key) == Some(&value)
        });
        if seen {
            return with(|run| run.ack(key, value));
        }
    }
}

pub(super) fn deleter(gate: &Gate, scenes: u64, unknown: u64, retires: bool) {
    for _ in 0..scenes {
        let (key, other) = (some_key(), some_key());
        match (draw(10), retires) {
            (0..=3, true) => retire_with(gate, key, course(unknown), patience(unknown / 3)),
            (4..=7, true) => begin_delete(gate, key, course(unknown)),
            (0..=4, false) => delete(gate, key, course(unknown), patience(unknown / 3)),
            (5..=7, false) => {
                delete(gate, key, Course::Commits, None);
                create_with(gate, key, Course::Commits, None);
                look_up(gate, key, None);
            }
            (8, _) if key != other => rename(gate, key, other, course(unknown)),
            _ => drop(attempt(gate.invalidate(&key), None)),
        }
        linger(20);
    }
}

/// Awaits a write that deletes `key`, and tells the check when it can no longer happen.
fn deletion<T>(key: u64, write: impl Future<Output = Result<T, WriteError<&'static str>>>, deletion: usize, patience: Option<u64>) -> bool {
    let outcome = attempt(write, patience);
    with(|run| {
        let under_way = run.world.txs.iter().any(|tx| tx.deletion == Some(deletion) && tx.end.is_none());
        let at = run.event("delete returned", Some(key));
        if !under_way {
            run.check.deletion_over(Some(deletion), at);
        }
    });
    matches!(outcome, Awaited::Output(Ok(_)))
}

fn delete(gate: &Gate, key: u64, course: Course, patience: Option<u64>) {
    let begun = with(|run| run.deletion_begins(key));
    let known = Known { duties: Vec::new(), deletion: Some(begun) };
    deletion(key, gate.delete_with(&key, || transact(course, vec![(key, Write::Delete)], true, known)), begun, patience);
}

fn retire_with(gate: &Gate, key: u64, course: Course, patience: Option<u64>) {
    let begun = with(|run| run.deletion_begins(key));
    let known = Known { duties: Vec::new(), deletion: Some(begun) };
    let work = || async { transact_counted(course, vec![(key, Write::Delete)], true, known).await.map(Removed::of_unique) };
    deletion(key, gate.retire_with(&key, work), begun, patience);
}

fn begin_delete(gate: &Gate, key: u64, course: Course) {
    let begun = with(|run| run.deletion_begins(key));
    let known = Known { duties: Vec::new(), deletion: Some(begun) };
    let guard = gate.begin_delete(&key);
    let work = async {
        let result = transact_counted(course, vec![(key, Write::Delete)], true, known).await;
        // Long enough for a rebuild, now and then.
        linger(if chance(30) { 400 } else { 30 });
        match result {
            Ok(rows) => drop(guard.committed(Removed::of_unique(rows))),
            Err(Abort(_)) if chance(80) => guard.aborted(),
            Err(_) => drop(guard),
        }
        Ok(())
    };
    deletion(key, work, begun, None);
}

fn rename(gate: &Gate, old: u64, new: u64, course: Course) {
    let (value, begun) = with(|run| (run.world.fresh_value(), run.deletion_begins(old)));
    let duty = std::cell::Cell::new(None);
    let work = || {
        let announced = with(|run| run.duty_begins(new));
        duty.set(Some(announced));
        async move {
            let writes = vec![(new, Write::Insert(value)), (old, Write::Delete)];
            let result = transact(course, writes, true, Known { duties: vec![announced], deletion: Some(begun) }).await;
            with(|run| run.check.duty_settling(announced, run.now));
            result
        }
    };
    let done = deletion(old, gate.rename(&old, &new, work), begun, None);
    if let Some(duty) = duty.get() {
        with(|run| run.check.duty_settling(duty, run.now));
    }
    if done { with(|run| run.ack(new, value)) } else { find_out(new, value) }
}

/// Writes unannounced, while it keeps the gate distrusted; or many at once, announced or distrusted as the gate decides.
pub(super) fn importer(gate: &Gate, scenes: u64) {
    for _ in 0..scenes {
        linger(40);
        if chance(40) {
            import_many(gate);
            continue;
        }
        let guard = gate.distrust();
        pause("import: distrusted");
        for _ in 0..1 + draw(3) {
            let (key, value) = (some_key(), with(|run| run.world.fresh_value()));
            let work = transact(course(0), vec![(key, Write::Insert(value))], false, Known::default());
            if let Awaited::Output(Ok(())) = attempt(work, None) {
                with(|run| run.ack(key, value));
            }
            linger(30);
        }
        drop(guard);
        pause("import: over");
    }
}

fn import_many(gate: &Gate) {
    let keys: Vec<u64> = with(|run| {
        let taken = run.world.rows().clone();
        run.check.keys().take(run.check.keys().end as usize - 1).filter(|key| !taken.contains_key(key)).take(3).collect()
    });
    let guard = gate.begin_create_many(&keys);
    let duties: Vec<usize> = if guard.is_distrust() { Vec::new() } else { keys.iter().map(|key| with(|run| run.duty_begins(*key))).collect() };
    let values: Vec<(u64, u64)> = keys.iter().map(|key| (*key, with(|run| run.world.fresh_value()))).collect();
    let writes = values.iter().map(|(key, value)| (*key, Write::Insert(*value))).collect();
    let announced = !guard.is_distrust();
    let known = Known { duties: duties.clone(), deletion: None };
    let result = drive(transact(course(20), writes, announced, known), None);
    if let Some(Ok(())) = result {
        values.iter().for_each(|(key, value)| with(|run| run.ack(*key, *value)));
        linger(20);
    }
    with(|run| duties.iter().for_each(|duty| run.check.duty_settling(*duty, run.now)));
    match result {
        Some(Ok(())) => guard.committed(),
        Some(Err(Abort(_))) => guard.aborted(),
        _ => {
            drop(guard);
            values.iter().take(1).for_each(|(key, value)| find_out(*key, *value));
        }
    }
}

/// Creates keys without telling anybody.
pub(super) fn outsider(scenes: u64) {
    for _ in 0..scenes {
        linger(40);
        let (key, value) = (some_key(), with(|run| run.world.fresh_value()));
        if let Awaited::Output(Ok(())) = attempt(transact(Course::Commits, vec![(key, Write::Insert(value))], false, Known::default()), None) {
            with(|run| run.ack(key, value));
        }
        linger(20);
    }
}
