//! One face for every kind of filter, so that a claim is written once and holds for all: a new kind joins by a line in [`kind!`] and in
//! [`every_kind!`].
//!
//! | face | what it has | kinds |
//! |---|---|---|
//! | [`Kind`] | questions, sizes and rates, and keys that come in | all |
//! | [`Bloom`] | a [`BloomBuilder`], inserts that tell what was new, unions and folds | those of lines or bits |
//! | [`BitSet`] | intersections, and its bits to look at | those in which a copy more changes nothing |
//! | [`Changes`](changes::Changes) | removals, copies, windows, and refusals | all, as far as they can |

// Each test program that has this module uses a part of it.
#![allow(dead_code, unused_imports, unused_macros)]

pub(crate) mod changes;
pub(crate) mod model;

use absentia::bloom::{ClassicBloom, CombineError, Kernel, LinesPerKey};
use absentia::cuckoo::CuckooBuilder;
use absentia::rotating::RotatingBuilder;
use absentia::{
    AtomicBlockedBloom, AtomicCuckoo, AtomicRotatingBloom, BitVec, BlockedBloom, BloomBuilder, Clock, CountingBloom, CuckooFilter,
    DEFAULT_MEMORY_LIMIT, Key, KeyHash, KeyHasher, ParamError, RotatingBloom,
};
use std::fmt::Debug;
use std::time::Duration;

/// What a filter is asked for, whatever its kind; a kind that has no such choice passes over it.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) capacity: Option<u64>,
    pub(crate) fpr: f64,
    pub(crate) hasher: KeyHasher,
    pub(crate) lines: LinesPerKey,
    pub(crate) foldable: u32,
    pub(crate) kernel: Option<Kernel>,
    pub(crate) memory_limit: u64,
    pub(crate) windows: u32,
    /// Windows of [`WINDOW`] by this clock.
    pub(crate) clock: Option<Clock>,
}

/// How long a window is where a clock begins them.
pub(crate) const WINDOW: Duration = Duration::from_secs(10);

/// A filter for `capacity` keys at 1 %, under a fixed secret; four windows. Fixed seeds make a pass stay a pass.
pub(crate) fn wanted(lines: LinesPerKey, seed: u64, capacity: u64) -> Wanted {
    let (capacity, hasher) = (Some(capacity), KeyHasher::xxh3(seed));
    Wanted { capacity, fpr: 0.01, hasher, lines, foldable: 0, kernel: None, memory_limit: DEFAULT_MEMORY_LIMIT, windows: 4, clock: None }
}

/// The choices that every builder has, and then those of this one.
macro_rules! set {
    ($wanted:ident, $builder:expr, $(.$choice:ident($value:expr))*, $($option:ident)*) => {{
        let builder = $builder.fpr($wanted.fpr).hasher($wanted.hasher).memory_limit($wanted.memory_limit)$(.$choice($value))*;
        let builder = $wanted.capacity.into_iter().fold(builder, |builder, keys| builder.capacity(keys));
        $(let builder = $wanted.$option.into_iter().fold(builder, |builder, value| builder.$option(value));)*
        builder
    }};
}

impl Wanted {
    fn bloom(&self) -> BloomBuilder {
        set!(self, BloomBuilder::new(), .lines_per_key(self.lines).foldable(self.foldable), kernel)
    }

    fn cuckoo(&self) -> CuckooBuilder {
        set!(self, CuckooBuilder::new(),,)
    }

    fn rotating(&self) -> RotatingBuilder {
        let builder = set!(self, RotatingBuilder::new(), .windows(self.windows).lines_per_key(self.lines), kernel);
        self.clock.iter().fold(builder, |builder, clock| builder.every(WINDOW).clock(clock.clone()))
    }
}

