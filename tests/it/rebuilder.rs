//! The schedule: when it rebuilds, when it does so early, how it backs off, and what it does on the way.

use crate::support::*;
use absentia::*;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

/// A table that is down at times, and counts its scans.
struct Table<'a> {
    db: &'a Db,
    down: AtomicBool,
    scans: AtomicU64,
}

impl KeySource<u64> for Table<'_> {
    type Error = std::io::Error;

    async fn scan(&self, sink: &mut KeySink<'_, u64>) -> std::io::Result<Scanned> {
        self.scans.fetch_add(1, SeqCst);
        if self.down.load(SeqCst) {
            return Err(std::io::Error::other("connection refused"));
        }
        let ids = self.db.ids();
        ids.iter().for_each(|id| sink.push(id));
        Ok(Scanned { rows: ids.len() as u64 })
    }
}

impl<K: Send + Sync, S: KeySource<K>> KeySource<K> for Shared<'_, S> {
    type Error = S::Error;

    async fn scan(&self, sink: &mut KeySink<'_, K>) -> Result<Scanned, S::Error> {
        self.0.scan(sink).await
    }
}

struct Shared<'a, S>(&'a S);

/// Runs a schedule over `seconds` of mock time and gives the seconds at which it rebuilt, and whether that went well.
fn run(world: &World, table: &Table<'_>, config: RebuilderConfig, seconds: u64, mut each: impl FnMut(u64)) -> Vec<(u64, bool)> {
    let (reports, second) = (RefCell::new(Vec::new()), std::cell::Cell::new(0));
    let rebuilder = Rebuilder::new(world.gate.clone(), Shared(table), config);
    let mut task = Task::new(rebuilder.run(|result| reports.borrow_mut().push((second.get(), result.is_ok()))));
    for now in 0..seconds {
        second.set(now);
        each(now);
        while {
            let before = reports.borrow().len();
            assert!(task.poll().is_none(), "it runs for ever");
            reports.borrow().len() > before
        } {}
        world.hand.advance(secs(1));
    }
    drop(task);
    reports.into_inner()
}

fn scene() -> World {
    let world = World::exclusive();
    (0..10).for_each(|id| world.db.insert(id, "row"));
    world
}

fn table(db: &Db) -> Table<'_> {
    Table { db, down: AtomicBool::new(false), scans: AtomicU64::new(0) }
}

fn every(n: u64) -> RebuilderConfig {
    RebuilderConfig::default().every(secs(n)).jitter(0.0)
}

#[test]
fn it_rebuilds_at_once_and_then_on_schedule() {
    let world = scene();
    let rebuilt = run(&world, &table(&world.db), every(100), 350, |_| ());
    assert_eq!(rebuilt, [(0, true), (100, true), (200, true), (300, true)]);
    assert!(world.gate.is_trusted());
}

#[test]
fn jitter_only_adds_and_only_its_part() {
    let world = scene();
    let rebuilt = run(&world, &table(&world.db), every(100).jitter(0.2), 2_000, |_| ());
    let gaps: Vec<u64> = rebuilt.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert!(gaps.iter().all(|gap| (100..=121).contains(gap)), "{gaps:?}");
    assert!(gaps.iter().any(|gap| *gap != gaps[0]), "all the same: {gaps:?}");
    for part in [-1.0, f64::NAN] {
        assert_eq!(run(&world, &table(&world.db), every(100).jitter(part), 150, |_| ()).len(), 2);
    }
}

#[test]
fn after_a_failure_it_backs_off_up_to_its_limit_and_recovers() {
    let world = scene();
    let table = table(&world.db);
    table.down.store(true, SeqCst);
    let config = every(100).retry(secs(2), secs(10));
    let rebuilt = run(&world, &table, config, 60, |second| table.down.store(second < 40, SeqCst));
    let failed: Vec<u64> = rebuilt.iter().filter(|(_, ok)| !ok).map(|(second, _)| *second).collect();
    assert_eq!(failed, [0, 2, 6, 14, 24, 34]);
    assert_eq!(rebuilt.last(), Some(&(44, true)));
}

#[test]
fn a_source_that_is_down_is_not_scanned_early_whatever_the_filter_looks_like() {
    let world = scene();
    let table = table(&world.db);
    let rebuilt = run(&world, &table, every(100).retry(secs(20), secs(20)), 60, |second| {
        table.down.store(second > 0, SeqCst);
        if second == 1 {
            drop(world.gate.distrust());
        }
    });
    assert_eq!(rebuilt, [(0, true), (1, false), (21, false), (41, false)]);
}

