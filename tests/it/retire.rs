//! When the filter may forget a deleted key: each condition of the rule has a test that fails without it, by the key of somebody else that the filter
//! then denies, or by the key's own row.

use crate::copies::*;
use crate::support::*;
use absentia::bloom::BloomFactory;
use absentia::cuckoo::CuckooFactory;
use absentia::*;
use std::convert::Infallible;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

fn world_of(copies: Copies) -> World {
    World::with(only_creator(), |b| b.filters(copies))
}

pub(crate) fn world() -> World {
    world_of(Copies::new(Fault::None))
}

pub(crate) fn any_size() -> RebuildOptions {
    RebuildOptions::default().allow_empty().max_shrink(1.0)
}

/// Two keys that the base cannot tell apart, and one that it can tell from both.
fn twins(world: &World) -> (u64, u64, u64) {
    let print = |id: u64| fingerprint(world.gate.hasher().hash(&id));
    let other = (1..).find(|id| print(*id) == print(0)).unwrap();
    (0, other, (1..).find(|id| print(*id) != print(0)).unwrap())
}

/// Deletes the row in a database where the key is unique, as another client would: says what the statement affected.
pub(crate) fn delete_row(db: &Db, id: u64) -> Removed {
    let affected = u64::from(db.ids().contains(&id));
    db.delete(id);
    Removed::of_unique(affected)
}

fn retire(world: &World, id: u64) -> Retired {
    now(world.gate.retire_with(&id, async || Ok::<_, WriteError<io::Error>>(delete_row(&world.db, id)))).unwrap()
}

fn counted(world: &World, result: &str) -> u64 {
    let name = format!("gate_filter_retired_total{{result=\"{result}\"}}");
    world.counters.iter().find(|(n, _)| *n == name).unwrap_or_else(|| panic!("no counter {name}")).1
}

/// It exists, and the filter claims it.
#[track_caller]
fn is_there(world: &World, id: u64) {
    assert_eq!(world.gate.check(&id), Verdict::Possible(Reason::Maybe), "key {id} is denied");
    assert!(world.lookup(id).is_present(), "key {id}");
}

/// A scan that is called some time before it looks.
struct LateScan<'a>(&'a Db);

impl KeySource<u64> for LateScan<'_> {
    type Error = Infallible;
    async fn scan(&self, sink: &mut KeySink<'_, u64>) -> Result<Scanned, Infallible> {
        yield_now().await;
        self.0.scan(sink).await
    }
}

// ---- what it is for ---------------------------------------------------------------------------------------------------------------------------

#[test]
fn a_retired_key_is_absent_without_a_read_of_the_source() {
    let world = world().rebuilt(0..3);
    let reads = world.db.reads();
    assert_eq!(retire(&world, 1), Retired::Removed);
    assert!(world.gate.check(&1).is_absent() && world.lookup(1).is_absent());
    assert_eq!((world.db.reads(), counted(&world, "removed")), (reads, 1));
    [0, 2].iter().for_each(|id| is_there(&world, *id));
    assert_eq!((world.gate.status().pending_writes, world.counters.wrong_absent()), (0, 0));
}

#[test]
fn a_guard_retires_too() {
    let world = world().rebuilt(0..3);
    let guard = world.gate.begin_delete(&1);
    is_there(&world, 1);
    assert!(guard.committed(delete_row(&world.db, 1)).is_removed());
    assert!(world.gate.check(&1).is_absent());
    assert_eq!(world.gate.status().pending_writes, 0);
    let guard = world.gate.begin_delete(&2);
    guard.aborted();
    is_there(&world, 2);
    assert_eq!(world.gate.status().pending_writes, 0);
}

#[test]
fn a_guard_goes_to_any_thread() {
    fn owned<T: Send + 'static>(_: &T) {}
    let world = world().rebuilt(0..3);
    let guard = world.gate.begin_delete(&1);
    owned(&guard);
    guard.aborted();
    fn sent<T: Send>(_: T) {}
    sent(world.gate.retire_with(&1, || async { Ok::<_, WriteError<io::Error>>(Removed::Other) }));
}

