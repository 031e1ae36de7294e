//! No async runtime is needed, and none is in the way: timers fire and tasks wake on plain threads, and inside tokio with or without its drivers.

use crate::support::*;
use absentia::*;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn gate(db: &Db) -> Gate {
    let cache = NegativeCache::builder(db.clone(), MemoryStore::new()).source_timeout(ms(40)).build().unwrap();
    ExistenceGate::builder(cache).coverage(only_creator()).lookup_timeout(ms(400)).hasher(KeyHasher::xxh3(0x5EED)).build().unwrap()
}

#[test]
fn everything_works_on_plain_threads() {
    let db = Db::new();
    let gate = gate(&db);
    (0..50).for_each(|id| db.insert(id, id.to_string()));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for id in 0..100u64 {
                    let found = block_on(gate.lookup(&id));
                    assert_eq!(found.is_present(), id < 50, "{found:?}");
                }
            });
        }
        scope.spawn(|| {
            // All four may meet in AlreadyRunning; this one is alone.
            assert!(block_on(gate.rebuild(&db)).unwrap().trusted);
        });
    });
    assert!(block_on(create(&gate, &db, 77, "row", None)).is_ok());
    is_present(&block_on(gate.lookup(&77)), "row");
}

#[test]
fn timeouts_fire_without_a_runtime() {
    let db = Db::new();
    let gate = gate(&db);
    db.hold(Hold::Before);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| assert!(matches!(block_on(gate.lookup(&1)), Lookup::Unknown(Cause::Timeout { .. }))));
        }
    });
    db.release();
    assert!(block_on(gate.lookup(&1)).is_absent());
}

#[test]
fn a_loader_that_hangs_for_ever_does_not_hang_its_caller() {
    struct Hangs;
    impl Loader<u64, String> for Hangs {
        async fn load(&self, _: &u64, _: &LoadContext<'_>) -> Result<Loaded<String>, Cause> {
            std::future::pending().await
        }
    }
    let gate = ExistenceGate::builder(Hangs).coverage(only_creator()).lookup_timeout(ms(30)).build().unwrap();
    assert!(matches!(block_on(gate.lookup(&1)), Lookup::Unknown(Cause::Timeout { limit }) if limit == ms(30)));
}

#[test]
fn a_waiter_on_another_thread_is_woken_when_the_read_lands() {
    let db = Db::new();
    let gate = gate(&db);
    db.insert(1, "row");
    db.hold(Hold::Before);
    let (begun, waits) = mpsc::channel();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let begun = begun.clone();
                let gate = &gate;
                scope.spawn(move || {
                    let mut lookup = std::pin::pin!(gate.lookup(&1));
                    assert!(lookup.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop())).is_pending());
                    begun.send(()).unwrap();
                    block_on(lookup)
                })
            })
            .collect();
        (0..8).for_each(|_| waits.recv().unwrap());
        db.release();
        threads.into_iter().for_each(|thread| is_present(&thread.join().unwrap(), "row"));
    });
}

#[test]
fn a_rebuilder_runs_on_a_thread_and_stops_when_it_is_dropped() {
    let db = Db::new();
    let gate = gate(&db);
    (0..10).for_each(|id| db.insert(id, "row"));
    let rebuilt = Arc::new(AtomicUsize::new(0));
    let config = RebuilderConfig::default().every(ms(3)).tick(ms(1));
    let rebuilder = Rebuilder::new(gate.clone(), db.clone(), config);
    let counted = Arc::clone(&rebuilt);
    thread::spawn(move || {
        let mut run = Box::pin(rebuilder.run(|result| {
            assert!(result.unwrap().trusted);
            counted.fetch_add(1, SeqCst);
        }));
        // Until it has rebuilt three times.
        block_on(std::future::poll_fn(|cx| if rebuilt.load(SeqCst) < 3 { run.as_mut().poll(cx) } else { std::task::Poll::Ready(()) }));
        drop(run);
    })
    .join()
    .unwrap();
    assert!(gate.is_trusted() && !gate.status().rebuilding);
    assert!(block_on(gate.rebuild(&db)).is_ok(), "nobody holds the place of the one rebuild");
}

fn inside(runtime: &tokio::runtime::Runtime) {
    let db = Db::new();
    let gate = gate(&db);
    (0..10).for_each(|id| db.insert(id, "row"));
    runtime.block_on(async {
        let tasks: Vec<_> = (0..20u64)
            .map(|id| {
                let gate = gate.clone();
                tokio::spawn(async move { gate.lookup(&id).await.is_present() })
            })
            .collect();
        for (id, task) in tasks.into_iter().enumerate() {
            assert_eq!(task.await.unwrap(), id < 10);
        }
        let (rebuilding, source) = (gate.clone(), db.clone());
        assert!(tokio::spawn(async move { rebuilding.rebuild(&source).await }).await.unwrap().unwrap().trusted);
        let (creating, source) = (gate.clone(), db.clone());
        tokio::spawn(async move { create(&creating, &source, 77, "row", None).await.map(drop) }).await.unwrap().unwrap();
        is_present(&gate.lookup(&77).await, "row");
        gate.begin_create(&99).aborted();
        db.hold(Hold::Before);
        assert!(matches!(gate.lookup(&99).await, Lookup::Unknown(Cause::Timeout { .. })), "a timer fires, whoever drives time here");
        db.release();
        let rebuilder = Rebuilder::new(gate.clone(), db.clone(), RebuilderConfig::default().every(ms(5)).tick(ms(1)));
        let task = tokio::spawn(rebuilder.run(|result| assert!(result.is_ok())));
        Clock::standard().sleep(ms(30)).await;
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
    });
    assert!(gate.is_trusted());
}

#[test]
fn inside_tokio_on_one_thread_without_a_time_driver() {
    inside(&tokio::runtime::Builder::new_current_thread().build().unwrap());
}

#[test]
fn inside_tokio_on_many_threads_without_a_time_driver() {
    inside(&tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap());
}

#[test]
fn inside_tokio_with_everything_enabled() {
    inside(&tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap());
}
