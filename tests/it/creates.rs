//! Creates: announced before their COMMIT, settled after it, and safe however they end.

use crate::support::*;
use absentia::*;
use std::io;

fn broken() -> io::Error {
    io::Error::other("connection reset by peer")
}

/// Whether absences of `id` are remembered: two lookups, one read.
fn remembers(world: &World, id: u64) -> bool {
    let reads = world.db.reads();
    assert!(world.lookup(id).is_absent() && world.lookup(id).is_absent());
    world.db.reads() == reads + 1
}

#[test]
fn a_created_key_is_never_absent_from_its_ack_on() {
    let world = World::exclusive().rebuilt(0..10);
    assert!(world.lookup(77).is_absent());
    world.create(77, "row");
    assert!(!world.gate.check(&77).is_absent());
    is_present(&world.lookup(77), "row");
    assert_eq!(world.gate.status().pending_writes, 0);
}

#[test]
fn a_key_is_already_possible_while_its_create_runs() {
    let world = World::exclusive().rebuilt(0..10);
    let created = now(world.gate.create_with(&77, async || {
        assert_eq!(world.gate.check(&77), Verdict::Possible(Reason::Maybe));
        assert!(matches!(world.gate.lookup(&77).await, Lookup::Absent(Proof::Source)), "not committed yet");
        world.db.insert(77, "row");
        is_present(&world.gate.lookup(&77).await, "row");
        Ok::<_, WriteError<io::Error>>(None)
    }));
    assert_eq!(created.unwrap(), None);
}

#[test]
fn the_value_of_a_create_is_remembered_unless_another_write_came_between() {
    let world = World::exclusive().rebuilt(0..10);
    now(create(&world.gate, &world.db, 77, "row", Some("row"))).unwrap();
    let reads = world.db.reads();
    is_present(&world.lookup(77), "row");
    assert_eq!(world.db.reads(), reads, "written through");
    let created = now(world.gate.create_with(&78, async || {
        world.db.insert(78, "first");
        world.gate.update_with(&78, || committed(|| world.db.insert(78, "second"))).await?;
        Ok::<_, WriteError<WriteError<io::Error>>>(Some("first".to_owned()))
    }));
    assert_eq!(created.unwrap().as_deref(), Some("first"));
    is_present(&world.lookup(78), "second");
    assert_eq!(world.db.reads(), reads + 1, "what was not the newest value was not remembered");
}

#[test]
fn two_creates_of_one_key_settle_one_by_one() {
    let world = World::exclusive().rebuilt(0..10);
    let (first, second) = (world.gate.begin_create(&77), world.gate.begin_create(&77));
    world.db.insert(77, "one of them");
    first.committed(Some("first".to_owned()));
    assert_eq!(world.gate.status().pending_writes, 1);
    second.aborted();
    assert_eq!(world.gate.status().pending_writes, 0);
    is_present(&world.lookup(77), "one of them");
}

#[test]
fn an_abort_is_certain_and_lowers_the_fence_at_once() {
    let world = World::exclusive().rebuilt(0..10);
    let result = now(world.gate.create_with(&77, async || Err::<Option<String>, _>(Abort("duplicate key"))));
    assert_eq!(result, Err(Abort("duplicate key")));
    let status = world.gate.status();
    assert_eq!((status.pending_writes, status.unresolved_writes), (0, 0));
    assert!(remembers(&world, 77));
}

#[test]
fn any_other_error_may_hide_a_commit() {
    let world = World::exclusive().rebuilt(0..10);
    let result = now(world.gate.create_with(&77, async || {
        Err(broken())?;
        Ok(None)
    }));
    let error = result.unwrap_err();
    assert!(matches!(error, WriteError::Unknown(_)) && error.to_string().contains("connection reset"));
    let status = world.gate.status();
    assert_eq!((status.pending_writes, status.unresolved_writes), (1, 1));
    assert!(!remembers(&world, 77));
    // The COMMIT was only slow.
    world.db.insert(77, "row");
    is_present(&world.lookup(77), "row");
}

