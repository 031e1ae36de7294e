//! One read per key at a time, shared where that is safe; and whatever becomes of the caller that reads, nobody waits for ever.

use crate::support::*;
use absentia::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn joins(world: &World) -> u64 {
    world.counters.iter().find(|(name, _)| *name == "gate_flight_joins_total").unwrap().1
}

fn takeovers(world: &World) -> u64 {
    world.counters.iter().find(|(name, _)| *name == "gate_flight_takeovers_total").unwrap().1
}

#[test]
fn a_thousand_callers_at_once_are_one_read() {
    for row in [None, Some("row")] {
        let world = World::exclusive();
        row.into_iter().for_each(|row| world.db.insert(1, row));
        world.db.hold(Hold::Before);
        let callers: Vec<_> = (0..1_000).map(|_| Task::begun(world.gate.lookup(&1))).collect();
        world.db.release();
        for caller in callers {
            assert_eq!(caller.end().into_result().unwrap().as_deref(), row);
        }
        assert_eq!((world.db.reads(), joins(&world)), (1, 999));
    }
}

#[test]
fn where_nothing_can_be_validated_a_thousand_callers_are_two_reads() {
    let world = World::advisory(Tombstones::Off);
    world.db.hold(Hold::Before);
    let callers: Vec<_> = (0..1_000).map(|_| Task::begun(world.gate.lookup(&1))).collect();
    world.db.release();
    callers.into_iter().for_each(|caller| assert!(caller.end().is_absent()));
    assert_eq!(world.db.reads(), 2, "the one under way, and one that begins after they came");
}

#[test]
fn an_error_is_shared_like_an_answer() {
    let world = World::exclusive();
    world.db.fail(true);
    world.db.hold(Hold::Before);
    let callers: Vec<_> = (0..10).map(|_| Task::begun(world.gate.lookup(&1))).collect();
    world.db.release();
    callers.into_iter().for_each(|caller| assert!(matches!(caller.end(), Lookup::Unknown(Cause::Source(_)))));
    assert_eq!(world.db.reads(), 1);
}

/// §2 row 4, the late joiner: moka, FusionCache and others let it share a read from before its create was acknowledged.
#[test]
fn a_caller_from_after_a_create_never_hears_an_absence_from_before_it() {
    let world = World::exclusive();
    world.db.hold(Hold::After);
    let early = Task::begun(world.gate.lookup(&1));
    let joiner = Task::begun(world.gate.lookup(&1));
    world.create(1, "row");
    let late = Task::begun(world.gate.lookup(&1));
    world.db.release();
    assert!(early.end().is_absent(), "it may: it asked before");
    is_present(&late.end(), "row");
    // It came before the create, but it cannot validate the read that it shared; so it reads, which is right as well.
    is_present(&joiner.end(), "row");
}

#[test]
fn a_joiner_that_comes_while_a_create_is_pending_waits_for_a_read_of_its_own() {
    let world = World::exclusive();
    world.db.hold(Hold::After);
    let early = Task::begun(world.gate.lookup(&1));
    let guard = world.gate.begin_create(&1);
    let during = Task::begun(world.gate.lookup(&1));
    world.db.insert(1, "row");
    guard.committed(None);
    let late = Task::begun(world.gate.lookup(&1));
    world.db.release();
    let _ = early.end();
    is_present(&late.end(), "row");
    is_present(&during.end(), "row");
}

/// tailscale #18919, go #55343, pingora #931: the first caller goes away, and takes the others with it.
#[test]
fn a_reader_that_goes_away_hands_over() {
    let world = World::exclusive();
    world.db.insert(1, "row");
    world.db.hold(Hold::Before);
    let first = Task::begun(world.gate.lookup(&1));
    let second = Task::begun(world.gate.lookup(&1));
    let third = Task::begun(world.gate.lookup(&1));
    drop(first);
    world.db.release();
    is_present(&third.end(), "row");
    is_present(&second.end(), "row");
    assert_eq!((world.db.reads(), takeovers(&world)), (2, 1));
    let reads = world.db.reads();
    is_present(&world.lookup(1), "row");
    assert_eq!(world.db.reads(), reads, "and what the second one read is remembered");
}

#[test]
fn everybody_may_go_away_in_any_order() {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        for advisory in [false, true] {
            let world = if advisory { World::advisory(Tombstones::Off) } else { World::exclusive() };
            world.db.hold(Hold::Before);
            let mut callers: Vec<_> = (0..3).map(|_| Some(Task::begun(world.gate.lookup(&1)))).collect();
            for gone in order {
                callers[gone] = None;
                callers.iter_mut().flatten().for_each(|caller| assert!(caller.poll().is_none()));
            }
            world.db.release();
            assert!(world.lookup(1).is_absent(), "{order:?}: a dead flight is in the way");
        }
    }
}

