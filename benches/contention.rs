//! What do threads that share a filter cost each other? The time in which each of them does one operation, and the operations of all in a second.
//!
//! The third part of an id says what they do, the last how many they are:
//!
//! ```text
//! insert-different     new keys, other ones in each thread      they write lines of one table, rarely the same
//! insert-same          the same new keys, at about one time     they write the same lines; one of them hears "new"
//! insert-known         keys that are there already              nothing is written
//! come-and-go          new keys, and each is removed at once    they write lines of one table, which does not get fuller; the time is of both
//! read                 questions about keys that are there      nothing is written
//! read-while-written   one thread asks, and in `2-threads` another one inserts new keys all the while; the time is the reader's
//! ```
//!
//! The second part is the filter: `atomic`, a line of bits a key; `atomic_cuckoo`, where a key that is inserted again is a second copy, and a writer
//! removes what it has inserted; `atomic_rotating`, here two windows of as many keys each, of which the current one is written.

mod subject;

use absentia::{AtomicBlockedBloom, AtomicCuckoo, AtomicRotatingBloom};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use subject::check::Tally;
use subject::keys::BenchKey;
use subject::kinds::{self, ATOMIC, ATOMIC_CUCKOO, Subject};

/// A filter in the second-level cache, where lines that the other core has written are far away, and one in the third.
const SIZES: [u64; 2] = [100_000, 10_000_000];

/// Operations of a thread at a time. Longer than threads are apart when they begin, and short enough that a writer does not fill a filter meanwhile.
const ROUND: u64 = 50_000;

const WHILE_WRITTEN: &str = "read-while-written";

fn main() {
    subject::run(&[
        |c| group(c, ATOMIC.name, "insert-different", &|threads, keys| Box::new(Inserts::new(atomic(keys), keys / threads, keys / threads))),
        |c| group(c, ATOMIC.name, "insert-same", &|_, keys| Box::new(Inserts::new(atomic(keys), 0, keys))),
        |c| group(c, ATOMIC.name, "insert-known", &|_, keys| Box::new(Known::new(filled(atomic(keys), keys), keys, |filter, key| !filter.put(key)))),
        |c| group(c, ATOMIC.name, "read", &|_, keys| Box::new(Known::new(filled(atomic(keys), keys), keys, Subject::contains))),
        |c| group(c, ATOMIC.name, WHILE_WRITTEN, &|_, keys| Box::new(WhileWritten::new(filled(atomic(keys), keys / 2), keys))),
        |c| group(c, ATOMIC_CUCKOO.name, "insert-different", &|threads, keys| Box::new(Inserts::new(cuckoo(keys), keys / threads, keys / threads))),
        |c| group(c, ATOMIC_CUCKOO.name, "come-and-go", &|_, keys| Box::new(ComeAndGo { filter: filled(cuckoo(keys), keys / 2), next: keys })),
        |c| group(c, ATOMIC_CUCKOO.name, "read", &|_, keys| Box::new(Known::new(filled(cuckoo(keys), keys), keys, Subject::contains))),
        |c| group(c, ATOMIC_CUCKOO.name, WHILE_WRITTEN, &|_, keys| Box::new(WhileWritten::new(filled(cuckoo(keys), keys / 2), keys))),
        |c| group(c, ROTATING, "insert-different", &|threads, keys| Box::new(Inserts::new(rotating(keys), keys / threads, keys / threads))),
        |c| group(c, ROTATING, "insert-same", &|_, keys| Box::new(Inserts::new(rotating(keys), 0, keys))),
        |c| group(c, ROTATING, "read", &|_, keys| Box::new(Known::new(filled(rotating(keys), keys), keys, Subject::contains))),
        |c| group(c, ROTATING, WHILE_WRITTEN, &|_, keys| Box::new(WhileWritten::new(filled(rotating(keys), keys / 2), keys))),
    ]);
}

const ROTATING: &str = kinds::ATOMIC_ROTATING.name;

fn atomic(keys: u64) -> AtomicBlockedBloom {
    ATOMIC.empty(keys, None)
}