/// What every filter can. Each function is the method of that name but for those that say otherwise; `&mut` where one kind needs it.
pub(crate) trait Kind: Sized + Debug {
    /// The filter that was asked for.
    fn make(wanted: &Wanted) -> Result<Self, ParamError>;
    /// Adds a key unless it seems to be there; true where it was new. For claims about filters that have room.
    fn put<K: Key + ?Sized>(&mut self, key: &K) -> bool;
    /// The same by hash.
    fn put_hash(&mut self, hash: KeyHash) -> bool;
    /// Adds a copy of every key, where there is room.
    fn put_batch<K: Key>(&mut self, keys: &[K]);
    /// The same by hash.
    fn put_hash_batch(&mut self, hashes: &[KeyHash]);
    fn contains<K: Key + ?Sized>(&self, key: &K) -> bool;
    fn contains_batch<K: Key>(&self, keys: &[K]) -> BitVec;
    fn contains_hash(&self, hash: KeyHash) -> bool;
    fn contains_hash_batch(&self, hashes: &[KeyHash]) -> BitVec;
    fn hasher(&self) -> &KeyHasher;
    fn clear(&mut self);
    fn capacity(&self) -> u64;
    fn bits(&self) -> u64;
    fn memory_bytes(&self) -> u64;
    fn fill_ratio(&self) -> f64;
    fn estimated_fpr(&self) -> f64;
    fn predicted_fpr(&self) -> f64;
    fn is_saturated(&self) -> bool;
}

/// Functions of a face that are the methods of the same name.
macro_rules! same {
    ($filter:ident: $(mut $name:ident($($arg:ident: $type:ty)?) -> $answer:ty;)* $(ref $asked:ident($($asked_arg:ident: $asked_type:ty)?) -> $told:ty;)*) => {
        $(fn $name(&mut self, $($arg: $type)?) -> $answer {
            $filter::$name(self, $($arg)?)
        })*
        $(fn $asked(&self, $($asked_arg: $asked_type)?) -> $told {
            $filter::$asked(self, $($asked_arg)?)
        })*
    };
}

macro_rules! kind {
    ($filter:ident, $builder:ident.$build:ident(), |$it:ident, $key:ident| $put:expr, $put_hash:expr, $put_all:expr, $put_hashes:expr) => {
        impl Kind for $filter {
            fn make(wanted: &Wanted) -> Result<Self, ParamError> {
                wanted.$builder().$build()
            }

            fn put<K: Key + ?Sized>(&mut self, $key: &K) -> bool {
                let $it = self;
                $put
            }

            fn put_hash(&mut self, $key: KeyHash) -> bool {
                let $it = self;
                $put_hash
            }

            fn put_batch<K: Key>(&mut self, $key: &[K]) {
                let $it = self;
                _ = $put_all;
            }

            fn put_hash_batch(&mut self, $key: &[KeyHash]) {
                let $it = self;
                _ = $put_hashes;
            }

            fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
                $filter::contains(self, key)
            }

            fn contains_batch<K: Key>(&self, keys: &[K]) -> BitVec {
                $filter::contains_batch(self, keys)
            }

            same! { $filter:
                mut clear() -> ();
                ref contains_hash(hash: KeyHash) -> bool;
                ref contains_hash_batch(hashes: &[KeyHash]) -> BitVec;
                ref hasher() -> &KeyHasher;
                ref capacity() -> u64;
                ref bits() -> u64;
                ref memory_bytes() -> u64;
                ref fill_ratio() -> f64;
                ref estimated_fpr() -> f64;
                ref predicted_fpr() -> f64;
                ref is_saturated() -> bool;
            }
        }
    };
    ($filter:ident, $builder:ident.$build:ident()) => {
        kind!($filter, $builder.$build(), |it, key| it.insert(key), it.insert_hash(key), it.insert_batch(key), it.insert_hash_batch(key));
    };
}
kind!(BlockedBloom, bloom.build());
kind!(AtomicBlockedBloom, bloom.build_atomic());
kind!(ClassicBloom, bloom.build_classic());
kind!(CountingBloom, bloom.build_counting());
kind!(RotatingBloom, rotating.build());
kind!(AtomicRotatingBloom, rotating.build_atomic());
kind!(
    CuckooFilter,
    cuckoo.build(),
    |it, key| it.insert_unique(key).expect("there is room"),
    it.insert_unique_hash(key).expect("there is room"),
    it.insert_batch(key).expect("there is room"),
    it.insert_hash_batch(key).expect("there is room")
);
// It has no `insert_unique` and no batches of inserts, for reasons that are those of many threads.
kind!(
    AtomicCuckoo,
    cuckoo.build_atomic(),
    |it, key| !it.contains(key) && it.insert(key).map(|()| true).expect("there is room"),
    !it.contains_hash(key) && it.insert_hash(key).map(|()| true).expect("there is room"),
    key.iter().for_each(|key| it.insert(key).expect("there is room")),
    key.iter().for_each(|&key| it.insert_hash(key).expect("there is room"))
);

