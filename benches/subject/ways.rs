//! One key at a time or many at once: the same benches for both.

use super::keys::BenchKey;
use super::kinds::{Removes, Subject};

/// How keys are given to a filter.
pub(crate) trait Way {
    /// The first parts of the ids.
    const CONTAINS: &'static str;
    const INSERT: &'static str;
    const REMOVE: &'static str;

    /// Whether many keys are given at once.
    const BATCHED: bool;

    /// How many of the keys are there.
    fn contains<K: BenchKey>(filter: &impl Subject, keys: &[K]) -> usize;

    /// How many of the keys were new.
    fn insert<K: BenchKey>(filter: &mut impl Subject, keys: &[K]) -> usize;

    /// How many of the keys were taken out.
    fn remove<K: BenchKey>(filter: &mut impl Removes, keys: &[K]) -> usize;
}

pub(crate) struct OneByOne;

impl Way for OneByOne {
    const CONTAINS: &'static str = "contains";
    const INSERT: &'static str = "insert";
    const REMOVE: &'static str = "remove";
    const BATCHED: bool = false;

    #[inline(never)]
    fn contains<K: BenchKey>(filter: &impl Subject, keys: &[K]) -> usize {
        keys.iter().filter(|&key| filter.contains(key)).count()
    }

    #[inline(never)]
    fn insert<K: BenchKey>(filter: &mut impl Subject, keys: &[K]) -> usize {
        keys.iter().filter(|&key| filter.insert(key)).count()
    }

    #[inline(never)]
    fn remove<K: BenchKey>(filter: &mut impl Removes, keys: &[K]) -> usize {
        keys.iter().filter(|&key| filter.remove(key)).count()
    }
}

/// In batches of [`BATCH`](super::keys::BATCH).
pub(crate) struct Batched;

impl Way for Batched {
    const CONTAINS: &'static str = "contains_batch";
    const INSERT: &'static str = "insert_batch";
    const REMOVE: &'static str = "remove_batch";
    const BATCHED: bool = true;

    #[inline(never)]
    fn contains<K: BenchKey>(filter: &impl Subject, keys: &[K]) -> usize {
        filter.contains_batch(keys).count_ones()
    }

    #[inline(never)]
    fn insert<K: BenchKey>(filter: &mut impl Subject, keys: &[K]) -> usize {
        filter.insert_batch(keys)
    }

    #[inline(never)]
    fn remove<K: BenchKey>(filter: &mut impl Removes, keys: &[K]) -> usize {
        filter.remove_batch(keys)
    }
}
