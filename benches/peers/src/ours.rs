//! absentia's own rows. A new kernel or a new kind of filter joins in [`candidates`] and nowhere else.

use crate::block::Parallel;
use crate::filter::{BATCH, Candidate, Compare, Family, Filter, Sizing, count};
use crate::keys::{BenchKey, SEED};
use crate::size::MANY_KEYS;
use absentia::bloom::{ClassicBloom, Kernel, LinesPerKey};
use absentia::{AtomicBlockedBloom, AtomicCuckoo, BlockedBloom, BloomBuilder, CountingBloom, CuckooBuilder, CuckooFilter, KeyHasher, RotatingBloom};
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
    all.extend(forgetting(n, p));
    all
}

/// The filters from which keys can be taken, and those that forget by themselves.
fn forgetting<K: BenchKey>(n: u64, p: f64) -> Vec<Candidate<K>> {
    type Make<K> = Box<dyn Fn() -> Box<dyn Filter<K>>>;
    let cuckoo = move || cuckoo(n);
    let bits = cuckoo().fpr(p).build().expect(CHECKED).fingerprint_bits();
    let mut kinds: Vec<(String, Family, bool, Make<K>)> = Vec::new();
    // At 3 % these are one and the same.
    if bits != 8 {
        let of_rate = move || cuckoo().fpr(p).build().expect(CHECKED);
        kinds.push((format!("absentia cuckoo, {bits} bits"), Family::Cuckoo, true, Box::new(move || Box::new(of_rate()))));
    }
    let eight = move || cuckoo().fingerprint_bits(8).build().expect(CHECKED);
    kinds.push(("absentia cuckoo, 8 bits".to_string(), Family::CuckooEight, true, Box::new(move || Box::new(eight()))));
    for (lines, lines_per_key) in [(1, LinesPerKey::One), (2, LinesPerKey::Two)] {
        let rotating = move || RotatingBloom::builder().windows(WINDOWS).capacity(n.div_ceil(u64::from(WINDOWS))).fpr(p).lines_per_key(lines_per_key);
        let rotating = move || Rotated(rotating().hasher(hasher()).build().expect(CHECKED));
        let memory = rotating().0.memory_bytes();
        let blocked = move || builder(n, p).memory(memory).build().expect(CHECKED);
        let name = |what: &str| format!("absentia {what}, {lines} line{}", if lines == 1 { "" } else { "s" });
        kinds.push((name("rotating, 8 windows"), Family::Rotating { lines }, true, Box::new(move || Box::new(rotating()))));
        kinds.push((
            format!("absentia blocked as large as rotating, {lines}"),
            Family::AsLargeAsRotating { lines },
            true,
            Box::new(move || Box::new(blocked())),
        ));
    }
    if n < MANY_KEYS {
        let counting = move || builder(n, p).lines_per_key(LinesPerKey::One).build_counting().expect(CHECKED);
        kinds.push(("absentia counting".to_string(), Family::Counting, true, Box::new(move || Box::new(counting()))));
        kinds.push((
            "absentia atomic cuckoo, filled before".to_string(),
            Family::OtherOfOurs,
            true,
            Box::new(move || Box::new(Shared::Filling(cuckoo().fpr(p).build().expect(CHECKED)))),
        ));
    }
    let candidate =
        |(name, family, batches, make)| Candidate { name, family, compare: Compare::Reference, sizing: Sizing::OwnRule, fills: true, batches, make };
    kinds.into_iter().map(candidate).collect()
}

const WINDOWS: u32 = 8;

/// The description of a cuckoo filter.
pub fn cuckoo(n: u64) -> CuckooBuilder {
    CuckooFilter::builder().capacity(n).hasher(hasher())
}

fn hasher() -> KeyHasher {
    KeyHasher::xxh3(black_box(SEED))
}

/// A filter whose keys are spread over all its windows.
struct Rotated(RotatingBloom);

impl Rotated {
    fn fill_windows<K>(&mut self, keys: &[K], mut fill: impl FnMut(&mut RotatingBloom, &[K])) {
        for (number, window) in keys.chunks(keys.len().div_ceil(WINDOWS as usize).max(1)).enumerate() {
            if number > 0 {
                self.0.rotate();
            }
            fill(&mut self.0, window);
        }
    }
}

impl<K: BenchKey> Filter<K> for Rotated {
    fn fill(&mut self, keys: &[K]) -> Result<(), String> {
        self.fill_windows(keys, |filter, keys| keys.iter().for_each(|key| _ = filter.insert(key)));
        Ok(())
    }

    fn fill_batch(&mut self, keys: &[K]) -> Result<(), String> {
        self.fill_windows(keys, |filter, keys| keys.chunks(BATCH).for_each(|batch| _ = black_box(filter.insert_batch(batch))));
        Ok(())
    }

    fn count(&self, keys: &[K]) -> usize {
        count(keys, |key| self.0.contains(key))
    }

    fn count_batch(&self, keys: &[K]) -> usize {
        keys.chunks(BATCH).map(|batch| self.0.contains_batch(batch).count_ones()).sum()
    }

    fn bits(&self) -> u64 {
        self.0.bits()
    }
}

impl<K: BenchKey> Filter<K> for CuckooFilter {
    fn fill(&mut self, keys: &[K]) -> Result<(), String> {
        keys.iter().try_for_each(|key| self.insert(key)).map_err(|error| error.to_string())
    }

    fn fill_batch(&mut self, keys: &[K]) -> Result<(), String> {
        keys.chunks(BATCH).try_for_each(|batch| self.insert_batch(batch)).map_err(|error| error.to_string())
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

/// A cuckoo filter that is filled by one thread and then asked as one that many share. Its time to fill is that of both steps.
enum Shared {
    Filling(CuckooFilter),
    Filled(AtomicCuckoo),
}

impl Shared {
    fn filled(&self) -> &AtomicCuckoo {
        match self {
            Self::Filled(filter) => filter,
            Self::Filling(_) => unreachable!("asked before it was filled"),
        }
    }

    fn finish(&mut self) -> Result<(), String> {
        if let Self::Filling(filter) = self {
            let shared = AtomicCuckoo::try_from(filter.clone()).map_err(|error| error.to_string())?;
            *self = Self::Filled(shared);
        }
        Ok(())
    }
}

impl<K: BenchKey> Filter<K> for Shared {
    fn fill(&mut self, keys: &[K]) -> Result<(), String> {
        if let Self::Filling(filter) = self {
            filter.fill(keys)?;
        }
        self.finish()
    }

    fn fill_batch(&mut self, keys: &[K]) -> Result<(), String> {
        if let Self::Filling(filter) = self {
            filter.fill_batch(keys)?;
        }
        self.finish()
    }

    fn count(&self, keys: &[K]) -> usize {
        let filter = self.filled();
        count(keys, |key| filter.contains(key))
    }

    fn count_batch(&self, keys: &[K]) -> usize {
        keys.chunks(BATCH).map(|batch| self.filled().contains_batch(batch).count_ones()).sum()
    }

    fn bits(&self) -> u64 {
        match self {
            Self::Filling(filter) => filter.bits(),
            Self::Filled(filter) => filter.bits(),
        }
    }
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

/// The description of a filter of bits, or of counters.
pub fn builder(n: u64, p: f64) -> BloomBuilder {
    // Not a constant to the compiler: a user's seed is not one either.
    BlockedBloom::builder().capacity(n).fpr(p).hasher(hasher())
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
ours! { BlockedBloom AtomicBlockedBloom ClassicBloom CountingBloom }
