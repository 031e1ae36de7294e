//! Filters that can remove, each filled to a load of 0.95 and emptied key by key.
//!
//! `cuckoofilter` has slots by powers of two, so it is what decides: as many keys as 0.95 of the largest of its tables that the keys of the run fill.
//! The cuckoo filters of ours are made for the same keys, and are then as full. The others have the size that they take for the keys by their own
//! rule, and "load" is blank. A removal is of a filter between full and empty. All are given XXH3 but the row "own".

use crate::block::Churn;
use crate::filter::{BATCH, Family};
use crate::keys::{BenchKey, SEED, Xxh3Hasher};
use crate::machine::thread_time;
use crate::ours::{builder, cuckoo};
use crate::size::MANY_KEYS;
use absentia::bloom::LinesPerKey;
use absentia::{AtomicCuckoo, CountingBloom, CuckooFilter};
use scalable_cuckoo_filter::{ScalableCuckooFilter, ScalableCuckooFilterBuilder};
use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;
use std::hint::black_box;

/// A filter that is filled and emptied.
trait Removes<K> {
    /// Whether an insert that is refused leaves all others as they were, so that every removal must find its key.
    const KEEPS: bool = true;

    /// False where it was refused.
    fn put(&mut self, key: &K) -> bool;

    /// All of them at once, false where one was refused, and nothing where there is no call for it.
    fn put_batch(&mut self, _: &[K]) -> Option<bool> {
        None
    }

    /// False where it was not found.
    fn take(&mut self, key: &K) -> bool;

    fn bits(&self) -> u64;

    fn load(&self) -> Option<f64>;
}

impl<K: BenchKey> Removes<K> for CuckooFilter {
    #[inline(always)]
    fn put(&mut self, key: &K) -> bool {
        self.insert(key).is_ok()
    }

    fn put_batch(&mut self, keys: &[K]) -> Option<bool> {
        Some(self.insert_batch(keys).is_ok())
    }

    #[inline(always)]
    fn take(&mut self, key: &K) -> bool {
        self.remove(key)
    }

    fn bits(&self) -> u64 {
        self.bits()
    }

    fn load(&self) -> Option<f64> {
        Some(self.load_factor())
    }
}

impl<K: BenchKey> Removes<K> for AtomicCuckoo {
    #[inline(always)]
    fn put(&mut self, key: &K) -> bool {
        self.insert(key).is_ok()
    }

    #[inline(always)]
    fn take(&mut self, key: &K) -> bool {
        self.remove(key)
    }

    fn bits(&self) -> u64 {
        self.bits()
    }

    fn load(&self) -> Option<f64> {
        Some(self.load_factor())
    }
}

impl<K: BenchKey> Removes<K> for CountingBloom {
    #[inline(always)]
    fn put(&mut self, key: &K) -> bool {
        black_box(self.insert(key));
        true
    }

    fn put_batch(&mut self, keys: &[K]) -> Option<bool> {
        black_box(self.insert_batch(keys));
        Some(true)
    }

    #[inline(always)]
    fn take(&mut self, key: &K) -> bool {
        self.remove(key) == Ok(true)
    }

    fn bits(&self) -> u64 {
        self.bits()
    }

    fn load(&self) -> Option<f64> {
        None
    }
}

/// With the slots that it was made with.
struct Peer<H>(cuckoofilter::CuckooFilter<H>, usize);

impl<K: BenchKey, H: Hasher + Default> Removes<K> for Peer<H> {
    const KEEPS: bool = false;

    #[inline(always)]
    fn put(&mut self, key: &K) -> bool {
        self.0.add(key).is_ok()
    }

    #[inline(always)]
    fn take(&mut self, key: &K) -> bool {
        self.0.delete(key)
    }

    fn bits(&self) -> u64 {
        self.0.memory_usage() as u64 * 8
    }

    fn load(&self) -> Option<f64> {
        Some(self.0.len() as f64 / self.1 as f64)
    }
}

struct Quotient(qfilter::Filter, u64);

impl<K: BenchKey> Removes<K> for Quotient {
    /// With duplicates: without, keys of one fingerprint are one, and the removal of either would take both.
    #[inline(always)]
    fn put(&mut self, key: &K) -> bool {
        self.0.insert_fingerprint(true, key.hash64(self.1)).is_ok()
    }

    #[inline(always)]
    fn take(&mut self, key: &K) -> bool {
        self.0.remove_fingerprint(key.hash64(self.1))
    }

    fn bits(&self) -> u64 {
        self.0.memory_usage() as u64 * 8
    }

    fn load(&self) -> Option<f64> {
        None
    }
}

impl<K: BenchKey> Removes<K> for ScalableCuckooFilter<K, Xxh3Hasher> {
    #[inline(always)]
    fn put(&mut self, key: &K) -> bool {
        self.insert(key);
        true
    }

    #[inline(always)]
    fn take(&mut self, key: &K) -> bool {
        self.remove(key)
    }

    fn bits(&self) -> u64 {
        self.bits()
    }

    fn load(&self) -> Option<f64> {
        None
    }
}

/// Measures one round of a filter.
type Round<'a, K> = Box<dyn Fn(&mut Churn, &[K]) -> Result<(), String> + 'a>;

