//! What the negative cache remembers, for how long, and what it never remembers.

use crate::support::*;
use absentia::*;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// A gate that is never rebuilt: every lookup reaches the cache.
fn world() -> World {
    World::exclusive()
}

fn reads<T>(world: &World, f: impl FnOnce() -> T) -> (T, u64) {
    let before = world.db.reads();
    (f(), world.db.reads() - before)
}

#[test]
fn ten_lookups_of_one_absent_key_are_one_read() {
    let world = world();
    let ((), reads) = reads(&world, || (0..10).for_each(|_| assert!(world.lookup(1).is_absent())));
    assert_eq!(reads, 1);
    assert!(matches!(world.lookup(1), Lookup::Absent(Proof::Tombstone { .. })));
}

/// Laravel #42343, spring-data-redis #201, JetCache #172: an absence that is stored, or should be, and is never a hit.
#[test]
fn ten_lookups_of_one_present_key_are_one_read() {
    let world = world();
    world.db.insert(1, "row");
    let ((), reads) = reads(&world, || (0..10).for_each(|_| is_present(&world.lookup(1), "row")));
    assert_eq!(reads, 1);
}

#[test]
fn a_tombstone_says_how_old_it_is() {
    let world = world();
    assert!(world.lookup(1).is_absent());
    world.hand.advance(secs(12));
    assert!(matches!(world.lookup(1), Lookup::Absent(Proof::Tombstone { age }) if age == secs(12)));
}

/// rails #25437: nil cached for a day while the service was down.
#[test]
fn errors_are_never_stored() {
    let world = world();
    world.db.insert(1, "row");
    world.db.fail(true);
    let (_, n) = reads(&world, || (0..3).for_each(|_| assert_eq!(world.row(1).unwrap_err(), "source of truth failed: connection refused")));
    assert_eq!((n, world.store.stats()), (3, MemoryStoreStats::default()));
    world.db.fail(false);
    is_present(&world.lookup(1), "row");
}

#[test]
fn a_source_that_hangs_is_unknown_after_the_timeout_and_nothing_is_stored() {
    let world = world();
    world.db.hold(Hold::Before);
    let lookup = Task::begun(world.gate.lookup(&1));
    world.hand.advance(secs(5));
    assert!(matches!(lookup.end(), Lookup::Unknown(Cause::Timeout { limit }) if limit == secs(5)));
    assert_eq!(world.store.stats(), MemoryStoreStats::default());
    world.db.release();
    assert!(world.lookup(1).is_absent());
}

#[test]
fn a_loader_that_hangs_is_unknown_after_the_lookup_timeout() {
    let (clock, hand) = Clock::mock();
    let db = Db::<String>::new();
    let gate = ExistenceGate::builder(TableLoader(db.clone())).coverage(only_creator()).clock(clock).lookup_timeout(secs(3)).build().unwrap();
    db.hold(Hold::After);
    let lookup = Task::begun(gate.lookup(&1));
    hand.advance(secs(3));
    assert!(matches!(lookup.end(), Lookup::Unknown(Cause::Timeout { limit }) if limit == secs(3)));
}

#[test]
fn absences_expire_before_values_and_both_by_the_clock() {
    let world = world();
    world.db.insert(2, "row");
    assert!(world.lookup(1).is_absent() && world.lookup(2).is_present());
    world.hand.advance(secs(29));
    assert_eq!(reads(&world, || world.lookup(1)).1, 0);
    world.hand.advance(secs(9)); // Thirty seconds and a quarter of jitter are over.
    assert_eq!(reads(&world, || world.lookup(1)).1, 1);
    assert_eq!(reads(&world, || world.lookup(2)).1, 0);
    world.hand.advance(secs(338));
    assert_eq!(reads(&world, || world.lookup(2)).1, 1);
}

#[test]
fn tombstones_written_together_do_not_die_together() {
    let world = world();
    (0..1_000).for_each(|id| assert!(world.lookup(id).is_absent()));
    let mut died = BTreeMap::new();
    let mut alive: Vec<u64> = (0..1_000).collect();
    for second in 1..40 {
        world.hand.advance(secs(1));
        // What is found dead is read and stored again, and not asked for any more.
        alive.retain(|id| reads(&world, || world.lookup(*id)).1 == 0 || died.insert(*id, second).is_some());
    }
    assert_eq!(died.len(), 1_000);
    assert!(died.values().all(|second| (30..=38).contains(second)), "30 s and up to a quarter more");
    let most = (30..=38).map(|second| died.values().filter(|s| **s == second).count()).max().unwrap();
    // 1,000 over 7.5 seconds: 133 a second, standard deviation 11.
    assert!(most < 200, "{most} in one second");
}

