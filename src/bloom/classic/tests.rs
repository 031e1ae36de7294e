//! The classic filter against the published figures, a set, and the rate of independent positions.
//!
//! **Rates.** A bound is 5.2 standard deviations, with at least 100 expected false positives: a chance of false alarm of some 1e-6 for each line.
//! Seeds are fixed, so that this is the chance that a *change* of constants or seeds fails by bad luck.

use super::probe::positions;
use super::*;
use crate::bloom::sizing;
use crate::params::{DEFAULT_MEMORY_LIMIT, Fpr};
use proptest::prelude::*;
use std::collections::HashSet;

fn filter(capacity: u64, p: f64, seed: u64) -> ClassicBloom {
    let (n, hasher) = (Capacity::new(capacity), KeyHasher::xxh3(seed));
    let size = sizing::classical(n, Fpr::new(p).unwrap());
    ClassicBloom::sized(n, p, size, DEFAULT_MEMORY_LIMIT, hasher, hasher.fingerprint()).unwrap()
}

/// Any bits and k, for hashes.
fn of_size(capacity: u64, bits: u64, k: u32) -> ClassicBloom<()> {
    let size = Classical { bits, k, predicted_fpr: classical_fpr(capacity as f64, bits, k) };
    ClassicBloom::sized(Capacity::new(capacity), 0.01, size, u64::MAX, (), KeyHasher::xxh3(1).fingerprint()).unwrap()
}

fn with_keys(mut filter: ClassicBloom, keys: impl IntoIterator<Item = u64>) -> ClassicBloom {
    filter.extend(keys);
    filter
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn random_hash(state: &mut u64) -> KeyHash {
    KeyHash::from_parts(split_mix(state), split_mix(state))
}

#[test]
fn sizes_are_those_of_the_textbook_to_the_bit() {
    for (p, bits_per_key, k) in [(0.3, 2.51, 2), (1e-2, 9.59, 7), (1e-3, 14.38, 10), (1e-4, 19.17, 13), (1e-6, 28.76, 20)] {
        let filter = filter(1_000_000, p, 1);
        assert!((filter.bits_per_key() - bits_per_key).abs() < 0.006, "{}", filter.bits_per_key());
        assert_eq!((filter.k(), filter.capacity(), filter.as_bits().len() as u64), (k, 1_000_000, filter.bits()));
        assert!((filter.predicted_fpr() / p - 1.0).abs() < 0.04, "{:e}", filter.predicted_fpr());
    }
    let filter = filter(1_000_000, 0.01, 1);
    assert_eq!((filter.bits(), filter.memory_bytes()), (9_585_059, 1_198_136)); // 1.2 MB
}

/// **A change here makes every stored filter deny keys that are in it.** Such a change is a new format version, not an edit. The values are those of
/// x_i = a + b·Σ MULTIPLIER^j in another language's unbounded integers.
#[test]
fn golden_positions() {
    let at = |first, second, bits, k| {
        positions(KeyHash::from_parts(first, second), bits, k).map(|(word, bit)| (word * WORD_BITS + bit) as u64).collect::<Vec<_>>()
    };
    assert_eq!(at(0, 0, 1000, 3), [0, 0, 0]);
    assert_eq!(at(0, 1, 1000, 6), [0, 0, 817, 511, 963, 248]);
    assert_eq!(at(0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210, 9586, 20), GOLDEN);
    #[cfg(target_pointer_width = "64")]
    assert_eq!(at(u64::MAX, u64::MAX, (1 << 33) + 1, 6), [1 << 33, 1 << 33, 1_570_223_480, 4_196_666_495, 317_246_692, 6_455_168_181]);
}

const GOLDEN: [u64; 20] = [42, 9585, 7160, 8869, 3894, 8179, 5345, 3293, 199, 449, 8624, 4074, 2437, 4, 7280, 5327, 9213, 5914, 4960, 5071];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn no_key_is_denied_and_answers_agree_with_a_set(
        capacity in 0u64..600,
        exponent in 0.2f64..7.9,
        seed: u64,
        keys in proptest::collection::vec(any::<u16>(), 0..700),
    ) {
        let mut filter = filter(capacity, 10f64.powf(-exponent), seed);
        let mut set = HashSet::new();
        for key in &keys {
            let (known, new) = (filter.contains(key), set.insert(key));
            prop_assert_eq!(filter.insert(key), !known);
            prop_assert!(new || known);
        }
        prop_assert!(keys.iter().all(|key| filter.contains(key)));
        prop_assert!(filter.contains_batch(&keys).all());
    }

    #[test]
    fn a_fold_is_the_filter_of_half_the_size(half in 1u64..1000, k in 1u32..25, keys in 0usize..200, seed: u64) {
        let mut state = seed;
        let hashes: Vec<_> = (0..keys).map(|_| random_hash(&mut state)).collect();
        let (mut folded, mut direct) = (of_size(half / 5, 2 * half, k), of_size(half / 10, half, k));
        folded.insert_hash_batch(&hashes);
        direct.insert_hash_batch(&hashes);
        prop_assert_eq!(folded.fold(), Ok(()));
        prop_assert!(folded == direct);
        prop_assert_eq!((folded.as_bits(), folded.predicted_fpr()), (direct.as_bits(), direct.predicted_fpr()));
        prop_assert!(folded.contains_hash_batch(&hashes).all());
    }
}

