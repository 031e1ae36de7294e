//! What a filter's "no" is worth, and when it is worth nothing.

use crate::support::*;
use absentia::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

#[test]
fn everything_is_possible_until_the_first_rebuild() {
    let world = World::exclusive();
    assert_eq!(world.gate.check(&1), Verdict::Possible(Reason::Loading));
    assert_eq!((world.gate.status().trust, world.gate.is_trusted()), (Trust::Loading, false));
    world.db.insert(1, "row");
    is_present(&world.lookup(1), "row");
    assert!(matches!(world.lookup(2), Lookup::Absent(Proof::Source)));
    assert!(world.rebuild().unwrap().trusted);
    let status = world.gate.status();
    assert_eq!(status.trust, Trust::Trusted);
    let proof = Proof::Filter { epoch: status.epoch, generation: status.generation.unwrap() };
    assert_eq!(world.gate.check(&2), Verdict::Absent(proof));
    assert!(matches!(world.lookup(2), Lookup::Absent(found) if found == proof));
    assert_eq!(world.gate.check(&1), Verdict::Possible(Reason::Maybe));
}

#[test]
fn while_a_distrust_lives_the_filter_is_a_hint_and_nothing_absent_is_remembered() {
    let world = World::exclusive().rebuilt(0..10);
    world.claim(50);
    assert!(world.lookup(50).is_absent() && world.lookup(50).is_absent());
    let reads = world.db.reads();
    let guard = world.gate.distrust();
    assert_eq!(world.gate.check(&99), Verdict::Possible(Reason::Distrusted));
    assert!(matches!(world.lookup(50), Lookup::Absent(Proof::Source)), "a tombstone from before is not served");
    assert!(matches!(world.lookup(50), Lookup::Absent(Proof::Source)), "nor is one stored");
    world.db.insert(99, "imported");
    is_present(&world.lookup(99), "imported");
    assert_eq!(world.db.reads() - reads, 3);
    drop(guard);
    assert_eq!(world.gate.check(&98), Verdict::Possible(Reason::Distrusted), "its end alone restores nothing");
    assert_eq!(world.gate.check(&99), Verdict::Possible(Reason::Maybe), "what was found is known from then on");
    assert!(matches!(world.lookup(50), Lookup::Absent(Proof::Source)), "a tombstone from before the distrust is dead after it as well");
}

#[test]
fn only_a_rebuild_published_after_the_last_guard_ended_restores_trust() {
    let world = World::exclusive().rebuilt(0..10);
    let (first, second) = (world.gate.distrust(), world.gate.distrust());
    assert_eq!(world.gate.status().distrust_guards, 2);
    assert!(!world.rebuild().unwrap().trusted, "both live");
    drop(first);
    assert!(!world.rebuild().unwrap().trusted, "one lives");
    let during = Task::begun(world.gate.rebuild(&world.db));
    world.db.insert(77, "imported behind the scan");
    drop(second);
    assert!(!during.end().unwrap().trusted, "its scan began before the import ended");
    assert_eq!(world.gate.status().trust, Trust::Distrusted);
    is_present(&world.lookup(77), "imported behind the scan");
    assert!(world.rebuild().unwrap().trusted);
    assert!(!world.gate.check(&77).is_absent() && world.gate.check(&78).is_absent());
}

#[test]
fn a_distrust_that_comes_and_goes_within_a_rebuild_spoils_it() {
    let world = World::exclusive().rebuilt(0..10);
    let rebuild = Task::begun(world.gate.rebuild(&world.db));
    drop(world.gate.distrust());
    assert!(!rebuild.end().unwrap().trusted);
}

#[test]
fn a_distrust_during_the_very_first_rebuild_spoils_it_too() {
    let world = World::exclusive();
    (0..10).for_each(|id| world.db.insert(id, "row"));
    let guard = world.gate.distrust();
    assert_eq!(world.gate.status().trust, Trust::Loading);
    assert!(!world.rebuild().unwrap().trusted);
    assert_eq!(world.gate.check(&99), Verdict::Possible(Reason::Distrusted));
    drop(guard);
    assert!(world.rebuild().unwrap().trusted);
}

#[test]
fn a_read_from_before_a_distrust_is_neither_remembered_nor_shared_after_it() {
    let world = World::exclusive().rebuilt(0..10);
    world.claim(50);
    world.db.hold(Hold::After);
    let slow = Task::begun(world.gate.lookup(&50));
    let guard = world.gate.distrust();
    world.db.insert(50, "imported");
    drop(guard);
    // The import is acknowledged. Who comes now must see it.
    let late = Task::begun(world.gate.lookup(&50));
    world.db.release();
    assert!(slow.end().is_absent(), "it began before");
    is_present(&late.end(), "imported");
    is_present(&world.lookup(50), "imported");
}

