//! A rebuild that goes wrong leaves the generation that serves; one that goes through has every key.

use crate::support::*;
use absentia::*;
use std::error::Error as _;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

fn push(sink: &mut KeySink<'_, u64>, ids: impl IntoIterator<Item = u64>) -> u64 {
    ids.into_iter().map(|id| sink.push(&id)).count() as u64
}

/// Runs a rebuild that is to fail, and checks that nothing else happened.
#[track_caller]
fn fails(world: &World, source: &impl KeySource<u64>) -> RebuildError {
    let before = world.gate.status();
    let error = now(world.gate.rebuild(source)).expect_err("it was to fail");
    let after = world.gate.status();
    assert_eq!((after.generation, after.trust, after.keys, after.rebuilding), (before.generation, before.trust, before.keys, false));
    assert!(world.db.ids().iter().all(|id| !world.gate.check(id).is_absent()), "a key of the serving generation is lost");
    assert!(world.gate.check(&u64::MAX).is_absent(), "the serving generation answers no more");
    world.create(1_000_000, "created after the failure");
    assert!(!world.gate.check(&1_000_000).is_absent());
    error
}

#[test]
fn a_scan_that_errors_says_why_and_changes_nothing() {
    let world = World::exclusive().rebuilt(0..50);
    let error = fails(&world, &scan(|sink| Ok(push(sink, 0..10)).and(Err(io::Error::other("connection reset")))));
    assert!(matches!(error, RebuildError::Scan(_)));
    assert_eq!(error.source().unwrap().to_string(), "connection reset");
}

#[test]
fn a_scan_that_panics_fails_the_rebuild_and_nobody_else() {
    let world = World::exclusive().rebuilt(0..50);
    let breaks = scan(|sink| {
        push(sink, 0..10);
        std::panic::resume_unwind(Box::new("row 11 is broken"))
    });
    let error = fails(&world, &breaks);
    assert!(matches!(&error, RebuildError::Panicked { message } if message == "row 11 is broken"), "{error}");
    let error = fails(&world, &scan(|_| std::panic::resume_unwind(Box::new(7u8))));
    assert!(matches!(error, RebuildError::Panicked { .. }));
}

/// Redisson #1305, #1853: the bits of a filter were gone and its configuration was not, and every key was absent.
#[test]
fn an_empty_scan_is_refused_unless_that_is_so() {
    let world = World::exclusive().rebuilt(0..50);
    assert!(matches!(fails(&world, &scan(|_| Ok(0))), RebuildError::Empty));
    let any = RebuildOptions::default().max_shrink(1.0);
    assert!(matches!(now(world.gate.rebuild_with(&scan(|_| Ok(0)), any)), Err(RebuildError::Empty)));
    // The database is not empty, and what was seen in it lately is asked for again.
    let empty = RebuildOptions::default().allow_empty();
    assert!(world.row(7).unwrap().is_some());
    assert!(matches!(now(world.gate.rebuild_with(&scan(|_| Ok(0)), empty)), Err(RebuildError::CanaryMissing)));
    world.db.ids().into_iter().for_each(|id| world.db.delete(id));
    assert_eq!(now(world.gate.rebuild_with(&world.db, empty)).unwrap().rows, 0);
    assert!(world.gate.check(&7).is_absent());
}

#[test]
fn the_very_first_scan_may_not_be_empty_either() {
    let world = World::exclusive();
    assert!(matches!(world.rebuild(), Err(RebuildError::Empty)));
    assert!(!world.gate.is_trusted());
}

#[test]
fn a_scan_that_lost_nine_tenths_is_refused_unless_that_is_so() {
    let world = World::exclusive().rebuilt(0..100);
    let tenth = scan(|sink| Ok(push(sink, 0..10)));
    let error = fails(&world, &tenth);
    assert!(matches!(error, RebuildError::Shrunken { before: 100, now: 10 }), "{error}");
    let half = scan(|sink| Ok(push(sink, 0..50)));
    assert!(now(world.gate.rebuild(&half)).is_ok(), "half is within the default");
    world.gate.rebuild_with(&tenth, RebuildOptions::default().max_shrink(0.8)).end_ok();
}

trait EndOk {
    fn end_ok(self);
}

