//! Claims that hold for every filter, whatever keys, capacities and rates: against an exact set, against each other, and for bad input.

use absentia::bloom::{BloomFactory, LinesPerKey, Sizing};
use absentia::filter::{FilterFactory, Insert, InsertShared};
use absentia::{AtomicBlockedBloom, BlockedBloom, Capacity, Fpr, Key, KeyHasher, ParamError};
use bitvec::prelude::{Lsb0, bitvec};
use proptest::prelude::*;
use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

fn pair(capacity: u64, fpr: f64, seed: u64) -> (BlockedBloom, AtomicBlockedBloom) {
    let builder = BlockedBloom::builder().capacity(capacity).fpr(fpr).hasher(KeyHasher::xxh3(seed));
    (builder.clone().build().unwrap(), builder.build_atomic().unwrap())
}

/// Inserts `keys` into both filters and an exact set, and checks every claim on the way.
fn check<K: Key + Eq + Hash>(keys: &[K], strangers: &[K], capacity: u64, fpr: f64, seed: u64) -> Result<(), TestCaseError> {
    let (mut plain, shared) = pair(capacity, fpr, seed);
    let mut exact = HashSet::new();
    for key in keys {
        let maybe = plain.contains(key);
        prop_assert!(maybe || !exact.contains(key), "an inserted key is denied");
        prop_assert_eq!(shared.contains(key), maybe);
        // New exactly where the filter said no before.
        prop_assert_eq!(plain.insert(key), !maybe);
        prop_assert_eq!(shared.insert(key), !maybe);
        exact.insert(key);
    }
    for key in keys {
        prop_assert!(plain.contains(key) && shared.contains(key));
        prop_assert!(!plain.insert(key) && !shared.insert(key));
    }
    for key in strangers {
        prop_assert_eq!(plain.contains(key), shared.contains(key));
    }
    prop_assert_eq!(plain.fill_ratio(), shared.fill_ratio());
    prop_assert_eq!(plain.estimated_len(), shared.estimated_len());
    Ok(())
}

proptest! {
    #[test]
    fn no_inserted_integer_is_ever_denied(
        keys in prop::collection::vec(any::<i128>(), 0..300), strangers in prop::collection::vec(any::<i128>(), 100),
        capacity in 0u64..400, fpr in 1e-8..0.999, seed: u64,
    ) {
        check(&keys, &strangers, capacity, fpr, seed)?;
    }

    #[test]
    fn no_inserted_string_is_ever_denied(
        keys in prop::collection::vec(".{0,40}", 0..200), strangers in prop::collection::vec(".{0,40}", 50),
        capacity in 0u64..400, fpr in 1e-8..0.999, seed: u64,
    ) {
        check(&keys, &strangers, capacity, fpr, seed)?;
    }

    #[test]
    fn no_inserted_tuple_is_ever_denied(
        keys in prop::collection::vec((any::<u8>(), ".{0,5}", any::<[u8; 3]>()), 0..100), capacity in 0u64..3, seed: u64,
    ) {
        check(&keys, &[], capacity, 1e-6, seed)?;
    }

    /// Small ranges make keys repeat inside a batch; the lengths cross the size of a group.
    #[test]
    fn a_batch_answers_like_its_keys(
        batches in prop::collection::vec(prop::collection::vec(0u32..200, 0..140), 1..5), capacity in 0u64..300, fpr in 1e-8..0.9, seed: u64,
    ) {
        let (mut plain, shared) = pair(capacity, fpr, seed);
        let (mut by_batch, shared_by_batch) = pair(capacity, fpr, seed);
        for keys in &batches {
            let asked: Vec<bool> = keys.iter().map(|key| plain.contains(key)).collect();
            prop_assert!(by_batch.contains_batch(keys).iter().by_vals().eq(asked.iter().copied()));
            prop_assert!(shared_by_batch.contains_batch(keys).iter().by_vals().eq(asked.iter().copied()));
            let new: Vec<bool> = keys.iter().map(|key| plain.insert(key)).collect();
            prop_assert!(by_batch.insert_batch(keys).iter().by_vals().eq(new.iter().copied()));
            prop_assert!(shared_by_batch.insert_batch(keys).iter().by_vals().eq(new.iter().copied()));
            prop_assert!(keys.iter().map(|key| shared.insert(key)).eq(new.iter().copied()));
            prop_assert_eq!(&plain, &by_batch);
        }
    }
}

