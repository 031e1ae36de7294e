//! The numbers that an operator reads: after a small scripted run each is exactly what happened.

use crate::support::*;
use absentia::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Every counter that is not zero, by the name of the metrics table.
fn counted(world: &World) -> BTreeMap<&'static str, u64> {
    world.counters.iter().filter(|(_, count)| *count > 0).collect()
}

const PRESENT_SOURCE: &str = "gate_lookups_total{outcome=\"present\",proof=\"source\"}";
const PRESENT_CACHE: &str = "gate_lookups_total{outcome=\"present\",proof=\"cache\"}";
const ABSENT_FILTER: &str = "gate_lookups_total{outcome=\"absent\",proof=\"filter\"}";
const ABSENT_TOMBSTONE: &str = "gate_lookups_total{outcome=\"absent\",proof=\"tombstone\"}";
const ABSENT_SOURCE: &str = "gate_lookups_total{outcome=\"absent\",proof=\"source\"}";
const FAILED: &str = "gate_lookups_total{outcome=\"unknown\",cause=\"failed\"}";
const SHED: &str = "gate_lookups_total{outcome=\"unknown\",cause=\"shed\"}";
const FOUND: &str = "gate_source_loads_total{result=\"found\"}";
const NOT_FOUND: &str = "gate_source_loads_total{result=\"not_found\"}";
const ERROR: &str = "gate_source_loads_total{result=\"error\"}";
const TIMEOUT: &str = "gate_source_loads_total{result=\"timeout\"}";
const STORED: &str = "gate_tombstone_stores_total{result=\"stored\"}";
const FENCED: &str = "gate_tombstone_stores_total{result=\"fenced\"}";
const CHANGED: &str = "gate_tombstone_stores_total{result=\"token_changed\"}";
const JOINS: &str = "gate_flight_joins_total";
const NOT_VALIDATED: &str = "gate_flight_revalidations_total{result=\"failed\"}";
const TAKEOVERS: &str = "gate_flight_takeovers_total";
const FALSE_POSITIVES: &str = "gate_filter_false_positives_total";
const SCANNED: &str = "gate_filter_scanned_keys_total";
const SWAPPED: &str = "gate_filter_swaps_total{result=\"swapped\"}";
const SWAP_FAILED: &str = "gate_filter_swaps_total{result=\"failed\"}";
const EPOCHS: &str = "gate_epoch_changes_total";
const EXPIRED: &str = "gate_fences_expired_total";
const WRONG: &str = "gate_wrong_absent_total";

#[test]
fn a_quiet_day() {
    let world = World::exclusive().rebuilt(0..10);
    assert!(world.lookup(5).is_present() && world.lookup(5).is_present());
    assert!(world.lookup(999).is_absent() && world.gate.check(&999).is_absent());
    assert!(world.gate.check_batch(&[998u64, 999, 5]).len() == 3);
    world.claim(50);
    assert!(world.lookup(50).is_absent() && world.lookup(50).is_absent());
    world.db.fail(true);
    world.claim(51);
    assert!(world.lookup(51).is_unknown());
    world.db.fail(false);
    world.db.hold(Hold::Before);
    let hanging = Task::begun(world.gate.lookup(&51));
    world.hand.advance(secs(5));
    assert!(hanging.end().is_unknown());
    world.db.release();
    let expected = [
        (PRESENT_SOURCE, 1),
        (PRESENT_CACHE, 1),
        (ABSENT_FILTER, 4),
        (ABSENT_SOURCE, 1),
        (ABSENT_TOMBSTONE, 1),
        (FAILED, 2),
        (FOUND, 1),
        (NOT_FOUND, 1),
        (ERROR, 1),
        (TIMEOUT, 1),
        (STORED, 1),
        (FALSE_POSITIVES, 1),
        (SCANNED, 20), // Ten rows, and once more because they outgrew the first guess.
        (SWAPPED, 1),
    ];
    assert_eq!(counted(&world), BTreeMap::from(expected));
    assert_eq!(world.counters.source_load_time(), secs(5), "time stood still but for the one that hung");
}

