//! Any schedule of lookups, creates, deletes, imports and rebuilds, cut at any await and dropped at any await: a key whose create was acknowledged
//! before a lookup began is never absent for it.
//!
//! The fuzzer is the scheduler. It starts tasks and says which one is polled next; reads, commits and scans take as many polls as it likes. The
//! database is a set of rows beside a record of what was acknowledged and deleted. A step says much in few bytes, so that the races
//! are near: with the copy of pending keys switched off in the rebuild, one of two fresh runs of 150 s found it, after 107 s. A smoke of a few
//! seconds only shows that the target works; the simulation in src/sim is the one that must kill every mutant.

#![no_main]

use absentia::{
    Abort, Clock, Coverage, Exclusivity, ExistenceGate, KeyHasher, KeySink, KeySource, Lookup, MemoryStore, MockClock, NegativeCache, RebuildOptions,
    Scanned, Source, Tombstones, WriteError,
};
use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

const KEYS: usize = 2;
const MAX_TRANSACTION: Duration = Duration::from_secs(1);

#[derive(Arbitrary, Debug)]
struct Plan {
    /// Exclusive, or advisory without tombstones.
    exclusive: bool,
    steps: Vec<Step>,
}

/// One step: a task is started and polled once, or another one is polled some more.
#[derive(Arbitrary, Debug)]
enum Step {
    Lookup { key: bool, fresh: bool, weather: Weather },
    Create { key: bool, end: End, weather: Weather },
    Delete { key: bool, weather: Weather },
    Import { key: bool, weather: Weather },
    Rebuild { weather: Weather },
    Resolve,
    Poll { task: u8, times: u8 },
    Drop { task: u8 },
    Advance { millis: u16 },
}

/// How many polls reads, commits and scans take before and after they touch the database, and whether the next read fails.
#[derive(Arbitrary, Clone, Copy, Debug, Default)]
struct Weather {
    polls: u8,
    fails: bool,
}

impl Weather {
    fn before(self) -> u8 {
        self.polls % 4
    }
    fn after(self) -> u8 {
        self.polls / 4 % 4
    }
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum End {
    Committed,
    WithValue,
    RolledBack,
    ErrorAfterCommit,
    ErrorBeforeCommit,
}

#[derive(Clone, Copy, Default)]
struct Row {
    exists: bool,
    /// The create's success reached its caller, and no delete has begun since.
    acknowledged: bool,
    deletes: u32,
}

#[derive(Default)]
struct State {
    rows: [Row; KEYS],
    weather: Weather,
}

#[derive(Clone, Default)]
struct World(Arc<Mutex<State>>);

impl World {
    fn row<T>(&self, key: u64, f: impl FnOnce(&mut Row) -> T) -> T {
        f(&mut self.0.lock().unwrap().rows[key as usize])
    }
    fn weather(&self) -> Weather {
        let mut state = self.0.lock().unwrap();
        let weather = state.weather;
        state.weather.fails = false;
        weather
    }
}

/// Waits for `polls` more polls.
async fn wait(mut polls: u8) {
    std::future::poll_fn(|_| match polls {
        0 => Poll::Ready(()),
        _ => {
            polls -= 1;
            Poll::Pending
        }
    })
    .await;
}

impl Source for World {
    type Key = u64;
    type Value = u64;
    type Error = &'static str;
    async fn load(&self, key: &u64) -> Result<Option<u64>, &'static str> {
        let weather = self.weather();
        wait(weather.before()).await;
        let exists = self.row(*key, |row| row.exists);
        wait(weather.after()).await;
        if weather.fails { Err("lost") } else { Ok(exists.then_some(*key)) }
    }
}

