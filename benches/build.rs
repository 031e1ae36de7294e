//! How long does it take to fill a filter, on one core and on two? The time of the whole filter.
//!
//! `extend` and `par_extend` fill one whose memory is there. `build_from` and `build_par` make it too, and then the operating system's first writing of
//! every page counts: for a large filter that is a good part. The third part of an id is one of these four, the last the threads. Each filter that is
//! built is compared, bit for bit, with one that was filled before.
//!
//! A cuckoo filter has `try_extend`, which ends at its capacity, at 0.95 of its slots; and `take_over`, by which it becomes one that threads share.
//! Where its fingerprints lie depends on their order, so it is its keys that are looked for.

mod subject;

use absentia::bloom::Kernel;
use absentia::{AtomicCuckoo, BlockedBloom, BloomBuilder, CuckooFilter};
use criterion::measurement::WallTime;
use criterion::{Bencher, BenchmarkGroup, BenchmarkId, Criterion, SamplingMode, Throughput};
use rayon::ThreadPoolBuilder;
use rayon::iter::{IntoParallelIterator, ParallelExtend, ParallelIterator};
use std::cell::LazyCell;
use std::ops::Range;
use std::time::{Duration, Instant};
use subject::check;
use subject::keys::BenchKey;
use subject::kinds::{self, BLOCKED, CUCKOO, MOST_IN_TESTS, Subject, TWO_LINES};

fn main() {
    subject::run(&[
        |c| of_bits(c, BLOCKED.name, kinds::blocked, &[100_000, 10_000_000, 100_000_000]),
        |c| of_bits(c, TWO_LINES.name, kinds::two_lines, &[100_000, 10_000_000]),
        |c| of_fingerprints(c, &[100_000, 10_000_000]),
    ]);
}

/// The description of a filter.
type Builder = fn(u64, Option<Kernel>) -> BloomBuilder;

fn sizes(sizes: &[u64]) -> impl Iterator<Item = u64> {
    sizes.iter().copied().filter(|&keys| !subject::is_test() || keys <= MOST_IN_TESTS)
}

fn group<'a>(c: &'a mut Criterion, kind: &str, name: &str) -> BenchmarkGroup<'a, WallTime> {
    let mut group = c.benchmark_group(format!("build/{kind}/{name}"));
    group.sample_size(10).sampling_mode(SamplingMode::Flat).measurement_time(Duration::from_secs(1));
    group
}

fn of_bits(c: &mut Criterion, kind: &str, builder: Builder, of: &[u64]) {
    let expected: Vec<_> = sizes(of).map(|keys| (keys, LazyCell::new(move || filled(builder, keys)))).collect();
    let ways: [(&str, &[usize], Build); 4] =
        [("extend", &[1], extend), ("par_extend", &[1, 2], par_extend), ("build_from", &[1], build_from), ("build_par", &[1, 2], build_par)];
    for (name, threads, build) in ways {
        let mut group = group(c, kind, name);
        for (keys, expected) in &expected {
            for &threads in threads {
                let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
                let id = BenchmarkId::new(subject::short(*keys), format!("{threads}-thread{}", if threads == 1 { "" } else { "s" }));
                group.throughput(Throughput::Elements(*keys));
                group.bench_function(id, |b| {
                    let expected: &BlockedBloom = expected;
                    pool.install(|| build(b, builder, 0..*keys, expected));
                });
            }
        }
        group.finish();
    }
}

/// Builds filters of these keys in one way, and compares each with the last argument. It runs in the pool whose threads it may use.
type Build = fn(&mut Bencher<'_>, Builder, Range<u64>, &BlockedBloom);

fn extend(b: &mut Bencher<'_>, builder: Builder, keys: Range<u64>, expected: &BlockedBloom) {
    refill(b, builder, keys, expected, |filter, keys| filter.extend(keys.map(u64::numbered)));
}

fn par_extend(b: &mut Bencher<'_>, builder: Builder, keys: Range<u64>, expected: &BlockedBloom) {
    refill(b, builder, keys, expected, |filter, keys| filter.par_extend(keys.into_par_iter().map(u64::numbered)));
}

fn build_from(b: &mut Bencher<'_>, builder: Builder, keys: Range<u64>, expected: &BlockedBloom) {
    make(b, expected, || builder(keys.end, None).build_from(keys.clone().map(u64::numbered)).expect("memory for the filter"));
}

fn build_par(b: &mut Bencher<'_>, builder: Builder, keys: Range<u64>, expected: &BlockedBloom) {
    make(b, expected, || builder(keys.end, None).build_par(keys.clone().into_par_iter().map(u64::numbered)).expect("memory for the filter"));
}

fn empty(builder: Builder, keys: u64) -> BlockedBloom {
    builder(keys, None).build().expect("memory for the filter")
}

fn refill(b: &mut Bencher<'_>, builder: Builder, keys: Range<u64>, expected: &BlockedBloom, fill: impl Fn(&mut BlockedBloom, Range<u64>)) {
    let mut filter = empty(builder, keys.end);
    b.iter_custom(|rounds| {
        let mut time = Duration::ZERO;
        for _ in 0..rounds {
            filter.clear();
            let start = Instant::now();
            fill(&mut filter, keys.clone());
            time += start.elapsed();
            assert!(filter == *expected, "the bits differ from those of single inserts");
        }
        time
    });
}

fn make(b: &mut Bencher<'_>, expected: &BlockedBloom, make: impl Fn() -> BlockedBloom) {
    b.iter_custom(|rounds| {
        let mut time = Duration::ZERO;
        for _ in 0..rounds {
            let start = Instant::now();
            let filter = make();
            time += start.elapsed();
            assert!(filter == *expected, "the bits differ from those of single inserts");
        }
        time
    });
}

/// Key after key.
fn filled(builder: Builder, keys: u64) -> BlockedBloom {
    let mut filter = empty(builder, keys);
    (0..keys).map(u64::numbered).for_each(|key| _ = filter.insert(&key));
    filter
}

fn of_fingerprints(c: &mut Criterion, of: &[u64]) {
    let mut extends = group(c, CUCKOO.name, "try_extend");
    for keys in sizes(of) {
        let mut filter = None;
        extends.throughput(Throughput::Elements(keys)).bench_function(BenchmarkId::new(subject::short(keys), "1-thread"), |b| {
            let filter = filter.get_or_insert_with(|| CUCKOO.empty(keys, None));
            timed(b, || {
                Subject::clear(filter);
                let start = Instant::now();
                filter.fill((0..keys).map(u64::numbered));
                let time = start.elapsed();
                check::answers::<CuckooFilter, u64>(filter, keys);
                time
            });
        });
    }
    extends.finish();

    let mut takes_over = group(c, CUCKOO.name, "take_over");
    for keys in sizes(of) {
        let mut filter = None;
        takes_over.throughput(Throughput::Elements(keys)).bench_function(BenchmarkId::new(subject::short(keys), "1-thread"), |b| {
            let filter = filter.get_or_insert_with(|| {
                let mut filter = CUCKOO.empty(keys, None);
                filter.fill((0..keys).map(u64::numbered));
                filter
            });
            timed(b, || {
                let filter = filter.clone();
                let start = Instant::now();
                let shared = AtomicCuckoo::try_from(filter).expect("memory for the filter");
                let time = start.elapsed();
                check::answers::<AtomicCuckoo, u64>(&shared, keys);
                time
            });
        });
    }
    takes_over.finish();
}

fn timed(b: &mut Bencher<'_>, mut once: impl FnMut() -> Duration) {
    b.iter_custom(|rounds| (0..rounds).map(|_| once()).sum());
}
