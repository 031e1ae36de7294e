//! The kinds of filter, and for each the sizes and kernels that it is measured with.

use super::keys::{BenchKey, Str20};
use super::ways::Way;
use super::{check, is_test, short};
use absentia::bloom::{ClassicBloom, Kernel, LinesPerKey};
use absentia::rotating::RotatingBuilder;
use absentia::{
    AtomicBlockedBloom, AtomicCuckoo, AtomicRotatingBloom, BitVec, BlockedBloom, BloomBuilder, CountingBloom, CuckooBuilder, CuckooFilter, Key,
    KeyHasher, ParamError, RotatingBloom,
};
use criterion::BenchmarkId;
use std::any::TypeId;
use std::ops::RangeInclusive;

/// Numbers of keys. At 1 % the filters take 12 KB, 0.12 MB, 12 MB and 124 MB: sizes of a first-, second- and third-level cache, and of none.
pub(crate) const SIZES: [u64; 4] = [10_000, 100_000, 10_000_000, 100_000_000];

/// The largest number of keys with which a bench runs under `--test`: filling more takes seconds for each filter.
pub(crate) const MOST_IN_TESTS: u64 = 1_000_000;

/// What a filter does here. No trait objects: the calls that are measured are those that users write.
pub(crate) trait Subject: Sized {
    /// Whether an insert of a key that is there changes nothing. Filters that count copies add another one, and one of windows knows the current one
    /// only.
    const KNOWN: bool = true;

    fn contains<K: Key>(&self, key: &K) -> bool;
    fn contains_batch<K: Key>(&self, keys: &[K]) -> BitVec;
    /// True where it was new; of a cuckoo filter, where there was room, and without that it panics.
    fn insert<K: Key>(&mut self, key: &K) -> bool;
    /// How many were new.
    fn insert_batch<K: Key>(&mut self, keys: &[K]) -> usize;
    fn fill<K: Key>(&mut self, keys: impl Iterator<Item = K>);
    fn clear(&mut self);
    fn predicted_fpr(&self) -> f64;
    fn bits(&self) -> u64;

    /// Between which rates it is when it is full, but for chance.
    fn rates(&self) -> RangeInclusive<f64> {
        self.predicted_fpr()..=self.predicted_fpr()
    }
}

/// One from which keys can be taken.
pub(crate) trait Removes: Subject {
    /// True where a copy was taken out.
    fn remove<K: Key>(&mut self, key: &K) -> bool;

    /// How many were taken out. What has no call for many is not measured with many.
    fn remove_batch<K: Key>(&mut self, keys: &[K]) -> usize {
        keys.iter().filter(|&key| self.remove(key)).count()
    }
}

const ROOM: &str = "room for as many keys as the capacity";

