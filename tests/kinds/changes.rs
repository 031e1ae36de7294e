//! [`Changes`]: one face for what changes a filter, and which kind has what of it.

use super::Kind;
use absentia::bloom::{ClassicBloom, CombineError};
use absentia::cuckoo::GrowError;
use absentia::{
    AtomicBlockedBloom, AtomicCuckoo, AtomicRotatingBloom, BitVec, BlockedBloom, CountingBloom, CuckooError, CuckooFilter, RotatingBloom,
};

/// What a removal found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Removed {
    Copy,
    Nothing,
    Stuck,
}

/// What changes filters. None stands for what a kind does not have.
pub(crate) trait Changes: Kind {
    /// Copies of a key that are told apart; more count as so many.
    const COPIES: u32 = 1;

    fn add(&mut self, key: u64) -> Result<(), CuckooError>;
    fn add_batch(&mut self, keys: &[u64]) -> Result<(), CuckooError>;
    fn remove(&mut self, _: u64) -> Option<Removed> {
        None
    }
    /// A bit each, where a copy was taken out.
    fn remove_batch(&mut self, keys: &[u64]) -> Option<BitVec> {
        keys.iter().map(|&key| self.remove(key).map(|removed| removed == Removed::Copy)).collect()
    }
    fn copies(&self, key: u64) -> u32 {
        u32::from(self.contains(&key))
    }
    /// Where it is told exactly.
    fn len(&self) -> Option<u64> {
        None
    }
    /// Counters that no longer change.
    fn stuck(&self) -> u64 {
        0
    }
    fn age(&self, _: u64) -> Option<u32> {
        None
    }
    /// How many windows it remembers, and the number of the current one.
    fn windows(&self) -> Option<(u32, u64)> {
        None
    }
    fn rotate(&mut self) {}
    fn unite(&mut self, _: &Self) -> Option<Result<(), CombineError>> {
        None
    }
    fn halve(&mut self) -> Option<Result<(), CombineError>> {
        None
    }
    fn grow(&mut self, _: u64, _: &[u64]) -> Option<Result<(), GrowError>> {
        None
    }
    /// At the end: it becomes what else it can become, which must answer for these keys as it did.
    fn leave(self, _: &[u64]) {}
}

/// Inserts that cannot fail.
macro_rules! takes_all {
    () => {
        fn add(&mut self, key: u64) -> Result<(), CuckooError> {
            _ = self.insert(&key);
            Ok(())
        }

        fn add_batch(&mut self, keys: &[u64]) -> Result<(), CuckooError> {
            _ = self.insert_batch(keys);
            Ok(())
        }
    };
}

macro_rules! unites_and_folds {
    () => {
        fn unite(&mut self, other: &Self) -> Option<Result<(), CombineError>> {
            Some(self.union_with(other))
        }

        fn halve(&mut self) -> Option<Result<(), CombineError>> {
            Some(self.fold())
        }
    };
}

impl Changes for BlockedBloom {
    takes_all!();
    unites_and_folds!();
}

impl Changes for AtomicBlockedBloom {
    takes_all!();
    unites_and_folds!();
}

impl Changes for ClassicBloom {
    takes_all!();
    unites_and_folds!();
}

impl Changes for CountingBloom {
    const COPIES: u32 = 15;
    takes_all!();
    unites_and_folds!();

    fn remove(&mut self, key: u64) -> Option<Removed> {
        Some(match CountingBloom::remove(self, &key) {
            Ok(true) => Removed::Copy,
            Ok(false) => Removed::Nothing,
            Err(_) => Removed::Stuck,
        })
    }

    fn remove_batch(&mut self, keys: &[u64]) -> Option<BitVec> {
        Some(CountingBloom::remove_batch(self, keys))
    }

    fn copies(&self, key: u64) -> u32 {
        self.count(&key)
    }

    fn stuck(&self) -> u64 {
        self.saturated_counters()
    }
}

/// Removals of a cuckoo filter, and what else both have.
macro_rules! removes {
    ($filter:ident) => {
        const COPIES: u32 = 8;

        fn add(&mut self, key: u64) -> Result<(), CuckooError> {
            self.insert(&key)
        }

        fn remove(&mut self, key: u64) -> Option<Removed> {
            Some(if $filter::remove(self, &key) { Removed::Copy } else { Removed::Nothing })
        }

        fn copies(&self, key: u64) -> u32 {
            self.count(&key)
        }

        fn len(&self) -> Option<u64> {
            Some($filter::len(self))
        }
    };
}

impl Changes for CuckooFilter {
    removes!(CuckooFilter);

    fn add_batch(&mut self, keys: &[u64]) -> Result<(), CuckooError> {
        self.insert_batch(keys)
    }

    fn grow(&mut self, capacity: u64, keys: &[u64]) -> Option<Result<(), GrowError>> {
        Some(CuckooFilter::grow(self, capacity, keys))
    }

    fn leave(self, keys: &[u64]) {
        let told: Vec<_> = keys.iter().map(|key| (self.contains(key), self.count(key))).collect();
        let (len, fill) = (self.len(), self.fill_ratio());
        let shared = AtomicCuckoo::try_from(self).expect("there is memory");
        assert_eq!((shared.len(), shared.fill_ratio()), (len, fill));
        assert_eq!(told, keys.iter().map(|key| (shared.contains(key), shared.count(key))).collect::<Vec<_>>(), "another form answers otherwise");
    }
}

impl Changes for AtomicCuckoo {
    removes!(AtomicCuckoo);

    fn add_batch(&mut self, keys: &[u64]) -> Result<(), CuckooError> {
        keys.iter().try_for_each(|key| self.insert(key))
    }
}

/// Windows of a filter that forgets.
macro_rules! forgets {
    ($filter:ident) => {
        takes_all!();

        fn age(&self, key: u64) -> Option<u32> {
            $filter::age(self, &key)
        }

        fn windows(&self) -> Option<(u32, u64)> {
            Some(($filter::windows(self), self.window()))
        }

        fn rotate(&mut self) {
            $filter::rotate(self);
        }
    };
}

impl Changes for RotatingBloom {
    forgets!(RotatingBloom);

    fn unite(&mut self, other: &Self) -> Option<Result<(), CombineError>> {
        Some(self.union_with(other))
    }
}

impl Changes for AtomicRotatingBloom {
    forgets!(AtomicRotatingBloom);
}