fn cuckoo(keys: u64) -> AtomicCuckoo {
    ATOMIC_CUCKOO.empty(keys, None)
}

/// Two windows, so that the keys of one are all that threads write, and memory is not that of eight.
fn rotating(keys: u64) -> AtomicRotatingBloom {
    kinds::rotating(2, keys, None).build_atomic().expect("memory for the filter")
}

/// With the first `count` keys in it.
fn filled<F: Shared>(mut filter: F, count: u64) -> F {
    filter.fill((0..count).map(u64::numbered));
    filter
}

/// A filter into which many threads insert.
trait Shared: Subject + Sync {
    /// True where it was new.
    fn put(&self, key: &u64) -> bool;

    /// What a writer does all the while.
    fn write(&self, key: &u64) {
        self.put(key);
    }

    /// Whether what a writer does fills the filter.
    const FILLS: bool = true;
}

impl Shared for AtomicBlockedBloom {
    fn put(&self, key: &u64) -> bool {
        self.insert(key)
    }
}

impl Shared for AtomicRotatingBloom {
    fn put(&self, key: &u64) -> bool {
        self.insert(key)
    }
}

impl Shared for AtomicCuckoo {
    const FILLS: bool = false;

    fn put(&self, key: &u64) -> bool {
        self.insert(key).is_ok()
    }

    fn write(&self, key: &u64) {
        assert!(self.put(key) && self.remove(key), "a key that was inserted is not there to be removed");
    }
}

/// A filter, and what threads do with it.
trait Scene {
    /// Every thread does `count` operations; how long that took, once the answers were right.
    fn round(&mut self, threads: u64, count: u64) -> Duration;
}

fn group(c: &mut Criterion, filter: &str, name: &str, scene: &dyn Fn(u64, u64) -> Box<dyn Scene>) {
    let mut group: BenchmarkGroup<'_, WallTime> = c.benchmark_group(format!("contention/{filter}/{name}"));
    for keys in SIZES.into_iter().filter(|&keys| !subject::is_test() || keys <= subject::kinds::MOST_IN_TESTS) {
        for threads in [1, 2] {
            let id = BenchmarkId::new(subject::short(keys), if threads == 1 { "1-thread" } else { "2-threads" });
            let mut made = None;
            group.throughput(Throughput::Elements(if name == WHILE_WRITTEN { 1 } else { threads })).bench_function(id, |b| {
                let scene = made.get_or_insert_with(|| scene(threads, keys));
                b.iter_custom(|count| (0..count).step_by(ROUND as usize).map(|done| scene.round(threads, ROUND.min(count - done))).sum());
            });
        }
    }
    group.finish();
}

/// What a thread did: when it began, when it was done, and how often the answer was the one of interest.
struct Run {
    start: Instant,
    end: Instant,
    count: u64,
}

/// Runs `work` in that many threads, which begin at once.
fn together(threads: u64, work: impl Fn(u64) -> u64 + Sync) -> Vec<Run> {
    let (barrier, work) = (&Barrier::new(threads as usize), &work);
    let run = |thread: u64| {
        barrier.wait();
        let start = Instant::now();
        let count = work(thread);
        Run { start, end: Instant::now(), count }
    };
    thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|thread| scope.spawn(move || run(thread))).collect();
        handles.into_iter().map(|handle| handle.join().expect("no thread panics")).collect()
    })
}

/// From the first start to the last end, and the sum of the counts.
fn sum(runs: &[Run]) -> (Duration, u64) {
    let (start, end) = (runs.iter().map(|run| run.start).min(), runs.iter().map(|run| run.end).max());
    (end.zip(start).map_or(Duration::ZERO, |(end, start)| end - start), runs.iter().map(|run| run.count).sum())
}

/// New keys: `share` of them for each thread, whose numbers begin `apart` from those of the thread before. Then the filter is emptied.
struct Inserts<F> {
    filter: F,
    apart: u64,
    share: u64,
    next: u64,
}

impl<F> Inserts<F> {
    fn new(filter: F, apart: u64, share: u64) -> Self {
        Self { filter, apart, share, next: 0 }
    }
}