/// The calls that all kinds have by the same names.
macro_rules! common {
    ($filter:ident) => {
        #[inline(always)]
        fn contains<K: Key>(&self, key: &K) -> bool {
            $filter::contains(self, key)
        }

        fn contains_batch<K: Key>(&self, keys: &[K]) -> BitVec {
            $filter::contains_batch(self, keys)
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
    };
}

macro_rules! subjects {
    ($($filter:ident)*) => {$(
        impl Subject for $filter {
            common!($filter);

            #[inline(always)]
            fn insert<K: Key>(&mut self, key: &K) -> bool {
                $filter::insert(self, key)
            }

            fn insert_batch<K: Key>(&mut self, keys: &[K]) -> usize {
                $filter::insert_batch(self, keys).count_ones()
            }

            fn fill<K: Key>(&mut self, keys: impl Iterator<Item = K>) {
                self.extend(keys);
            }
        }
    )*};
}
// A filter of windows is one of these as long as all that is inserted is for the current one.
subjects!(BlockedBloom AtomicBlockedBloom ClassicBloom AtomicRotatingBloom);

impl Subject for CountingBloom {
    const KNOWN: bool = false;

    common!(CountingBloom);

    #[inline(always)]
    fn insert<K: Key>(&mut self, key: &K) -> bool {
        CountingBloom::insert(self, key)
    }

    fn insert_batch<K: Key>(&mut self, keys: &[K]) -> usize {
        CountingBloom::insert_batch(self, keys).count_ones()
    }

    fn fill<K: Key>(&mut self, keys: impl Iterator<Item = K>) {
        self.extend(keys);
    }
}

impl Removes for CountingBloom {
    #[inline(always)]
    fn remove<K: Key>(&mut self, key: &K) -> bool {
        CountingBloom::remove(self, key) == Ok(true)
    }

    fn remove_batch<K: Key>(&mut self, keys: &[K]) -> usize {
        CountingBloom::remove_batch(self, keys).count_ones()
    }
}

impl Subject for CuckooFilter {
    const KNOWN: bool = false;

    common!(CuckooFilter);

    #[inline(always)]
    fn insert<K: Key>(&mut self, key: &K) -> bool {
        CuckooFilter::insert(self, key).expect(ROOM);
        true
    }

    fn insert_batch<K: Key>(&mut self, keys: &[K]) -> usize {
        CuckooFilter::insert_batch(self, keys).expect(ROOM);
        keys.len()
    }

    fn fill<K: Key>(&mut self, keys: impl Iterator<Item = K>) {
        self.try_extend(keys).expect(ROOM);
    }
}

impl Removes for CuckooFilter {
    #[inline(always)]
    fn remove<K: Key>(&mut self, key: &K) -> bool {
        CuckooFilter::remove(self, key)
    }
}

/// It has no call that inserts many.
impl Subject for AtomicCuckoo {
    const KNOWN: bool = false;

    common!(AtomicCuckoo);

    #[inline(always)]
    fn insert<K: Key>(&mut self, key: &K) -> bool {
        AtomicCuckoo::insert(self, key).expect(ROOM);
        true
    }

    fn insert_batch<K: Key>(&mut self, keys: &[K]) -> usize {
        keys.iter().filter(|&key| Subject::insert(self, key)).count()
    }

    fn fill<K: Key>(&mut self, keys: impl Iterator<Item = K>) {
        keys.for_each(|key| AtomicCuckoo::insert(self, &key).expect(ROOM));
    }
}

impl Removes for AtomicCuckoo {
    #[inline(always)]
    fn remove<K: Key>(&mut self, key: &K) -> bool {
        AtomicCuckoo::remove(self, key)
    }
}

/// A filter of windows, and how many keys more the current one is for. Keys are spread over the windows: after as many as the capacity of one the
/// next begins, and the time of an insert has its share of that.
pub(crate) struct Windows<F> {
    filter: F,
    room: u64,
}

/// How many windows a filter of windows has here.
pub(crate) const WINDOWS: u32 = 8;

/// The least rate of all windows together, as a share of the bound that is predicted: see `absentia::rotating::plan`. A guess; 0.99 was seen at 1 %.
const OF_BOUND: f64 = 0.8;

macro_rules! windows {
    ($($filter:ident)*) => {$(
        impl Windows<$filter> {
            pub(crate) fn new(filter: $filter) -> Self {
                Self { room: filter.capacity(), filter }
            }

            fn next(&mut self) {
                self.filter.rotate();
                self.room = self.filter.capacity();
            }
        }

        impl Subject for Windows<$filter> {
            const KNOWN: bool = false;

            #[inline(always)]
            fn contains<K: Key>(&self, key: &K) -> bool {
                self.filter.contains(key)
            }

            fn contains_batch<K: Key>(&self, keys: &[K]) -> BitVec {
                self.filter.contains_batch(keys)
            }

            #[inline(always)]
            fn insert<K: Key>(&mut self, key: &K) -> bool {
                if self.room == 0 {
                    self.next();
                }
                self.room -= 1;
                self.filter.insert(key)
            }

            fn insert_batch<K: Key>(&mut self, mut keys: &[K]) -> usize {
                let mut news = 0;
                while !keys.is_empty() {
                    if self.room == 0 {
                        self.next();
                    }
                    let now;
                    (now, keys) = keys.split_at(keys.len().min(self.room as usize));
                    self.room -= now.len() as u64;
                    news += self.filter.insert_batch(now).count_ones();
                }
                news
            }

            fn fill<K: Key>(&mut self, keys: impl Iterator<Item = K>) {
                keys.for_each(|key| _ = self.insert(&key));
            }

            fn clear(&mut self) {
                self.filter.clear();
                self.room = self.filter.capacity();
            }

            fn predicted_fpr(&self) -> f64 {
                self.filter.predicted_fpr()
            }

            fn bits(&self) -> u64 {
                self.filter.bits()
            }

            fn rates(&self) -> RangeInclusive<f64> {
                OF_BOUND * self.filter.predicted_fpr()..=self.filter.predicted_fpr()
            }
        }
    )*};
}
windows!(RotatingBloom AtomicRotatingBloom);

/// Where the instruction set makes a difference.
#[derive(Clone, Copy, PartialEq)]
enum Kernels {
    Nowhere,
    /// The plainest against the best: there are no others.
    InBatches,
    Everywhere,
}

pub(crate) struct Kind<F> {
    pub(crate) name: &'static str,
    kernels: Kernels,
    /// The most keys: memory and filling are not for every kind what they are for one of bits.
    most: u64,
    make: fn(u64, Option<Kernel>) -> Result<F, ParamError>,
}

/// One line a key, at 1 %.
pub(crate) const BLOCKED: Kind<BlockedBloom> =
    Kind { name: "blocked", kernels: Kernels::Everywhere, most: u64::MAX, make: |keys, kernel| blocked(keys, kernel).build() };

/// Two lines a key, at 1e-4, where a filter takes them by itself: twice the memory and twice the cache misses.
pub(crate) const TWO_LINES: Kind<BlockedBloom> =
    Kind { name: "two_lines", kernels: Kernels::Everywhere, most: u64::MAX, make: |keys, kernel| two_lines(keys, kernel).build() };

/// One line a key, at 1 %, for many writers.
pub(crate) const ATOMIC: Kind<AtomicBlockedBloom> =
    Kind { name: "atomic", kernels: Kernels::Everywhere, most: u64::MAX, make: |keys, kernel| blocked(keys, kernel).build_atomic() };

/// The textbook's filter, at 1 %. It has one set of loops, and in an id's last part that is `none`.
pub(crate) const CLASSIC: Kind<ClassicBloom> = Kind {
    name: "classic",
    kernels: Kernels::Nowhere,
    most: u64::MAX,
    make: |keys, kernel| bloom(keys, 0.01, LinesPerKey::Auto, kernel).build_classic(),
};

/// Counters, one line a key, at 1 %.
pub(crate) const COUNTING: Kind<CountingBloom> =
    Kind { name: "counting", kernels: Kernels::Everywhere, most: 10_000_000, make: |keys, kernel| blocked(keys, kernel).build_counting() };

/// Fingerprints of 10 bits, at 1 %, four of which are asked for in one word of 64 bits.
pub(crate) const CUCKOO: Kind<CuckooFilter> =
    Kind { name: "cuckoo", kernels: Kernels::InBatches, most: u64::MAX, make: |keys, kernel| cuckoo(keys, 0.01, kernel).build() };

/// Of 23 bits, at 1e-6, where a bucket takes two words.
pub(crate) const CUCKOO_WIDE: Kind<CuckooFilter> =
    Kind { name: "cuckoo_wide", kernels: Kernels::InBatches, most: 10_000_000, make: |keys, kernel| cuckoo(keys, 1e-6, kernel).build() };

/// For many writers, with room for as many keys without moves: fingerprints of 8 bits at 1 %.
pub(crate) const ATOMIC_CUCKOO: Kind<AtomicCuckoo> =
    Kind { name: "atomic_cuckoo", kernels: Kernels::InBatches, most: 10_000_000, make: |keys, kernel| cuckoo(keys, 0.01, kernel).build_atomic() };

/// Eight windows that share the keys, at 1 % for all together, in as many lines as a filter takes by itself: two.
pub(crate) const ROTATING: Kind<Windows<RotatingBloom>> = Kind {
    name: "rotating",
    kernels: Kernels::Everywhere,
    most: 10_000_000,
    make: |keys, kernel| rotating(WINDOWS, keys.div_ceil(u64::from(WINDOWS)), kernel).build().map(Windows::<RotatingBloom>::new),
};

/// The same for many writers.
pub(crate) const ATOMIC_ROTATING: Kind<Windows<AtomicRotatingBloom>> = Kind {
    name: "atomic_rotating",
    kernels: Kernels::Everywhere,
    most: 10_000_000,
    make: |keys, kernel| rotating(WINDOWS, keys.div_ceil(u64::from(WINDOWS)), kernel).build_atomic().map(Windows::<AtomicRotatingBloom>::new),
};

/// The hasher of all, always the same one, so that filters can be compared.
fn hasher() -> KeyHasher {
    KeyHasher::xxh3(0x5eed)
}

fn bloom(keys: u64, fpr: f64, lines: LinesPerKey, kernel: Option<Kernel>) -> BloomBuilder {
    let builder = BloomBuilder::default().capacity(keys).fpr(fpr).lines_per_key(lines).hasher(hasher());
    if let Some(kernel) = kernel { builder.kernel(kernel) } else { builder }
}

/// The description of [`BLOCKED`].
pub(crate) fn blocked(keys: u64, kernel: Option<Kernel>) -> BloomBuilder {
    bloom(keys, 0.01, LinesPerKey::One, kernel)
}

/// The description of [`TWO_LINES`].
pub(crate) fn two_lines(keys: u64, kernel: Option<Kernel>) -> BloomBuilder {
    bloom(keys, 1e-4, LinesPerKey::Two, kernel)
}

fn cuckoo(keys: u64, fpr: f64, kernel: Option<Kernel>) -> CuckooBuilder {
    let builder = CuckooFilter::builder().capacity(keys).fpr(fpr).hasher(hasher());
    if let Some(kernel) = kernel { builder.kernel(kernel) } else { builder }
}

/// So many windows of as many keys each, at 1 % for all together.
pub(crate) fn rotating(windows: u32, keys: u64, kernel: Option<Kernel>) -> RotatingBuilder {
    let builder = RotatingBloom::builder().windows(windows).capacity(keys).fpr(0.01).hasher(hasher());
    if let Some(kernel) = kernel { builder.kernel(kernel) } else { builder }
}

/// A filter that a bench is run with.
pub(crate) struct Case<'a, F> {
    kind: &'a Kind<F>,
    pub(crate) keys: u64,
    kernel: Option<Kernel>,
    suffix: &'static str,
}