/// The one filter's rate is the textbook's but for two sources of variance: the questions, Q·r, and its own fill, whose relative standard deviation,
/// 0.56/√m at half full, the rate has k-fold.
fn measure(p: f64, capacity: u64, questions: u64) {
    let filter = with_keys(filter(capacity, p, 5), 0..capacity);
    let strangers: Vec<u64> = (capacity..capacity + questions).collect();
    let found = filter.contains_batch(&strangers).count_ones() as f64;
    let mean = questions as f64 * filter.predicted_fpr();
    let spread = 0.56 * f64::from(filter.k()) / (filter.bits() as f64).sqrt();
    let deviation = (mean + (mean * spread).powi(2)).sqrt();
    println!("p {p:e}: predicted {mean:.0} of {questions}, found {found}, {:+.2} sd", (found - mean) / deviation);
    assert!(mean > 100.0 && (found - mean).abs() <= 5.2 * deviation, "p {p:e}: {found} false positives, expected {mean:.0} ± {deviation:.1}");
    assert!((filter.estimated_fpr() / filter.predicted_fpr() - 1.0).abs() <= 5.2 * spread);
    assert!((filter.estimated_len() as f64 / capacity as f64 - 1.0).abs() < 0.01 && !filter.is_saturated());
}

#[test]
fn rate_of_sequential_integers_at_0_3() {
    measure(0.3, 100_000, 500_000);
}

#[test]
fn rate_of_sequential_integers_at_1e_2() {
    measure(1e-2, 100_000, 1_000_000);
}

#[test]
fn rate_of_sequential_integers_at_1e_4() {
    measure(1e-4, 100_000, 4_000_000);
}

/// The rate of independent uniform positions, over all fills that `n` keys may come to: thrown one after the other (Bose et al. 2008).
fn exact_fpr(n: u64, bits: u64, k: u32) -> f64 {
    let m = bits as f64;
    let mut fill = vec![0.0; bits as usize + 1];
    fill[0] = 1.0;
    for _ in 0..n * u64::from(k) {
        for set in (1..fill.len()).rev() {
            fill[set] = fill[set] * (set as f64 / m) + fill[set - 1] * ((m - (set - 1) as f64) / m);
        }
        fill[0] = 0.0;
    }
    fill.iter().enumerate().map(|(set, chance)| chance * (set as f64 / m).powi(k as i32)).sum()
}

