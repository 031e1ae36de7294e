//! A rebuild that is dropped at any of its awaits is as if it had not been.

use crate::support::*;
use absentia::*;

/// Yields between keys, and does not see what is created while it runs.
struct Snapshot<'a>(&'a Db);

impl KeySource<u64> for Snapshot<'_> {
    type Error = std::convert::Infallible;

    async fn scan(&self, sink: &mut KeySink<'_, u64>) -> Result<Scanned, Self::Error> {
        let ids: Vec<u64> = self.0.ids().into_iter().filter(|id| *id != 5).collect();
        for id in &ids {
            sink.push(id);
            yield_now().await;
        }
        yield_now().await;
        Ok(Scanned { rows: ids.len() as u64 })
    }
}

/// A gate that serves 0..10 and whose source now has 0..20: the next rebuild scans twice, and asks for a canary that its scan does not see.
fn outgrown() -> World {
    let world = World::exclusive().rebuilt(0..10);
    assert!(world.lookup(5).is_present());
    (10..20).for_each(|id| world.db.insert(id, "row"));
    world.db.delete(5);
    world
}

#[track_caller]
fn all_there(world: &World, when: &str) {
    for id in [0, 4, 9, 500, 501, 502] {
        assert!(!world.gate.check(&id).is_absent(), "{when}: {id} is absent");
        assert!(world.lookup(id).is_present(), "{when}: {id} is not found");
    }
    assert!(world.gate.is_trusted(), "{when}");
}

#[test]
fn dropped_at_any_await_it_loses_nothing_and_the_next_one_succeeds() {
    let mut cuts = 0;
    for cut in 0.. {
        let world = outgrown();
        let before = world.gate.status().generation;
        // Begun before, committed during; begun and committed during; begun during, committed after.
        let first = world.gate.begin_create(&500);
        let source = Snapshot(&world.db);
        let mut rebuild = Task::new(world.gate.rebuild(&source));
        let mut third = None;
        let mut done = None;
        for poll in 0..=cut {
            done = rebuild.poll();
            if done.is_some() {
                break;
            }
            if poll == cut / 2 {
                world.db.insert(500, "first");
                world.create(501, "second");
                third = Some(world.gate.begin_create(&502));
            }
        }
        drop(rebuild);
        if let Some(Ok(rebuilt)) = done {
            assert!(rebuilt.trusted && rebuilt.scans == 2, "the last cut is behind the swap: {rebuilt:?}");
            cuts = cut;
            break;
        }
        assert!(done.is_none(), "{done:?}");
        first.committed(None);
        world.db.insert(502, "third");
        third.expect("the cut comes after it").committed(None);

        let status = world.gate.status();
        assert_eq!((status.generation, status.rebuilding, status.pending_writes), (before, false, 0), "cut {cut}");
        all_there(&world, &format!("cut {cut}, old generation"));
        let rebuilt = world.rebuild().unwrap();
        assert_eq!((rebuilt.rows, rebuilt.trusted), (22, true), "cut {cut}");
        all_there(&world, &format!("cut {cut}, new generation"));
        assert!(world.gate.check(&5).is_absent() && world.gate.check(&777).is_absent());
        assert!(!world.gate.check(&15).is_absent());
    }
    assert!(cuts > 20, "only {cuts} awaits were cut");
}

#[test]
fn a_create_that_spans_a_whole_rebuild_is_in_the_new_generation() {
    let world = World::exclusive().rebuilt(0..10);
    let guard = world.gate.begin_create(&500);
    assert!(world.rebuild().unwrap().trusted);
    assert!(!world.gate.check(&500).is_absent(), "its commit may land any moment");
    world.db.insert(500, "row");
    guard.committed(None);
    is_present(&world.lookup(500), "row");
}

#[test]
fn a_create_whose_guard_was_forgotten_is_kept_by_every_rebuild() {
    let world = World::exclusive().rebuilt(0..10);
    std::mem::forget(world.gate.begin_create(&500));
    for _ in 0..3 {
        world.rebuild().unwrap();
        assert!(!world.gate.check(&500).is_absent());
    }
    world.db.insert(500, "row");
    is_present(&world.lookup(500), "row");
}

#[test]
fn a_dropped_rebuild_is_counted_as_failed() {
    let world = World::exclusive().rebuilt(0..10);
    drop(Task::begun(world.gate.rebuild(&world.db)));
    drop(Task::new(world.gate.rebuild(&world.db)));
    let failed = world.counters.iter().find(|(name, _)| name.contains("swaps_total{result=\"failed\"}")).unwrap().1;
    assert_eq!(failed, 1, "one that was never polled has not begun");
}

#[test]
fn the_wait_for_a_predecessor_can_be_dropped_and_taken_up_again() {
    let lock = Exclusivity::asserted("a predecessor may be dying");
    let world = World::with(Coverage::Exclusive(lock), |b| b.max_transaction(secs(30)));
    world.db.insert(1, "row");
    let first = Task::begun(world.gate.rebuild(&world.db));
    world.hand.advance(secs(20));
    drop(first);
    let mut second = Task::begun(world.gate.rebuild(&world.db));
    world.hand.advance(secs(9));
    assert!(second.poll().is_none());
    world.hand.advance(secs(1));
    assert!(second.end().unwrap().trusted);
}
