//! A database in memory, whose reads can be held at two points, failed and counted, and scans of it and of anything else.

use crate::support::yield_now;
use absentia::*;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

/// Where a read of the database is held.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hold {
    /// Before it looks.
    Before,
    /// When it has looked, and the answer is on its way.
    After,
}

/// A table in memory. Clones are the same table.
pub(crate) struct Db<V = String>(Arc<Table<V>>);

struct Table<V> {
    rows: Mutex<BTreeMap<u64, V>>,
    hold: Mutex<(Option<Hold>, Vec<Waker>)>,
    reads: AtomicU64,
    failing: AtomicBool,
    panicking: AtomicBool,
    replica: AtomicBool,
}

impl<V> Clone for Db<V> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<V: CacheValue> Db<V> {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Table {
            rows: Mutex::default(),
            hold: Mutex::default(),
            reads: AtomicU64::new(0),
            failing: AtomicBool::new(false),
            panicking: AtomicBool::new(false),
            replica: AtomicBool::new(false),
        }))
    }

    pub(crate) fn insert(&self, id: u64, row: impl Into<V>) {
        self.0.rows.lock().unwrap().insert(id, row.into());
    }

    pub(crate) fn delete(&self, id: u64) {
        self.0.rows.lock().unwrap().remove(&id);
    }

    pub(crate) fn ids(&self) -> Vec<u64> {
        self.0.rows.lock().unwrap().keys().copied().collect()
    }

    pub(crate) fn reads(&self) -> u64 {
        self.0.reads.load(SeqCst)
    }

    pub(crate) fn fail(&self, fail: bool) {
        self.0.failing.store(fail, SeqCst);
    }

    /// The next read panics.
    pub(crate) fn panic_once(&self) {
        self.0.panicking.store(true, SeqCst);
    }

    pub(crate) fn become_a_replica(&self) {
        self.0.replica.store(true, SeqCst);
    }

    pub(crate) fn hold(&self, at: Hold) {
        self.0.hold.lock().unwrap().0 = Some(at);
    }

    pub(crate) fn release(&self) {
        let mut hold = self.0.hold.lock().unwrap();
        hold.0 = None;
        hold.1.drain(..).for_each(Waker::wake);
    }

    async fn pass(&self, at: Hold) {
        poll_fn(|cx| {
            let mut hold = self.0.hold.lock().unwrap();
            if hold.0 == Some(at) {
                hold.1.push(cx.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
    }
}

impl<V: CacheValue> Source for Db<V> {
    type Key = u64;
    type Value = V;
    type Error = io::Error;

    async fn load(&self, id: &u64) -> Result<Option<V>, io::Error> {
        self.0.reads.fetch_add(1, SeqCst);
        self.pass(Hold::Before).await;
        if self.0.panicking.swap(false, SeqCst) {
            // Unlike `panic!` it leaves stderr alone.
            std::panic::resume_unwind(Box::new("the driver has a bug"));
        }
        let row = self.0.rows.lock().unwrap().get(id).cloned();
        let failing = self.0.failing.load(SeqCst);
        self.pass(Hold::After).await;
        if failing { Err(io::Error::other("connection refused")) } else { Ok(row) }
    }

    fn consistency(&self) -> Consistency {
        if self.0.replica.load(SeqCst) { Consistency::Replica } else { Consistency::Linearizable }
    }
}

/// A scan that yields after each key, so that it can be cut anywhere.
impl<V: CacheValue> KeySource<u64> for Db<V> {
    type Error = Infallible;

    async fn scan(&self, sink: &mut KeySink<'_, u64>) -> Result<Scanned, Infallible> {
        let ids = self.ids();
        for id in &ids {
            sink.push(id);
            if ids.len() < 100 {
                yield_now().await;
            }
        }
        Ok(Scanned { rows: ids.len() as u64 })
    }
}

/// A scan by a function, which returns the number of rows it claims to have pushed.
pub(crate) fn scan<F: Fn(&mut KeySink<'_, u64>) -> io::Result<u64> + Send + Sync>(push: F) -> Scan<F> {
    Scan(push)
}

pub(crate) struct Scan<F>(F);

impl<F: Fn(&mut KeySink<'_, u64>) -> io::Result<u64> + Send + Sync> KeySource<u64> for Scan<F> {
    type Error = io::Error;

    async fn scan(&self, sink: &mut KeySink<'_, u64>) -> io::Result<Scanned> {
        (self.0)(sink).map(|rows| Scanned { rows })
    }
}
