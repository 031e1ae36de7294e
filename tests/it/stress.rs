//! On the real scheduler: whoever was acknowledged is never absent, whatever else goes on.

use crate::support::*;
use absentia::*;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

const RUN: Duration = Duration::from_millis(700);
/// Keys that come and go.
const FLAPPING: u64 = 16;
/// Where created keys begin.
const FIRST: u64 = 1_000;

/// Reads that take their time between the look and the answer.
#[derive(Clone)]
struct Slow(Db);

impl Source for Slow {
    type Key = u64;
    type Value = String;
    type Error = io::Error;

    async fn load(&self, id: &u64) -> io::Result<Option<String>> {
        let row = self.0.load(id).await;
        if id.is_multiple_of(3) {
            thread::yield_now();
            yield_now().await;
        }
        row
    }
}

struct Stress {
    db: Db,
    gate: Gate,
    counters: Arc<Counters>,
    /// Keys from `FIRST` up to here are acknowledged and stay.
    acknowledged: AtomicU64,
    /// Per flapping key: even while it is acknowledged to exist, odd from before its delete until after its next create.
    versions: [AtomicU64; FLAPPING as usize],
    stop: AtomicBool,
}

impl Stress {
    fn new(coverage: Coverage) -> Self {
        let (db, counters) = (Db::new(), Arc::new(Counters::new()));
        (0..FLAPPING).for_each(|id| db.insert(id, "first"));
        // Small, so that entries are evicted all the time; few stripes, so that keys get in each other's way.
        let store = MemoryStore::builder().positive_bytes(1 << 13).negative_bytes(1 << 13).shards(2).build();
        let cache = NegativeCache::builder(Slow(db.clone()), store).build().unwrap();
        let lane = LaneConfig { concurrency: 1_000, rate: 1e9, burst: 1e9, max_share: 1.0 };
        let builder = ExistenceGate::builder(cache).coverage(coverage).observer(counters.clone()).fence_stripes(8).suspect_lane(lane);
        let gate = builder.max_transaction(Duration::from_millis(50)).build().unwrap();
        let (acknowledged, stop) = (AtomicU64::new(FIRST), AtomicBool::new(false));
        Self { db, gate, counters, acknowledged, versions: std::array::from_fn(|_| AtomicU64::new(0)), stop }
    }

    fn reader(&self, seed: u64) {
        let mut random = seed;
        while !self.stop.load(SeqCst) {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let dice = random >> 33;
            let id = dice % FLAPPING;
            let before = self.versions[id as usize].load(SeqCst);
            let found = block_on(async { if dice.is_multiple_of(5) { self.gate.lookup_fresh(&id).await } else { self.gate.lookup(&id).await } });
            let after = self.versions[id as usize].load(SeqCst);
            assert!(before != after || before % 2 == 1 || found.is_present(), "flapping key {id}, version {before}: {found:?}");

            let end = self.acknowledged.load(SeqCst);
            // The newest most of all.
            let back = if dice.is_multiple_of(2) { 1 } else { dice % (end - FIRST + 1) + 1 };
            let id = end.saturating_sub(back).max(FIRST);
            if id < end {
                assert!(!self.gate.check(&id).is_absent(), "acknowledged key {id} is ruled out");
                let found = block_on(self.gate.lookup(&id));
                assert!(found.is_present(), "acknowledged key {id} of {end}: {found:?}");
            }
            assert!(!block_on(self.gate.lookup(&(dice + (1 << 40)))).is_present());
        }
    }

    fn creator(&self) {
        for id in FIRST.. {
            if self.stop.load(SeqCst) {
                return;
            }
            // Somebody asks for it just before it is there.
            let _ = block_on(self.gate.lookup(&id));
            match id % 4 {
                0 => block_on(create(&self.gate, &self.db, id, "row", Some("row"))).map(drop).unwrap(),
                1 => {
                    let guard = self.gate.begin_create(&id);
                    self.db.insert(id, "row");
                    guard.committed(None);
                }
                2 => {
                    // The connection breaks after COMMIT; the caller retries and finds that the row is there.
                    let guard = self.gate.begin_create(&id);
                    self.db.insert(id, "row");
                    drop(guard);
                }
                _ => {
                    // An import behind the gate's back, under a distrust.
                    let guard = self.gate.distrust();
                    self.db.insert(id, "row");
                    drop(guard);
                }
            }
            self.acknowledged.store(id + 1, SeqCst);
        }
    }

    fn deleter(&self) {
        for turn in 0u64.. {
            if self.stop.load(SeqCst) {
                return;
            }
            let id = turn % FLAPPING;
            self.versions[id as usize].fetch_add(1, SeqCst);
            block_on(self.gate.delete_with(&id, || committed(|| self.db.delete(id)))).unwrap();
            thread::yield_now();
            block_on(create(&self.gate, &self.db, id, "again", (turn.is_multiple_of(2)).then_some("again"))).unwrap();
            self.versions[id as usize].fetch_add(1, SeqCst);
        }
    }

    fn rebuilder(&self) -> u64 {
        let mut swaps = 0;
        while !self.stop.load(SeqCst) {
            // Some are dropped half-way.
            if swaps % 3 == 2 {
                let mut rebuild = Task::new(self.gate.rebuild(&self.db));
                let _ = (0..5).find_map(|_| rebuild.poll());
            }
            let rebuilt = block_on(self.gate.rebuild(&self.db)).unwrap();
            swaps += u64::from(rebuilt.generation > 0);
            block_on(self.gate.resolve_unknown());
        }
        swaps
    }

    /// Whoever finds something wrong ends the run.
    fn until_a_panic<T>(&self, run: impl FnOnce() -> T) -> T {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).unwrap_or_else(|panic| {
            self.stop.store(true, SeqCst);
            std::panic::resume_unwind(panic)
        })
    }

    fn run(self) {
        let swaps = thread::scope(|scope| {
            let this = &self;
            for seed in 0..2 {
                scope.spawn(move || this.until_a_panic(|| this.reader(seed)));
            }
            scope.spawn(|| this.until_a_panic(|| this.creator()));
            scope.spawn(|| this.until_a_panic(|| this.deleter()));
            let rebuilder = scope.spawn(|| this.until_a_panic(|| this.rebuilder()));
            let end = Instant::now() + RUN;
            while Instant::now() < end && !self.stop.load(SeqCst) {
                thread::sleep(Duration::from_millis(5));
            }
            self.stop.store(true, SeqCst);
            rebuilder.join().unwrap()
        });
        let created = self.acknowledged.load(SeqCst) - FIRST;
        assert!(created > 20 && swaps > 3, "too little happened: {created} creates, {swaps} rebuilds");
        assert_eq!(self.counters.wrong_absent(), 0);
        thread::sleep(Duration::from_millis(60));
        block_on(self.gate.resolve_unknown());
        let status = self.gate.status();
        assert_eq!((status.pending_writes, status.unresolved_writes, status.distrust_guards), (0, 0, 0));
        assert!(block_on(self.gate.rebuild(&self.db)).unwrap().trusted);
        (FIRST..FIRST + created).for_each(|id| assert!(!self.gate.check(&id).is_absent()));
    }
}

#[test]
fn no_acknowledged_key_is_ever_absent_under_exclusive_coverage() {
    Stress::new(only_creator()).run();
}

#[test]
fn no_announced_key_is_ever_absent_under_advisory_coverage() {
    let ttl = NegativeTtl::new(Duration::from_secs(30)).unwrap();
    Stress::new(Coverage::Advisory { tombstones: Tombstones::Bounded(ttl) }).run();
}