#[test]
fn a_row_that_was_remembered_is_not_served_after_its_delete() {
    let world = world().rebuilt([]);
    let (key, twin, _) = twins(&world);
    let world = world.rebuilt([key, twin]);
    is_there(&world, key);
    let guard = world.gate.begin_delete(&key);
    assert!(guard.committed(delete_row(&world.db, key)).is_removed());
    assert!(world.lookup(key).is_absent(), "the twin keeps it in the filter, so this came from the loader");
    is_there(&world, twin);
}

#[test]
fn keys_of_one_fingerprint_take_a_copy_each() {
    let world = world().rebuilt([]);
    let (key, twin, _) = twins(&world);
    let world = world.rebuilt([key, twin]);
    assert_eq!(retire(&world, key), Retired::Removed);
    is_there(&world, twin);
    assert_eq!(retire(&world, twin), Retired::Removed);
    assert!(world.gate.check(&key).is_absent() && world.gate.check(&twin).is_absent());
}

#[test]
fn a_key_may_come_and_go_as_often_as_it_likes() {
    let world = world().rebuilt([]);
    let (key, twin, _) = twins(&world);
    let world = world.rebuilt([key, twin]);
    for turn in 0..5 {
        assert_eq!(retire(&world, key), Retired::Removed, "turn {turn}");
        for _ in 0..3 {
            world.create(key, "again");
            is_there(&world, key);
            assert_eq!(retire(&world, key), Retired::Kept(Kept::InDelta));
            is_there(&world, twin);
        }
        world.create(key, "again");
        now(world.gate.rebuild_with(&world.db, any_size())).unwrap();
        is_there(&world, key);
        is_there(&world, twin);
    }
    assert_eq!(world.counters.wrong_absent(), 0);
}

// ---- the delete was confirmed -----------------------------------------------------------------------------------------------------------------

#[test]
fn a_delete_whose_outcome_is_unknown_retires_nothing() {
    // Each of these may not have deleted anything, and here none of them has.
    let world = world().rebuilt(0..5);
    let lost = now(world.gate.retire_with(&0, async || Err(WriteError::Unknown(io::Error::other("connection reset")))));
    assert!(matches!(lost, Err(WriteError::Unknown(_))));
    drop(world.gate.begin_delete(&1));
    let aborted = now(world.gate.retire_with(&2, async || Err(Abort(io::Error::other("rolled back")))));
    assert!(aborted.unwrap_err().is_abort());
    let cancelled = Task::begun(world.gate.retire_with(&3, async || {
        std::future::pending::<()>().await;
        Ok::<_, WriteError<io::Error>>(Removed::LastRow)
    }));
    drop(cancelled);
    world.gate.begin_delete(&4).aborted();
    (0..5).for_each(|id| is_there(&world, id));
    assert_eq!((world.gate.status().unresolved_writes, world.gate.status().pending_writes), (3, 3));
    world.hand.advance(secs(60));
    assert_eq!(now(world.gate.resolve_unknown()).resolved, 3);
    (0..5).for_each(|id| is_there(&world, id));
}

// ---- and of the last row ----------------------------------------------------------------------------------------------------------------------

#[test]
fn a_delete_that_leaves_a_row_retires_nothing() {
    // A table in which a key may have several rows, scanned by SELECT DISTINCT: one copy, however many rows.
    let world = world().rebuilt(0..3);
    let retired = now(world.gate.retire_with(&1, async || Ok::<_, WriteError<io::Error>>(Removed::Other)));
    is_there(&world, 1);
    assert_eq!(retired.unwrap(), Retired::Kept(Kept::NotLastRow));
    assert_eq!(retire(&world, 1), Retired::Removed);
}

#[test]
fn only_one_affected_row_is_certainly_the_last() {
    assert_eq!([0, 1, 2, u64::MAX].map(Removed::of_unique), [Removed::Other, Removed::LastRow, Removed::Other, Removed::Other]);
}