#[test]
fn a_tombstone_is_dead_from_the_moment_a_create_begins() {
    let world = world();
    assert!(world.lookup(1).is_absent());
    let guard = world.gate.begin_create(&1);
    world.db.insert(1, "committed, not yet settled");
    is_present(&world.lookup(1), "committed, not yet settled");
    guard.committed(None);
    is_present(&world.lookup(1), "committed, not yet settled");
}

/// A tombstone that is stored a moment too late is born dead. (§2 row 1: the slow reader. A plain SET is wrong in eight steps.)
#[test]
fn a_slow_reader_cannot_store_its_absence_over_a_create() {
    let world = world();
    world.db.hold(Hold::After);
    let slow = Task::begun(world.gate.lookup(&1));
    world.create(1, "row");
    world.db.release();
    assert!(slow.end().is_absent(), "it began before");
    is_present(&world.lookup(1), "row");
    assert_eq!(world.counters.iter().find(|(name, _)| name.contains("token_changed")).unwrap().1, 1);
}

/// FusionCache #535, caffeine #193, moka: a load that was under way when the key was invalidated is stored all the same.
#[test]
fn a_slow_reader_cannot_put_an_old_row_back() {
    for how in 0..3 {
        let world = world();
        world.db.insert(1, "old");
        world.db.hold(Hold::After);
        let slow = Task::begun(world.gate.lookup(&1));
        match how {
            0 => now(world.gate.update_with(&1, || committed(|| world.db.insert(1, "new")))).unwrap(),
            1 => {
                world.db.insert(1, "new");
                now(world.gate.invalidate(&1));
            }
            _ => {
                now(create(&world.gate, &world.db, 1, "new", Some("new"))).unwrap();
            }
        }
        world.db.release();
        is_present(&slow.end(), "old");
        is_present(&world.lookup(1), "new");
        is_present(&world.lookup(1), "new");
    }
}

#[test]
fn a_deleted_row_is_not_served_and_its_absence_is_remembered() {
    let world = world().rebuilt(0..10);
    is_present(&world.lookup(5), "5");
    world.db.hold(Hold::After);
    let slow = Task::begun(world.gate.lookup_fresh(&5));
    now(world.gate.delete_with(&5, || committed(|| world.db.delete(5)))).unwrap();
    world.db.release();
    is_present(&slow.end(), "5");
    assert!(world.lookup(5).is_absent());
    assert!(matches!(world.lookup(5), Lookup::Absent(Proof::Tombstone { .. })));
    world.create(5, "again");
    is_present(&world.lookup(5), "again");
}

#[test]
fn a_renamed_row_is_under_its_new_key_only() {
    let world = world().rebuilt(0..10);
    assert!(world.lookup(5).is_present() && world.lookup(55).is_absent());
    let renamed = now(world.gate.rename(&5, &55, async || {
        world.db.delete(5);
        world.db.insert(55, "moved");
        Ok::<_, WriteError<io::Error>>(())
    }));
    assert!(renamed.is_ok());
    is_present(&world.lookup(55), "moved");
    assert!(world.lookup(5).is_absent());
    assert_eq!(world.gate.status().pending_writes, 0);
}

/// Django #29867, Laravel #28068, Redisson #5411: a null that is a value, a null that is a miss, and one that is both.
#[test]
fn a_row_that_looks_like_nothing_is_a_row() {
    let (db, counters) = (Db::<Option<String>>::new(), Arc::new(Counters::new()));
    let cache = NegativeCache::builder(db.clone(), MemoryStore::new()).build().unwrap();
    let gate = ExistenceGate::builder(cache).coverage(only_creator()).observer(counters.clone()).build().unwrap();
    db.insert(1, None);
    db.insert(2, Some(String::new()));
    db.insert(3, Some("null".to_owned()));
    for _ in 0..3 {
        assert!(matches!(now(gate.lookup(&1)), Lookup::Present(None)));
        assert!(matches!(now(gate.lookup(&2)), Lookup::Present(Some(value)) if value.is_empty()));
        assert!(matches!(now(gate.lookup(&3)), Lookup::Present(Some(value)) if value == "null"));
        assert!(now(gate.lookup(&4)).is_absent());
    }
    assert_eq!(db.reads(), 4);
    assert_eq!(counters.lookups(Outcome::PresentCache), 6);
}

