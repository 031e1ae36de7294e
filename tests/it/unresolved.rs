//! Writes whose outcome nobody reported: fenced until no COMMIT of them can land and the primary has answered.

use crate::support::*;
use absentia::*;

fn with_unknown(ids: impl IntoIterator<Item = u64>) -> World {
    let world = World::with(only_creator(), |b| b.max_transaction(secs(30))).rebuilt(0..10);
    ids.into_iter().for_each(|id| drop(world.gate.begin_create(&id)));
    world
}

fn resolve(world: &World) -> (usize, usize) {
    let Resolution { resolved, remaining } = now(world.gate.resolve_unknown());
    assert_eq!(world.gate.status().unresolved_writes, remaining);
    (resolved, remaining)
}

#[test]
fn nothing_is_resolved_before_the_longest_transaction_is_over() {
    let world = with_unknown([77]);
    world.hand.advance(secs(29));
    assert_eq!(resolve(&world), (0, 1));
    world.db.insert(77, "landed at the last moment");
    is_present(&world.lookup(77), "landed at the last moment");
    world.hand.advance(secs(1));
    assert_eq!(resolve(&world), (1, 0));
    assert_eq!(world.gate.status().pending_writes, 0);
    is_present(&world.lookup(77), "landed at the last moment");
}

#[test]
fn a_create_that_never_landed_is_absent_again_after_a_rebuild() {
    let world = with_unknown([77]);
    world.hand.advance(secs(30));
    assert_eq!(resolve(&world), (1, 0));
    assert_eq!(world.gate.check(&77), Verdict::Possible(Reason::Maybe), "bits are not taken back");
    assert!(matches!(world.lookup(77), Lookup::Absent(Proof::Source)));
    assert!(matches!(world.lookup(77), Lookup::Absent(Proof::Tombstone { .. })), "and its absence is remembered again");
    world.rebuild().unwrap();
    assert!(world.gate.check(&77).is_absent());
}

#[test]
fn a_primary_that_does_not_answer_resolves_nothing() {
    let world = with_unknown([77, 78]);
    world.hand.advance(secs(30));
    world.db.fail(true);
    assert_eq!(resolve(&world), (0, 2));
    assert_eq!(world.gate.status().pending_writes, 2);
    world.db.fail(false);
    assert_eq!(resolve(&world), (2, 0));
}

#[test]
fn a_primary_that_hangs_resolves_nothing_and_does_not_hang_the_resolver() {
    let world = with_unknown([77]);
    world.hand.advance(secs(30));
    world.db.hold(Hold::Before);
    let resolver = Task::begun(world.gate.resolve_unknown());
    world.hand.advance(secs(10));
    assert_eq!(resolver.end(), Resolution { resolved: 0, remaining: 1 });
    world.db.release();
    assert_eq!(resolve(&world), (1, 0));
}

#[test]
fn a_resolver_that_is_dropped_half_way_keeps_all_that_it_did_not_settle() {
    let world = with_unknown(70..75);
    world.hand.advance(secs(30));
    world.db.hold(Hold::Before);
    let mut resolver = Task::begun(world.gate.resolve_unknown());
    world.db.release();
    world.db.hold(Hold::After);
    assert!(resolver.poll().is_none());
    drop(resolver);
    let status = world.gate.status();
    assert_eq!((status.unresolved_writes, status.pending_writes), (5, 5));
    world.db.release();
    assert_eq!(resolve(&world), (5, 0));
    assert_eq!(world.gate.status().pending_writes, 0);
}

#[test]
fn a_read_that_panics_keeps_its_key_and_no_other() {
    let world = with_unknown(70..73);
    world.hand.advance(secs(30));
    world.db.panic_once();
    assert_eq!(resolve(&world), (2, 1));
    assert_eq!(resolve(&world), (1, 0));
}