#[test]
fn of_two_processes_that_delete_one_row_only_the_one_that_did_retires() {
    let world = world().rebuilt([]);
    let (key, twin, _) = twins(&world);
    let world = world.rebuilt([key, twin]);
    world.db.delete(key); // Another process; deletes need not be announced.
    now(world.gate.rebuild_with(&world.db, any_size())).unwrap();
    let kept = retire(&world, key);
    is_there(&world, twin);
    assert_eq!(kept, Retired::Kept(Kept::NotLastRow));
}

// ---- through the generation that served before the COMMIT -------------------------------------------------------------------------------------

#[test]
fn a_rebuild_that_is_swapped_in_meanwhile_keeps_its_copies() {
    let world = world().rebuilt([]);
    let (key, twin, _) = twins(&world);
    let world = world.rebuilt([key, twin]);
    // The pending keys were copied before the delete was announced, so the new delta does not have it either.
    let late = LateScan(&world.db);
    let rebuild = Task::begun(world.gate.rebuild_with(&late, any_size()));
    let guard = world.gate.begin_delete(&key);
    let removed = delete_row(&world.db, key);
    rebuild.end().unwrap();
    let kept = guard.committed(removed);
    is_there(&world, twin);
    assert_eq!((removed, kept), (Removed::LastRow, Retired::Kept(Kept::GenerationChanged)));
    assert_eq!(world.counters.wrong_absent(), 0);
}

#[test]
fn a_gate_that_was_not_rebuilt_when_the_delete_began_keeps_its_copies() {
    let world = world();
    let (key, twin, _) = twins(&world);
    world.db.insert(key, "row");
    world.db.insert(twin, "row");
    let late = LateScan(&world.db);
    let rebuild = Task::begun(world.gate.rebuild(&late));
    let guard = world.gate.begin_delete(&key);
    let removed = delete_row(&world.db, key);
    rebuild.end().unwrap();
    let kept = guard.committed(removed);
    is_there(&world, twin);
    assert_eq!(kept, Retired::Kept(Kept::GenerationChanged));
}

// ---- which has been trusted all along ---------------------------------------------------------------------------------------------------------

#[test]
fn what_an_import_created_after_the_scan_takes_nobody_elses_copy() {
    // Untrusted, the filter is a hint; denied all the same, the twin would have to pass the suspect lane, and might be shed.
    let world = world().rebuilt([]);
    let (key, twin, _) = twins(&world);
    let world = world.rebuilt([twin]);
    let doubt = world.gate.distrust();
    world.db.insert(key, "imported");
    assert_eq!(retire(&world, key), Retired::Kept(Kept::NotTrusted), "while the guard lives");
    world.db.insert(key, "imported");
    drop(doubt);
    let kept = retire(&world, key);
    is_there(&world, twin);
    assert_eq!(kept, Retired::Kept(Kept::NotTrusted), "and after it");
}

#[test]
fn what_an_import_created_during_the_build_takes_nobody_elses_copy() {
    let world = world().rebuilt([]);
    let (key, twin, _) = twins(&world);
    let world = world.rebuilt([twin]);
    let rebuild = Task::begun(world.gate.rebuild(&world.db)); // It has looked.
    let doubt = world.gate.distrust();
    world.db.insert(key, "imported");
    drop(doubt);
    assert!(!rebuild.end().unwrap().trusted);
    let kept = retire(&world, key);
    is_there(&world, twin);
    assert_eq!(kept, Retired::Kept(Kept::NotTrusted));
}

#[test]
fn what_a_distrust_between_begin_and_commit_let_in_takes_nobody_elses_copy() {
    let world = world().rebuilt([]);
    let (key, twin, _) = twins(&world);
    let world = world.rebuilt([twin]);
    let guard = world.gate.begin_delete(&key);
    let doubt = world.gate.distrust();
    world.db.insert(key, "imported");
    drop(doubt);
    let kept = guard.committed(delete_row(&world.db, key));
    is_there(&world, twin);
    assert_eq!(kept, Retired::Kept(Kept::NotTrusted));
}