#[test]
fn a_create_dropped_inside_its_closure_is_unknown() {
    let world = World::exclusive().rebuilt(0..10);
    for cut in 0..3 {
        let id = 70 + cut;
        let create = world.gate.create_with(&id, async || {
            yield_now().await;
            world.db.insert(id, "row");
            yield_now().await;
            Ok::<_, WriteError<io::Error>>(None)
        });
        let mut create = Task::new(create);
        assert!((0..cut).all(|_| create.poll().is_none()));
        drop(create);
        assert_eq!(world.gate.status().unresolved_writes, cut as usize, "one that was never polled has not begun");
    }
    world.db.insert(71, "its COMMIT lands later");
    is_present(&world.lookup(71), "its COMMIT lands later");
    is_present(&world.lookup(72), "row");
}

#[test]
fn a_create_whose_closure_panics_is_unknown() {
    let world = World::exclusive().rebuilt(0..10);
    let create = std::panic::AssertUnwindSafe(|| {
        now(world.gate.create_with(&77, async || -> Result<_, WriteError<io::Error>> { std::panic::resume_unwind(Box::new("bug")) }))
    });
    assert!(std::panic::catch_unwind(create).is_err());
    assert_eq!(world.gate.status().unresolved_writes, 1);
    world.db.insert(77, "row");
    is_present(&world.lookup(77), "row");
}

#[test]
fn a_guard_that_is_dropped_is_unknown_and_one_that_is_forgotten_stays_fenced() {
    let world = World::exclusive().rebuilt(0..10);
    drop(world.gate.begin_create(&77));
    std::mem::forget(world.gate.begin_create(&78));
    let status = world.gate.status();
    assert_eq!((status.pending_writes, status.unresolved_writes), (2, 1));
    for id in [77, 78] {
        assert!(!remembers(&world, id));
        world.db.insert(id, "row");
        is_present(&world.lookup(id), "row");
    }
    world.hand.advance(secs(3600));
    now(world.gate.resolve_unknown());
    assert_eq!(world.gate.status().pending_writes, 1, "nobody can know about the forgotten one");
}

#[test]
fn a_guard_can_be_settled_on_another_thread_and_outlive_the_gate() {
    let world = World::exclusive().rebuilt(0..10);
    let guard = world.gate.begin_create(&77);
    let gate = world.gate.clone();
    drop(world);
    std::thread::spawn(move || guard.committed(None)).join().unwrap();
    assert_eq!(gate.status().pending_writes, 0);
}

#[test]
fn many_creates_settle_together() {
    let world = World::exclusive().rebuilt(0..10);
    let ids: Vec<u64> = (100..200).collect();
    let guard = world.gate.begin_create_many(&ids);
    assert!(ids.iter().all(|id| !world.gate.check(id).is_absent()) && !guard.is_distrust());
    assert_eq!(world.gate.status().pending_writes, 100);
    ids.iter().for_each(|id| world.db.insert(*id, "row"));
    guard.committed();
    assert_eq!(world.gate.status().pending_writes, 0);
    assert!(ids.iter().all(|id| world.lookup(*id).is_present()));
    world.gate.begin_create_many(&ids).aborted();
    drop(world.gate.begin_create_many(&ids));
    let status = world.gate.status();
    assert_eq!((status.pending_writes, status.unresolved_writes), (100, 100));
    world.hand.advance(secs(30));
    assert_eq!(now(world.gate.resolve_unknown()), Resolution { resolved: 100, remaining: 0 });
    assert!(!world.gate.begin_create_many::<u64>(&[]).is_distrust());
}