#[test]
fn batches_around_the_size_of_a_group() {
    let (mut filter, shared) = pair(1000, 0.01, 3);
    for len in [0usize, 1, 31, 32, 33, 63, 64, 65, 127, 128, 129] {
        let keys: Vec<_> = (0..len as u64).map(|id| (len as u64) << 32 | id).collect();
        let hashes: Vec<_> = keys.iter().map(|key| filter.hasher().hash(key)).collect();
        assert_eq!(shared.insert_hash_batch(&hashes), filter.insert_hash_batch(&hashes));
        assert_eq!(filter.insert_batch(&keys), bitvec![0; len]);
        for answers in [filter.contains_batch(&keys), filter.contains_hash_batch(&hashes), shared.contains_hash_batch(&hashes)] {
            assert!(answers.len() == len && answers.all(), "{len}");
        }
    }
}

#[test]
fn a_key_that_comes_twice_in_a_batch_is_new_once() {
    let (mut filter, shared) = pair(100, 1e-6, 4);
    let keys = ["a", "b", "a", "b", "a"];
    assert_eq!(filter.insert_batch(&keys), bitvec![1, 1, 0, 0, 0]);
    assert_eq!(shared.insert_batch(&keys), bitvec![1, 1, 0, 0, 0]);
}

#[test]
fn extend_takes_owned_and_borrowed_keys() {
    let (mut filter, _) = pair(1000, 0.01, 5);
    filter.extend(["a", "b"]);
    filter.extend(vec![String::from("c")]);
    filter.extend(&[1u64, 2]);
    filter.extend(100..300u32);
    filter.extend(std::iter::empty::<u8>());
    assert!(["a", "b", "c"].iter().all(|key| filter.contains(key)));
    assert!([1, 2].iter().chain(&(100..300).collect::<Vec<u64>>()).all(|key| filter.contains(key)));
}

#[test]
fn an_overfull_filter_says_maybe_and_says_so() {
    let (mut filter, shared) = pair(10, 0.01, 6);
    let keys: Vec<u64> = (0..10_000).collect();
    assert!(!filter.is_saturated());
    filter.extend(&keys);
    shared.insert_batch(&keys);
    assert!(filter.contains_batch(&keys).all() && shared.contains_batch(&keys).all());
    assert!(filter.is_saturated() && shared.is_saturated());
    assert!(filter.estimated_fpr() > 0.9 && filter.estimated_len() > 100);
}

#[test]
fn an_empty_filter_denies_everything() {
    for capacity in [0, 1, 1000] {
        let (mut filter, mut shared) = pair(capacity, 0.5, 7);
        for round in 0..2 {
            assert!((0..1000u64).all(|key| !filter.contains(&key) && !shared.contains(&key)), "round {round}");
            assert_eq!((filter.fill_ratio(), filter.estimated_len(), filter.estimated_fpr()), (0.0, 0, 0.0));
            filter.extend(0..100u64);
            shared.insert_batch(&(0..100u64).collect::<Vec<_>>());
            filter.clear();
            shared.clear();
        }
    }
}