/// The rebuild after a wrong absence restores trust, but whoever created unannounced may have done so while it ran.
#[test]
fn the_first_rebuild_after_a_wrong_absence_retires_nothing() {
    let world = world().rebuilt([]);
    let (key, twin, stranger) = twins(&world);
    let world = world.rebuilt([twin]);
    world.db.insert(stranger, "unannounced");
    assert!(now(world.gate.lookup_fresh(&stranger)).is_present());
    assert_eq!(world.gate.status().trust, Trust::WrongAbsence);
    let rebuild = Task::begun(world.gate.rebuild(&world.db)); // It has looked.
    world.db.insert(key, "unannounced, and nobody noticed");
    assert!(rebuild.end().unwrap().trusted);
    let kept = retire(&world, key);
    is_there(&world, twin);
    assert_eq!(kept, Retired::Kept(Kept::NotTrusted));
    assert!(world.rebuild().unwrap().trusted);
    assert_eq!(retire(&world, stranger), Retired::Removed, "the second does");
    is_there(&world, twin);
}

#[test]
fn a_gate_that_lost_its_lock_retires_nothing() {
    let held = std::sync::Arc::new(AtomicBool::new(true));
    let asked = held.clone();
    let lock = Exclusivity::own_lock(move || asked.load(SeqCst)).first_start();
    let world = World::with(Coverage::Exclusive(lock), |b| b.filters(Copies::new(Fault::None))).rebuilt(0..3);
    held.store(false, SeqCst);
    assert_eq!(retire(&world, 1), Retired::Kept(Kept::NotTrusted));
    assert_eq!(world.gate.status().trust, Trust::LockLost);
}

#[test]
fn where_others_create_unannounced_nothing_is_retired() {
    let world = World::with(Coverage::Advisory { tombstones: Tombstones::Off }, |b| b.filters(Copies::new(Fault::None))).rebuilt([]);
    let (key, twin, _) = twins(&world);
    let world = world.rebuilt([twin]);
    world.db.insert(key, "unannounced");
    let kept = retire(&world, key);
    is_there(&world, twin);
    assert_eq!(kept, Retired::Kept(Kept::NotExclusive));
}

// ---- with no other write ----------------------------------------------------------------------------------------------------------------------

#[test]
fn a_create_that_is_under_way_keeps_the_copy() {
    let world = world().rebuilt(0..3);
    let create = world.gate.begin_create(&1);
    assert_eq!(retire(&world, 1), Retired::Kept(Kept::OtherWrite));
    world.db.insert(1, "again");
    create.committed(None);
    is_there(&world, 1);
}

#[test]
fn a_create_that_began_since_keeps_the_copy() {
    let world = world().rebuilt(0..3);
    let guard = world.gate.begin_delete(&1);
    let removed = delete_row(&world.db, 1);
    world.create(1, "again");
    assert_eq!(guard.committed(removed), Retired::Kept(Kept::OtherWrite));
    is_there(&world, 1);
}

#[test]
fn a_write_that_shares_the_fence_keeps_the_copy() {
    let world = World::with(only_creator(), |b| b.filters(Copies::new(Fault::None)).fence_stripes(1)).rebuilt(0..3);
    let other = world.gate.begin_delete(&2);
    assert_eq!(retire(&world, 1), Retired::Kept(Kept::OtherWrite));
    other.aborted();
    assert_eq!(retire(&world, 0), Retired::Removed);
}

// ---- of a key that the delta does not claim ---------------------------------------------------------------------------------------------------

#[test]
fn a_key_that_was_created_since_the_rebuild_takes_nobody_elses_copy() {
    let world = world().rebuilt([]);
    let (key, twin, _) = twins(&world);
    let world = world.rebuilt([twin]);
    world.create(key, "row");
    let kept = retire(&world, key);
    is_there(&world, twin);
    assert_eq!(kept, Retired::Kept(Kept::InDelta));
}

