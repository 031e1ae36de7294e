//! absentia's own rows. A new kernel or a new kind of filter joins in [`candidates`] and nowhere else.

use crate::block::Parallel;
use crate::filter::{BATCH, Candidate, Compare, Family, Filter, Sizing, count};
use crate::keys::{BenchKey, SEED};
use crate::size::MANY_KEYS;
use absentia::bloom::{ClassicBloom, Kernel, LinesPerKey};
use absentia::{AtomicBlockedBloom, BlockedBloom, BloomBuilder, KeyHasher};
use rayon::iter::ParallelExtend;
use std::hint::black_box;
use std::time::Instant;

/// Every filter of ours that is measured. Of so many keys that a fill takes seconds, kernels between the plainest and the best are left out.
pub fn candidates<K: BenchKey>(n: u64, p: f64) -> Vec<Candidate<K>> {
    let ours = |name: String, family, make: Box<dyn Fn() -> Box<dyn Filter<K>>>| Candidate {
        name,
        family,
        compare: Compare::Reference,
        sizing: Sizing::OwnRule,
        fills: true,
        batches: true,
        make,
    };
    let best = Kernel::best();
    let one = move |kernel| builder(n, p).lines_per_key(LinesPerKey::One).kernel(kernel);
    let mut all: Vec<Candidate<K>> = Kernel::available()
        .filter(|&kernel| n < MANY_KEYS || kernel == best || kernel == Kernel::PORTABLE)
        .map(|kernel| {
            let family = if kernel == best { Family::Blocked { lines: 1 } } else { Family::OtherOfOurs };
            ours(format!("absentia blocked {kernel}"), family, Box::new(move || Box::new(one(kernel).build().expect(CHECKED))))
        })
        .collect();
    // The best one, which is the last, first: it is what the others are read against.
    all.reverse();
    let two = move || builder(n, p).lines_per_key(LinesPerKey::Two);
    all.push(ours(
        format!("absentia blocked, two lines {best}"),
        Family::Blocked { lines: 2 },
        Box::new(move || Box::new(two().build().expect(CHECKED))),
    ));
    all.push(ours(format!("absentia atomic {best}"), Family::OtherOfOurs, Box::new(move || Box::new(builder(n, p).build_atomic().expect(CHECKED)))));
    all.push(ours("absentia classic".to_string(), Family::OtherOfOurs, Box::new(move || Box::new(builder(n, p).build_classic().expect(CHECKED)))));
    all
}

/// In how many lines a key has its bits where absentia chooses.
pub fn planned_lines(p: f64) -> u8 {
    builder(1000, p).build().expect(CHECKED).lines_per_key() as u8
}

/// Builds of all keys on one thread and on two, in turns: the build that sizes and allocates, and the filling of an empty filter.
///
/// # Errors
///
/// A parallel build that is not bit for bit the serial one.
pub fn parallel_builds<K: BenchKey>(p: f64, keys: &[K], rounds: u32) -> Result<Vec<Parallel>, String> {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return Ok(Vec::new());
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().map_err(|error| error.to_string())?;
    let n = keys.len() as u64;
    let mut build = Parallel { what: "build_from / build_par", ..Parallel::default() };
    let mut extend = Parallel { what: "extend / par_extend", ..Parallel::default() };
    let timed = |into: &mut Vec<f64>, make: &mut dyn FnMut()| {
        let start = Instant::now();
        make();
        into.push(start.elapsed().as_nanos() as f64 / n as f64);
    };
    let empty = || builder(n, p).build().expect(CHECKED);
    for _ in 0..rounds {
        let (mut serial, mut parallel) = (empty(), empty());
        timed(&mut extend.one, &mut || serial.extend(black_box(keys).iter().copied()));
        timed(&mut extend.two, &mut || pool.install(|| parallel.par_extend(black_box(keys))));
        if serial != parallel {
            return Err("par_extend does not set the bits that extend sets".to_string());
        }
        drop(parallel);
        timed(&mut build.one, &mut || serial = builder(n, p).build_from(black_box(keys).iter().copied()).expect(CHECKED));
        let mut parallel = empty_of_nothing();
        timed(&mut build.two, &mut || parallel = pool.install(|| builder(n, p).build_par(black_box(keys)).expect(CHECKED)));
        if serial != parallel {
            return Err("build_par does not set the bits that build_from sets".to_string());
        }
    }
    Ok(vec![build, extend])
}

/// A place for a filter that is yet to be built.
fn empty_of_nothing() -> BlockedBloom {
    builder(0, 0.5).build().expect(CHECKED)
}

/// The filter whose bits and whose rate the peers are given: what absentia plans by itself.
pub fn reference<K: BenchKey>(n: u64, p: f64) -> Box<dyn Filter<K>> {
    Box::new(builder(n, p).build().expect(CHECKED))
}

const CHECKED: &str = "the arguments were checked, and memory was looked at";

fn builder(n: u64, p: f64) -> BloomBuilder {
    // Not a constant to the compiler: a user's seed is not one either.
    BlockedBloom::builder().capacity(n).fpr(p).hasher(KeyHasher::xxh3(black_box(SEED)))
}

/// The filters have the same calls and share no trait that takes keys.
macro_rules! ours {
    ($($filter:ty)*) => {$(
        impl<K: BenchKey> Filter<K> for $filter {
            fn fill(&mut self, keys: &[K]) -> Result<(), String> {
                for key in keys {
                    self.insert(key);
                }
                Ok(())
            }

            fn fill_batch(&mut self, keys: &[K]) -> Result<(), String> {
                for batch in keys.chunks(BATCH) {
                    black_box(self.insert_batch(batch));
                }
                Ok(())
            }

            fn count(&self, keys: &[K]) -> usize {
                count(keys, |key| self.contains(key))
            }

            fn count_batch(&self, keys: &[K]) -> usize {
                keys.chunks(BATCH).map(|batch| self.contains_batch(batch).count_ones()).sum()
            }

            fn bits(&self) -> u64 {
                self.bits()
            }
        }
    )*};
}
ours! { BlockedBloom AtomicBlockedBloom ClassicBloom }