#[test]
fn length_and_rate_are_estimated_from_the_bits() {
    let (mut filter, _) = pair(100_000, 0.01, 8);
    for (step, inserted) in [(0u64, 50_000.0), (1, 100_000.0), (2, 150_000.0)] {
        filter.extend(step * 50_000..(step + 1) * 50_000);
        let (len, rate) = (filter.estimated_len() as f64, absentia::bloom::sizing::line_fpr(inserted as u64, filter.lines(), filter.k()));
        assert!((len / inserted - 1.0).abs() < 0.02, "{len} for {inserted}");
        assert!((filter.estimated_fpr() / rate - 1.0).abs() < 0.1, "{} for {rate}", filter.estimated_fpr());
        assert_eq!(filter.is_saturated(), step == 2);
    }
}

#[test]
fn sizes_are_what_the_accessors_say() {
    let (filter, shared) = pair(1_000_000, 0.01, 9);
    assert_eq!((filter.capacity(), filter.k(), filter.kernel_name()), (1_000_000, 6, shared.kernel_name()));
    assert_eq!((filter.bits(), filter.memory_bytes(), shared.bits()), (filter.lines() * 512, filter.lines() * 64, filter.bits()));
    assert!((filter.bits_per_key() - 9.92).abs() < 0.01 && filter.predicted_fpr() <= 0.01);
    let textbook = BlockedBloom::builder().capacity(1_000_000).fpr(0.01).sizing(Sizing::Classical).build().unwrap();
    assert!(textbook.bits_per_key() < 9.6 && textbook.predicted_fpr() > 0.01);
    assert_eq!(pair(0, 0.01, 9).0.bits_per_key(), 512.0);
}

#[test]
fn bad_rates_are_named() {
    let build = |p| BlockedBloom::builder().capacity(100).fpr(p);
    for p in [0.0, 1.0, f64::NAN, -1.0, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1.5] {
        for error in [build(p).build().unwrap_err(), build(p).build_atomic().unwrap_err(), BlockedBloom::new(1, p).unwrap_err()] {
            assert!(matches!(error, ParamError::FprOutOfRange { requested } if requested.to_bits() == p.to_bits()), "{p}: {error}");
        }
    }
    for p in [1e-300, f64::MIN_POSITIVE, 9.9e-9] {
        assert!(matches!(build(p).build(), Err(ParamError::FprTooSmall { requested, .. }) if requested == p));
    }
    assert!(build(1e-8).build().is_ok() && build(1.0 - f64::EPSILON).build().is_ok());
}

#[test]
fn too_much_memory_is_refused_and_not_tried() {
    for p in [0.5, 0.01, 1e-8] {
        assert!(matches!(BlockedBloom::new(u64::MAX, p), Err(ParamError::TooLarge { .. })));
        assert!(matches!(AtomicBlockedBloom::new(u64::MAX, p), Err(ParamError::TooLarge { .. })));
        let unlimited = BlockedBloom::builder().capacity(u64::MAX).fpr(p).memory_limit(u64::MAX);
        assert!(matches!(unlimited.build(), Err(ParamError::TooLarge { .. } | ParamError::OutOfMemory { .. })));
    }
    let limited = BlockedBloom::builder().capacity(1000).memory_limit(1000).build();
    assert!(matches!(limited, Err(ParamError::TooLarge { needed: 1280, limit: 1000 })), "{limited:?}");
}

#[test]
fn equality_is_of_contents_under_one_secret() {
    let (mut a, _) = pair(100, 0.01, 1);
    let mut b = a.clone();
    assert_eq!(a, b);
    a.insert("x");
    assert_ne!(a, b);
    b.insert("x");
    assert_eq!(a, b);
    assert_ne!(pair(100, 0.01, 1).0, pair(100, 0.01, 2).0);
    assert_ne!(pair(100, 0.01, 1).0, pair(101, 0.01, 1).0);
}

#[test]
fn debug_shows_the_shape_and_neither_bits_nor_seed() {
    let (mut filter, shared) = pair(1000, 0.01, 0xfeed_beef);
    filter.insert("x");
    let kernel = filter.kernel_name();
    assert_eq!(
        format!("{filter:?}"),
        format!("BlockedBloom {{ capacity: 1000, bits: 10240, k: 6, lines_per_key: 1, fill: 0.0006, kernel: {kernel} }}")
    );
    assert_eq!(
        format!("{shared:?}"),
        format!("AtomicBlockedBloom {{ capacity: 1000, bits: 10240, k: 6, lines_per_key: 1, fill: 0.0000, kernel: {kernel} }}")
    );
}