#[test]
fn a_joiner_that_goes_away_is_missed_by_nobody() {
    let world = World::exclusive();
    world.db.insert(1, "row");
    world.db.hold(Hold::Before);
    let first = Task::begun(world.gate.lookup(&1));
    let second = Task::begun(world.gate.lookup(&1));
    let third = Task::begun(world.gate.lookup(&1));
    drop(second);
    world.db.release();
    is_present(&third.end_after(first), "row");
    assert_eq!(world.db.reads(), 1);
}

trait EndAfter<'a> {
    fn end_after(self, first: Task<'a, Lookup<String>>) -> Lookup<String>;
}

impl<'a> EndAfter<'a> for Task<'a, Lookup<String>> {
    fn end_after(self, first: Task<'a, Lookup<String>>) -> Lookup<String> {
        is_present(&first.end(), "row");
        self.end()
    }
}

/// go #41133, groupcache #139, cockroach #174960: the loader panics, the server recovers, and the key is poisoned.
#[test]
fn a_panic_reaches_its_own_caller_and_the_others_go_on() {
    let world = World::exclusive();
    world.db.insert(1, "row");
    world.db.hold(Hold::Before);
    let mut first = Task::begun(world.gate.lookup(&1));
    let second = Task::begun(world.gate.lookup(&1));
    world.db.panic_once();
    world.db.release();
    assert!(catch_unwind(AssertUnwindSafe(|| first.poll())).is_err());
    is_present(&second.end(), "row");
    drop(first);
    is_present(&world.lookup(1), "row");
}

/// moka #240: a reader that was polled once and is not polled any more. cockroach #117420: one key, 1,129 callers, three hours.
#[test]
fn a_reader_that_nobody_polls_is_deposed_when_it_is_over_age() {
    let world = World::exclusive();
    world.db.insert(1, "row");
    world.db.hold(Hold::Before);
    let mut stuck = Task::begun(world.gate.lookup(&1));
    world.db.release();
    let mut second = Task::begun(world.gate.lookup(&1));
    world.hand.advance(secs(6));
    assert!(second.poll().is_none(), "its time-out of five seconds and a quarter of grace are not over");
    world.hand.advance(secs(1));
    is_present(&second.end(), "row");
    assert_eq!(takeovers(&world), 1);
    is_present(&stuck.poll().expect("polled again, it goes on"), "row");
}

/// The same where callers may only share the next read: under Advisory coverage, after a create, and for fresh lookups.
#[test]
fn a_reader_that_nobody_polls_is_deposed_by_callers_that_wait_for_the_next_read_too() {
    for advisory in [true, false] {
        let world = if advisory { World::advisory(Tombstones::Off) } else { World::exclusive() };
        world.db.insert(1, "row");
        world.db.hold(Hold::Before);
        let stuck = Task::begun(world.gate.lookup(&1));
        world.db.release();
        let waiting = Task::begun(async { if advisory { world.gate.lookup(&1).await } else { world.gate.lookup_fresh(&1).await } });
        world.hand.advance(secs(7));
        let found = waiting.end();
        assert!(found.is_present(), "advisory: {advisory}: {found:?}");
        drop(stuck);
    }
}

#[test]
fn a_source_that_hangs_for_one_key_is_asked_again_and_other_keys_are_not_affected() {
    let world = World::exclusive();
    world.db.insert(2, "another row");
    world.db.hold(Hold::Before);
    let mut hanging = Task::begun(world.gate.lookup(&1));
    world.db.release();
    is_present(&world.lookup(2), "another row");
    world.hand.advance(secs(5));
    // Ready and timed out at once: what is ready wins.
    assert!(hanging.poll().is_some_and(|found| found.is_absent()));
}

#[test]
fn a_fresh_lookup_never_joins_a_read_from_before_it() {
    let world = World::exclusive();
    world.db.insert(1, "old");
    world.db.hold(Hold::After);
    let early = Task::begun(world.gate.lookup(&1));
    world.db.insert(1, "new, behind its back");
    let fresh = Task::begun(world.gate.lookup_fresh(&1));
    let other = Task::begun(world.gate.lookup_fresh(&1));
    world.db.release();
    is_present(&early.end(), "old");
    is_present(&fresh.end(), "new, behind its back");
    is_present(&other.end(), "new, behind its back");
    assert_eq!(world.db.reads(), 2, "two fresh lookups that wait share the next read");
}

/// pingora keys its locks by a 64-bit hash: two keys could share an answer. Two keys in one fence stripe share no flight here.
#[test]
fn keys_that_share_a_fence_share_no_read() {
    let world = World::with(only_creator(), |b| b.fence_stripes(1));
    world.db.insert(1, "row");
    world.db.hold(Hold::Before);
    let (one, two) = (Task::begun(world.gate.lookup(&1)), Task::begun(world.gate.lookup(&2)));
    world.db.release();
    is_present(&one.end(), "row");
    assert!(two.end().is_absent());
    assert_eq!(world.db.reads(), 2);
}