impl<F: Subject> Kind<F> {
    /// Integers: every size with every kernel that makes a difference to `W`. Strings, which differ in the hash alone: the sizes of a second- and of
    /// a third-level cache, with the best kernel.
    pub(crate) fn cases<W: Way, K: BenchKey + 'static>(&self) -> Vec<Case<'_, F>> {
        let strings = TypeId::of::<K>() == TypeId::of::<Str20>();
        let sizes = if strings { &SIZES[1..3] } else { &SIZES[..] };
        let kernels: Vec<_> = match (self.kernels, W::BATCHED, strings) {
            (Kernels::Nowhere, ..) | (Kernels::InBatches, false, _) => vec![None],
            (_, _, true) => vec![Some(Kernel::best())],
            (Kernels::InBatches, true, false) if Kernel::best() != Kernel::PORTABLE => vec![Some(Kernel::PORTABLE), Some(Kernel::best())],
            _ => Kernel::available().map(Some).collect(),
        };
        let most = if is_test() { MOST_IN_TESTS.min(self.most) } else { self.most };
        let sizes = sizes.iter().filter(|&&keys| keys <= most);
        sizes.flat_map(|&keys| kernels.iter().map(move |&kernel| Case { kind: self, keys, kernel, suffix: K::SUFFIX })).collect()
    }

    pub(crate) fn empty(&self, keys: u64, kernel: Option<Kernel>) -> F {
        (self.make)(keys, kernel).expect("memory for the filter")
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
