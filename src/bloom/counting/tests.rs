//! The counting filter against an exact multiset, and its rate against the exact one.
//!
//! What one counter does is tested in `bits/nibbles.rs`, and that all kernels do the same in `kernel/counters/tests.rs`.

use super::*;
use crate::bloom::LinesPerKey;
use proptest::prelude::*;
use std::collections::HashMap;

fn builder(capacity: u64, p: f64) -> BloomBuilder {
    CountingBloom::builder().capacity(capacity).fpr(p).hasher(KeyHasher::xxh3(7))
}

fn filter(capacity: u64, p: f64) -> CountingBloom {
    builder(capacity, p).build_counting().unwrap()
}

/// Of few lines, so that keys share counters, and of one and two lines a key.
fn crowded() -> [CountingBloom; 3] {
    let of = |memory, lines| builder(40, 0.01).memory(memory).lines_per_key(lines).build_counting().unwrap();
    [of(64, LinesPerKey::One), of(192, LinesPerKey::One), of(256, LinesPerKey::Two)]
}

#[derive(Clone, Debug)]
enum Step {
    Insert(u64, u32),
    InsertBatch(Vec<u64>),
    /// Of a key that is there; in order of the keys, so that each has its turn.
    Remove(usize),
    RemoveBatch(Vec<usize>),
    /// Of a key that never was.
    Foreign(u64),
    Unite(Vec<u64>),
    Clear,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = 0u64..60;
    let keys = || prop::collection::vec(0u64..60, 0..20);
    let step = prop_oneof![
        8 => (key, prop_oneof![5 => Just(1u32), 1 => 14u32..18]).prop_map(|(key, times)| Step::Insert(key, times)),
        2 => keys().prop_map(Step::InsertBatch),
        12 => any::<usize>().prop_map(Step::Remove),
        2 => prop::collection::vec(any::<usize>(), 0..20).prop_map(Step::RemoveBatch),
        4 => (1000u64..100_000).prop_map(Step::Foreign),
        1 => keys().prop_map(Step::Unite),
        1 => Just(Step::Clear),
    ];
    prop::collection::vec(step, 0..120)
}

/// How often each key is in the filter.
#[derive(Default)]
struct Multiset(HashMap<u64, u32>);

impl Multiset {
    fn add(&mut self, key: u64, times: u32) {
        *self.0.entry(key).or_default() += times;
    }