/// Many filters of `bits`, each asked about `questions` strangers. The spread of the mean is that of the filters' own counts.
fn small_filters(bits: u64, n: u64, k: u32, filters: u64, questions: u64, mut hash: impl FnMut() -> KeyHash) {
    let mut filter = of_size(n, bits, k);
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..filters {
        filter.clear();
        (0..n).for_each(|_| _ = filter.insert_hash(hash()));
        let found = (0..questions).filter(|_| filter.contains_hash(hash())).count() as f64;
        (sum, squares) = (sum + found, squares + found * found);
    }
    let (count, exact) = (filters as f64, exact_fpr(n, bits, k) * questions as f64);
    let mean = sum / count;
    let deviation = ((squares / count - mean * mean) / count).sqrt();
    println!("{bits} bits: {:.3} of exact, {:+.2} sd of {:.3}", mean / exact, (mean - exact) / deviation, deviation / exact);
    assert!((mean - exact).abs() <= 5.2 * deviation && deviation < 0.02 * exact, "{bits} bits, k {k}: {mean} ± {deviation}, expected {exact}");
}

/// Where plain double hashing shows 8.7 times the rate, 1.3 times, 1.04 times and 3.3 times. A deviation is 1 to 2 % of the rate.
#[test]
fn small_filters_have_the_rate_of_independent_positions() {
    let mut state = 3;
    small_filters(64, 4, 11, 20_000, 1000, || random_hash(&mut state));
    small_filters(1000, 69, 10, 1000, 20_000, || random_hash(&mut state));
    small_filters(1000, 104, 7, 1000, 2000, || random_hash(&mut state));
    small_filters(1000, 52, 13, 2000, 30_000, || random_hash(&mut state));
}

#[test]
fn small_filters_of_sequential_integers_have_it_too() {
    for (seed, hasher) in [(0u64, KeyHasher::xxh3(0)), (1, KeyHasher::xxh3(u64::MAX)), (2, KeyHasher::siphash([7; 16]))] {
        let mut key = seed << 40;
        let mut hash = || {
            key += 1;
            hasher.hash(&key)
        };
        small_filters(64, 6, 7, 5000, 500, &mut hash);
        small_filters(256, 17, 10, 3000, 3000, &mut hash);
    }
}

#[test]
fn a_union_is_the_filter_of_both() {
    let mut ours = with_keys(filter(500, 0.01, 1), 0..300);
    let theirs = with_keys(filter(500, 0.01, 1), 200..500);
    assert_eq!(ours.union_with(&theirs), Ok(()));
    assert!(ours == with_keys(filter(500, 0.01, 1), 0..500));
}

#[test]
fn an_intersection_keeps_the_common_keys_and_no_bit_that_only_one_had() {
    let (first, second) = (with_keys(filter(500, 0.01, 1), 0..300), with_keys(filter(500, 0.01, 1), 200..500));
    let mut both = first.clone();
    assert_eq!(both.intersect_with(&second), Ok(()));
    assert!((200u64..300).all(|key| both.contains(&key)));
    assert_eq!(both.as_bits(), first.bits.clone() & &second.bits);
    // More than the filter of the common keys.
    let common = with_keys(filter(500, 0.01, 1), 200..300);
    assert!(both.fill_ratio() > common.fill_ratio() && both.fill_ratio() < first.fill_ratio());
}

#[test]
fn filters_that_mean_different_bits_do_not_combine() {
    let ours = with_keys(filter(500, 0.01, 1), 0..300);
    let sized = |bits, k| {
        let hasher = KeyHasher::xxh3(1);
        let size = Classical { bits, k, predicted_fpr: 0.01 };
        ClassicBloom::sized(Capacity::new(500), 0.01, size, u64::MAX, hasher, hasher.fingerprint()).unwrap()
    };
    let fingerprint = |seed| KeyHasher::xxh3(seed).fingerprint();
    let m = ours.bits();
    for (theirs, error) in [
        (filter(500, 0.01, 2), CombineError::Hasher { ours: fingerprint(1), theirs: fingerprint(2) }),
        (sized(m + 1, 7), CombineError::Bits { ours: m, theirs: m + 1 }),
        (sized(m, 6), CombineError::Positions { ours: 7, theirs: 6 }),
    ] {
        let theirs = with_keys(theirs, 0..10);
        let mut changed = ours.clone();
        assert_eq!(changed.union_with(&theirs), Err(error));
        assert_eq!(changed.intersect_with(&theirs), Err(error));
        assert!(changed == ours);
    }
}

