//! Threads that create, delete and retire while others ask and a rebuild runs: no acknowledged key is ever denied.

use crate::retire::{any_size, delete_row, world};
use crate::support::*;
use absentia::bloom::BloomFactory;
use absentia::cuckoo::CuckooFactory;
use absentia::*;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

const WRITERS: u64 = 2;
const PER_WRITER: u64 = 40;

struct Stress {
    db: Db,
    gate: Gate,
    /// Even while the key is acknowledged to exist, odd from before its delete until after its next create.
    versions: Vec<AtomicU64>,
    stop: AtomicBool,
    retired: AtomicU64,
}

impl Stress {
    fn writer(&self, writer: u64) {
        let mut random = writer + 1;
        while !self.stop.load(SeqCst) {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let id = writer * PER_WRITER + (random >> 33) % PER_WRITER;
            self.versions[id as usize].fetch_add(1, SeqCst);
            let retired = if random >> 32 & 1 == 0 {
                let guard = self.gate.begin_delete(&id);
                guard.committed(delete_row(&self.db, id))
            } else {
                block_on(self.gate.retire_with(&id, async || Ok::<_, WriteError<io::Error>>(delete_row(&self.db, id)))).unwrap()
            };
            self.retired.fetch_add(u64::from(retired.is_removed()), SeqCst);
            assert_ne!(retired, Retired::Kept(Kept::NotThere));
            block_on(create(&self.gate, &self.db, id, "again", None)).unwrap();
            self.versions[id as usize].fetch_add(1, SeqCst);
        }
    }

    fn reader(&self) {
        for id in (0..WRITERS * PER_WRITER).cycle() {
            if self.stop.load(SeqCst) {
                return;
            }
            let before = self.versions[id as usize].load(SeqCst);
            let verdict = self.gate.check(&id);
            let after = self.versions[id as usize].load(SeqCst);
            assert!(before != after || before % 2 == 1 || !verdict.is_absent(), "key {id}, version {before}, is denied");
        }
    }

    fn until_a_panic(&self, run: impl FnOnce()) {
        if let Err(panic) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
            self.stop.store(true, SeqCst);
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn no_acknowledged_key_is_ever_denied_while_others_are_retired() {
    stress(world());
}

/// The same over the filter that ships.
#[test]
fn no_acknowledged_key_is_ever_denied_over_a_cuckoo_filter() {
    stress(World::with(only_creator(), |b| b.filters(CuckooFactory::new(BloomFactory::new())).fpr(0.034)));
}

fn stress(world: World) {
    let World { db, gate, counters, .. } = world.rebuilt(0..WRITERS * PER_WRITER);
    let versions = (0..WRITERS * PER_WRITER).map(|_| AtomicU64::new(0)).collect();
    let stress = Stress { db, gate, versions, stop: AtomicBool::new(false), retired: AtomicU64::new(0) };
    thread::scope(|scope| {
        let this = &stress;
        for writer in 0..WRITERS {
            scope.spawn(move || this.until_a_panic(|| this.writer(writer)));
        }
        scope.spawn(|| this.until_a_panic(|| this.reader()));
        scope.spawn(|| {
            this.until_a_panic(|| {
                while !this.stop.load(SeqCst) {
                    block_on(this.gate.rebuild_with(&this.db, any_size())).unwrap();
                }
            });
        });
        let end = Instant::now() + Duration::from_millis(1_500);
        while Instant::now() < end && !stress.stop.load(SeqCst) {
            thread::sleep(Duration::from_millis(5));
        }
        stress.stop.store(true, SeqCst);
    });
    assert!(stress.retired.load(SeqCst) > 20, "too little happened: {} retired", stress.retired.load(SeqCst));
    assert_eq!((counters.wrong_absent(), stress.gate.status().pending_writes), (0, 0));
}
