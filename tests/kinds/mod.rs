//! One face for every kind of filter, so that a claim is written once and holds for all: a new kind joins by a line in [`kind!`] and in
//! [`every_kind!`].

// Each test program that has this module uses a part of it.
#![allow(dead_code, unused_macros)]

use absentia::bloom::{ClassicBloom, CombineError, LinesPerKey};
use absentia::{AtomicBlockedBloom, BitVec, BlockedBloom, BloomBuilder, Key, KeyHash, KeyHasher, ParamError};

/// What the tests ask of a filter. Each function is the method of that name; `&mut` where one kind needs it.
pub(crate) trait Kind: Sized {
    /// Whether the size may be any number of bits and lines are no choice.
    const CLASSIC: bool;

    fn build(builder: BloomBuilder) -> Result<Self, ParamError>;
    fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool;
    fn insert_batch<K: Key>(&mut self, keys: &[K]) -> BitVec;
    fn insert_hash(&mut self, hash: KeyHash) -> bool;
    fn insert_hash_batch(&mut self, hashes: &[KeyHash]) -> BitVec;
    fn contains<K: Key + ?Sized>(&self, key: &K) -> bool;
    fn contains_batch<K: Key>(&self, keys: &[K]) -> BitVec;
    fn contains_hash(&self, hash: KeyHash) -> bool;
    fn contains_hash_batch(&self, hashes: &[KeyHash]) -> BitVec;
    fn take_all<K: Key>(&mut self, keys: impl IntoIterator<Item = K>);
    fn hasher(&self) -> &KeyHasher;
    fn clear(&mut self);
    fn union_with(&mut self, other: &Self) -> Result<(), CombineError>;
    fn intersect_with(&mut self, other: &Self) -> Result<(), CombineError>;
    fn fold(&mut self) -> Result<(), CombineError>;
    fn capacity(&self) -> u64;
    fn bits(&self) -> u64;
    fn memory_bytes(&self) -> u64;
    fn k(&self) -> u32;
    fn fill_ratio(&self) -> f64;
    fn estimated_len(&self) -> u64;
    fn estimated_fpr(&self) -> f64;
    fn predicted_fpr(&self) -> f64;
    fn is_saturated(&self) -> bool;
    /// A copy of its bits, at the price of the filter: a shared one shows them only as a plain one.
    fn into_image(self) -> BitVec;

    /// A filter of these keys.
    fn of<K: Key>(builder: &BloomBuilder, keys: impl IntoIterator<Item = K>) -> Self {
        let mut filter = Self::build(builder.clone()).expect("a filter that can be built");
        filter.take_all(keys);
        filter
    }
}

macro_rules! kind {
    ($filter:ident, $build:ident, $classic:literal, |$it:ident| $image:expr) => {
        impl Kind for $filter {
            const CLASSIC: bool = $classic;

            fn build(builder: BloomBuilder) -> Result<Self, ParamError> {
                builder.$build()
            }

            fn take_all<K: Key>(&mut self, keys: impl IntoIterator<Item = K>) {
                self.extend(keys);
            }

            fn into_image(self) -> BitVec {
                let $it = self;
                $image
            }

            fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
                $filter::insert(self, key)
            }

            fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
                $filter::contains(self, key)
            }

            fn insert_batch<K: Key>(&mut self, keys: &[K]) -> BitVec {
                $filter::insert_batch(self, keys)
            }

            fn contains_batch<K: Key>(&self, keys: &[K]) -> BitVec {
                $filter::contains_batch(self, keys)
            }

            kind!(mut $filter: insert_hash(hash: KeyHash) -> bool);
            kind!(mut $filter: insert_hash_batch(hashes: &[KeyHash]) -> BitVec);
            kind!(mut $filter: clear() -> ());
            kind!(mut $filter: union_with(other: &Self) -> Result<(), CombineError>);
            kind!(mut $filter: intersect_with(other: &Self) -> Result<(), CombineError>);
            kind!(mut $filter: fold() -> Result<(), CombineError>);
            kind!($filter: contains_hash(hash: KeyHash) -> bool);
            kind!($filter: contains_hash_batch(hashes: &[KeyHash]) -> BitVec);
            kind!($filter: hasher() -> &KeyHasher);
            kind!($filter: capacity() -> u64);
            kind!($filter: bits() -> u64);
            kind!($filter: memory_bytes() -> u64);
            kind!($filter: k() -> u32);
            kind!($filter: fill_ratio() -> f64);
            kind!($filter: estimated_len() -> u64);
            kind!($filter: estimated_fpr() -> f64);
            kind!($filter: predicted_fpr() -> f64);
            kind!($filter: is_saturated() -> bool);
        }
    };
    (mut $filter:ident: $name:ident($($arg:ident: $type:ty)?) -> $answer:ty) => {
        fn $name(&mut self, $($arg: $type)?) -> $answer {
            $filter::$name(self, $($arg)?)
        }
    };
    ($filter:ident: $name:ident($($arg:ident: $type:ty)?) -> $answer:ty) => {
        fn $name(&self, $($arg: $type)?) -> $answer {
            $filter::$name(self, $($arg)?)
        }
    };
}
kind!(BlockedBloom, build, false, |filter| filter.as_bits().to_bitvec());
kind!(AtomicBlockedBloom, build_atomic, false, |filter| BlockedBloom::from(filter).as_bits().to_bitvec());
kind!(ClassicBloom, build_classic, true, |filter| filter.as_bits().to_bitvec());

/// `check::<Kind>(lines per key, arguments…)` for each kind, in one line and in two.
macro_rules! every_kind {
    ($check:ident($($arg:expr),* $(,)?)) => {{
        use absentia::bloom::LinesPerKey::{One, Two};
        $check::<absentia::BlockedBloom>(One, $($arg),*);
        $check::<absentia::BlockedBloom>(Two, $($arg),*);
        $check::<absentia::AtomicBlockedBloom>(One, $($arg),*);
        $check::<absentia::AtomicBlockedBloom>(Two, $($arg),*);
        $check::<absentia::bloom::ClassicBloom>(One, $($arg),*);
    }};
}
pub(crate) use every_kind;

/// A builder under a fixed secret. Fixed seeds make a pass stay a pass.
pub(crate) fn builder(lines: LinesPerKey, seed: u64) -> BloomBuilder {
    BlockedBloom::builder().lines_per_key(lines).hasher(KeyHasher::xxh3(seed))
}