#[test]
fn a_bulk_create_beyond_the_limit_that_is_dropped_distrusts_until_its_commit_cannot_land() {
    let world = World::with(only_creator(), |b| b.announce_limit(10)).rebuilt(0..10);
    let ids: Vec<u64> = (100..200).collect();
    drop(world.gate.begin_create_many(&ids));
    assert_eq!(world.gate.status().distrust_guards, 1);
    assert!(!world.rebuild().unwrap().trusted);
    world.hand.advance(secs(29));
    assert_eq!(now(world.gate.resolve_unknown()), Resolution { resolved: 0, remaining: 1 });
    ids.iter().for_each(|id| world.db.insert(*id, "landed late"));
    assert!(ids.iter().all(|id| world.lookup(*id).is_present()));
    world.hand.advance(secs(1));
    assert_eq!(now(world.gate.resolve_unknown()), Resolution { resolved: 1, remaining: 0 });
    assert!(world.rebuild().unwrap().trusted);
    assert!(ids.iter().all(|id| !world.gate.check(id).is_absent()) && world.gate.check(&999).is_absent());
}

/// A 16-bit counter that wraps would call a stripe with 65,536 creates under way free.
#[test]
fn seventy_thousand_creates_in_one_stripe_fence_it_until_a_rebuild() {
    let world = World::with(only_creator(), |b| b.fence_stripes(1)).rebuilt(0..10);
    world.claim(5_000_000);
    assert!(remembers(&world, 5_000_000));
    let guards: Vec<_> = (1_000..71_000u64).map(|id| world.gate.begin_create(&id)).collect();
    assert!(!remembers(&world, 5_000_000));
    assert_eq!(world.gate.status().pending_writes, 70_000);
    guards.into_iter().for_each(CreateGuard::aborted);
    assert_eq!(world.gate.status().pending_writes, 0);
    assert!(!remembers(&world, 5_000_000), "how many are under way is not known any more");
    world.create(1_000, "a create in a saturated stripe");
    is_present(&world.lookup(1_000), "a create in a saturated stripe");
    world.rebuild().unwrap();
    world.claim(5_000_000);
    assert!(remembers(&world, 5_000_000), "a rebuild finds nobody under way and frees the stripe");
    // With one create under way it stays.
    let guards: Vec<_> = (1_000..71_000u64).map(|id| world.gate.begin_create(&id)).collect();
    let mut guards = guards.into_iter();
    let last = guards.next().unwrap();
    guards.for_each(CreateGuard::aborted);
    world.rebuild().unwrap();
    world.claim(5_000_000);
    assert!(!remembers(&world, 5_000_000));
    last.aborted();
    world.rebuild().unwrap();
    world.claim(5_000_000);
    assert!(remembers(&world, 5_000_000));
}

/// They used to be announced up to the limit before anybody counted, and what is announced stays in the filter.
#[test]
fn a_bulk_create_without_room_for_it_leaves_the_filter_alone() {
    let world = World::exclusive().rebuilt(0..10);
    let room = world.gate.status().created_capacity;
    let keys: Vec<u64> = (1_000..1_001 + room).collect();
    let guard = world.gate.begin_create_many(&keys);
    assert!(guard.is_distrust());
    guard.aborted();
    assert_eq!(world.gate.status().created_since, 0);
    assert!(world.rebuild().unwrap().trusted);
    let guard = world.gate.begin_create_many(&keys[1..]);
    assert!(!guard.is_distrust() && world.gate.is_trusted());
    guard.aborted();
}

/// The token for the value is made after the create, in the epoch of that moment, although the value is from before it.
#[test]
fn the_value_of_a_create_is_not_remembered_over_an_import_that_came_between() {
    let world = World::exclusive().rebuilt(0..10);
    let created = now(world.gate.create_with(&77, async || {
        world.db.insert(77, "created");
        let import = world.gate.distrust();
        world.db.insert(77, "imported");
        drop(import);
        Ok::<_, WriteError<io::Error>>(Some("created".to_owned()))
    }));
    assert!(created.is_ok());
    is_present(&world.lookup(77), "imported");
}
