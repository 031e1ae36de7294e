//! The kinds of filter, and for each the sizes and kernels that it is measured with.

use super::keys::{BenchKey, Str20};
use super::{check, is_test, short};
use absentia::bloom::{ClassicBloom, Kernel, LinesPerKey};
use absentia::{AtomicBlockedBloom, BitVec, BlockedBloom, BloomBuilder, CountingBloom, CuckooFilter, Key, KeyHasher, ParamError, RotatingBloom};
use criterion::BenchmarkId;
use std::any::TypeId;

/// Numbers of keys. At 1 % the filters take 12 KB, 0.12 MB, 12 MB and 124 MB: sizes of a first-, second- and third-level cache, and of none.
pub(crate) const SIZES: [u64; 4] = [10_000, 100_000, 10_000_000, 100_000_000];

/// The largest number of keys with which a bench runs under `--test`: filling more takes seconds for each filter.
pub(crate) const MOST_IN_TESTS: u64 = 1_000_000;

/// What a filter does here. No trait objects: the calls that are measured are those that users write.
pub(crate) trait Subject: Sized {
    fn contains<K: Key>(&self, key: &K) -> bool;
    fn contains_batch<K: Key>(&self, keys: &[K]) -> BitVec;
    fn insert<K: Key>(&mut self, key: &K) -> bool;
    fn insert_batch<K: Key>(&mut self, keys: &[K]) -> BitVec;
    fn fill<K: Key>(&mut self, keys: impl Iterator<Item = K>);
    fn clear(&mut self);
    fn predicted_fpr(&self) -> f64;
    fn bits(&self) -> u64;
}

macro_rules! subjects {
    ($($filter:ident)*) => {$(
        impl Subject for $filter {
            #[inline(always)]
            fn contains<K: Key>(&self, key: &K) -> bool {
                $filter::contains(self, key)
            }

            fn contains_batch<K: Key>(&self, keys: &[K]) -> BitVec {
                $filter::contains_batch(self, keys)
            }

            #[inline(always)]
            fn insert<K: Key>(&mut self, key: &K) -> bool {
                $filter::insert(self, key)
            }

            fn insert_batch<K: Key>(&mut self, keys: &[K]) -> BitVec {
                $filter::insert_batch(self, keys)
            }

            fn fill<K: Key>(&mut self, keys: impl Iterator<Item = K>) {
                self.extend(keys);
            }

            fn clear(&mut self) {
                $filter::clear(self);
            }

            fn predicted_fpr(&self) -> f64 {
                $filter::predicted_fpr(self)
            }

            fn bits(&self) -> u64 {
                $filter::bits(self)
            }
        }
    )*};
}
subjects!(BlockedBloom AtomicBlockedBloom ClassicBloom CountingBloom);

/// Filled, it begins a window whenever one is full.
impl Subject for RotatingBloom {
    #[inline(always)]
    fn contains<K: Key>(&self, key: &K) -> bool {
        RotatingBloom::contains(self, key)
    }

    fn contains_batch<K: Key>(&self, keys: &[K]) -> BitVec {
        RotatingBloom::contains_batch(self, keys)
    }

    fn insert<K: Key>(&mut self, key: &K) -> bool {
        RotatingBloom::insert(self, key)
    }

    fn insert_batch<K: Key>(&mut self, keys: &[K]) -> BitVec {
        RotatingBloom::insert_batch(self, keys)
    }

    fn fill<K: Key>(&mut self, keys: impl Iterator<Item = K>) {
        let mut keys = keys.peekable();
        while keys.peek().is_some() {
            let window = self.capacity() as usize;
            self.extend(keys.by_ref().take(window));
            if keys.peek().is_some() {
                self.rotate();
            }
        }
    }

    fn clear(&mut self) {
        RotatingBloom::clear(self);
    }

    fn predicted_fpr(&self) -> f64 {
        RotatingBloom::predicted_fpr(self)
    }

    fn bits(&self) -> u64 {
        RotatingBloom::bits(self)
    }
}

/// Whether an insert was taken stands for "was new": a cuckoo filter does not say.
impl Subject for CuckooFilter {
    #[inline(always)]
    fn contains<K: Key>(&self, key: &K) -> bool {
        CuckooFilter::contains(self, key)
    }

    fn contains_batch<K: Key>(&self, keys: &[K]) -> BitVec {
        CuckooFilter::contains_batch(self, keys)
    }

    fn insert<K: Key>(&mut self, key: &K) -> bool {
        CuckooFilter::insert(self, key).is_ok()
    }

    fn insert_batch<K: Key>(&mut self, keys: &[K]) -> BitVec {
        keys.iter().map(|key| CuckooFilter::insert(self, key).is_ok()).collect()
    }

    fn fill<K: Key>(&mut self, keys: impl Iterator<Item = K>) {
        self.try_extend(keys).expect("room for as many keys as the capacity");
    }

    fn clear(&mut self) {
        CuckooFilter::clear(self);
    }

    fn predicted_fpr(&self) -> f64 {
        CuckooFilter::predicted_fpr(self)
    }

    fn bits(&self) -> u64 {
        CuckooFilter::bits(self)
    }
}

pub(crate) struct Kind<F> {
    pub(crate) name: &'static str,
    fpr: f64,
    lines: LinesPerKey,
    has_kernels: bool,
    build: fn(&Self, u64, Option<Kernel>) -> Result<F, ParamError>,
}