impl<F: Shared> Scene for Inserts<F> {
    fn round(&mut self, threads: u64, count: u64) -> Duration {
        if self.next + count > self.share {
            self.filter.clear();
            self.next = 0;
        }
        let (filter, first, apart) = (&self.filter, self.next, self.apart);
        let insert = |number| filter.put(&u64::numbered(number));
        let runs = together(threads, |thread| (0..count).filter(|index| insert(apart * thread + first + index)).count() as u64);
        self.next += count;
        let (time, news) = sum(&runs);
        let distinct = if self.apart == 0 { count } else { count * threads };
        assert!(news <= distinct, "{news} times \"new\" for {distinct} keys");
        let mut not_new = Tally::default();
        not_new.add(distinct as usize, (distinct - news) as usize);
        not_new.is_at_most_predicted(&self.filter);
        time
    }
}

/// New keys, other ones in each thread, that are removed as soon as they are there.
struct ComeAndGo<F> {
    filter: F,
    next: u64,
}

impl<F: Shared> Scene for ComeAndGo<F> {
    fn round(&mut self, threads: u64, count: u64) -> Duration {
        let (filter, first) = (&self.filter, self.next);
        let runs = together(threads, |thread| {
            (0..count).for_each(|index| filter.write(&u64::numbered(first + count * thread + index)));
            count
        });
        self.next += count * threads;
        sum(&runs).0
    }
}

/// The first `keys` keys are there. The answer to `op` is always true.
struct Known<F> {
    filter: F,
    keys: u64,
    op: fn(&F, &u64) -> bool,
    next: u64,
}

impl<F> Known<F> {
    fn new(filter: F, keys: u64, op: fn(&F, &u64) -> bool) -> Self {
        Self { filter, keys, op, next: 0 }
    }
}

impl<F: Shared> Scene for Known<F> {
    fn round(&mut self, threads: u64, count: u64) -> Duration {
        let (filter, op, first, keys) = (&self.filter, self.op, self.next, self.keys);
        // Threads begin at different places: that one finds what another has just loaded is not what is asked here.
        let number = |thread, index| (first + keys / 2 * thread + index) % keys;
        let runs = together(threads, |thread| (0..count).filter(|&index| op(filter, &u64::numbered(number(thread, index)))).count() as u64);
        self.next = (self.next + count) % keys;
        let (time, right) = sum(&runs);
        assert_eq!(right, count * threads, "a key that is there was not known");
        time
    }
}

/// The first half of `keys` keys is there and is asked for; the second thread writes others. After as many as `keys`, begins with half of it again.
struct WhileWritten<F> {
    filter: F,
    keys: u64,
    next: u64,
    written: u64,
}

impl<F> WhileWritten<F> {
    fn new(filter: F, keys: u64) -> Self {
        Self { filter, keys, next: 0, written: 0 }
    }
}

impl<F: Shared> Scene for WhileWritten<F> {
    fn round(&mut self, threads: u64, count: u64) -> Duration {
        let (keys, half) = (self.keys, self.keys / 2);
        if F::FILLS && self.written >= keys {
            self.filter.clear();
            self.filter.fill((0..half).map(u64::numbered));
            self.written = 0;
        }
        let (filter, first, new, done) = (&self.filter, self.next, half + self.written, &AtomicBool::new(false));
        let read = || {
            let found = (0..count).filter(|index| filter.contains(&u64::numbered((first + index) % half))).count();
            done.store(true, Ordering::Relaxed);
            found as u64
        };
        let write = || (new..).take_while(|_| !done.load(Ordering::Relaxed)).inspect(|&number| filter.write(&u64::numbered(number))).count() as u64;
        let runs = together(threads, |thread| if thread == 0 { read() } else { write() });
        self.next = (self.next + count) % half;
        self.written += runs.get(1).map_or(0, |writer| writer.count);
        assert_eq!(runs[0].count, count, "an inserted key was not there while another was inserted");
        runs[0].end - runs[0].start
    }
}