#[test]
fn a_wrong_absence_is_noticed_by_a_fresh_lookup_and_distrusts_at_once() {
    let world = World::exclusive().rebuilt(0..10);
    world.db.insert(77, "by a colleague with a console");
    assert!(world.lookup(77).is_absent(), "nobody told the gate");
    is_present(&now(world.gate.lookup_fresh(&77)), "by a colleague with a console");
    assert_eq!(world.counters.wrong_absent(), 1);
    assert_eq!((world.gate.status().trust, world.gate.is_trusted()), (Trust::WrongAbsence, false));
    assert_eq!(world.gate.check(&78), Verdict::Possible(Reason::Distrusted));
    is_present(&world.lookup(77), "by a colleague with a console");
    // Tombstones rest on the same announcements.
    world.claim(50);
    assert!((0..3).all(|_| matches!(world.lookup(50), Lookup::Absent(Proof::Source))));
    assert!(world.rebuild().unwrap().trusted);
    assert!(!world.gate.check(&77).is_absent() && world.gate.check(&78).is_absent());
    assert_eq!(world.counters.wrong_absent(), 1);
}

#[test]
fn a_create_under_way_or_a_deleted_key_is_not_taken_for_a_wrong_absence() {
    let world = World::exclusive().rebuilt(0..10);
    world.db.hold(Hold::After);
    let early = Task::begun(world.gate.lookup_fresh(&77));
    world.create(77, "row");
    world.db.release();
    assert!(early.end().is_absent());
    world.db.hold(Hold::Before);
    let spanning = Task::begun(world.gate.lookup_fresh(&78));
    world.create(78, "row");
    world.db.release();
    is_present(&spanning.end(), "row");
    // Deleted and rebuilt while a read of it is on its way.
    world.db.hold(Hold::After);
    let slow = Task::begun(world.gate.lookup_fresh(&5));
    world.db.delete(5);
    assert!(now(world.gate.rebuild(&world.db)).is_ok());
    world.db.release();
    is_present(&slow.end(), "5");
    assert_eq!((world.counters.wrong_absent(), world.gate.status().trust), (0, Trust::Trusted));
}

#[test]
fn a_rebuild_published_before_a_wrong_absence_does_not_restore_trust() {
    let world = World::exclusive().rebuilt(0..10);
    let rebuild = Task::begun(world.gate.rebuild(&world.db));
    world.db.insert(77, "unannounced");
    assert!(now(world.gate.lookup_fresh(&77)).is_present());
    assert_eq!(world.gate.status().trust, Trust::WrongAbsence);
    assert!(!rebuild.end().unwrap().trusted);
    assert!(world.rebuild().unwrap().trusted);
}

/// The epoch used to move when the doubt began and not when it ended, so a read from in between was shared, and remembered, by a trusted gate.
#[test]
fn what_was_read_during_a_wrong_absence_proves_nothing_after_it() {
    let world = World::exclusive().rebuilt(0..10);
    world.db.insert(2077, "unannounced");
    assert!(now(world.gate.lookup_fresh(&2077)).is_present());
    assert_eq!(world.gate.status().trust, Trust::WrongAbsence);
    world.claim(7077);
    world.db.hold(Hold::After);
    let slow = Task::begun(world.gate.lookup(&7077));
    world.db.insert(7077, "unannounced as well, and acknowledged");
    assert!(now(world.gate.rebuild(&world.db)).unwrap().trusted);
    let mut late = Task::new(world.gate.lookup(&7077));
    let early_answer = late.poll();
    world.db.release();
    let _ = slow.end();
    is_present(&early_answer.unwrap_or_else(|| late.end()), "unannounced as well, and acknowledged");
    is_present(&world.lookup(7077), "unannounced as well, and acknowledged");
}

/// Each rebuild under a lost lock used to move the epoch, and with it to void every remembered value.
#[test]
fn a_lost_lock_moves_the_epoch_once_and_says_so() {
    let (held, lock) = revocable();
    let world = World::with(Coverage::Exclusive(lock), |b| b).rebuilt(0..10);
    held.store(false, SeqCst);
    assert!(!world.gate.is_trusted());
    let epoch = world.gate.status().epoch;
    assert!((0..3).all(|_| !world.rebuild().unwrap().trusted));
    assert_eq!((world.gate.status().epoch, world.gate.status().trust), (epoch, Trust::LockLost));
    let lost = world.counters.iter().find(|(name, _)| *name == "gate_lock_lost_total");
    assert_eq!(lost, Some(("gate_lock_lost_total", 1)));
}