/// The resolver used to take any answer for a read of the primary.
#[test]
fn an_answer_from_memory_settles_nothing() {
    struct Remembers(Loaded<String>);
    impl Loader<u64, String> for Remembers {
        async fn load(&self, _: &u64, _: &LoadContext<'_>) -> Result<Loaded<String>, Cause> {
            Ok(self.0.clone())
        }
    }
    let present = |origin| Loaded::Present { value: "row".to_owned(), origin };
    let remembered = Evidence::Remembered { token: Token::unusable(), read_began: Timestamp::default() };
    let shared = Evidence::Shared { token: Token::unusable() };
    let cases = [
        (present(Origin::Memory), 0),
        (Loaded::Absent(remembered), 0),
        (Loaded::Absent(shared), 0),
        (present(Origin::Source), 1),
        (present(Origin::Replica), 1),
        (Loaded::Absent(Evidence::Read), 1),
    ];
    for (answer, resolved) in cases {
        let (clock, hand) = Clock::mock();
        let gate = ExistenceGate::builder(Remembers(answer.clone())).coverage(only_creator()).clock(clock).build().unwrap();
        drop(gate.begin_create(&77));
        hand.advance(secs(30));
        assert_eq!(now(gate.resolve_unknown()), Resolution { resolved, remaining: 1 - resolved }, "{answer:?}");
    }
}

/// Each attempt used to stand there by itself, so that retries during an outage grew without bound.
#[test]
fn a_key_whose_write_fails_again_and_again_stands_there_once() {
    let world = with_unknown([77; 100]);
    let status = world.gate.status();
    assert_eq!((status.unresolved_writes, status.pending_writes), (1, 1));
    world.hand.advance(secs(29));
    drop(world.gate.begin_create(&77));
    world.hand.advance(secs(29));
    assert_eq!(resolve(&world), (0, 1), "the last attempt may still land");
    world.hand.advance(secs(1));
    assert_eq!(resolve(&world), (1, 0));
    world.claim(77);
    assert!((0..2).all(|_| world.lookup(77).is_absent()), "its fence is down");
    assert!(matches!(world.lookup(77), Lookup::Absent(Proof::Tombstone { .. })));
}

/// Keys that cannot be read stop a pass after three, and must not keep the others waiting for ever.
#[test]
fn keys_that_cannot_be_read_do_not_starve_the_others() {
    let world = with_unknown(100..140);
    world.hand.advance(secs(30));
    world.db.fail(true);
    (0..5).for_each(|_| assert_eq!(resolve(&world), (0, 40)));
    world.db.fail(false);
    assert_eq!(resolve(&world), (40, 0));
}

#[test]
fn what_is_dropped_while_the_resolver_runs_waits_its_own_time() {
    let world = with_unknown([77]);
    world.hand.advance(secs(30));
    world.db.hold(Hold::Before);
    let resolver = Task::begun(world.gate.resolve_unknown());
    drop(world.gate.begin_create(&78));
    world.db.release();
    assert_eq!(resolver.end(), Resolution { resolved: 1, remaining: 1 });
    world.hand.advance(secs(30));
    assert_eq!(resolve(&world), (1, 0));
}

#[test]
fn a_resolved_create_is_in_every_rebuild_that_ran_meanwhile() {
    let world = with_unknown([77]);
    let rebuild = Task::begun(world.gate.rebuild(&world.db));
    world.db.insert(77, "landed behind the scan");
    world.hand.advance(secs(30));
    assert_eq!(resolve(&world), (1, 0));
    rebuild.end().unwrap();
    is_present(&world.lookup(77), "landed behind the scan");
}

#[test]
fn unknown_updates_and_deletes_are_resolved_as_well() {
    let world = World::exclusive().rebuilt(0..10);
    let error = || std::io::Error::other("connection reset");
    assert!(now(world.gate.update_with(&1, async || Err::<(), _>(WriteError::Unknown(error())))).is_err());
    assert!(now(world.gate.delete_with(&2, async || Err::<(), _>(WriteError::Unknown(error())))).is_err());
    assert!(now(world.gate.rename(&3, &33, async || Err(WriteError::Unknown(error())))).is_err());
    assert_eq!(world.gate.status().unresolved_writes, 4, "a rename is two");
    assert!(!world.gate.check(&33).is_absent());
    drop(Task::begun(world.gate.update_with(&4, async || {
        yield_now().await;
        Ok::<_, WriteError<()>>(())
    })));
    world.hand.advance(secs(30));
    assert_eq!(resolve(&world), (5, 0));
}

#[test]
fn after_an_unknown_update_the_row_from_before_it_is_not_served() {
    let world = World::exclusive().rebuilt(0..10);
    is_present(&world.lookup(1), "1");
    let updated = now(world.gate.update_with(&1, async || {
        world.db.insert(1, "committed, and the answer was lost");
        Err::<(), _>(WriteError::Unknown("connection reset"))
    }));
    assert!(updated.is_err());
    is_present(&world.lookup(1), "committed, and the answer was lost");
}
