//! Filters from which keys are taken out, or in which they are forgotten: any steps against an exact multiset (`kinds/model.rs` says what is claimed),
//! and the cases that have a name.

mod kinds;

use absentia::bloom::LinesPerKey;
use absentia::cuckoo::{CuckooError, GrowError};
use absentia::{AtomicCuckoo, AtomicRotatingBloom, Clock, CountingBloom, CuckooFilter, KeyHasher, MIN_FPR, ParamError, RotatingBloom};
use kinds::changes::{Changes, Removed};
use kinds::model::{Op, run, same_before_and_after};
use kinds::{Kind, WINDOW, Wanted, every_kind, wanted};
use proptest::prelude::*;

/// `check::<a kind that removes>(lines per key, arguments…)`, in one line and in two where that is a choice.
macro_rules! every_remover {
    ($check:ident($($arg:expr),* $(,)?)) => {{
        use LinesPerKey::{One, Two};
        $check::<CountingBloom>(One, $($arg),*);
        $check::<CountingBloom>(Two, $($arg),*);
        $check::<CuckooFilter>(One, $($arg),*);
        $check::<AtomicCuckoo>(One, $($arg),*);
    }};
}

/// The same for kinds that forget.
macro_rules! every_forgetter {
    ($check:ident($($arg:expr),* $(,)?)) => {{
        use LinesPerKey::{One, Two};
        $check::<RotatingBloom>(One, $($arg),*);
        $check::<RotatingBloom>(Two, $($arg),*);
        $check::<AtomicRotatingBloom>(One, $($arg),*);
        $check::<AtomicRotatingBloom>(Two, $($arg),*);
    }};
}

