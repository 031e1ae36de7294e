//! Advisory coverage: anyone creates, unannounced. The filter is a hint, and a flood of what it rules out meets a budget.

use crate::support::*;
use absentia::*;
use std::time::Duration;

const LANE: LaneConfig = LaneConfig { concurrency: 4, rate: 10.0, burst: 8.0, max_share: 0.5 };
const SCRAPER: CallerId = CallerId::new(1);
const CLIENT: CallerId = CallerId::new(2);

fn limited(tombstones: Tombstones) -> World {
    World::with(Coverage::Advisory { tombstones }, |b| b.suspect_lane(LANE)).rebuilt(0..100)
}

fn lookup_for(world: &World, caller: CallerId, id: u64) -> Lookup<String> {
    now(world.gate.lookup_for(caller, &id))
}

fn bounded(seconds: u64) -> Tombstones {
    Tombstones::Bounded(NegativeTtl::new(secs(seconds)).unwrap())
}

/// The trap: "filter says no, so 404". A row that nobody announced is found all the same.
#[test]
fn an_unannounced_row_is_found_although_the_filter_says_no() {
    let world = limited(Tombstones::Off);
    assert_eq!(world.gate.check(&777), Verdict::Possible(Reason::Hint));
    assert!(world.lookup(777).is_absent());
    world.db.insert(777, "by another process");
    is_present(&world.lookup(777), "by another process");
    assert_eq!(world.gate.check(&777), Verdict::Possible(Reason::Maybe), "from here on it is no suspect");
    assert_eq!(world.counters.wrong_absent(), 0, "it was never called absent from memory");
}

#[test]
fn a_check_alone_never_says_absent() {
    let world = limited(Tombstones::Off);
    assert!((0..10_000u64).all(|id| !world.gate.check(&id).is_absent()));
    assert!(world.gate.is_trusted());
}

#[test]
fn a_flood_is_shed_with_a_time_to_come_back_and_the_next_caller_is_served() {
    for tombstones in [Tombstones::Off, bounded(30)] {
        let world = limited(tombstones);
        let reads = world.db.reads();
        // A false positive of the filter is no suspect.
        let suspects: Vec<u64> = (1_000..2_000).filter(|id| world.gate.check(id) == Verdict::Possible(Reason::Hint)).collect();
        let found: Vec<_> = suspects.iter().map(|id| lookup_for(&world, SCRAPER, *id)).collect();
        let shed = found.iter().filter(|found| matches!(found, Lookup::Unknown(Cause::Shed { .. }))).count();
        assert_eq!((world.db.reads() - reads, shed), (4, suspects.len() - 4), "half of the burst for one caller");
        assert!(found.iter().all(|found| found.is_absent() || found.is_unknown()));
        assert_eq!(world.counters.lookups(Outcome::UnknownShed) as usize, shed);
        assert!(lookup_for(&world, CLIENT, 5_000).is_absent(), "another caller has a share of its own");
        let Lookup::Unknown(Cause::Shed { retry_after }) = lookup_for(&world, SCRAPER, 5_001) else { panic!("not shed") };
        world.hand.advance(retry_after);
        assert!(lookup_for(&world, SCRAPER, 5_001).is_absent(), "retry_after was honest");
    }
}

#[test]
fn what_the_filter_claims_is_not_held_up_by_a_flood() {
    let world = limited(Tombstones::Off);
    (1_000..2_000).for_each(|id| drop(lookup_for(&world, SCRAPER, id)));
    assert!((0..100).all(|id| lookup_for(&world, SCRAPER, id).is_present()));
}

#[test]
fn reads_at_once_are_limited_and_given_back() {
    let world =
        World::with(Coverage::Advisory { tombstones: Tombstones::Off }, |b| b.suspect_lane(LaneConfig { max_share: 1.0, ..LANE })).rebuilt(0..10);
    world.db.hold(Hold::Before);
    let ids: Vec<u64> = (100..104).collect();
    let held: Vec<_> = ids.iter().map(|id| Task::begun(world.gate.lookup_for(SCRAPER, id))).collect();
    assert!(matches!(lookup_for(&world, SCRAPER, 105), Lookup::Unknown(Cause::Shed { .. })));
    drop(held);
    world.db.release();
    world.hand.advance(secs(1));
    assert!(lookup_for(&world, SCRAPER, 105).is_absent(), "a lookup that was dropped gives its place back");
}