    /// One of the keys that are there, one copy of it less.
    fn take(&mut self, choice: usize) -> Option<u64> {
        let mut keys: Vec<u64> = self.0.keys().copied().collect();
        keys.sort_unstable();
        let key = *keys.get(choice % keys.len().max(1))?;
        let count = self.0.get_mut(&key)?;
        *count -= 1;
        if *count == 0 {
            self.0.remove(&key);
        }
        Some(key)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever is inserted, and removed again no more often, nothing that is there is denied, and no count is too low.
    #[test]
    fn no_key_is_lost_while_only_inserted_keys_are_removed(steps in steps(), kind in 0usize..3) {
        let mut filter = crowded()[kind].clone();
        let mut exact = Multiset::default();
        for step in &steps {
            match step {
                Step::Insert(key, times) => (0..*times).for_each(|_| {
                    let was_there = filter.contains(key);
                    assert_eq!(filter.insert(key), !was_there);
                    exact.add(*key, 1);
                }),
                Step::InsertBatch(keys) => {
                    let mut one_by_one = filter.clone();
                    let new: BitVec = keys.iter().map(|key| one_by_one.insert(key)).collect();
                    prop_assert_eq!(filter.insert_batch(keys), new);
                    prop_assert!(filter == one_by_one);
                    keys.iter().for_each(|key| exact.add(*key, 1));
                }
                Step::Remove(choice) => {
                    let Some(key) = exact.take(*choice) else { continue };
                    let stuck = filter.count(&key) == 15;
                    let before = filter.clone();
                    // A key that is there is never "not there". It may be stuck, and then nothing changes.
                    let removed = filter.remove(&key);
                    prop_assert_eq!(removed, if stuck { Err(CountingError::Saturated) } else { Ok(true) });
                    prop_assert_eq!(filter == before, stuck);
                }
                Step::RemoveBatch(choices) => {
                    let keys: Vec<u64> = choices.iter().filter_map(|choice| exact.take(*choice)).collect();
                    let mut one_by_one = filter.clone();
                    let removed: BitVec = keys.iter().map(|key| one_by_one.remove(key) == Ok(true)).collect();
                    prop_assert_eq!(filter.remove_batch(&keys), removed);
                    prop_assert!(filter == one_by_one);
                }
                Step::Foreign(key) => {
                    // The caller who takes the filter's no for an answer changes nothing by asking it to remove.
                    if !filter.contains(key) {
                        let before = filter.clone();
                        prop_assert_eq!(filter.remove(key), Ok(false));
                        prop_assert!(filter == before);
                    }
                }
                Step::Unite(keys) => {
                    let mut other = crowded()[kind].clone();
                    other.extend(keys);
                    filter.union_with(&other).unwrap();
                    keys.iter().for_each(|key| exact.add(*key, 1));
                }
                Step::Clear => {
                    filter.clear();
                    exact.0.clear();
                    prop_assert_eq!((filter.fill_ratio(), filter.saturated_counters()), (0.0, 0));
                }
            }
            for (key, &copies) in &exact.0 {
                prop_assert!(filter.contains(key), "{} was lost in {:?}", key, step);
                prop_assert!(filter.count(key) >= copies.min(15), "{}: {} of {} in {:?}", key, filter.count(key), copies, step);
            }
        }
        // What was never full is exact: all keys out is an empty filter.
        if filter.saturated_counters() == 0 {
            while let Some(key) = exact.take(0) {
                prop_assert_eq!(filter.remove(&key), Ok(true));
            }
            prop_assert_eq!(filter.fill_ratio(), 0.0);
        }
    }

    #[test]
    fn a_union_is_the_filter_of_both_and_a_fold_that_of_half_the_lines(ours in prop::collection::vec(0u64..500, 0..400), theirs in prop::collection::vec(0u64..500, 0..400)) {
        for lines in [LinesPerKey::One, LinesPerKey::Two] {
            let of = |capacity: u64| builder(capacity, 0.01).lines_per_key(lines).foldable(3).build_counting().unwrap();
            let with = |mut filter: CountingBloom, keys: &[&[u64]]| {
                keys.iter().for_each(|keys| filter.extend(*keys));
                filter
            };
            let mut united = with(of(500), &[&ours]);
            united.union_with(&with(of(500), &[&theirs])).unwrap();
            let mut both = with(of(500), &[&ours, &theirs]);
            prop_assert!(united == both);

            let memory = both.memory_bytes();
            both.fold().unwrap();
            let half = CountingBloom::with_shape(both.shape.clone(), u64::MAX, *both.hasher()).unwrap();
            prop_assert!(with(half, &[&ours, &theirs]) == both);
            prop_assert_eq!((both.capacity(), both.memory_bytes()), (250, memory / 2));
            prop_assert!(ours.iter().chain(&theirs).all(|key| both.contains(key)));
        }
    }
}

#[test]
fn a_folded_filter_predicts_the_rate_of_half_its_counters() {
    for p in [0.01, 1e-4] {
        let mut folded = builder(10_000, p).foldable(4).build_counting().unwrap();
        let (lines, rate) = (folded.lines(), folded.predicted_fpr());
        folded.fold().unwrap();
        // Half the keys in half the lines, but for what rounding up to a multiple gave.
        assert!(folded.lines() * 2 == lines && (folded.predicted_fpr() / rate - 1.0).abs() < 0.01, "{rate:e} {:e}", folded.predicted_fpr());
        folded.extend(0..500u64);
        let (folds, lines) = (folded.shrink_to_fit(), folded.lines());
        assert_eq!(folds, 3, "a tenth of the keys fits an eighth of the lines");
        assert!(folded.estimated_fpr() <= p && (0..500u64).all(|key| folded.contains(&key)) && folded.lines() == lines);
        (0..500u64).for_each(|key| assert_eq!(folded.remove(&key), Ok(true)));
        assert_eq!(folded.fill_ratio(), 0.0);
    }
    let mut odd = builder(10, 0.01).memory(192).lines_per_key(LinesPerKey::One).build_counting().unwrap();
    assert_eq!((odd.lines(), odd.fold()), (3, Err(CombineError::Odd { bits: 1536 })));
}

#[test]
fn sixteen_copies_or_a_million_and_as_many_removals_lose_no_other_key() {
    for copies in [15u32, 16, 17, 1_000_000] {
        for mut filter in crowded() {
            let others = 1..30u64;
            filter.extend(others.clone());
            for _ in 0..copies {
                filter.insert(&0u64);
            }
            assert_eq!(filter.count(&0u64), 15);
            assert!(filter.saturated_counters() > 0);
            for _ in 0..copies {
                assert_eq!(filter.remove(&0u64), Err(CountingError::Saturated));
            }
            assert!(filter.contains(&0u64), "nobody knows that it is gone");
            assert!(others.clone().all(|key| filter.contains(&key)));
            for key in others {
                assert_ne!(filter.remove(&key), Ok(false));
            }
            filter.clear();
            assert_eq!((filter.contains(&0u64), filter.saturated_counters()), (false, 0));
        }
    }
}

#[test]
fn copies_below_fifteen_are_counted_exactly_in_a_filter_with_room() {
    let mut filter = filter(1000, 1e-6);
    for copies in 1..15 {
        assert_eq!(filter.insert("k"), copies == 1);
        assert_eq!(filter.count("k"), copies);
    }
    assert_eq!(filter.saturated_counters(), 0);
    for copies in (0..14).rev() {
        assert_eq!((filter.remove("k"), filter.count("k"), filter.contains("k")), (Ok(true), copies, copies > 0));
    }
    assert_eq!((filter.remove("k"), filter.fill_ratio()), (Ok(false), 0.0));
}

/// All sixteen positions of this hash are one counter, in either line: an insert is one step of it, and so is a removal.
#[test]
fn positions_that_coincide_count_once() {
    let hash = KeyHash::from_parts(1 << 63, 0);
    for mut filter in crowded() {
        for copies in 1..=15 {
            filter.insert_hash(hash);
            assert_eq!(filter.count_hash(hash), copies);
        }
        assert_eq!(filter.saturated_counters(), u64::from(filter.lines_per_key()));
        assert_eq!(filter.remove_hash(hash), Err(CountingError::Saturated));
        filter.clear();
        filter.insert_hash(hash);
        assert_eq!((filter.remove_hash(hash), filter.remove_hash(hash), filter.fill_ratio()), (Ok(true), Ok(false), 0.0));
    }
}

/// One of a key's counters is stuck and others are not: the copy is taken, and the one that is stuck stays.
#[test]
fn a_removal_passes_over_stuck_counters_and_changes_the_others() {
    let mut filter = builder(10, 0.01).memory(64).build_counting().unwrap();
    let one_counter = KeyHash::from_parts(0, 0);
    (0..20).for_each(|_| _ = filter.insert_hash(one_counter));
    // Even lanes of these hashes multiply 0 and are counter 0, which is stuck; the odd ones are others.
    let shares = (1..).map(|high| KeyHash::from_parts(0, high << 32)).find(|hash| filter.clone().insert_hash(*hash)).unwrap();
    filter.insert_hash(shares);
    assert_eq!((filter.count_hash(shares), filter.saturated_counters()), (1, 1));
    assert_eq!((filter.remove_hash(shares), filter.remove_hash(shares)), (Ok(true), Ok(false)));
    assert_eq!((filter.saturated_counters(), filter.count_hash(one_counter)), (1, 15));
}

#[test]
fn strangers_are_not_removed_but_where_they_are_false_positives() {
    let mut filter = filter(10_000, 0.01);
    filter.extend(0..10_000u64);
    let untouched = filter.clone();
    // 10,000 strangers, 100 false positives expected, 10 their standard deviation; the seed is fixed.
    let mut taken = 0;
    for key in 1_000_000..1_010_000u64 {
        let said = filter.contains(&key);
        let removed = filter.remove(&key);
        assert_eq!(removed, Ok(said));
        if removed == Ok(true) {
            taken += 1;
            filter = untouched.clone();
        } else {
            assert!(filter == untouched);
        }
    }
    assert!((50..150).contains(&taken), "{taken}");
    assert!((0..10_000u64).all(|key| filter.contains(&key)));
}

#[test]
fn nothing_is_removed_from_an_empty_filter() {
    let mut empty = filter(100, 0.01);
    assert!((0..100u64).all(|key| empty.remove(&key) == Ok(false)));
    assert_eq!(empty.remove_batch(&[1u64, 2, 3]).count_ones(), 0);
    assert!(empty == filter(100, 0.01));
}

/// The rate of what is in the filter is exact for strangers, so that their number is binomial: 500,000 questions, a bound of 5.2 standard deviations, a
/// chance of false alarm of some 2e-7 for each line. A table of 100,000 keys differs from the mean of all tables by up to 1.2 % where it was
/// looked at; the bound is 4 %.
#[test]
fn measured_rate_is_the_predicted_one() {
    const QUESTIONS: u64 = 500_000;
    for (p, lines) in [(0.01, LinesPerKey::One), (0.01, LinesPerKey::Two), (1e-3, LinesPerKey::One), (1e-3, LinesPerKey::Two)] {
        let mut filter = builder(100_000, p).lines_per_key(lines).build_counting().unwrap();
        // Twice as many as there shall be, and half of them out again.
        filter.extend(0..200_000u64);
        assert!(filter.is_saturated());
        let gone: Vec<u64> = (0..100_000).collect();
        assert!(filter.remove_batch(&gone).all());
        assert_eq!(filter.saturated_counters(), 0);
        assert!((100_000..200_000u64).all(|key| filter.contains(&key)));
        assert!((filter.estimated_fpr() / filter.predicted_fpr() - 1.0).abs() < 0.04, "{:e}", filter.estimated_fpr());
        assert!(filter.predicted_fpr() <= p && filter.predicted_fpr() > 0.999 * p && !filter.is_saturated());
        assert!((99_000..102_000).contains(&filter.estimated_len()), "{}", filter.estimated_len());
        // Those that were removed are strangers now.
        let strangers: Vec<u64> = gone.into_iter().chain(1_000_000..1_000_000 + QUESTIONS - 100_000).collect();
        let hits = filter.contains_batch(&strangers).count_ones() as f64;
        let expected = QUESTIONS as f64 * filter.estimated_fpr();
        assert!((hits - expected).abs() < 5.2 * expected.sqrt(), "{p} {lines:?}: {hits} of {expected}");
    }
}

#[test]
fn a_union_sticks_at_fifteen_and_holds_a_key_of_both_twice() {
    let of = |copies: u32| {
        let mut filter = filter(100, 1e-4);
        (0..copies).for_each(|_| _ = filter.insert("k"));
        filter
    };
    for (ours, theirs) in [(1, 1), (7, 7), (7, 8), (15, 0), (0, 15), (14, 14), (15, 15), (16, 3)] {
        let mut united = of(ours);
        united.union_with(&of(theirs)).unwrap();
        assert_eq!(united.count("k"), (ours + theirs).min(15));
        let removals = if ours + theirs < 15 { vec![Ok(true); (ours + theirs) as usize] } else { vec![Err(CountingError::Saturated); 30] };
        assert!(removals.iter().all(|want| united.remove("k") == *want), "{ours} {theirs}");
        assert_eq!(united.contains("k"), ours + theirs >= 15);
    }
}

#[test]
fn filters_that_differ_do_not_unite() {
    let base = || builder(1000, 0.01).memory(5120).lines_per_key(LinesPerKey::One);
    let ours = base().build_counting().unwrap();
    let refuses = |theirs: BloomBuilder| {
        let mut changed = ours.clone();
        changed.insert(&1u64);
        let before = changed.clone();
        let result = changed.union_with(&theirs.build_counting().unwrap());
        assert!(result.is_ok() || changed == before);
        result
    };
    assert_eq!(refuses(base().capacity(999)), Ok(()));
    assert!(matches!(refuses(base().hasher(KeyHasher::xxh3(8))), Err(CombineError::Hasher { .. })));
    assert_eq!(refuses(base().memory(5184)), Err(CombineError::Bits { ours: 40_960, theirs: 41_472 }));
    assert!(matches!(refuses(base().capacity(300)), Err(CombineError::Positions { .. })));
    assert_eq!(refuses(base().lines_per_key(LinesPerKey::Two)), Err(CombineError::LinesPerKey { ours: 1, theirs: 2 }));
}

#[test]
fn wrong_parameters_are_refused_and_small_ones_work() {
    for capacity in 0..4 {
        for p in [0.9, 0.5, 1e-8] {
            let mut filter = filter(capacity, p);
            assert!(filter.capacity() == capacity && filter.predicted_fpr() <= p && filter.lines() >= 1);
            assert!(!filter.contains(&5u64) && filter.insert(&5u64) && filter.contains(&5u64));
            assert_eq!((filter.remove(&5u64), filter.contains(&5u64)), (Ok(true), false));
        }
    }
    for p in [f64::NAN, 0.0, 1.0, -1.0, f64::INFINITY] {
        assert!(matches!(CountingBloom::new(10, p), Err(ParamError::FprOutOfRange { .. })));
    }
    assert!(matches!(CountingBloom::new(10, 1e-9), Err(ParamError::FprTooSmall { .. })));
    assert!(matches!(CountingBloom::new(u64::MAX, 0.01), Err(ParamError::TooLarge { .. })));
    assert!(matches!(CountingBloom::new(1 << 40, 0.01), Err(ParamError::TooLarge { .. })));
    assert!(matches!(CountingBloom::with_memory(63, 10), Err(ParamError::MemoryTooSmall { given: 63, needed: 64 })));
    assert_eq!(CountingBloom::builder().build_counting().map(drop), Err(ParamError::NoCapacity));
    let limit = filter(1000, 0.01).memory_bytes();
    assert!(builder(1000, 0.01).memory_limit(limit).build_counting().is_ok());
    let refused = builder(1000, 0.01).memory_limit(limit - 1).build_counting().map(drop);
    assert_eq!(refused, Err(ParamError::TooLarge { needed: limit, limit: limit - 1 }));
}

#[test]
fn every_kernel_makes_the_same_filter() {
    for (p, capacity) in [(0.01, 2000), (1e-5, 60_000)] {
        let of = |kernel| {
            let mut filter = builder(capacity, p).kernel(kernel).build_counting().unwrap();
            filter.extend(0..capacity);
            filter.extend((0..capacity).filter(|key| key % 3 == 0));
            let removed: Vec<u64> = (0..2 * capacity).filter(|key| key % 5 == 0).collect();
            let answers = filter.remove_batch(&removed);
            let counts: Vec<u32> = (0..1000u64).map(|key| filter.count(&key)).collect();
            (filter, answers, counts)
        };
        let portable = of(Kernel::PORTABLE);
        for kernel in Kernel::available() {
            let made = of(kernel);
            assert!(made == portable, "{kernel}");
            assert_eq!((made.0.kernel(), made.0.kernel_name()), (kernel, kernel.name()));
        }
    }
}

/// **A change here makes every stored filter deny keys that are in it.** The lines that these hashes have, and their counters, by the rule at the head
/// of `kernel/portable.rs` and of `kernel/layout.rs`, computed apart.
#[test]
fn golden_lines() {
    let hash = KeyHash::from_parts(0x8000_0000_c000_0000, 0x0123_4567_89ab_cdef);
    for (lines, filled) in [(LinesPerKey::One, GOLDEN_ONE), (LinesPerKey::Two, GOLDEN_TWO)] {
        let mut filter = builder(104, 0.01).memory(8 * 64).lines_per_key(lines).build_counting().unwrap();
        assert_eq!(filter.k(), 6);
        filter.insert_hash(hash);
        let counters = (0..1024).filter(|at| filter.lines[at / 128].0[at % 128 / 16] >> (at % 16 * 4) & 15 == 1);
        assert_eq!(counters.collect::<Vec<_>>(), filled);
        assert_eq!(filter.fill_ratio(), 6.0 / 1024.0);
    }
}

const GOLDEN_ONE: [usize; 6] = [516, 528, 529, 562, 581, 584];
const GOLDEN_TWO: [usize; 6] = [260, 272, 273, 896, 956, 998];

#[test]
fn traits_speak_for_the_filter() {
    let (a, b) = (KeyHash::from_parts(1, 2), KeyHash::from_parts(u64::MAX, 3));
    let mut filter: Box<CountingBloom> = Box::new(filter(1000, 1e-4));
    Insert::insert_hash(&mut *filter, a).unwrap();
    Insert::insert_hash_batch(&mut *filter, &[a, b]).unwrap();
    assert_eq!((filter.count_hash(a), filter.count_hash(b)), (2, 1));
    assert!(Remove::remove_hash(&mut *filter, b) && !Remove::remove_hash(&mut *filter, b));
    (0..20).for_each(|_| Insert::insert_hash(&mut *filter, a).unwrap());
    assert!(!Remove::remove_hash(&mut *filter, a), "stuck");
    let text = format!("{filter:?}");
    assert!(text.starts_with("CountingBloom { capacity: 1000, bits: ") && text.contains("kernel"), "{text}");
    let (rate, memory, fingerprint) = (filter.estimated_fpr(), filter.memory_bytes(), filter.hasher().fingerprint());
    let frozen: Arc<dyn Membership> = (filter as Box<dyn Insert>).freeze();
    assert!(frozen.contains_hash(a) && !frozen.contains_hash(b) && frozen.remover().is_none());
    assert_eq!(frozen.contains_hash_batch(&[a, b, a]).iter().by_vals().collect::<Vec<_>>(), [true, false, true]);
    assert_eq!((frozen.estimated_fpr(), frozen.memory_bytes(), frozen.capacity()), (rate, memory, 1000));
    assert_eq!(frozen.hasher_fingerprint(), fingerprint);
}

#[test]
fn sizes_are_of_counters() {
    let filter = filter(100_000, 0.01);
    assert_eq!((filter.k(), filter.lines_per_key(), filter.bits(), filter.memory_bytes()), (6, 1, filter.lines() * 512, filter.lines() * 64));
    assert!((filter.bits_per_key() - 43.4).abs() < 0.1);
    let memory = CountingBloom::with_memory(1 << 20, 100_000).unwrap();
    assert_eq!(memory.memory_bytes(), 1 << 20);
    assert!(memory.predicted_fpr() < 3e-4 && memory.lines_per_key() == 2);
    let classical = builder(100_000, 0.01).sizing(crate::bloom::Sizing::Classical).build_counting().unwrap();
    assert_eq!(classical.lines(), crate::bloom::sizing::classical(Capacity::new(100_000), crate::params::Fpr::new(0.01).unwrap()).bits.div_ceil(128));
    assert!((classical.predicted_fpr() / 1.56e-2 - 1.0).abs() < 0.01);
}