/// The filters that `wanted` accepts, in turns. Ours are always wanted.
///
/// # Errors
///
/// A key that is not found when it is removed; of ours also one that is refused.
pub fn churn<K: BenchKey>(keys: &[K], p: f64, rounds: u32, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Churn>, String> {
    let slots = 1usize << ((keys.len() as f64 / 0.95) as usize).max(8).ilog2();
    let keys = &keys[..((slots as f64 * 0.95) as usize).min(keys.len())];
    let n = keys.len() as u64;
    let mut all: Vec<(String, Family, Round<'_, K>)> = Vec::new();
    let mut add = |name: &str, family, round| all.push((name.to_string(), family, round));
    let checked = "the arguments were checked, and memory was looked at";
    add("absentia cuckoo, 8 bits", Family::CuckooEight, round(move || cuckoo(n).fingerprint_bits(8).build().expect(checked)));
    let bits = cuckoo(n).fpr(p).build().expect(checked).fingerprint_bits();
    if bits != 8 {
        add(&format!("absentia cuckoo, {bits} bits"), Family::Cuckoo, round(move || cuckoo(n).fpr(p).build().expect(checked)));
    }
    if n < MANY_KEYS {
        add("absentia atomic cuckoo", Family::OtherOfOurs, round(move || cuckoo(n).fpr(p).build_atomic().expect(checked)));
        let counting = move || builder(n, p).lines_per_key(LinesPerKey::One).build_counting().expect(checked);
        add("absentia counting", Family::Counting, round(counting));
    }
    add("cuckoofilter, xxh3", Family::CuckooPeer, round(move || Peer::<Xxh3Hasher>(cuckoofilter::CuckooFilter::with_capacity(slots), slots)));
    if n < MANY_KEYS {
        let own = move || Peer::<DefaultHasher>(cuckoofilter::CuckooFilter::with_capacity(slots), slots);
        add("cuckoofilter, own SipHash-1-3", Family::CuckooPeerOwnHash, round(own));
        add("qfilter, xxh3", Family::Quotient, round(move || Quotient(qfilter::Filter::new(n, p).expect(checked), black_box(SEED))));
        let scalable = move || ScalableCuckooFilterBuilder::new().initial_capacity(n as usize).false_positive_probability(p);
        add("scalable_cuckoo, xxh3", Family::Other, round(move || scalable().hasher(Xxh3Hasher::default()).finish::<K>()));
    }
    all.retain(|(name, ..)| name.starts_with("absentia") || wanted(name));
    let mut found: Vec<Churn> = all.iter().map(|(name, family, _)| Churn::new(name, *family, n)).collect();
    for number in 0..rounds as usize {
        for which in (0..all.len()).map(|index| (index + number) % all.len()) {
            all[which].2(&mut found[which], keys)?;
        }
    }
    Ok(found)
}

fn round<'a, K: BenchKey, F: Removes<K>>(make: impl Fn() -> F + 'a) -> Round<'a, K> {
    Box::new(move |churn, keys| {
        let ns = |start: std::time::Duration| (thread_time() - start).as_nanos() as f64 / keys.len() as f64;
        let mut filter = make();
        let start = thread_time();
        let put = black_box(keys).iter().filter(|&key| filter.put(key)).count();
        churn.fill.push(ns(start));
        (churn.bits_per_key, churn.load, churn.refused) = (filter.bits() as f64 / keys.len() as f64, filter.load(), (keys.len() - put) as u64);
        let start = thread_time();
        let taken = black_box(keys).iter().filter(|&key| filter.take(key)).count();
        churn.remove.push(ns(start));
        if F::KEEPS && (put, taken) != (keys.len(), keys.len()) {
            return Err(format!("{}: {put} of {} keys were taken, and {taken} found when they were removed", churn.name, keys.len()));
        }
        drop(filter);
        let mut filter = make();
        let start = thread_time();
        let answers: Option<Vec<bool>> = black_box(keys).chunks(BATCH).map(|batch| filter.put_batch(batch)).collect();
        match answers {
            Some(answers) if !answers.iter().all(|&put| put) => return Err(format!("{}: a batch was refused", churn.name)),
            Some(_) => churn.fill_batch.push(ns(start)),
            None => (),
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{Str20, keys_from};

    fn measured<K: BenchKey>(keys: u64) -> Vec<Churn> {
        churn::<K>(&keys_from(0, keys), 0.01, 2, &|_| true).unwrap()
    }

    #[test]
    fn both_cuckoo_filters_are_as_full() {
        for found in [measured::<u64>(40_000), measured::<Str20>(70_000)] {
            assert_eq!(found.len(), 8);
            for family in [Family::CuckooEight, Family::Cuckoo, Family::CuckooPeer, Family::CuckooPeerOwnHash] {
                let churn = found.iter().find(|churn| churn.family == family).unwrap();
                assert!((churn.load.unwrap() - 0.95).abs() < 0.002, "{churn:?}");
                assert_eq!((churn.fill.len(), churn.remove.len()), (2, 2));
                assert!(churn.refused < 10, "{churn:?}");
            }
        }
    }

    struct Forgetful;

    impl Removes<u64> for Forgetful {
        fn put(&mut self, _: &u64) -> bool {
            true
        }

        fn take(&mut self, key: &u64) -> bool {
            *key != 3
        }

        fn bits(&self) -> u64 {
            0
        }

        fn load(&self) -> Option<f64> {
            None
        }
    }

    #[test]
    fn a_filter_that_does_not_find_what_it_was_given_ends_the_run() {
        let error = round(|| Forgetful)(&mut Churn::new("forgetful", Family::Other, 4), &[1, 2, 3, 4]).unwrap_err();
        assert_eq!(error, "forgetful: 4 of 4 keys were taken, and 3 found when they were removed");
    }
}