#[test]
fn an_odd_number_of_bits_does_not_fold() {
    for bits in [1, 63, 65, 999] {
        let mut filter = of_size(10, bits, 3);
        filter.insert_hash(KeyHash::from_parts(1, 2));
        let before = filter.clone();
        assert_eq!(filter.fold(), Err(CombineError::Odd { bits }));
        assert!(filter == before);
    }
}

#[test]
fn a_fold_gives_memory_back() {
    let mut filter = with_keys(ClassicBloom::with_memory(1 << 16, 50_001).unwrap(), 0..10_000);
    assert_eq!(filter.fold(), Ok(()));
    assert_eq!((filter.capacity(), filter.bits(), filter.memory_bytes(), filter.k()), (25_000, 1 << 18, 1 << 15, 7));
    assert!(filter.bits.capacity() < (1 << 18) + 64);
    assert!((0u64..10_000).all(|key| filter.contains(&key)));
    assert!((filter.predicted_fpr() - classical_fpr(25_000.0, 1 << 18, 7)).abs() < 1e-12);
}

#[test]
fn batches_answer_like_single_questions() {
    for len in [0u64, 1, 31, 32, 33, 63, 64, 65, 129, 200] {
        // The last third comes a second time.
        let mut keys: Vec<u64> = (0..len).collect();
        keys.extend(len - len / 3..len);
        let (mut single, mut batch, mut hashed) = (filter(100, 0.01, 3), filter(100, 0.01, 3), filter(100, 0.01, 3));
        let hashes: Vec<_> = keys.iter().map(|key| single.hasher().hash(key)).collect();
        let new: BitVec = keys.iter().map(|key| single.insert(key)).collect();
        assert_eq!(batch.insert_batch(&keys), new, "of {len}");
        assert_eq!(hashed.insert_hash_batch(&hashes), new);
        assert!(batch == single && hashed == single && with_keys(filter(100, 0.01, 3), keys.iter().copied()) == single);
        assert!(new.iter().skip(len as usize).all(|new| !new));

        let asked: Vec<u64> = (0..2 * len).collect();
        let answers: BitVec = asked.iter().map(|key| single.contains(key)).collect();
        let hashes: Vec<_> = asked.iter().map(|key| single.hasher().hash(key)).collect();
        assert_eq!(batch.contains_batch(&asked), answers);
        assert_eq!(batch.contains_hash_batch(&hashes), answers);
        assert_eq!(Membership::contains_hash_batch(&batch, &hashes), answers);
    }
}

#[test]
fn a_capacity_of_nobody_or_one_is_a_filter() {
    for (capacity, p, bits) in [(0, 0.01, 1), (1, 0.01, 10), (1, 0.9, 1), (0, 1e-8, 1), (1, 1e-8, 39)] {
        let mut filter = filter(capacity, p, 1);
        assert_eq!((filter.bits(), filter.estimated_len()), (bits, 0));
        assert!(!filter.contains("a") && !filter.is_saturated());
        assert!(filter.insert("a"));
        assert!(!filter.insert("a") && filter.contains("a"));
        assert!(filter.predicted_fpr() < 1.0 && filter.estimated_fpr() > 0.0);
    }
    assert_eq!(filter(0, 0.01, 1).predicted_fpr(), 0.0);
}

#[test]
fn a_full_filter_is_saturated_and_holds_at_least_a_known_number_of_keys() {
    let mut filter = with_keys(filter(10, 0.01, 1), 0..10);
    assert!(filter.estimated_len().abs_diff(10) <= 2);
    filter.extend(10u64..10_000);
    assert_eq!((filter.fill_ratio(), filter.estimated_fpr(), filter.is_saturated()), (1.0, 1.0, true));
    assert_eq!(filter.estimated_len(), 72); // 96/7 · ln 192
    filter.clear();
    assert_eq!((filter.fill_ratio(), filter.estimated_len(), filter.is_saturated()), (0.0, 0, false));
}

#[test]
fn saturation_is_twice_the_promise() {
    let mut filter = filter(1000, 0.01, 1);
    let mut key = 0u64;
    while !filter.is_saturated() {
        filter.insert(&key);
        key += 1;
    }
    assert!((1100..1300).contains(&key), "{key}");
    assert!(filter.estimated_fpr() > 2.0 * filter.predicted_fpr().max(0.01));
}

