//! One thread, two actors: at a point inside one of them, the other runs from beginning to end.

use crate::gate::{Coverage, Exclusivity, ExistenceGate, KeySink, KeySource, Lookup, Scanned};
use crate::loader::{Cause, LoadContext, Loaded, Loader};
use crate::sync::set_point;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

#[derive(Clone, Default)]
struct Rows(Arc<Mutex<BTreeSet<u64>>>);

impl Loader<u64, ()> for Rows {
    async fn load(&self, key: &u64, _: &LoadContext<'_>) -> Result<Loaded<()>, Cause> {
        Ok(Loaded::from_source(self.0.lock().unwrap().contains(key).then_some(())))
    }
}

impl KeySource<u64> for Rows {
    type Error = Infallible;
    async fn scan(&self, sink: &mut KeySink<'_, u64>) -> Result<Scanned, Infallible> {
        let snapshot = self.0.lock().unwrap().clone();
        snapshot.iter().for_each(|key| sink.push(key));
        Ok(Scanned { rows: snapshot.len() as u64 })
    }
}

fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("nothing here waits"),
    }
}

/// What runs at the next point of the given name, once.
struct Cut {
    at: &'static str,
    run: Box<dyn FnOnce()>,
}

thread_local! {
    static CUT: RefCell<Option<Cut>> = const { RefCell::new(None) };
    static SEEN: RefCell<BTreeSet<&'static str>> = const { RefCell::new(BTreeSet::new()) };
}

fn hook(name: &'static str) {
    SEEN.with(|seen| seen.borrow_mut().insert(name));
    let due = CUT.with(|cut| {
        let mut cut = cut.borrow_mut();
        if cut.as_ref().is_some_and(|cut| cut.at == name) { cut.take() } else { None }
    });
    if let Some(cut) = due {
        (cut.run)();
    }
}

/// Runs `outer` with `inner` cut in at `at`. False where it did not come by there.
fn cut(at: &'static str, inner: impl FnOnce() + 'static, outer: impl FnOnce()) -> bool {
    CUT.with(|cut| *cut.borrow_mut() = Some(Cut { at, run: Box::new(inner) }));
    set_point(Some(hook));
    outer();
    set_point(None);
    CUT.with(|cut| cut.borrow_mut().take().is_none())
}

struct Scene {
    rows: Rows,
    gate: ExistenceGate<u64, ()>,
}

impl Scene {
    fn new() -> Rc<Self> {
        let rows = Rows::default();
        rows.0.lock().unwrap().extend(0..10);
        let coverage = Coverage::Exclusive(Exclusivity::asserted("a test").first_start());
        let hasher = crate::key::KeyHasher::xxh3(0x5EED);
        let gate = ExistenceGate::builder(rows.clone()).coverage(coverage).fence_stripes(64).expected_keys(100).hasher(hasher).build().unwrap();
        let scene = Rc::new(Self { rows, gate });
        scene.rebuild();
        assert!(scene.gate.check(&77).is_absent());
        scene
    }

    fn rebuild(&self) {
        assert!(now(self.gate.rebuild(&self.rows)).unwrap().trusted);
    }

    fn create(&self) {
        let guard = self.gate.begin_create(&77);
        self.rows.0.lock().unwrap().insert(77);
        guard.committed(None);
        self.acknowledged("right after the create");
    }

    #[track_caller]
    fn acknowledged(&self, when: &str) {
        assert!(!self.gate.check(&77).is_absent(), "{when}: an acknowledged key is ruled out");
        assert!(matches!(now(self.gate.lookup(&77)), Lookup::Present(())), "{when}");
    }
}

/// Every point that a create and a rebuild come by.
fn points() -> Vec<&'static str> {
    let scene = Scene::new();
    let inner = Rc::clone(&scene);
    cut("none", || (), || scene.create());
    cut("none", || (), || inner.rebuild());
    SEEN.with(|seen| seen.borrow().iter().copied().collect())
}

#[test]
fn a_rebuild_at_any_point_of_a_create_loses_nothing() {
    let mut cuts = 0;
    for at in points() {
        let scene = Scene::new();
        let rebuilds = Rc::clone(&scene);
        cuts += usize::from(cut(at, move || rebuilds.rebuild(), || scene.create()));
        scene.acknowledged(at);
        assert_eq!(scene.gate.status().pending_writes, 0, "{at}");
    }
    assert!(cuts >= 6, "only {cuts} points of a create were cut");
}

#[test]
fn a_create_at_any_point_of_a_rebuild_loses_nothing() {
    let mut cuts = 0;
    for at in points() {
        let scene = Scene::new();
        let creates = Rc::clone(&scene);
        cuts += usize::from(cut(at, move || creates.create(), || scene.rebuild()));
        if scene.rows.0.lock().unwrap().contains(&77) {
            scene.acknowledged(at);
        }
        assert!(scene.gate.check(&78).is_absent(), "{at}");
    }
    assert!(cuts >= 5, "only {cuts} points of a rebuild were cut");
}

#[test]
fn a_distrust_at_any_point_of_a_rebuild_keeps_it_from_being_trusted_or_is_followed_by_doubt() {
    for at in points() {
        let scene = Scene::new();
        let imports = Rc::clone(&scene);
        let import = move || {
            let guard = imports.gate.distrust();
            // Behind the gate's back.
            imports.rows.0.lock().unwrap().insert(77);
            drop(guard);
        };
        cut(at, import, || drop(now(scene.gate.rebuild(&scene.rows))));
        if scene.rows.0.lock().unwrap().contains(&77) {
            scene.acknowledged(at);
            scene.rebuild();
            scene.acknowledged(at);
        }
    }
}