#[test]
fn a_key_that_was_created_during_the_rebuild_takes_nobody_elses_copy() {
    let world = world().rebuilt([]);
    let (key, twin, _) = twins(&world);
    let world = world.rebuilt([twin]);
    let rebuild = Task::begun(world.gate.rebuild(&world.db)); // It has looked.
    world.create(key, "row");
    assert!(rebuild.end().unwrap().trusted);
    let kept = retire(&world, key);
    is_there(&world, twin);
    assert_eq!(kept, Retired::Kept(Kept::InDelta));
}

// ---- from a filter that holds a copy for each row ---------------------------------------------------------------------------------------------

#[test]
fn a_filter_that_cannot_remove_keeps_everything() {
    let world = World::exclusive().rebuilt(0..3);
    assert_eq!(retire(&world, 1), Retired::Kept(Kept::NoRemover));
    let world = World::exclusive();
    world.db.insert(1, "row");
    assert_eq!(retire(&world, 1), Retired::Kept(Kept::NoRemover), "no rebuild yet");
}

/// By the caller's word the key had a row until now; by the filter's it had none.
#[test]
fn a_copy_that_is_not_there_is_a_wrong_absence() {
    let world = world().rebuilt(0..3);
    let stranger = (3..).find(|id| world.gate.check(id).is_absent()).unwrap();
    let retired = now(world.gate.retire_with(&stranger, async || Ok::<_, WriteError<io::Error>>(Removed::LastRow)));
    assert_eq!(retired.unwrap(), Retired::Kept(Kept::NotThere));
    assert_eq!((world.counters.wrong_absent(), world.gate.status().trust), (1, Trust::WrongAbsence));
    assert_eq!(counted(&world, "not_there"), 1);
}

#[test]
fn a_filter_that_refuses_a_copy_fails_the_build_at_once() {
    let copies = Copies::new(Fault::None);
    let world = world_of(copies.clone());
    let (key, twin, _) = twins(&world);
    let world = world.rebuilt([twin]);
    world.create(key, "row");
    *copies.fault.lock().unwrap() = Fault::RefusesDuplicates;
    let (generation, made) = (world.gate.status().generation, copies.made.load(SeqCst));
    let error = world.rebuild().unwrap_err();
    assert!(matches!(&error, RebuildError::Insert(error) if !error.is_full()), "{error}");
    assert!(error.to_string().contains("too many duplicates"), "{error}");
    assert!(copies.made.load(SeqCst) - made <= 2, "one for a scan that outgrew its filter, and one that failed");
    assert_eq!(world.gate.status().generation, generation, "the old one serves");
    is_there(&world, key);
    is_there(&world, twin);
}

#[test]
fn a_filter_that_is_full_is_made_larger() {
    let copies = Copies::new(Fault::FullBelow(100));
    let world = world_of(copies.clone()).rebuilt([]);
    (0..60).for_each(|id| world.db.insert(id, "row"));
    let made = copies.made.load(SeqCst);
    let rebuilt = world.rebuild().unwrap();
    // Outgrown at the first guess, then full at 66, then large enough at 109 or so.
    assert!(rebuilt.trusted && rebuilt.scans == 3, "{rebuilt:?}");
    assert_eq!(copies.made.load(SeqCst) - made, 3);
    (0..60).for_each(|id| is_there(&world, id));
}

#[test]
fn a_filter_that_is_always_full_fails_the_build_with_its_own_words() {
    let copies = Copies::new(Fault::None);
    let world = world_of(copies.clone()).rebuilt(0..10);
    *copies.fault.lock().unwrap() = Fault::FullBelow(u64::MAX);
    let error = world.rebuild().unwrap_err();
    assert!(matches!(&error, RebuildError::Insert(error) if error.is_full()), "{error}");
    assert_eq!(copies.made.load(SeqCst), 2 + 4, "two for the first rebuild, and as often as a rebuild scans");
    is_there(&world, 1);
}

