//! How long does it take to fill a filter, on one core and on two? The time of the whole filter.
//!
//! `extend` and `par_extend` fill one whose memory is there. `build_from` and `build_par` make it too, and then the operating system's first writing of
//! every page counts: for a large filter that is a good part. The third part of an id is one of these four, the last the threads. Each filter that is
//! built is compared, bit for bit, with one that was filled before.

mod subject;

use absentia::BlockedBloom;
use criterion::{Bencher, BenchmarkId, Criterion, SamplingMode, Throughput};
use rayon::ThreadPoolBuilder;
use rayon::iter::{IntoParallelIterator, ParallelExtend, ParallelIterator};
use std::cell::LazyCell;
use std::ops::Range;
use std::time::{Duration, Instant};
use subject::keys::BenchKey;
use subject::kinds::{BLOCKED, Kind, MOST_IN_TESTS, TWO_LINES};

fn main() {
    subject::run(&[|c| of_kind(c, &BLOCKED, &[100_000, 10_000_000, 100_000_000]), |c| of_kind(c, &TWO_LINES, &[100_000, 10_000_000])]);
}

fn of_kind(c: &mut Criterion, kind: &Kind<BlockedBloom>, sizes: &[u64]) {
    let sizes = sizes.iter().copied().filter(|&keys| !subject::is_test() || keys <= MOST_IN_TESTS);
    let expected: Vec<_> = sizes.map(|keys| (keys, LazyCell::new(move || filled(kind, keys)))).collect();
    let ways: [(&str, &[usize], Build); 4] =
        [("extend", &[1], extend), ("par_extend", &[1, 2], par_extend), ("build_from", &[1], build_from), ("build_par", &[1, 2], build_par)];
    for (name, threads, build) in ways {
        let mut group = c.benchmark_group(format!("build/{}/{name}", kind.name));
        group.sample_size(10).sampling_mode(SamplingMode::Flat).measurement_time(Duration::from_secs(1));
        for (keys, expected) in &expected {
            for &threads in threads {
                let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
                let id = BenchmarkId::new(subject::short(*keys), format!("{threads}-thread{}", if threads == 1 { "" } else { "s" }));
                group.throughput(Throughput::Elements(*keys));
                group.bench_function(id, |b| {
                    let expected: &BlockedBloom = expected;
                    pool.install(|| build(b, kind, 0..*keys, expected));
                });
            }
        }
        group.finish();
    }
}

/// Builds filters of these keys in one way, and compares each with the last argument. It runs in the pool whose threads it may use.
type Build = fn(&mut Bencher<'_>, &Kind<BlockedBloom>, Range<u64>, &BlockedBloom);

fn extend(b: &mut Bencher<'_>, kind: &Kind<BlockedBloom>, keys: Range<u64>, expected: &BlockedBloom) {
    refill(b, kind, keys, expected, |filter, keys| filter.extend(keys.map(u64::numbered)));
}

fn par_extend(b: &mut Bencher<'_>, kind: &Kind<BlockedBloom>, keys: Range<u64>, expected: &BlockedBloom) {
    refill(b, kind, keys, expected, |filter, keys| filter.par_extend(keys.into_par_iter().map(u64::numbered)));
}

fn build_from(b: &mut Bencher<'_>, kind: &Kind<BlockedBloom>, keys: Range<u64>, expected: &BlockedBloom) {
    make(b, expected, || kind.builder(keys.end, None).build_from(keys.clone().map(u64::numbered)).expect("memory for the filter"));
}

fn build_par(b: &mut Bencher<'_>, kind: &Kind<BlockedBloom>, keys: Range<u64>, expected: &BlockedBloom) {
    make(b, expected, || kind.builder(keys.end, None).build_par(keys.clone().into_par_iter().map(u64::numbered)).expect("memory for the filter"));
}

fn refill(b: &mut Bencher<'_>, kind: &Kind<BlockedBloom>, keys: Range<u64>, expected: &BlockedBloom, fill: impl Fn(&mut BlockedBloom, Range<u64>)) {
    let mut filter = kind.empty(keys.end, None);
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
fn filled(kind: &Kind<BlockedBloom>, keys: u64) -> BlockedBloom {
    let mut filter = kind.empty(keys, None);
    (0..keys).map(u64::numbered).for_each(|key| _ = filter.insert(&key));
    filter
}