/// Makes one filter of two, in the first.
pub(crate) type Combination<F> = fn(&mut F, &F) -> Result<(), CombineError>;

/// What the filters of lines and bits have in common: any number of keys, and algebra.
pub(crate) trait Bloom: Kind {
    /// Whether the size may be any number of bits and lines are no choice.
    const CLASSIC: bool;
    /// Whether a key that was inserted twice is in it twice.
    const COUNTS: bool;
    /// Its contents, as far as they can be seen from outside.
    type Image: Clone + Debug + PartialEq;

    fn build(builder: BloomBuilder) -> Result<Self, ParamError>;
    fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool;
    fn insert_batch<K: Key>(&mut self, keys: &[K]) -> BitVec;
    fn insert_hash(&mut self, hash: KeyHash) -> bool;
    fn insert_hash_batch(&mut self, hashes: &[KeyHash]) -> BitVec;
    fn take_all<K: Key>(&mut self, keys: impl IntoIterator<Item = K>);
    fn union_with(&mut self, other: &Self) -> Result<(), CombineError>;
    fn fold(&mut self) -> Result<(), CombineError>;
    fn k(&self) -> u32;
    fn estimated_len(&self) -> u64;
    /// At the price of the filter: a shared one shows its bits only as a plain one.
    fn into_image(self) -> Self::Image;
    /// All that makes one filter of two.
    fn combinations() -> Vec<Combination<Self>>;

    /// A filter of these keys.
    fn of<K: Key>(builder: &BloomBuilder, keys: impl IntoIterator<Item = K>) -> Self {
        let mut filter = Self::build(builder.clone()).expect("a filter that can be built");
        filter.take_all(keys);
        filter
    }
}

macro_rules! bloom {
    ($filter:ident, $build:ident, classic: $classic:literal, counts: $counts:literal, |$it:ident| $image:expr => $type:ty, $($also:ident)?) => {
        impl Bloom for $filter {
            const CLASSIC: bool = $classic;
            const COUNTS: bool = $counts;
            type Image = $type;

            fn build(builder: BloomBuilder) -> Result<Self, ParamError> {
                builder.$build()
            }

            fn take_all<K: Key>(&mut self, keys: impl IntoIterator<Item = K>) {
                self.extend(keys);
            }

            fn into_image(self) -> $type {
                let $it = self;
                $image
            }

            fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
                $filter::insert(self, key)
            }

            fn insert_batch<K: Key>(&mut self, keys: &[K]) -> BitVec {
                $filter::insert_batch(self, keys)
            }

            fn combinations() -> Vec<Combination<Self>> {
                vec![|ours, theirs| ours.union_with(theirs), $(|ours, theirs| ours.$also(theirs))?]
            }

            same! { $filter:
                mut insert_hash(hash: KeyHash) -> bool;
                mut insert_hash_batch(hashes: &[KeyHash]) -> BitVec;
                mut union_with(other: &Self) -> Result<(), CombineError>;
                mut fold() -> Result<(), CombineError>;
                ref k() -> u32;
                ref estimated_len() -> u64;
            }
        }

        $(impl BitSet for $filter {
            fn $also(&mut self, other: &Self) -> Result<(), CombineError> {
                $filter::$also(self, other)
            }
        })?
    };
}
bloom!(BlockedBloom, build, classic: false, counts: false, |filter| filter.as_bits().to_bitvec() => BitVec, intersect_with);
bloom!(
    AtomicBlockedBloom, build_atomic, classic: false, counts: false,
    |filter| BlockedBloom::from(filter).as_bits().to_bitvec() => BitVec, intersect_with
);
bloom!(ClassicBloom, build_classic, classic: true, counts: false, |filter| filter.as_bits().to_bitvec() => BitVec, intersect_with);
bloom!(CountingBloom, build_counting, classic: false, counts: true, |filter| counters(&filter) => Counters,);