/// The gate cannot see it: an insert that says Ok and keeps no copy breaks the contract of `Insert`, which `conformance::removable_base` tests. This
/// test tells what it costs.
#[test]
fn a_filter_that_skips_duplicates_breaks_the_promise_for_another_key() {
    let world = world_of(Copies::new(Fault::SkipsDuplicates)).rebuilt([]);
    let (key, twin, _) = twins(&world);
    let world = world.rebuilt([key, twin]);
    assert_eq!(retire(&world, key), Retired::Removed);
    assert!(world.gate.check(&twin).is_absent(), "it does not skip them after all");
}

#[cfg(feature = "conformance")]
#[test]
fn the_suite_for_bases_tells_who_skips_duplicates() {
    conformance::removable_base(&Copies::new(Fault::None));
    let suite = || conformance::removable_base(&Copies::new(Fault::SkipsDuplicates));
    let panic = std::panic::catch_unwind(suite).unwrap_err();
    let message = panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned())).unwrap();
    assert!(message.contains("a copy that was inserted can be taken out") || message.contains("a copy stays"), "{message}");
    assert!(std::panic::catch_unwind(|| conformance::removable_base(&BloomFactory::new())).is_err(), "it cannot remove");
}

// ---- with the filter that ships --------------------------------------------------------------------------------------------------------------

#[cfg(feature = "conformance")]
#[test]
fn the_cuckoo_filter_keeps_the_contract_of_a_base_that_can_remove() {
    conformance::removable_base(&CuckooFactory::new(BloomFactory::new()));
}

/// Ten thousand rows deleted one after another: each is absent without a read but for the rate of the filter, and none of the others is touched. Ten
/// thousand deletes that affect no row, of ids that never existed, take nothing: what foreign removals do to a filter alone cannot happen through a gate.
#[test]
fn rows_of_a_cuckoo_filter_are_forgotten_one_by_one_and_strangers_take_nothing() {
    let world = World::with(only_creator(), |b| b.filters(CuckooFactory::new(BloomFactory::new())).fpr(0.034)).rebuilt(0..20_000);
    for id in 1_000_000..1_010_000 {
        assert_eq!(retire(&world, id), Retired::Kept(Kept::NotLastRow));
    }
    for id in 0..10_000 {
        assert_eq!(retire(&world, id), Retired::Removed, "{id}");
    }
    assert!((10_000..20_000).all(|id| world.gate.check(&id) == Verdict::Possible(Reason::Maybe)), "a key was lost");
    // Half of the fingerprints are left, so that about 1.5 % of the deleted are false positives: 150 ± 12.
    let claimed = (0..10_000).filter(|id| !world.gate.check(id).is_absent()).count();
    assert!(claimed < 300, "{claimed} of 10000 are still claimed");
    assert_eq!((counted(&world, "removed"), world.counters.wrong_absent()), (10_000, 0));
    now(create(&world.gate, &world.db, 5, "again", None)).unwrap();
    is_there(&world, 5);
}

/// A scan that gives one key nine times is more than two buckets hold: the build fails, and says so at once.
#[test]
fn a_scan_that_gives_a_key_nine_times_fails_the_build() {
    struct Nine<'a>(&'a Db);
    impl KeySource<u64> for Nine<'_> {
        type Error = Infallible;
        async fn scan(&self, sink: &mut KeySink<'_, u64>) -> Result<Scanned, Infallible> {
            (0..9).for_each(|_| sink.push(&1));
            let scanned = self.0.scan(sink).await?;
            Ok(Scanned { rows: scanned.rows + 9 })
        }
    }
    let world = World::with(only_creator(), |b| b.filters(CuckooFactory::new(BloomFactory::new()))).rebuilt(0..100);
    let error = now(world.gate.rebuild(&Nine(&world.db))).unwrap_err();
    assert!(matches!(&error, RebuildError::Insert(error) if !error.is_full()), "{error}");
    is_there(&world, 1);
}