/// Logflare #3883, autumn #2564: a replica without the row yet, taken for a proof that there is none.
#[test]
fn what_a_replica_finds_exists_and_what_it_does_not_find_is_unknown() {
    let world = world();
    world.db.become_a_replica();
    world.db.insert(1, "row");
    is_present(&world.lookup(1), "row");
    assert!((0..3).all(|_| matches!(world.lookup(2), Lookup::Unknown(Cause::ReplicaAbsence))));
    assert_eq!(world.store.stats().negative_entries, 0);
    world.db.insert(2, "replicated by now");
    is_present(&world.lookup(2), "replicated by now");
}

/// A replica that lags behind a delete used to leave a canary that no rebuild could find and no read could clear, and to raise a false alarm.
#[test]
fn what_a_lagging_replica_still_has_is_no_canary_and_no_alarm() {
    let world = World::exclusive().rebuilt(0..10);
    world.db.become_a_replica();
    let primary: Vec<u64> = (0..10).filter(|id| *id != 5).collect();
    let primary = scan(move |sink| {
        primary.iter().for_each(|id| sink.push(id));
        Ok(primary.len() as u64)
    });
    assert!(now(world.gate.delete_with(&5, async || Ok::<_, WriteError<io::Error>>(()))).is_ok());
    is_present(&world.lookup(5), "5");
    assert!(now(world.gate.rebuild(&primary)).unwrap().trusted);
    is_present(&now(world.gate.lookup_fresh(&5)), "5");
    assert_eq!((world.counters.wrong_absent(), world.gate.is_trusted()), (0, true));
    world.db.delete(5);
    assert!(now(world.gate.rebuild(&primary)).unwrap().trusted);
}

#[test]
fn behind_a_covering_filter_a_replica_may_serve() {
    let world = world().rebuilt(0..10);
    world.db.become_a_replica();
    assert!(world.lookup(99).is_absent(), "the filter proves it");
    assert!(now(world.gate.lookup_fresh(&99)).is_unknown());
}

#[test]
fn a_fresh_lookup_asks_and_refreshes_what_is_remembered() {
    let world = world();
    world.db.insert(1, "old");
    is_present(&world.lookup(1), "old");
    world.db.insert(1, "new, behind its back");
    is_present(&world.lookup(1), "old");
    is_present(&now(world.gate.lookup_fresh(&1)), "new, behind its back");
    assert_eq!(reads(&world, || is_present(&world.lookup(1), "new, behind its back")).1, 0);
    assert!(world.lookup(2).is_absent());
    assert_eq!(reads(&world, || now(world.gate.lookup_fresh(&2))).1, 1);
}

#[test]
fn a_lifetime_of_its_own_for_each_kind() {
    let ttl = |ms| Duration::from_millis(ms);
    let policy = TtlPolicy::new(PositiveTtl::new(ttl(2_000)).unwrap(), NegativeTtl::new(ttl(10)).unwrap(), Jitter::new(0.0).unwrap()).unwrap();
    let (db, (clock, hand)) = (Db::<String>::new(), Clock::mock());
    let cache = NegativeCache::builder(db.clone(), MemoryStore::new()).ttl(policy).build().unwrap();
    let gate = ExistenceGate::builder(cache).coverage(only_creator()).clock(clock).build().unwrap();
    db.insert(1, "row");
    assert!(now(gate.lookup(&1)).is_present() && now(gate.lookup(&2)).is_absent());
    hand.advance(ttl(9));
    assert!(now(gate.lookup(&1)).is_present() && now(gate.lookup(&2)).is_absent());
    assert_eq!(db.reads(), 2);
    hand.advance(ttl(1));
    assert!(now(gate.lookup(&1)).is_present() && now(gate.lookup(&2)).is_absent());
    assert_eq!(db.reads(), 3);
}