impl<F: Future<Output = Result<Rebuilt, RebuildError>>> EndOk for F {
    #[track_caller]
    fn end_ok(self) {
        now(self).unwrap();
    }
}

#[test]
fn a_scan_whose_count_differs_from_what_arrived_is_refused() {
    let world = World::exclusive().rebuilt(0..50);
    let early = fails(&world, &scan(|sink| Ok(push(sink, 0..40) + 10)));
    assert!(matches!(early, RebuildError::RowsDiffer { reported: 50, arrived: 40 }), "{early}");
    let more = fails(&world, &scan(|sink| Ok(push(sink, 0..51) - 1)));
    assert!(matches!(more, RebuildError::RowsDiffer { reported: 50, arrived: 51 }), "{more}");
    // Also where the keys outgrew the filter and were only counted.
    let outgrown = fails(&world, &scan(|sink| Ok(push(sink, 0..5_000) - 1)));
    assert!(matches!(outgrown, RebuildError::RowsDiffer { reported: 4_999, arrived: 5_000 }), "{outgrown}");
}

#[test]
fn a_scan_that_outgrows_its_filter_is_run_again_with_room() {
    let world = World::exclusive();
    (0..20_000).for_each(|id| world.db.insert(id, "row"));
    let rebuilt = world.rebuild().unwrap();
    assert_eq!((rebuilt.rows, rebuilt.scans, rebuilt.trusted), (20_000, 2, true));
    assert!((0..20_000).all(|id| !world.gate.check(&id).is_absent()));
    let absent = (20_000..40_000).filter(|id| world.gate.check(id).is_absent()).count();
    // n = 20,000 at a rate of 1 %: 200 expected, standard deviation 14; a false alarm at seven of them is once in 10^12.
    assert!(absent > 20_000 - 300, "{absent}");
    // Sized for what was seen and what was created since: a growing table is scanned once.
    (20_000..21_500).for_each(|id| world.create(id, "row"));
    assert_eq!(world.rebuild().unwrap().scans, 1);
}

#[test]
fn a_rate_is_kept_after_an_expected_size_was_given() {
    let world = World::with(only_creator(), |b| b.expected_keys(5_000)).rebuilt(0..5_000);
    assert_eq!(world.gate.status().keys, 5_000);
    assert!(world.gate.status().estimated_fpr < 0.011, "{}", world.gate.status().estimated_fpr);
}

/// The message said "1000 rows, more than the room for 1100".
#[test]
fn keys_that_outgrow_every_filter_are_an_error_that_names_both_numbers() {
    let world = World::exclusive().rebuilt(0..50);
    let scans = AtomicU64::new(0);
    let endless = scan(|sink| Ok(push(sink, 0..1_000 * 4u64.pow(scans.fetch_add(1, SeqCst) as u32))));
    let error = fails(&world, &endless);
    let RebuildError::Outgrown { rows, capacity } = error else { panic!("{error}") };
    assert_eq!(scans.load(SeqCst), 4);
    assert!(rows > capacity, "{rows} rows do not outgrow room for {capacity}");
}

#[test]
fn keys_that_come_twice_are_keys_all_the_same() {
    let world = World::exclusive();
    let scan = scan(|sink| Ok(push(sink, (0..900).map(|n| n % 300))));
    assert_eq!(now(world.gate.rebuild(&scan)).unwrap().rows, 900);
    assert!((0..300).all(|id| !world.gate.check(&id).is_absent()));
}

struct Lagging<'a>(&'a Db, u64, std::time::Duration);

impl KeySource<u64> for Lagging<'_> {
    type Error = io::Error;

    async fn scan(&self, sink: &mut KeySink<'_, u64>) -> io::Result<Scanned> {
        Ok(Scanned { rows: push(sink, self.0.ids().into_iter().filter(|id| *id != self.1)) })
    }

    fn lag(&self) -> std::time::Duration {
        self.2
    }
}

