//! What the tests share: a database in memory whose reads can be held, tasks that are polled by hand, and a gate between the two.
//!
//! Time is mocked and everything is polled on one thread, so that a race is written down as an order of lines and a hang is a panic.

pub(crate) use crate::db::*;
use absentia::*;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

pub(crate) const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// An executor of ten lines: whatever works under it needs no runtime.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let (mut cx, mut future) = (Context::from_waker(&waker), pin!(future));
    loop {
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// A future that is polled when the test says so.
pub(crate) struct Task<'a, T>(Pin<Box<dyn Future<Output = T> + 'a>>);

impl<'a, T> Task<'a, T> {
    /// Polls it once; it must not be done by then.
    #[track_caller]
    pub(crate) fn begun(future: impl Future<Output = T> + 'a) -> Self {
        let mut task = Self::new(future);
        assert!(task.poll().is_none(), "it was to wait for something");
        task
    }

    pub(crate) fn new(future: impl Future<Output = T> + 'a) -> Self {
        Self(Box::pin(future))
    }

    pub(crate) fn poll(&mut self) -> Option<T> {
        match self.0.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    /// Polls it to its end. On one thread nothing but a poll makes progress, so a task that is not done after a few is stranded.
    #[track_caller]
    pub(crate) fn end(mut self) -> T {
        (0..1000).find_map(|_| self.poll()).expect("stranded: it waits for what will not happen")
    }
}

/// `future` done without anything to wait for.
#[track_caller]
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    Task::new(future).end()
}

pub(crate) async fn yield_now() {
    let mut yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// The loader of the documentation: ten lines over a source.
pub(crate) struct TableLoader<S>(pub(crate) S);

impl<S: Source> Loader<S::Key, S::Value> for TableLoader<S> {
    async fn load(&self, key: &S::Key, _context: &LoadContext<'_>) -> Result<Loaded<S::Value>, Cause> {
        self.0.load(key).await.map(Loaded::from_source).map_err(Cause::source)
    }
}

pub(crate) type Gate = ExistenceGate<u64, String>;

/// A gate over a negative cache over a database, all of them in the test's hands.
pub(crate) struct World {
    pub(crate) db: Db,
    pub(crate) gate: Gate,
    pub(crate) store: MemoryStore<u64, String>,
    pub(crate) hand: MockClock,
    pub(crate) counters: Arc<Counters>,
}

pub(crate) fn only_creator() -> Coverage {
    Coverage::Exclusive(Exclusivity::asserted("a test creates alone").first_start())
}

impl World {
    /// Only this process creates, announced.
    pub(crate) fn exclusive() -> Self {
        Self::with(only_creator(), |builder| builder)
    }

    /// Anyone creates.
    pub(crate) fn advisory(tombstones: Tombstones) -> Self {
        Self::with(Coverage::Advisory { tombstones }, |builder| builder)
    }

    pub(crate) fn with(coverage: Coverage, settings: impl FnOnce(GateBuilder<u64, String>) -> GateBuilder<u64, String>) -> Self {
        let (db, store, (clock, hand), counters) = (Db::new(), MemoryStore::new(), Clock::mock(), Arc::new(Counters::new()));
        let cache = NegativeCache::builder(db.clone(), store.clone()).build().unwrap();
        // Small on purpose: most rebuilds here outgrow their first guess, and filters for created keys fill up.
        let builder =
            ExistenceGate::builder(cache).coverage(coverage).clock(clock).observer(counters.clone()).fence_stripes(1 << 12).expected_keys(1);
        // A seed of our own: a test that asks for a key that is not there must not meet a false positive once in a hundred runs.
        let builder = builder.hasher(KeyHasher::xxh3(0x5EED));
        let gate = settings(builder).build().unwrap();
        Self { db, gate, store, hand, counters }
    }

    /// With these rows in the database, and rebuilt.
    pub(crate) fn rebuilt(self, ids: impl IntoIterator<Item = u64>) -> Self {
        ids.into_iter().for_each(|id| self.db.insert(id, id.to_string()));
        now(self.gate.rebuild_with(&self.db, RebuildOptions::default().allow_empty())).unwrap();
        self
    }

    pub(crate) fn lookup(&self, id: u64) -> Lookup<String> {
        now(self.gate.lookup(&id))
    }

    /// What a repository would return, with causes as text.
    pub(crate) fn row(&self, id: u64) -> Result<Option<String>, String> {
        self.lookup(id).into_result().map_err(|cause| cause.to_string())
    }

    pub(crate) fn create(&self, id: u64, row: &str) {
        now(create(&self.gate, &self.db, id, row, None)).unwrap();
    }

    pub(crate) fn rebuild(&self) -> Result<Rebuilt, RebuildError> {
        now(self.gate.rebuild(&self.db))
    }

    /// Makes the filter claim a key that the database does not have, so that lookups of it reach the loader.
    pub(crate) fn claim(&self, id: u64) {
        self.gate.begin_create(&id).aborted();
    }
}

/// Creates a row through the gate; `remember` is what the gate is given of it.
pub(crate) async fn create(gate: &Gate, db: &Db, id: u64, row: &str, remember: Option<&str>) -> Result<Option<String>, WriteError<io::Error>> {
    gate.create_with(&id, async || {
        db.insert(id, row);
        Ok(remember.map(str::to_owned))
    })
    .await
}

/// A transaction that commits.
pub(crate) async fn committed(write: impl FnOnce()) -> Result<(), WriteError<io::Error>> {
    write();
    Ok(())
}

#[track_caller]
pub(crate) fn is_present(found: &Lookup<String>, row: &str) {
    assert!(matches!(found, Lookup::Present(value) if value == row), "{found:?}, not {row:?}");
}
