//! What do threads that share a filter cost each other? The time in which each of them does one operation, and the operations of all in a second.
//!
//! The third part of an id says what they do, the last how many they are:
//!
//! ```text
//! insert-different     new keys, other ones in each thread      they write lines of one table, rarely the same
//! insert-same          the same new keys, at about one time     they write the same lines; one of them hears "new"
//! insert-known         keys that are there already              nothing is written
//! read                 questions about keys that are there      nothing is written
//! read-while-written   one thread asks, and in `2-threads` another one inserts new keys all the while; the time is the reader's
//! ```

mod subject;

use absentia::AtomicBlockedBloom;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use subject::check::Tally;
use subject::keys::BenchKey;
use subject::kinds::{ATOMIC, Subject};

/// A filter in the second-level cache, where lines that the other core has written are far away, and one in the third.
const SIZES: [u64; 2] = [100_000, 10_000_000];

/// Operations of a thread at a time. Longer than threads are apart when they begin, and short enough that a writer does not fill a filter meanwhile.
const ROUND: u64 = 50_000;

const WHILE_WRITTEN: &str = "read-while-written";

fn main() {
    subject::run(&[
        |c| {
            group(c, "insert-different", &|threads, keys| {
                Box::new(Inserts { filter: empty(keys), apart: keys / threads, share: keys / threads, next: 0 })
            })
        },
        |c| group(c, "insert-same", &|_, keys| Box::new(Inserts { filter: empty(keys), apart: 0, share: keys, next: 0 })),
        |c| group(c, "insert-known", &|_, keys| Box::new(Known { filter: filled(keys, keys), op: |filter, key| !filter.insert(key), next: 0 })),
        |c| group(c, "read", &|_, keys| Box::new(Known { filter: filled(keys, keys), op: |filter, key| filter.contains(key), next: 0 })),
        |c| group(c, WHILE_WRITTEN, &|_, keys| Box::new(WhileWritten { filter: filled(keys, keys / 2), next: 0, written: 0 })),
    ]);
}

fn empty(keys: u64) -> AtomicBlockedBloom {
    ATOMIC.empty(keys, None)
}

/// For so many keys, with the first `count` of them in it.
fn filled(keys: u64, count: u64) -> AtomicBlockedBloom {
    let mut filter = empty(keys);
    filter.fill((0..count).map(u64::numbered));
    filter
}

/// A filter, and what threads do with it.
trait Scene {
    /// Every thread does `count` operations; how long that took, once the answers were right.
    fn round(&mut self, threads: u64, count: u64) -> Duration;
}

fn group(c: &mut Criterion, name: &str, scene: &dyn Fn(u64, u64) -> Box<dyn Scene>) {
    let mut group: BenchmarkGroup<'_, WallTime> = c.benchmark_group(format!("contention/atomic/{name}"));
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
struct Inserts {
    filter: AtomicBlockedBloom,
    apart: u64,
    share: u64,
    next: u64,
}

impl Scene for Inserts {
    fn round(&mut self, threads: u64, count: u64) -> Duration {
        if self.next + count > self.share {
            self.filter.clear();
            self.next = 0;
        }
        let (filter, first, apart) = (&self.filter, self.next, self.apart);
        let insert = |number| filter.insert(&u64::numbered(number));
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

/// Keys that are there. The answer to `op` is always true.
struct Known {
    filter: AtomicBlockedBloom,
    op: fn(&AtomicBlockedBloom, &u64) -> bool,
    next: u64,
}

impl Scene for Known {
    fn round(&mut self, threads: u64, count: u64) -> Duration {
        let (filter, op, first, keys) = (&self.filter, self.op, self.next, self.filter.capacity());
        // Threads begin at different places: that one finds what another has just loaded is not what is asked here.
        let number = |thread, index| (first + keys / 2 * thread + index) % keys;
        let runs = together(threads, |thread| (0..count).filter(|&index| op(filter, &u64::numbered(number(thread, index)))).count() as u64);
        self.next = (self.next + count) % keys;
        let (time, right) = sum(&runs);
        assert_eq!(right, count * threads, "a key that is there was not known");
        time
    }
}

/// The first half of the keys is there and is asked for; the second thread inserts others. After as many as the capacity, begins with half of it again.
struct WhileWritten {
    filter: AtomicBlockedBloom,
    next: u64,
    written: u64,
}

impl Scene for WhileWritten {
    fn round(&mut self, threads: u64, count: u64) -> Duration {
        let (keys, half) = (self.filter.capacity(), self.filter.capacity() / 2);
        if self.written >= keys {
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
        let write =
            || (new..).take_while(|_| !done.load(Ordering::Relaxed)).inspect(|&number| _ = filter.insert(&u64::numbered(number))).count() as u64;
        let runs = together(threads, |thread| if thread == 0 { read() } else { write() });
        self.next = (self.next + count) % half;
        self.written += runs.get(1).map_or(0, |writer| writer.count);
        assert_eq!(runs[0].count, count, "an inserted key was not there while another was inserted");
        runs[0].end - runs[0].start
    }
}