#[test]
fn a_scan_may_lag_as_far_as_settled_keys_are_kept_and_no_further() {
    let world = World::with(only_creator(), |b| b.scan_lag(secs(5))).rebuilt(0..50);
    world.create(77, "new");
    world.hand.advance(secs(4));
    // Four seconds behind: it does not see 77.
    let replica = Lagging(&world.db, 77, secs(5));
    assert!(now(world.gate.rebuild(&replica)).unwrap().trusted);
    assert!(!world.gate.check(&77).is_absent(), "a key that was acknowledged is absent because the scan lagged");
    assert!(now(world.gate.rebuild(&replica)).unwrap().trusted, "a second one knows it as well");
    assert!(!world.gate.check(&77).is_absent());
    let error = fails(&world, &Lagging(&world.db, 0, secs(6)));
    assert!(matches!(error, RebuildError::LagNotCovered { lag, covered } if (lag, covered) == (secs(6), secs(5))));
}

#[test]
fn a_canary_younger_than_the_lag_is_not_asked_for() {
    let world = World::with(only_creator(), |b| b.scan_lag(secs(5))).rebuilt(0..50);
    world.db.insert(77, "new");
    world.claim(77);
    is_present(&world.lookup(77), "new");
    world.hand.advance(secs(4));
    // Nothing keeps 77 but that it was claimed: announced four seconds ago.
    assert!(now(world.gate.rebuild(&Lagging(&world.db, 77, secs(5)))).is_ok());
    world.hand.advance(secs(2));
    let missing = now(world.gate.rebuild(&Lagging(&world.db, 77, secs(5))));
    assert!(matches!(missing, Err(RebuildError::CanaryMissing)), "the scan must see it by now: {missing:?}");
}

#[test]
fn a_key_that_the_scan_misses_and_the_source_has_fails_the_rebuild() {
    let world = World::exclusive().rebuilt(0..50);
    assert!(world.lookup(33).is_present());
    let misses = scan(|sink| Ok(push(sink, (0..50).filter(|id| *id != 33))));
    assert!(matches!(fails(&world, &misses), RebuildError::CanaryMissing));
    // Deleted, announced or behind the gate's back: then the scan was right.
    world.db.delete(33);
    assert!(now(world.gate.rebuild(&misses)).unwrap().trusted);
    assert!(world.lookup(34).is_present());
    now(world.gate.delete_with(&34, || committed(|| world.db.delete(34)))).unwrap();
    let reads = world.db.reads();
    assert!(now(world.gate.rebuild(&scan(|sink| Ok(push(sink, (0..50).filter(|id| *id != 34)))))).is_ok());
    assert_eq!(world.db.reads(), reads, "a key whose delete was announced is no canary any more");
}

/// Found by the stress test: the canary was looked for in the filter, then created anew, then found in the source.
#[test]
fn a_canary_that_is_created_anew_while_it_is_asked_for_fails_nothing() {
    let world = World::exclusive().rebuilt(0..50);
    assert!(world.lookup(33).is_present());
    world.db.delete(33);
    world.db.hold(Hold::Before);
    let mut rebuild = Task::begun(world.gate.rebuild(&world.db));
    let reads = world.db.reads();
    while world.db.reads() == reads {
        assert!(rebuild.poll().is_none());
    }
    world.create(33, "again");
    world.db.release();
    assert!(rebuild.end().unwrap().trusted);
    is_present(&world.lookup(33), "again");
}

#[test]
fn one_rebuild_at_a_time() {
    let world = World::exclusive();
    (0..20).for_each(|id| world.db.insert(id, "row"));
    let first = Task::begun(world.gate.rebuild(&world.db));
    assert!(matches!(world.rebuild(), Err(RebuildError::AlreadyRunning)));
    assert!(matches!(now(world.gate.clone().rebuild(&world.db)), Err(RebuildError::AlreadyRunning)), "clones are the same gate");
    assert_eq!(first.end().unwrap().rows, 20);
    assert!(world.rebuild().is_ok());
}

#[test]
fn readers_are_served_by_the_old_generation_until_the_swap() {
    let world = World::exclusive().rebuilt(0..20);
    world.db.delete(3);
    world.db.insert(40, "behind its back");
    let mut rebuild = Task::begun(world.gate.rebuild(&world.db));
    for _ in 0..10 {
        assert!(rebuild.poll().is_none());
        assert!(world.gate.status().rebuilding && world.gate.is_trusted());
        assert!(!world.gate.check(&3).is_absent() && world.gate.check(&40).is_absent());
    }
    let before = world.gate.status().generation;
    rebuild.end().unwrap();
    assert_ne!(world.gate.status().generation, before);
    assert!(world.gate.check(&3).is_absent() && !world.gate.check(&40).is_absent());
}