fn steps() -> impl Strategy<Value = Vec<(bool, Op)>> {
    // The first of two filters gets most of the steps.
    prop::collection::vec((prop::bool::weighted(0.2), any::<[u8; 3]>().prop_map(Op::of)), 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    /// From filters that are full at once to those that have room for every step.
    #[test]
    fn any_steps_agree_with_an_exact_multiset(
        steps in steps(), capacity in prop_oneof![0u64..8, 0u64..1500], fpr in prop_oneof![1e-8..1e-3, 1e-3..0.9], seed: u64,
        foldable in 0u32..3, windows in 1u32..=31, clocked: bool,
    ) {
        fn check<F: Changes>(lines: LinesPerKey, steps: &[(bool, Op)], wanted: &Wanted, clocked: bool) {
            let (clock, hand) = Clock::mock();
            let wanted = Wanted { lines, clock: clocked.then_some(clock), ..wanted.clone() };
            F::make(&wanted).expect("a filter that can be made");
            run::<F>(&wanted, clocked.then_some(&hand), steps.iter().copied());
        }
        let wanted = Wanted { fpr, foldable, windows, ..wanted(LinesPerKey::One, seed, capacity) };
        every_kind!(check(&steps, &wanted, clocked));
    }

    /// Bit for bit: after any steps a filter that forgets is the filter into which only what is remembered was ever inserted.
    #[test]
    fn what_was_forgotten_leaves_no_trace(
        inserts in prop::collection::vec((0u64..400, 0u8..100, 0u32..3), 1..40), windows in 1u32..=31, two: bool, capacity in 0u64..200, seed: u64,
    ) {
        let lines = if two { LinesPerKey::Two } else { LinesPerKey::One };
        let wanted = Wanted { windows, ..wanted(lines, seed, capacity) };
        let last: u64 = inserts.iter().map(|&(.., rotations)| u64::from(rotations)).sum();
        let make = |remembered: &dyn Fn(u64) -> bool| {
            let mut filter = RotatingBloom::make(&wanted).unwrap();
            for &(from, len, rotations) in &inserts {
                if remembered(filter.window()) {
                    filter.insert_batch(&(from..from + u64::from(len)).collect::<Vec<_>>());
                }
                (0..rotations).for_each(|_| filter.rotate());
            }
            filter
        };
        let (all, remembered) = (make(&|_| true), make(&|window| last - window < windows.into()));
        prop_assert!(all == remembered);
        prop_assert_eq!(all.window(), last);
        prop_assert_eq!((all.fill_ratio(), all.estimated_len(), all.estimated_fpr()), (remembered.fill_ratio(), remembered.estimated_len(), remembered.estimated_fpr()));
    }
}

/// A filter with a tenth of the keys that it has room for, and those.
fn with_company<F: Changes>(lines: LinesPerKey, seed: u64) -> (F, Vec<u64>) {
    let mut filter = F::make(&Wanted { fpr: 1e-6, ..wanted(lines, seed, 2000) }).unwrap();
    let company: Vec<u64> = (0..200).collect();
    filter.put_batch(&company);
    (filter, company)
}

/// The key of the tests below, which is not one of the company.
const HOT: u64 = 1000;

#[test]
fn sixteen_copies_and_sixteen_removals_lose_nobody_else() {
    fn check<F: Changes>(lines: LinesPerKey) {
        let (mut filter, company) = with_company::<F>(lines, 1);
        let taken = (0..16).filter(|_| filter.add(HOT).is_ok()).count();
        // Counters go to 15 and take any number; of a cuckoo filter two buckets of four slots are full.
        let cuckoo = filter.len().is_some();
        assert_eq!((taken, filter.copies(HOT)), if cuckoo { (8, 8) } else { (16, 15) });
        let removed: Vec<_> = (0..16).map(|_| filter.remove(HOT).unwrap()).collect();
        if cuckoo {
            assert_eq!(removed, [[Removed::Copy; 8], [Removed::Nothing; 8]].concat());
            assert!(!filter.contains(&HOT) && filter.len() == Some(200));
        } else {
            // What is stuck stays, until the filter is cleared.
            assert_eq!(removed, [Removed::Stuck; 16]);
            assert!(filter.contains(&HOT) && filter.stuck() > 0);
        }
        assert!(filter.contains_batch(&company).all());
        company.iter().for_each(|&key| assert_eq!(filter.remove(key), Some(Removed::Copy)));
        filter.clear();
        assert!(!filter.contains(&HOT) && filter.fill_ratio() == 0.0 && filter.stuck() == 0);
        assert_eq!((filter.add(HOT), filter.remove(HOT), filter.remove(HOT)), (Ok(()), Some(Removed::Copy), Some(Removed::Nothing)));
    }
    every_remover!(check());
}

#[test]
fn a_million_copies_of_one_key_are_counted_or_refused_and_harm_nobody() {
    fn check<F: Changes>(lines: LinesPerKey) {
        let (mut filter, company) = with_company::<F>(lines, 2);
        let memory = filter.memory_bytes();
        let taken = (0..1_000_000).filter(|_| filter.add(HOT).is_ok()).count();
        assert_eq!((taken, filter.copies(HOT)), if filter.len().is_some() { (8, 8) } else { (1_000_000, 15) });
        assert!(filter.contains_batch(&company).all() && filter.memory_bytes() == memory);
        assert_eq!(filter.len(), filter.len().and(Some(208)));
        (0..1_000_000).for_each(|_| _ = filter.remove(HOT));
        assert!(filter.contains_batch(&company).all());
        assert_eq!(filter.len(), filter.len().and(Some(200)));
    }
    every_remover!(check());
}

#[test]
fn a_million_inserts_of_one_key_are_forgotten_like_one() {
    fn check<F: Changes>(lines: LinesPerKey) {
        let (mut filter, company) = with_company::<F>(lines, 2);
        (0..1_000_000).for_each(|_| _ = filter.add(HOT));
        for age in 0..4 {
            assert!(filter.contains_batch(&company).all() && filter.age(HOT) == Some(age));
            filter.rotate();
        }
        assert!(filter.contains_batch(&company).not_any() && !filter.contains(&HOT) && filter.fill_ratio() == 0.0);
    }
    every_forgetter!(check());
}

/// The eighth is there; the ninth is refused as what it is, by whichever way it comes, and changes nothing.
#[test]
fn the_ninth_copy_is_one_too_many_for_a_cuckoo_filter() {
    let many = CuckooError::TooManyDuplicates { copies: 8 };
    let (mut filter, company) = with_company::<CuckooFilter>(LinesPerKey::One, 3);
    let (shared, _) = with_company::<AtomicCuckoo>(LinesPerKey::One, 3);
    for copy in 1..=8 {
        assert_eq!((filter.insert(&HOT), shared.insert(&HOT)), (Ok(()), Ok(())));
        assert_eq!((filter.count(&HOT), shared.count(&HOT)), (copy, copy));
    }
    let hash = filter.hasher().hash(&HOT);
    same_before_and_after(&mut filter, |filter| {
        assert_eq!([filter.insert(&HOT), filter.insert_hash(hash), filter.insert_batch(&[HOT]), filter.insert_hash_batch(&[hash])], [Err(many); 4]);
        assert_eq!((filter.try_extend([HOT]), filter.try_extend_hashes([hash]), filter.insert_unique(&HOT)), (Err(many), Err(many), Ok(false)));
        // A larger filter has no room for a ninth one either.
        let keys = || company.iter().copied().chain([HOT; 9]);
        assert_eq!(filter.grow(100_000, keys()), Err(GrowError::Insert(many)));
        assert_eq!(filter.grow(100_000, keys().skip(2)), Err(GrowError::Insert(many)));
        assert_eq!(filter.grow(100_000, company.iter().copied()), Err(GrowError::KeysMissing { held: 208, given: 200 }));
    });
    let mut shared = shared;
    same_before_and_after(&mut shared, |shared| assert_eq!([shared.insert(&HOT), shared.insert_hash(hash)], [Err(many); 2]));
    // The keys before it in a batch are in.
    assert_eq!((filter.insert_batch(&[5000, 5001, HOT, 5002]), filter.len()), (Err(many), 210));
    assert!(filter.contains(&5000u64) && filter.contains(&5001u64) && !filter.contains(&5002u64));
    assert_eq!(filter.grow(100_000, company.iter().copied().chain([HOT; 8]).chain([5000, 5001])), Ok(()));
    assert_eq!((filter.len(), filter.count(&HOT), filter.capacity()), (210, 8, 100_000));
}

/// **What is lost.** 10,000 removals of keys that were never inserted, one after another. In a cuckoo filter each of those that find something takes
/// exactly one fingerprint, so that no more keys are denied than copies were removed. In one of counters each takes 1 from up to k counters, and with
/// each of them may take all keys that have it as their only copy: the number of keys denied has no such bound, which is why it is measured here against
/// the removals times the keys a counter.
///
/// Expected of 10,000: 1 % are found at first, and fewer as the filter empties. Fewer than 20 or more than 200 have a chance below 1e-15.
#[test]
fn foreign_removals_take_no_more_than_they_say() {
    fn check<F: Changes>(lines: LinesPerKey) {
        const KEYS: u64 = 10_000;
        let mut filter = F::make(&wanted(lines, 4, KEYS)).unwrap();
        let keys: Vec<u64> = (0..KEYS).collect();
        filter.put_batch(&keys);
        let mut removed = 0;
        for stranger in KEYS..2 * KEYS {
            let maybe = filter.contains(&stranger);
            // What is not claimed is not removed, and what is claimed is.
            assert_eq!(filter.remove(stranger), Some(if maybe { Removed::Copy } else { Removed::Nothing }));
            removed += u64::from(maybe);
        }
        let lost = keys.iter().filter(|key| !filter.contains(key)).count() as u64;
        println!("{filter:?}: {removed} of 10,000 strangers removed, {lost} of {KEYS} keys denied");
        assert!((20..=200).contains(&removed), "{filter:?}: {removed} removed");
        match filter.len() {
            Some(len) => {
                assert_eq!(len, KEYS - removed);
                assert!(lost <= removed && lost > 0, "{filter:?}: {removed} removed, {lost} lost");
            }
            // At most 16 counters a key in each of two lines, and a mean of less than one key a counter: twice that.
            None => assert!(lost <= removed * 32 && lost > 0, "{filter:?}: {removed} removed, {lost} lost"),
        }
    }
    every_remover!(check());
}

#[test]
fn nothing_is_removed_from_an_empty_filter() {
    fn check<F: Changes>(lines: LinesPerKey) {
        for capacity in [0, 1, 1000] {
            let mut filter = F::make(&wanted(lines, 5, capacity)).unwrap();
            for _ in 0..2 {
                same_before_and_after(&mut filter, |filter| {
                    (0..10_000).for_each(|key| assert_eq!(filter.remove(key), Some(Removed::Nothing)));
                    assert!(filter.remove_batch(&(0..1000).collect::<Vec<_>>()).unwrap().not_any() && filter.remove_batch(&[]).unwrap().is_empty());
                });
                assert_eq!((filter.fill_ratio(), filter.len().unwrap_or(0)), (0.0, 0));
                // Empty because everything was removed.
                (0..3).for_each(|key| assert_eq!((filter.add(key), filter.remove(key)), (Ok(()), Some(Removed::Copy))));
            }
        }
    }
    every_remover!(check());
}

/// Rates at both ends, and capacities of no and of few keys: as many as were promised are taken, found and removed.
#[test]
fn the_smallest_filters_take_what_they_promise_and_give_it_back() {
    fn check<F: Changes>(lines: LinesPerKey) {
        for (capacity, p) in [0, 1, 2, 3].into_iter().flat_map(|capacity| [0.9, 0.01, MIN_FPR].map(|p| (capacity, p))) {
            let mut filter = F::make(&Wanted { fpr: p, ..wanted(lines, 6, capacity) }).unwrap();
            for round in 0..3 {
                let keys: Vec<u64> = (round * 100..round * 100 + capacity).collect();
                keys.iter().for_each(|&key| assert_eq!(filter.add(key), Ok(()), "{filter:?}"));
                assert!(filter.contains_batch(&keys).all() && !filter.is_saturated(), "{filter:?}");
                for (removed, &key) in keys.iter().enumerate() {
                    assert_eq!(filter.remove(key), Some(Removed::Copy), "{filter:?}");
                    assert!(filter.contains_batch(&keys[removed + 1..]).all(), "{filter:?}");
                }
                assert!(filter.contains_batch(&keys).not_any() && filter.fill_ratio() == 0.0, "{filter:?}");
            }
        }
        let refused = F::make(&Wanted { fpr: 1e-9, ..wanted(lines, 6, 100) }).unwrap_err();
        assert_eq!(refused, ParamError::FprTooSmall { requested: 1e-9, smallest: MIN_FPR });
    }
    every_remover!(check());
}

/// Where a filter is full it says so, and everything that was accepted before is there; a removal makes room again.
#[test]
fn a_full_cuckoo_filter_has_lost_nothing() {
    fn check<F: Changes>(lines: LinesPerKey, seed: u64) {
        for (capacity, p) in [(0, 0.01), (1, 0.9), (2, 1e-8), (3, 0.01), (100, 0.9), (100, 1e-4), (3000, 1e-6)] {
            let mut filter = F::make(&Wanted { fpr: p, ..wanted(lines, seed, capacity) }).unwrap();
            let taken = (0..).find(|&key| filter.add(key).is_err()).expect("there is an end");
            assert!(taken >= capacity, "{filter:?}");
            let error = same_before_and_after(&mut filter, |filter| filter.add(taken)).unwrap_err();
            // A coincidence of eight keys does not happen here.
            assert_eq!(error, CuckooError::Full { len: taken, capacity }, "{filter:?}");
            for stranger in taken..taken + 100 {
                // One refusal does not mean that all others are; but each leaves everything as it was.
                let before = filter.len();
                if filter.add(stranger).is_ok() {
                    assert_eq!(filter.remove(stranger), Some(Removed::Copy));
                }
                assert_eq!(filter.len(), before);
            }
            let keys: Vec<u64> = (0..taken).collect();
            assert!(filter.contains_batch(&keys).all(), "{filter:?}");
            for key in keys {
                assert_eq!(filter.remove(key), Some(Removed::Copy), "{filter:?}");
            }
            assert_eq!((filter.len(), filter.add(taken)), (Some(0), Ok(())));
        }
    }
    (0..5).for_each(|seed| {
        check::<CuckooFilter>(LinesPerKey::One, seed);
        check::<AtomicCuckoo>(LinesPerKey::One, seed);
    });
}

/// Idle windows take no plane and clear nothing, so that a million of them are no work: of any number, and with keys from before them.
#[test]
fn a_million_windows_without_inserts_pass_and_the_next_key_lives_as_long_as_any() {
    fn check<F: Changes>(lines: LinesPerKey) {
        for windows in [1, 4, 31] {
            let mut filter = F::make(&Wanted { windows, ..wanted(lines, 7, 1000) }).unwrap();
            filter.put_batch(&(0..1000u64).collect::<Vec<_>>());
            (0..1_000_000).for_each(|_| filter.rotate());
            assert!((0..1000).all(|key| filter.age(key).is_none()) && filter.fill_ratio() == 0.0);
            assert_eq!(filter.windows(), Some((windows, 1_000_000)));
            _ = filter.add(HOT);
            for age in 0..windows {
                assert_eq!((filter.age(HOT), filter.contains(&HOT)), (Some(age), true));
                filter.rotate();
            }
            assert_eq!((filter.age(HOT), filter.contains(&HOT)), (None, false));
        }
    }
    every_forgetter!(check());
}

/// No clock of this crate goes back: a [`MockClock`](absentia::MockClock) stands still or moves on, to the end of time at most. What looks like going back
/// is a filter that was rotated by hand, and is ahead of its clock: windows that the clock begins later are those that have been.
#[test]
fn a_clock_that_is_behind_shortens_no_life() {
    fn check<F: Changes>(lines: LinesPerKey) {
        let (clock, hand) = Clock::mock();
        hand.advance(WINDOW * 1000 + WINDOW / 2);
        let mut filter = F::make(&Wanted { clock: Some(clock), ..wanted(lines, 8, 100) }).unwrap();
        assert_eq!(filter.windows(), Some((4, 0)));
        // Ahead of the clock by five windows.
        (0..5).for_each(|_| filter.rotate());
        _ = filter.add(HOT);
        for _ in 0..5 {
            assert_eq!((filter.age(HOT), filter.windows()), (Some(0), Some((4, 5))));
            hand.advance(WINDOW);
        }
        assert_eq!((filter.age(HOT), filter.windows()), (Some(0), Some((4, 5))));
        for age in 1..4 {
            hand.advance(WINDOW);
            assert_eq!(filter.age(HOT), Some(age));
        }
        // Nobody looked between.
        hand.advance(WINDOW * 4);
        assert!(!filter.contains(&HOT) && filter.age(HOT).is_none() && filter.windows() == Some((4, 12)));
        _ = filter.add(HOT);
        // The end of time, where nothing moves any more.
        (0..3).for_each(|_| hand.advance(std::time::Duration::MAX));
        let (_, last) = filter.windows().unwrap();
        assert!(last > 1_000_000_000 && !filter.contains(&HOT));
        _ = filter.add(HOT);
        hand.advance(std::time::Duration::MAX);
        assert_eq!((filter.age(HOT), filter.windows()), (Some(0), Some((4, last))));
        (1..4).for_each(|age| {
            filter.rotate();
            assert_eq!(filter.age(HOT), Some(age));
        });
        filter.rotate();
        assert_eq!((filter.age(HOT), filter.windows()), (None, Some((4, last + 4))));
    }
    every_forgetter!(check());
}

/// A filter that many threads share, taken over from a full one: it removes everything, and takes as much again one by one.
#[test]
fn a_filter_that_was_taken_over_gives_everything_back() {
    for p in [0.9, 0.02, 1e-3, 1e-6] {
        let builder = CuckooFilter::builder().capacity(5000).fpr(p).hasher(KeyHasher::xxh3(9));
        let mut filter = builder.build().unwrap();
        filter.insert_batch(&(0..5000u64).collect::<Vec<_>>()).unwrap();
        let mut shared = AtomicCuckoo::try_from(filter).unwrap();
        assert!((0..5000u64).all(|key| shared.contains(&key)) && shared.len() == 5000);
        // The removals make room in the very buckets where the keys' fingerprints were.
        for key in 0..5000u64 {
            assert!(shared.remove(&key) && shared.insert(&key).is_ok() && shared.contains(&key));
        }
        assert!((0..5000u64).all(|key| shared.contains(&key)));
        assert!((0..5000u64).all(|key| shared.remove(&key)) && shared.is_empty() && shared.fill_ratio() == 0.0);
        same_before_and_after(&mut shared, |shared| assert!((0..5000).all(|key| shared.remove(key) == Some(Removed::Nothing))));
    }
}

/// **What growing once did wrong.** It kept the width of fingerprints, which for a few keys in two buckets may be the least there is: a filter for no keys
/// at 1e-8 grew into one for 100,000 at 6 %. And it forgot the limit of memory.
#[test]
fn a_filter_that_grows_keeps_its_rate_and_its_limit() {
    for (capacity, p) in [0, 1, 5, 1000].into_iter().flat_map(|capacity| [1e-8, 1e-3, 0.3].map(|p| (capacity, p))) {
        let direct = CuckooFilter::new(100_000, p).unwrap();
        let mut filter = CuckooFilter::builder().capacity(capacity).fpr(p).memory_limit(direct.memory_bytes()).build().unwrap();
        filter.insert_batch(&(0..capacity).collect::<Vec<_>>()).unwrap();
        filter.grow(100_000, 0..50_000u64).unwrap();
        assert!(filter.predicted_fpr() <= p, "{filter:?} was {capacity} keys at {p:e}: {}", filter.predicted_fpr());
        assert_eq!((filter.len(), filter.fingerprint_bits()), (50_000, direct.fingerprint_bits()));
        let refused = same_before_and_after(&mut filter, |filter| filter.grow(200_000, 0..50_000u64)).unwrap_err();
        assert!(matches!(refused, GrowError::Params(ParamError::TooLarge { limit, .. }) if limit == direct.memory_bytes()), "{refused}");
    }
    // A width that was given stays, and so it does in a filter of fewer keys.
    let mut filter = CuckooFilter::builder().capacity(1).fingerprint_bits(9).build().unwrap();
    for capacity in [100_000, 10] {
        filter.grow(capacity, [1u64]).unwrap();
        assert_eq!((filter.fingerprint_bits(), filter.is_saturated()), (9, false));
    }
}