/// Sets: to insert a key twice, or to unite with a filter twice, is to do it once.
pub(crate) trait BitSet: Bloom<Image = BitVec> {
    fn intersect_with(&mut self, other: &Self) -> Result<(), CombineError>;
}

/// What can be seen of the counters: how many there are, the shares that are taken and stuck, and the least one of each of 4096 hashes, which are more
/// than have a counter to themselves in the filters of these tests.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Counters(u64, f64, u64, Vec<u32>);

fn counters(filter: &CountingBloom) -> Counters {
    let probe = |id: u64| KeyHash::from_parts(id.wrapping_mul(0x9e37_79b9_7f4a_7c15), id.wrapping_mul(0xd134_2543_de82_ef95).rotate_left(32));
    let counts = (0..4096).map(|id| filter.count_hash(probe(id))).collect();
    Counters(filter.bits(), filter.fill_ratio(), filter.saturated_counters(), counts)
}

/// `check::<a kind>(lines per key, arguments…)` for every kind of [`Kind`], in one line and in two where that is a choice.
macro_rules! every_kind {
    ($check:ident($($arg:expr),* $(,)?)) => {{
        use absentia::bloom::LinesPerKey::{One, Two};
        crate::kinds::every_bloom!($check($($arg),*));
        $check::<absentia::CuckooFilter>(One, $($arg),*);
        $check::<absentia::AtomicCuckoo>(One, $($arg),*);
        $check::<absentia::RotatingBloom>(One, $($arg),*);
        $check::<absentia::RotatingBloom>(Two, $($arg),*);
        $check::<absentia::AtomicRotatingBloom>(One, $($arg),*);
        $check::<absentia::AtomicRotatingBloom>(Two, $($arg),*);
    }};
}
pub(crate) use every_kind;

/// The same for every kind of [`Bloom`].
macro_rules! every_bloom {
    ($check:ident($($arg:expr),* $(,)?)) => {{
        use absentia::bloom::LinesPerKey::{One, Two};
        crate::kinds::every_bit_set!($check($($arg),*));
        $check::<absentia::CountingBloom>(One, $($arg),*);
        $check::<absentia::CountingBloom>(Two, $($arg),*);
    }};
}
pub(crate) use every_bloom;

/// The same for every kind of [`BitSet`].
macro_rules! every_bit_set {
    ($check:ident($($arg:expr),* $(,)?)) => {{
        use absentia::bloom::LinesPerKey::{One, Two};
        $check::<absentia::BlockedBloom>(One, $($arg),*);
        $check::<absentia::BlockedBloom>(Two, $($arg),*);
        $check::<absentia::AtomicBlockedBloom>(One, $($arg),*);
        $check::<absentia::AtomicBlockedBloom>(Two, $($arg),*);
        $check::<absentia::bloom::ClassicBloom>(One, $($arg),*);
    }};
}
pub(crate) use every_bit_set;

/// A builder under a fixed secret.
pub(crate) fn builder(lines: LinesPerKey, seed: u64) -> BloomBuilder {
    BlockedBloom::builder().lines_per_key(lines).hasher(KeyHasher::xxh3(seed))
}