#[test]
fn a_day_of_races() {
    let world = World::exclusive().rebuilt(0..10);
    let before = counted(&world);
    assert_eq!(before, BTreeMap::from([(SCANNED, 20), (SWAPPED, 1)]));
    // A create is pending: not stored.
    let guard = world.gate.begin_create(&50);
    assert!(world.lookup(50).is_absent());
    guard.aborted();
    // A create comes between: not stored, and not shared.
    world.db.hold(Hold::After);
    world.claim(60);
    let early = Task::begun(world.gate.lookup(&60));
    let joiner = Task::begun(world.gate.lookup(&60));
    world.create(60, "row");
    world.db.release();
    assert!(early.end().is_absent());
    is_present(&joiner.end(), "row");
    // A reader goes away.
    world.claim(70);
    world.db.hold(Hold::Before);
    let gone = Task::begun(world.gate.lookup(&70));
    let stays = Task::begun(world.gate.lookup(&70));
    drop(gone);
    world.db.release();
    assert!(stays.end().is_absent());
    // A write that nobody reports.
    drop(world.gate.begin_create(&80));
    world.hand.advance(secs(30));
    now(world.gate.resolve_unknown());
    let expected = [
        (ABSENT_SOURCE, 3),
        (PRESENT_SOURCE, 1),
        (FOUND, 1),
        (NOT_FOUND, 4), // 50, 60, 70, and the resolver's 80; the dropped read of 70 never ended.
        (FENCED, 2),    // 50 and 80.
        (CHANGED, 1),
        (STORED, 1),
        (JOINS, 2),
        (NOT_VALIDATED, 1),
        (TAKEOVERS, 1),
        (FALSE_POSITIVES, 3),
        (EXPIRED, 1),
        (SCANNED, 20), // Ten rows, and once more because they outgrew the first guess.
        (SWAPPED, 1),
    ];
    assert_eq!(counted(&world), BTreeMap::from(expected));
}

#[test]
fn a_day_on_which_trust_is_lost() {
    let world = World::with(only_creator(), |b| b.suspect_lane(LaneConfig { burst: 2.0, max_share: 1.0, ..LaneConfig::default() })).rebuilt(0..10);
    drop(world.gate.distrust());
    let shed = (100..105).filter(|id| world.lookup(*id).is_unknown()).count();
    assert_eq!(shed, 3);
    assert!(now(world.gate.rebuild(&scan(|_| Ok(0)))).is_err());
    assert!(world.rebuild().is_ok());
    world.db.insert(777, "unannounced");
    assert!(now(world.gate.lookup_fresh(&777)).is_present());
    let expected = [
        (ABSENT_SOURCE, 2),
        (SHED, 3),
        (PRESENT_SOURCE, 1),
        (FOUND, 1),
        (NOT_FOUND, 2),
        (STORED, 2),
        (SCANNED, 30),
        (SWAPPED, 2),
        (SWAP_FAILED, 1),
        (EPOCHS, 2), // The end of the distrust, and the wrong absence.
        (WRONG, 1),
    ];
    assert_eq!(counted(&world), BTreeMap::from(expected));
}

#[test]
fn a_loader_whose_evidence_is_refused_is_counted_and_asked_afresh() {
    struct Remembers;
    impl Loader<u64, String> for Remembers {
        async fn load(&self, _: &u64, context: &LoadContext<'_>) -> Result<Loaded<String>, Cause> {
            let read_began = context.now();
            Ok(Loaded::Absent(Evidence::Remembered { token: Token::unusable(), read_began }))
        }
    }
    let counters = Arc::new(Counters::new());
    let gate = ExistenceGate::builder(Remembers).coverage(only_creator()).observer(counters.clone()).build().unwrap();
    assert!(matches!(now(gate.lookup(&1)), Lookup::Unknown(Cause::Unproven)));
    let counted: BTreeMap<_, _> = counters.iter().filter(|(_, count)| *count > 0).collect();
    assert_eq!(counted, BTreeMap::from([("gate_evidence_refused_total", 2), (FAILED, 1)]));
}

#[test]
fn an_observer_hears_of_swaps_with_their_size_and_of_a_switch_off() {
    #[derive(Default)]
    struct Heard(Mutex<Vec<Event>>);
    impl Observer for Heard {
        fn record(&self, event: &Event) {
            self.0.lock().unwrap().push(*event);
        }
    }
    let heard = Arc::new(Heard::default());
    let world = World::with(only_creator(), |b| b.observer(heard.clone()).fpr_limit(0.2)).rebuilt(0..10);
    (100..30_000).for_each(|id| world.create(id, "row"));
    let events = heard.0.lock().unwrap().clone();
    let [Event::Scanned { keys: 10 }, Event::Scanned { keys: 10 }, Event::Swapped { keys: 10, .. }, Event::SwitchedOff] = events[..] else {
        panic!("{events:?}");
    };
}

#[test]
fn counting_from_many_threads_loses_nothing() {
    let counters = Counters::new();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..10_000).for_each(|_| counters.record(&Event::Lookup(Outcome::AbsentFilter))));
        }
    });
    assert_eq!(counters.lookups(Outcome::AbsentFilter), 40_000);
}