#[test]
fn filters_are_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<BlockedBloom>();
    shared::<AtomicBlockedBloom>();
    shared::<BloomFactory>();
    shared::<KeyHasher>();
    shared::<Box<dyn Insert>>();
    shared::<Box<dyn InsertShared>>();
}

#[test]
fn every_maker_of_filters_keeps_the_contract_behind_the_traits() {
    let hasher = KeyHasher::siphash([9; 16]);
    let (capacity, fpr) = (Capacity::new(500), Fpr::new(1e-3).unwrap());
    let factory: &dyn FilterFactory = &BloomFactory::new();
    let mut bases: Vec<Box<dyn Insert>> = vec![
        factory.base(capacity, fpr, hasher.fingerprint()).unwrap(),
        Box::new(BlockedBloom::builder().capacity(500).fpr(1e-3).hasher(hasher).build().unwrap()),
    ];
    let hashes: Vec<_> = (0..1000u32).map(|id| hasher.hash(&id)).collect();
    for mut base in bases.drain(..) {
        let delta = factory.delta(capacity, fpr, base.hasher_fingerprint()).unwrap();
        for &hash in &hashes[..500] {
            base.insert_hash(hash).unwrap();
            delta.insert_hash_shared(hash);
        }
        let base = base.freeze();
        assert!(hashes[..500].iter().all(|&hash| base.contains_hash(hash) && delta.contains_hash(hash)));
        assert_eq!(base.contains_hash_batch(&hashes), delta.contains_hash_batch(&hashes));
        assert_eq!((base.capacity(), delta.memory_bytes()), (500, base.memory_bytes()));
    }
}

/// The even chance of a key to be a false positive when its turn comes, summed over all: how many of `keys` nobody is expected to hear "new" of.
fn unheard(filter: &AtomicBlockedBloom, lines: LinesPerKey, p: f64, keys: u64) -> f64 {
    let plan = Sizing::Guaranteed.plan_lines(Capacity::new(filter.capacity()), Fpr::new(p).unwrap(), lines);
    assert_eq!((plan.lines, plan.k), (filter.lines(), filter.k()));
    // The rate rises from key to key, so that a step's last rate bounds it.
    (1..=100).map(|step| plan.fpr_with(keys * step / 100) * keys as f64 / 100.0).sum()
}

/// Shuffled, the same way for every caller of one seed.
fn shuffled(keys: u64, seed: u64) -> Vec<u64> {
    let mut order: Vec<u64> = (0..keys).collect();
    fastrand::Rng::with_seed(seed).shuffle(&mut order);
    order
}