#[test]
fn a_distrust_that_ended_is_repaired_at_the_next_tick_and_one_that_lives_is_not() {
    let world = scene();
    let guard = RefCell::new(None);
    let rebuilt = run(&world, &table(&world.db), every(100), 60, |second| match second {
        10 => *guard.borrow_mut() = Some(world.gate.distrust()),
        30 => *guard.borrow_mut() = None,
        _ => {}
    });
    assert_eq!(rebuilt, [(0, true), (30, true)]);
    assert!(world.gate.is_trusted());
}

#[test]
fn a_wrong_absence_and_a_full_filter_are_repaired_early() {
    let world = scene();
    let rebuilt = run(&world, &table(&world.db), every(100), 60, |second| match second {
        10 => {
            world.db.insert(777, "unannounced");
            assert!(now(world.gate.lookup_fresh(&777)).is_present());
        }
        30 => (1_000..3_000).for_each(|id| world.create(id, "row")),
        _ => {}
    });
    assert_eq!(rebuilt, [(0, true), (10, true), (30, true)]);
}

#[test]
fn unresolved_writes_are_settled_on_the_way_also_while_the_source_of_keys_is_down() {
    for down in [false, true] {
        let world = scene();
        let table = table(&world.db);
        run(&world, &table, every(1_000).retry(secs(500), secs(500)), 60, |second| {
            table.down.store(down, SeqCst);
            if second == 1 {
                drop(world.gate.begin_create(&77));
            }
            assert_eq!(world.gate.status().unresolved_writes, usize::from((1..=31).contains(&second)), "second {second}");
        });
    }
}

#[test]
fn dropped_in_a_scan_it_takes_the_rebuild_back() {
    let world = scene();
    let mut task = Task::new(Rebuilder::new(world.gate.clone(), world.db.clone(), every(10)).run(|_| ()));
    (0..3).for_each(|_| assert!(task.poll().is_none()));
    assert!(world.gate.status().rebuilding);
    drop(task);
    assert!(!world.gate.status().rebuilding);
    assert!(world.rebuild().is_ok());
}

/// It overflowed, and the schedule panicked after its first rebuild.
#[test]
fn an_interval_without_end_means_only_early_rebuilds() {
    let world = scene();
    let config = RebuilderConfig::default().every(Duration::MAX);
    assert_eq!(run(&world, &table(&world.db), config, 60, |_| ()), [(0, true)]);
}

/// It rebuilt for ever inside one poll where the scan was always ready, and could not even be dropped.
/// The switch used to look at keys that were *new* to the filter, and a full filter finds nothing new.
#[test]
fn a_ruined_generation_is_switched_off_however_full_it_is() {
    let world = World::exclusive().rebuilt(0..10);
    for id in 1_000..50_000u64 {
        world.gate.begin_create(&id).committed(None);
    }
    let status = world.gate.status();
    assert!(status.switched_off && status.estimated_fpr > 0.9, "{status:?}");
    assert_eq!(world.gate.check(&7_777_777), Verdict::Possible(Reason::SwitchedOff));
    assert!(world.rebuild().is_ok());
    assert!(world.gate.check(&7_777_777).is_absent());
}

#[test]
fn an_interval_of_zero_still_lets_others_run() {
    let world = scene();
    let table = table(&world.db);
    let rebuilder = Rebuilder::new(world.gate.clone(), Shared(&table), RebuilderConfig::default().every(Duration::ZERO));
    let mut task = Task::new(rebuilder.run(|_| assert!(table.scans.load(SeqCst) < 1_000, "a thousand rebuilds in one poll")));
    assert!(task.poll().is_none());
}

#[test]
fn a_limit_below_the_rate_that_was_asked_for_is_refused_or_harmless() {
    let db = Db::<String>::new();
    (0..10_000).for_each(|id| db.insert(id, "row"));
    let (clock, _hand) = Clock::mock();
    let builder = ExistenceGate::builder(TableLoader(db.clone())).coverage(only_creator()).clock(clock).fpr(0.1).fpr_limit(0.01);
    let Ok(gate) = builder.build() else { return };
    now(gate.rebuild(&db)).unwrap();
    assert!(!gate.status().switched_off, "switched off by its own settings");
}