impl KeySource<u64> for World {
    type Error = &'static str;
    async fn scan(&self, sink: &mut KeySink<'_, u64>) -> Result<Scanned, &'static str> {
        let weather = self.weather();
        wait(weather.before()).await;
        let rows = self.0.lock().unwrap().rows;
        let mut sent = 0;
        for (key, _) in rows.iter().enumerate().filter(|(_, row)| row.exists) {
            sink.push(&(key as u64));
            sent += 1;
            wait(weather.after() % 2).await;
        }
        if weather.fails { Err("lost") } else { Ok(Scanned { rows: sent }) }
    }
}

type Gate = ExistenceGate<u64, u64>;
type Task = Pin<Box<dyn Future<Output = ()>>>;

async fn lookup(gate: Gate, world: World, key: u64, fresh: bool) {
    let before = world.row(key, |row| *row);
    let found = if fresh { gate.lookup_fresh(&key).await } else { gate.lookup(&key).await };
    let after = world.row(key, |row| *row);
    if let Lookup::Absent(proof) = found {
        assert!(!before.acknowledged || after.deletes != before.deletes, "absent by {proof:?} after the acknowledgement");
    }
}

async fn create(gate: Gate, world: World, key: u64, end: End) {
    let commit = || async {
        let weather = world.weather();
        wait(weather.before()).await;
        if matches!(end, End::RolledBack) || world.row(key, |row| row.exists) {
            return Err(Abort("rolled back"));
        }
        if matches!(end, End::ErrorBeforeCommit) {
            return Err(WriteError::Unknown("lost"));
        }
        world.row(key, |row| row.exists = true);
        wait(weather.after()).await;
        match end {
            End::ErrorAfterCommit => Err(WriteError::Unknown("lost")),
            End::WithValue => Ok(Some(key)),
            _ => Ok(None),
        }
    };
    if gate.create_with(&key, commit).await.is_ok() {
        world.row(key, |row| row.acknowledged = row.exists);
    }
}

async fn delete(gate: Gate, world: World, key: u64) {
    world.row(key, |row| {
        row.acknowledged = false;
        row.deletes += 1;
    });
    let commit = || async {
        let weather = world.weather();
        wait(weather.before()).await;
        world.row(key, |row| {
            // A create may have been acknowledged since: this delete takes that row too.
            row.acknowledged = false;
            row.deletes += 1;
            row.exists = false;
        });
        wait(weather.after()).await;
        Ok::<_, WriteError<&'static str>>(())
    };
    let _ = gate.delete_with(&key, commit).await;
}

/// Writes behind the gate's back, which it was told of.
async fn import(gate: Gate, world: World, key: u64) {
    let weather = world.weather();
    let _guard = gate.distrust();
    wait(weather.before()).await;
    world.row(key, |row| {
        row.exists = true;
        row.acknowledged = true;
    });
    wait(weather.after()).await;
}

fn start(plan: &Plan, world: &World) -> (Gate, MockClock) {
    let (clock, hand) = Clock::mock();
    let coverage = match plan.exclusive {
        true => Coverage::Exclusive(Exclusivity::asserted("a fuzzer").first_start()),
        false => Coverage::Advisory { tombstones: Tombstones::Off },
    };
    let store = MemoryStore::builder().shards(1).build();
    let cache = NegativeCache::builder(world.clone(), store).source_timeout(Duration::from_secs(5)).build().unwrap();
    let builder = ExistenceGate::builder(cache).coverage(coverage).clock(clock).hasher(KeyHasher::xxh3(1));
    (builder.fpr(1e-6).fence_stripes(2).max_transaction(MAX_TRANSACTION).build().unwrap(), hand)
}

fuzz_target!(|plan: Plan| {
    let world = World::default();
    let (gate, hand) = start(&plan, &world);
    let mut tasks: Vec<Task> = Vec::new();
    let mut cx = Context::from_waker(Waker::noop());
    for step in &plan.steps {
        let (g, w) = (gate.clone(), world.clone());
        let set = |weather: Weather| world.0.lock().unwrap().weather = weather;
        let task: Option<Task> = match *step {
            Step::Lookup { key, fresh, weather } => {
                set(weather);
                Some(Box::pin(lookup(g, w, key.into(), fresh)))
            }
            Step::Create { key, end, weather } => {
                set(weather);
                Some(Box::pin(create(g, w, key.into(), end)))
            }
            Step::Delete { key, weather } => {
                set(weather);
                Some(Box::pin(delete(g, w, key.into())))
            }
            Step::Import { key, weather } => {
                set(weather);
                Some(Box::pin(import(g, w, key.into())))
            }
            Step::Rebuild { weather } => {
                set(weather);
                Some(Box::pin(async move {
                    let _ = g.rebuild_with(&w, RebuildOptions::default().allow_empty().max_shrink(1.0)).await;
                }))
            }
            Step::Resolve => Some(Box::pin(async move {
                let _ = g.resolve_unknown().await;
            })),
            Step::Poll { task, times } => {
                if let Some(n) = (task as usize).checked_rem(tasks.len()) {
                    if (0..=times % 16).any(|_| tasks[n].as_mut().poll(&mut cx).is_ready()) {
                        drop(tasks.remove(n));
                    }
                }
                None
            }
            Step::Drop { task } => {
                if let Some(n) = (task as usize).checked_rem(tasks.len()) {
                    drop(tasks.remove(n));
                }
                None
            }
            Step::Advance { millis } => {
                hand.advance(Duration::from_millis(millis.into()));
                None
            }
        };
        if let Some(mut task) = task.filter(|_| tasks.len() < 16) {
            if task.as_mut().poll(&mut cx).is_pending() {
                tasks.push(task);
            }
        }
    }
    // Nobody is stranded: with everyone polled and time moving, every task ends.
    let mut rounds = 0;
    while !tasks.is_empty() {
        tasks.retain_mut(|task| task.as_mut().poll(&mut cx).is_pending());
        hand.advance(Duration::from_millis(500));
        rounds += 1;
        assert!(rounds < 1000, "{} tasks never end", tasks.len());
    }
    // Nothing stays fenced: what was not reported is resolved.
    hand.advance(MAX_TRANSACTION);
    world.0.lock().unwrap().weather = Weather::default();
    let mut resolve = Box::pin(gate.resolve_unknown());
    while resolve.as_mut().poll(&mut cx).is_pending() {}
    drop(resolve);
    assert_eq!((gate.status().pending_writes, gate.status().unresolved_writes), (0, 0));
});