/// Eight threads insert the same keys, half of them in one order and so at the same time, half in orders of their own. Two more read what the
/// threads said that they have inserted.
///
/// **Bound.** A key is new to one at most, always. To nobody where it is a false positive in its turn, or in a race of nanoseconds within one line:
/// at p = 1e-3 as a mean some 3 of the 20,000 (the rate is that of the last key only at the end). Above 3 + 6·√3 + 3 such a number comes with a
/// chance below 1e-6, whatever the threads do.
#[test]
fn many_threads_agree_on_who_was_first() {
    const KEYS: u64 = 20_000;
    const THREADS: usize = 8;
    for (lines, p) in [(LinesPerKey::One, 1e-3), (LinesPerKey::Two, 1e-3), (LinesPerKey::One, 1e-6), (LinesPerKey::Two, 1e-6)] {
        let builder = BlockedBloom::builder().capacity(KEYS).fpr(p).lines_per_key(lines).hasher(KeyHasher::xxh3(10));
        let shared = builder.clone().build_atomic().unwrap();
        let orders: Vec<_> = (0..THREADS).map(|thread| shuffled(KEYS, (thread / 2 * (thread % 2)) as u64)).collect();
        let done: [AtomicUsize; THREADS] = Default::default();
        let news: Vec<Vec<bool>> = std::thread::scope(|scope| {
            let writers: Vec<_> = (orders.iter().zip(&done).enumerate())
                .map(|(thread, (order, done))| {
                    let shared = &shared;
                    scope.spawn(move || {
                        let mut new = vec![false; KEYS as usize];
                        for (step, keys) in order.chunks(4).enumerate() {
                            // One by one, or in batches: each insert that has returned is there for all.
                            if thread % 4 == 3 {
                                let answers = shared.insert_batch(keys);
                                keys.iter().zip(answers).for_each(|(&key, answer)| new[key as usize] = answer);
                            } else {
                                keys.iter().for_each(|key| new[*key as usize] = shared.insert(key));
                            }
                            assert!(keys.iter().all(|key| shared.contains(key)));
                            done.store(4 * step + keys.len(), Ordering::Release);
                        }
                        new
                    })
                })
                .collect();
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut seen = [0; THREADS];
                    while seen.iter().any(|&seen| seen < KEYS as usize) {
                        for ((order, done), seen) in orders.iter().zip(&done).zip(&mut seen) {
                            let told = done.load(Ordering::Acquire);
                            let keys = &order[*seen..told];
                            assert!(
                                keys.iter().all(|key| shared.contains(key)) && shared.contains_batch(keys).all(),
                                "an insert that returned is not seen"
                            );
                            *seen = told;
                        }
                        std::thread::yield_now();
                    }
                });
            }
            writers.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        let callers: Vec<usize> = (0..KEYS as usize).map(|key| news.iter().filter(|new| new[key]).count()).collect();
        assert!(callers.iter().all(|&new| new <= 1), "{lines:?}, {p:e}: a key was new to {} callers", callers.iter().max().unwrap());
        let (nobody, mean) = (callers.iter().filter(|&&new| new == 0).count() as f64, unheard(&shared, lines, p, KEYS));
        println!("{lines:?}, {p:e}: {nobody} keys were new to nobody, {mean:.2} expected");
        assert!(nobody <= mean + 6.0 * mean.sqrt() + 3.0, "{lines:?}, {p:e}: {nobody} keys were new to nobody, where {mean:.2} were expected");
        // And the bits are those of one thread.
        let mut plain = builder.build().unwrap();
        plain.extend(0..KEYS);
        assert_eq!(plain, BlockedBloom::from(shared));
    }
}

/// All threads insert into one line, or one pair of lines, as it fills: the more keys cover each other's bits, the more often callers of one key
/// decide by different words.
#[test]
fn in_a_line_that_fills_up_a_key_is_still_new_to_one_at_most() {
    const KEYS: usize = 64;
    const THREADS: usize = 4;
    for lines in [LinesPerKey::One, LinesPerKey::Two] {
        for round in 0..300 {
            let builder = BlockedBloom::builder().memory(128).capacity(40).lines_per_key(lines).hasher(KeyHasher::xxh3(round));
            let shared = builder.build_atomic().unwrap();
            let barrier = Barrier::new(THREADS);
            let order = shuffled(KEYS as u64, round);
            let news: Vec<_> = std::thread::scope(|scope| {
                let insert = || {
                    barrier.wait();
                    order.iter().map(|key| shared.insert(key)).collect::<Vec<_>>()
                };
                let writers: Vec<_> = (0..THREADS).map(|_| scope.spawn(insert)).collect();
                writers.into_iter().map(|writer| writer.join().unwrap()).collect()
            });
            assert!((0..KEYS).all(|key| news.iter().filter(|new| new[key]).count() <= 1), "{lines:?}, round {round}");
            assert!(order.iter().all(|key| shared.contains(key)));
        }
    }
}
