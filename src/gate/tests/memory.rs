//! What a gate keeps in memory, and for how long.

use crate::gate::{Coverage, Exclusivity, ExistenceGate, KeySink, KeySource, Scanned};
use crate::loader::{Cause, LoadContext, Loaded, Loader};
use crate::sync::lock;
use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

struct Everything;

impl Loader<u64, ()> for Everything {
    async fn load(&self, _: &u64, _: &LoadContext<'_>) -> Result<Loaded<()>, Cause> {
        Ok(Loaded::from_source(Some(())))
    }
}

struct Ten;

impl KeySource<u64> for Ten {
    type Error = Infallible;
    async fn scan(&self, sink: &mut KeySink<'_, u64>) -> Result<Scanned, Infallible> {
        (0..10u64).for_each(|key| sink.push(&key));
        Ok(Scanned { rows: 10 })
    }
}

fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("nothing here waits"),
    }
}

fn gate() -> ExistenceGate<u64, ()> {
    let coverage = Coverage::Exclusive(Exclusivity::asserted("a test").first_start());
    let gate = ExistenceGate::builder(Everything).coverage(coverage).fence_stripes(64).expected_keys(100).build().unwrap();
    now(gate.rebuild(&Ten)).unwrap();
    gate
}

#[test]
fn a_replaced_generation_is_freed_at_once_where_nobody_reads_it() {
    let gate = gate();
    let old = Arc::downgrade(gate.inner.core.state.load().current.as_ref().unwrap());
    now(gate.rebuild(&Ten)).unwrap();
    assert!(old.upgrade().is_none());
}

#[test]
fn a_generation_that_a_reader_holds_is_freed_by_a_later_rebuild_and_not_by_the_reader() {
    let gate = gate();
    let reader = gate.inner.core.state.load();
    let old = Arc::downgrade(reader.current.as_ref().unwrap());
    now(gate.rebuild(&Ten)).unwrap();
    drop(reader);
    assert!(old.upgrade().is_some(), "the reader did not pay for it");
    assert_eq!(lock(&gate.inner.replaced).len(), 1);
    gate.free_replaced();
    assert!(old.upgrade().is_none() && lock(&gate.inner.replaced).is_empty());
}

#[test]
fn a_gate_goes_when_its_last_clone_and_guard_go() {
    let gate = gate();
    let inner = Arc::downgrade(&gate.inner);
    let (clone, create, distrust) = (gate.clone(), gate.begin_create(&1), gate.distrust());
    drop(gate.begin_create(&2));
    drop((gate, clone, distrust));
    assert!(inner.upgrade().is_some());
    create.aborted();
    assert!(inner.upgrade().is_none());
}

/// The parked distrust held a clone of the gate inside the gate.
#[test]
fn a_gate_goes_although_a_bulk_create_of_it_was_never_resolved() {
    let gate = gate();
    let inner = Arc::downgrade(&gate.inner);
    drop(gate.begin_create_many(&(0..20_000u64).collect::<Vec<_>>()));
    drop(gate);
    assert!(inner.upgrade().is_none());
}

#[test]
fn canaries_are_few_whatever_is_looked_up() {
    let gate = gate();
    (0..10_000u64).for_each(|key| assert!(now(gate.lookup(&(key % 10))).is_present()));
    assert!(gate.inner.canaries.older_than(gate.inner.core.clock.now(), std::time::Duration::ZERO).len() <= 64);
}

#[test]
fn a_hot_key_takes_one_place_among_the_canaries() {
    let gate = gate();
    (0..10u64).chain([3; 200]).for_each(|key| assert!(now(gate.lookup(&key)).is_present()));
    assert_eq!(gate.inner.canaries.older_than(gate.inner.core.clock.now(), std::time::Duration::ZERO).len(), 10);
}

#[test]
fn the_pending_set_and_the_fences_are_back_to_nothing_after_every_outcome() {
    let gate = gate();
    let hash = |key: u64| gate.inner.core.hasher.hash(&key);
    gate.begin_create(&1).committed(Some(()));
    gate.begin_create(&2).committed(None);
    gate.begin_create(&3).aborted();
    gate.begin_create_many(&[4, 5]).committed();
    gate.begin_create_many(&[6, 7]).aborted();
    now(gate.invalidate(&8));
    let _ = now(gate.update_with(&9, || async { Ok::<_, crate::gate::WriteError<()>>(()) }));
    let _ = now(gate.delete_with(&10, || async { Err::<(), _>(crate::gate::WriteError::Abort(())) }));
    for key in 1..=10 {
        assert!(crate::loader::Fences::capture(&gate.inner.core, hash(key)).is_usable(), "the fence of {key} is still up");
    }
    assert_eq!(gate.inner.core.pending.len(), 0);
    let mut copied = 0;
    gate.inner.core.pending.each(gate.inner.core.clock.now(), |_| copied += 1);
    assert_eq!(copied, 0, "without a lag nothing is kept after its settlement");
}