fn revocable() -> (Arc<AtomicBool>, Exclusivity) {
    let held = Arc::new(AtomicBool::new(true));
    let asked = Arc::clone(&held);
    (held, Exclusivity::own_lock(move || asked.load(SeqCst)).first_start())
}

#[test]
fn a_lock_that_was_lost_once_is_never_trusted_again() {
    let (held, lock) = revocable();
    let world = World::with(Coverage::Exclusive(lock), |b| b).rebuilt(0..10);
    assert!(world.gate.check(&99).is_absent());
    world.claim(50);
    assert!(world.lookup(50).is_absent());
    assert!(matches!(world.lookup(50), Lookup::Absent(Proof::Tombstone { .. })));
    held.store(false, SeqCst);
    assert_eq!(world.gate.check(&99), Verdict::Possible(Reason::LockLost));
    held.store(true, SeqCst);
    assert_eq!(world.gate.check(&99), Verdict::Possible(Reason::LockLost));
    assert!((0..3).all(|_| matches!(world.lookup(50), Lookup::Absent(Proof::Source))), "tombstones are refused");
    let rebuilt = world.rebuild().unwrap();
    assert_eq!((rebuilt.trusted, world.gate.status().trust), (false, Trust::LockLost));
    assert!(!world.gate.check(&99).is_absent() && !world.gate.check_batch(&[98, 99])[1].is_absent());
}

#[test]
fn a_lost_lock_is_noticed_by_whoever_needs_it_first() {
    // A tombstone.
    let (held, lock) = revocable();
    let world = World::with(Coverage::Exclusive(lock), |b| b).rebuilt(0..10);
    world.claim(50);
    assert!(world.lookup(50).is_absent());
    held.store(false, SeqCst);
    assert!(matches!(world.lookup(50), Lookup::Absent(Proof::Source)));
    assert_eq!(world.gate.status().trust, Trust::LockLost);
    // A rebuild.
    let (held, lock) = revocable();
    let world = World::with(Coverage::Exclusive(lock), |b| b).rebuilt(0..10);
    held.store(false, SeqCst);
    assert!(!world.rebuild().unwrap().trusted);
    // A batch.
    let (held, lock) = revocable();
    let world = World::with(Coverage::Exclusive(lock), |b| b).rebuilt(0..10);
    held.store(false, SeqCst);
    assert!(world.gate.check_batch(&[98u64, 99]).iter().all(|verdict| *verdict == Verdict::Possible(Reason::LockLost)));
    assert_eq!(world.gate.status().trust, Trust::LockLost);
}

#[test]
fn beside_a_predecessor_nothing_absent_is_believed_before_its_last_commit() {
    let lock = Exclusivity::asserted("rolling restart");
    let world = World::with(Coverage::Exclusive(lock), |b| b.max_transaction(secs(30)));
    (0..10).for_each(|id| world.db.insert(id, "row"));
    let mut rebuild = Task::begun(world.gate.rebuild(&world.db));
    assert!((0..3).all(|_| matches!(world.lookup(77), Lookup::Absent(Proof::Source))), "no tombstones either");
    world.hand.advance(secs(29));
    assert!(rebuild.poll().is_none());
    let status = world.gate.status();
    assert!(status.rebuilding && status.waits.is_some_and(|wait| wait == secs(1)), "it says that it waits: {status:?}");
    // The predecessor's commit lands.
    world.db.insert(77, "row");
    is_present(&world.lookup(77), "row");
    world.hand.advance(secs(1));
    assert!(rebuild.end().unwrap().trusted);
    assert!(!world.gate.check(&77).is_absent() && world.gate.check(&78).is_absent());
}

#[test]
fn a_gate_that_lets_everything_through_switches_itself_off_and_says_so() {
    let world = World::with(only_creator(), |b| b.fpr_limit(0.2)).rebuilt(0..10);
    (100..30_000).for_each(|id| world.create(id, "row"));
    let status = world.gate.status();
    assert!(status.saturated && status.switched_off && status.estimated_fpr > 0.2, "{status:?}");
    assert_eq!(world.gate.check(&u64::MAX), Verdict::Possible(Reason::SwitchedOff));
    assert_eq!(world.gate.check_batch(&[5])[0], Verdict::Possible(Reason::SwitchedOff));
    assert!(world.rebuild().unwrap().trusted);
    assert!(world.gate.check(&u64::MAX).is_absent());
    assert!((100..30_000).all(|id| !world.gate.check(&id).is_absent()));
}