#[test]
fn a_loader_of_ten_lines_is_limited_as_a_whole() {
    let db = Db::<String>::new();
    let (clock, _hand) = Clock::mock();
    let gate = ExistenceGate::builder(TableLoader(db.clone())).coverage(Coverage::Advisory { tombstones: Tombstones::Off });
    let gate = gate.clock(clock).suspect_lane(LANE).hasher(KeyHasher::xxh3(0x5EED)).build().unwrap();
    db.insert(1, "row");
    now(gate.rebuild(&db)).unwrap();
    let shed = (100..200u64).filter(|id| now(gate.lookup_for(SCRAPER, id)).is_unknown()).count();
    assert_eq!((shed, db.reads()), (96, 4));
}

#[test]
fn a_tombstone_in_memory_is_answered_when_the_lane_is_full() {
    let world = limited(bounded(30));
    assert!(lookup_for(&world, SCRAPER, 1_000).is_absent());
    (2_000..2_100).for_each(|id| drop(lookup_for(&world, SCRAPER, id)));
    assert!(matches!(lookup_for(&world, SCRAPER, 1_000), Lookup::Absent(Proof::Tombstone { .. })), "it costs the source nothing");
}

#[test]
fn a_caller_over_its_share_does_not_take_others_down_with_it() {
    let world = limited(Tombstones::Off);
    (1_000..1_010).for_each(|id| drop(lookup_for(&world, SCRAPER, id)));
    // The scraper comes first and is turned away; who waits behind it reads itself.
    let scraper = Task::new(world.gate.lookup_for(SCRAPER, &7_000));
    let client = Task::new(world.gate.lookup_for(CLIENT, &7_000));
    assert!(scraper.end().is_unknown());
    assert!(client.end().is_absent());
}

#[test]
fn a_tombstone_is_not_served_past_its_stated_staleness() {
    // The cache would keep it for thirty seconds.
    let world = limited(bounded(5));
    assert!(world.lookup(777).is_absent());
    world.db.insert(777, "by another process");
    world.hand.advance(secs(5));
    assert!(matches!(world.lookup(777), Lookup::Absent(Proof::Tombstone { age }) if age == secs(5)), "stale, as stated");
    world.hand.advance(Duration::from_millis(1));
    is_present(&world.lookup(777), "by another process");
}

#[test]
fn an_announced_create_kills_a_bounded_tombstone_at_once() {
    let world = limited(bounded(30));
    assert!(world.lookup(777).is_absent());
    world.create(777, "announced");
    is_present(&world.lookup(777), "announced");
    world.db.hold(Hold::After);
    let slow = Task::begun(world.gate.lookup(&778));
    world.create(778, "announced");
    let late = Task::begun(world.gate.lookup(&778));
    world.db.release();
    let _ = slow.end();
    is_present(&late.end(), "announced");
}

#[test]
fn where_tombstones_are_off_none_is_stored() {
    let world = limited(Tombstones::Off);
    let reads = world.db.reads();
    (0..3).for_each(|_| assert!(matches!(world.lookup(777), Lookup::Absent(Proof::Source))));
    assert_eq!((world.db.reads() - reads, world.store.stats().negative_entries), (3, 0));
}

#[test]
fn a_late_joiner_hears_no_absence_from_before_it_came() {
    let world = limited(bounded(30));
    world.db.hold(Hold::After);
    let early = Task::begun(world.gate.lookup(&777));
    world.db.insert(777, "unannounced, acknowledged");
    let late = Task::begun(world.gate.lookup(&777));
    world.db.release();
    assert!(early.end().is_absent());
    is_present(&late.end(), "unannounced, acknowledged");
}

#[test]
fn under_distrust_an_exclusive_gate_limits_suspects_as_well() {
    let world = World::with(only_creator(), |b| b.suspect_lane(LANE)).rebuilt(0..10);
    let _guard = world.gate.distrust();
    let shed = (100..200).filter(|id| world.lookup(*id).is_unknown()).count();
    assert_eq!(shed, 96);
    world.db.insert(100, "imported");
    world.hand.advance(secs(1));
    is_present(&world.lookup(100), "imported");
}

#[test]
fn a_fresh_lookup_asks_past_the_filter_and_is_no_suspect() {
    let world = limited(Tombstones::Off);
    (1_000..1_010).for_each(|id| drop(lookup_for(&world, SCRAPER, id)));
    assert!((1_000..1_100u64).all(|id| now(world.gate.lookup_fresh(&id)).is_absent()));
    world.db.insert(1_000, "unannounced");
    is_present(&now(world.gate.lookup_fresh(&1_000)), "unannounced");
    assert_eq!(world.gate.check(&1_000), Verdict::Possible(Reason::Maybe), "what it finds the filter knows from then on");
}