#[test]
fn memory_gives_bits_and_the_best_positions_for_them() {
    for (bytes, capacity, bits, k) in [(1 << 17, 100_000, 1 << 20, 7), (100, 1_000_000, 800, 1), (100, 1, 800, 64), (100, 0, 800, 64), (1, 9, 8, 1)] {
        let mut filter = ClassicBloom::with_memory(bytes, capacity).unwrap();
        assert_eq!((filter.bits(), filter.k(), filter.capacity()), (bits, k, capacity));
        assert_eq!(filter.predicted_fpr(), classical_fpr(capacity.max(1) as f64, bits, k));
        assert!(!filter.is_saturated() && filter.insert("a") && filter.contains("a"));
    }
    assert_eq!(ClassicBloom::with_memory(0, 0).unwrap_err(), ParamError::MemoryTooSmall { given: 0, needed: 1 });
}

#[test]
fn memory_is_refused_before_it_is_asked_for() {
    let limit = (BitSlice::<usize, Lsb0>::MAX_BITS / WORD_BITS * (WORD_BITS / 8)) as u64;
    let refused = |bits, limit| allocate(bits, limit).map(|bits| bits.len() as u64);
    assert_eq!(refused(u64::MAX, u64::MAX), Err(ParamError::TooLarge { needed: u64::MAX, limit }));
    assert_eq!(refused(8 * limit + 1, u64::MAX), Err(ParamError::TooLarge { needed: limit + (WORD_BITS / 8) as u64, limit }));
    assert_eq!(refused(129, 16), Err(ParamError::TooLarge { needed: memory_of(129), limit: 16 }));
    assert_eq!(refused(128, 16), Ok(128));
    let limit = limit.min(DEFAULT_MEMORY_LIMIT);
    assert_eq!(ClassicBloom::with_memory(u64::MAX, 1).unwrap_err(), ParamError::TooLarge { needed: u64::MAX, limit });
    assert!(matches!(ClassicBloom::new(u64::MAX, 0.01), Err(ParamError::TooLarge { needed: u64::MAX, limit: _ })));
    assert!(matches!(ClassicBloom::new(10, f64::NAN), Err(ParamError::FprOutOfRange { .. })));
    assert!(matches!(ClassicBloom::new(10, 1e-9), Err(ParamError::FprTooSmall { .. })));
}

#[cfg(target_pointer_width = "64")]
#[test]
fn an_allocator_that_refuses_is_an_error() {
    // 2^57 bytes: countable, and more than any address space.
    assert_eq!(allocate(1 << 60, u64::MAX), Err(ParamError::OutOfMemory { needed: 1 << 57 }));
}

#[test]
fn debug_shows_neither_bits_nor_secret() {
    let filter = with_keys(filter(4, 0.01, 0x5ec2_e75e), 0..4);
    let shown = format!("{filter:?}");
    let fill = filter.fill_ratio();
    assert_eq!(shown, format!("ClassicBloom {{ capacity: 4, bits: 39, k: 7, fill: {fill:.4} }}"));
}

#[test]
fn secrets_make_filters_different() {
    assert!(filter(10, 0.01, 1) == filter(10, 0.01, 1) && filter(10, 0.01, 1) != filter(10, 0.01, 2));
    assert!(filter(10, 0.01, 1) != filter(11, 0.01, 1) && filter(10, 0.01, 1) != with_keys(filter(10, 0.01, 1), [1]));
}

#[test]
fn a_frozen_filter_answers_as_before() {
    let mut boxed: Box<dyn Insert> = Box::new(of_size(10, 100, 7));
    let hash = KeyHash::from_parts(3, 4);
    boxed.insert_hash_batch(&[hash, hash]).unwrap();
    let shared = boxed.freeze();
    assert!(shared.contains_hash(hash) && !shared.contains_hash(KeyHash::from_parts(5, u64::MAX / 3)));
    assert_eq!((shared.capacity(), shared.memory_bytes(), shared.hasher_fingerprint()), (10, 16, KeyHasher::xxh3(1).fingerprint()));
}