/// One line a key, at 1 %.
pub(crate) const BLOCKED: Kind<BlockedBloom> =
    Kind { name: "blocked", fpr: 0.01, lines: LinesPerKey::One, has_kernels: true, build: |kind, keys, kernel| kind.builder(keys, kernel).build() };

/// Two lines a key, at 1e-4, where a filter takes them by itself: twice the memory and twice the cache misses.
pub(crate) const TWO_LINES: Kind<BlockedBloom> =
    Kind { name: "two_lines", fpr: 1e-4, lines: LinesPerKey::Two, has_kernels: true, build: |kind, keys, kernel| kind.builder(keys, kernel).build() };

/// One line a key, at 1 %, for many writers.
pub(crate) const ATOMIC: Kind<AtomicBlockedBloom> = Kind {
    name: "atomic",
    fpr: 0.01,
    lines: LinesPerKey::One,
    has_kernels: true,
    build: |kind, keys, kernel| kind.builder(keys, kernel).build_atomic(),
};

/// The textbook's filter, at 1 %. It has one set of loops, and in an id's last part that is `none`.
pub(crate) const CLASSIC: Kind<ClassicBloom> = Kind {
    name: "classic",
    fpr: 0.01,
    lines: LinesPerKey::Auto,
    has_kernels: false,
    build: |kind, keys, kernel| kind.builder(keys, kernel).build_classic(),
};

/// Counters, one line a key, at 1 %.
pub(crate) const COUNTING: Kind<CountingBloom> = Kind {
    name: "counting",
    fpr: 0.01,
    lines: LinesPerKey::One,
    has_kernels: true,
    build: |kind, keys, kernel| kind.builder(keys, kernel).build_counting(),
};

/// Fingerprints, at 1 %; for questions, as it does not say of a key whether it was new. Its single calls know no kernel.
pub(crate) const CUCKOO: Kind<CuckooFilter> = Kind {
    name: "cuckoo",
    fpr: 0.01,
    lines: LinesPerKey::Auto,
    has_kernels: false,
    build: |kind, keys, _| CuckooFilter::builder().capacity(keys).fpr(kind.fpr).hasher(KeyHasher::xxh3(0x5eed)).build(),
};

/// Eight windows, in two lines a key, all full: 1 % together. For questions; inserts go into one window, and are full soon.
pub(crate) const ROTATING: Kind<RotatingBloom> = Kind {
    name: "rotating",
    fpr: 0.01,
    lines: LinesPerKey::Two,
    has_kernels: true,
    build: |kind, keys, kernel| {
        let builder = RotatingBloom::builder().windows(8).capacity(keys.div_ceil(8)).fpr(kind.fpr).lines_per_key(kind.lines);
        builder.kernel(kernel.unwrap_or_else(Kernel::best)).hasher(KeyHasher::xxh3(0x5eed)).build()
    },
};

/// A filter that a bench is run with.
pub(crate) struct Case<'a, F> {
    kind: &'a Kind<F>,
    pub(crate) keys: u64,
    kernel: Option<Kernel>,
    suffix: &'static str,
}

impl<F: Subject> Kind<F> {
    /// Integers: every size with every kernel. Strings, which differ in the hash alone: the sizes of a second- and of a third-level cache, with the
    /// best kernel.
    pub(crate) fn cases<K: BenchKey + 'static>(&self) -> Vec<Case<'_, F>> {
        let strings = TypeId::of::<K>() == TypeId::of::<Str20>();
        let sizes = if strings { &SIZES[1..3] } else { &SIZES[..] };
        let kernels: Vec<_> = match (self.has_kernels, strings) {
            (false, _) => vec![None],
            (true, true) => vec![Some(Kernel::best())],
            (true, false) => Kernel::available().map(Some).collect(),
        };
        let sizes = sizes.iter().filter(|&&keys| !is_test() || keys <= MOST_IN_TESTS);
        sizes.flat_map(|&keys| kernels.iter().map(move |&kernel| Case { kind: self, keys, kernel, suffix: K::SUFFIX })).collect()
    }

    /// The description of a filter; its hasher is always the same one, so that filters can be compared.
    pub(crate) fn builder(&self, keys: u64, kernel: Option<Kernel>) -> BloomBuilder {
        let builder = BloomBuilder::default().capacity(keys).fpr(self.fpr).lines_per_key(self.lines).hasher(KeyHasher::xxh3(0x5eed));
        if let Some(kernel) = kernel { builder.kernel(kernel) } else { builder }
    }

    pub(crate) fn empty(&self, keys: u64, kernel: Option<Kernel>) -> F {
        (self.build)(self, keys, kernel).expect("memory for the filter")
    }
}

impl<F: Subject> Case<'_, F> {
    /// The last two parts: size and kernel.
    pub(crate) fn id(&self) -> BenchmarkId {
        BenchmarkId::new(short(self.keys) + self.suffix, self.kernel.map_or("none", Kernel::name))
    }

    pub(crate) fn empty(&self) -> F {
        self.kind.empty(self.keys, self.kernel)
    }

    /// A filter of as many keys as its capacity, whose answers were looked at.
    pub(crate) fn full<K: BenchKey>(&self) -> F {
        let mut filter = self.empty();
        filter.fill((0..self.keys).map(K::numbered));
        check::answers::<F, K>(&filter, self.keys);
        filter
    }
}
