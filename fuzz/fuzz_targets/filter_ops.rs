//! Any sequence of filter operations, against an exact set: a key that was inserted is never denied, the plain and the atomic filter say the same,
//! and a batch says what its keys say one by one.

#![no_main]

use absentia::{AtomicBlockedBloom, BlockedBloom, KeyHasher};
use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use std::collections::HashSet;

#[derive(Arbitrary, Debug)]
struct Plan {
    seed: u64,
    /// Small on purpose: full and over-full filters, and filters of one line, are where the mistakes would be.
    capacity: u16,
    rate: Rate,
    operations: Vec<Operation>,
}

/// Rates on both sides of the one where a key gets two lines.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Rate {
    Loose,
    Usual,
    Tight,
    Tightest,
}

impl Rate {
    fn value(self) -> f64 {
        match self {
            Self::Loose => 0.3,
            Self::Usual => 1e-2,
            Self::Tight => 1e-4,
            Self::Tightest => 1e-6,
        }
    }
}

#[derive(Arbitrary, Debug)]
enum Operation {
    Insert(Name),
    InsertBatch(Vec<Name>),
    Ask(Name),
    AskBatch(Vec<Name>),
    Clear,
}

/// A key. The short form makes the fuzzer come back to keys that it has inserted.
#[derive(Arbitrary, Clone, Debug)]
enum Name {
    Short(u8),
    Bytes(Vec<u8>),
}

impl Name {
    fn into_key(self) -> Vec<u8> {
        match self {
            Self::Short(byte) => vec![byte],
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// The three that must agree.
struct Filters {
    plain: BlockedBloom,
    atomic: AtomicBlockedBloom,
    exact: HashSet<Vec<u8>>,
}

impl Filters {
    fn insert(&mut self, key: Vec<u8>) {
        let new = self.plain.insert(&key);
        assert_eq!(self.atomic.insert(&key), new, "plain and atomic disagree on whether {key:?} is new");
        assert!(!new || !self.exact.contains(&key), "{key:?} was inserted before and is called new");
        assert!(self.plain.contains(&key) && self.atomic.contains(&key), "{key:?} is denied at once");
        self.exact.insert(key);
    }

    fn insert_batch(&mut self, keys: Vec<Vec<u8>>) {
        let new = self.plain.insert_batch(&keys);
        assert_eq!(self.atomic.insert_batch(&keys), new, "plain and atomic disagree on which of {keys:?} are new");
        assert_eq!(new.len(), keys.len());
        for (key, new) in keys.into_iter().zip(new) {
            assert!(!new || !self.exact.contains(&key), "{key:?} was inserted before, or earlier in the batch, and is called new");
            self.exact.insert(key);
        }
    }

    fn ask(&self, key: &Vec<u8>) -> bool {
        let answer = self.plain.contains(key);
        assert_eq!(self.atomic.contains(key), answer, "plain and atomic disagree on {key:?}");
        assert!(answer || !self.exact.contains(key), "{key:?} was inserted and is denied");
        answer
    }

    fn ask_batch(&self, keys: &[Vec<u8>]) {
        let singles: Vec<bool> = keys.iter().map(|key| self.ask(key)).collect();
        let plain: Vec<bool> = self.plain.contains_batch(keys).into_iter().collect();
        let atomic: Vec<bool> = self.atomic.contains_batch(keys).into_iter().collect();
        assert_eq!(plain, singles, "a batch of the plain filter answers unlike its keys");
        assert_eq!(atomic, singles, "a batch of the atomic filter answers unlike its keys");
    }

    fn clear(&mut self) {
        self.plain.clear();
        self.atomic.clear();
        for key in self.exact.drain() {
            assert!(!self.plain.contains(&key) && !self.atomic.contains(&key), "{key:?} is still there after a clear");
        }
    }
}

fuzz_target!(|plan: Plan| {
    let builder = || BlockedBloom::builder().capacity(plan.capacity.into()).fpr(plan.rate.value()).hasher(KeyHasher::xxh3(plan.seed));
    let mut filters = Filters {
        plain: builder().build().expect("a small filter can be built"),
        atomic: builder().build_atomic().expect("a small filter can be built"),
        exact: HashSet::new(),
    };
    let keys = |names: Vec<Name>| names.into_iter().map(Name::into_key).collect::<Vec<_>>();
    for operation in plan.operations {
        match operation {
            Operation::Insert(name) => filters.insert(name.into_key()),
            Operation::InsertBatch(names) => filters.insert_batch(keys(names)),
            Operation::Ask(name) => _ = filters.ask(&name.into_key()),
            Operation::AskBatch(names) => filters.ask_batch(&keys(names)),
            Operation::Clear => filters.clear(),
        }
    }
    let inserted: Vec<_> = filters.exact.iter().cloned().collect();
    filters.ask_batch(&inserted);
});
