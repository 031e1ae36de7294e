//! The claims of the cuckoo filters, for every width of fingerprint that is stored differently.

use super::bucket::{Lanes, NARROW, SLOTS, Table};
use super::*;
use crate::filter::{FilterFactory, Insert, InsertShared, Membership, Remove};
use crate::kernel::Kernel;
use crate::key::{HasherFingerprint, KeyHash, KeyHasher};
use crate::params::{Capacity, Fpr, ParamError};
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// Narrow and wide, even and odd, and the edges of either.
const WIDTHS: [u32; 8] = [7, 8, 12, 15, 16, 17, 31, 32];

fn filter(capacity: u64, width: u32, seed: u64) -> CuckooFilter {
    CuckooFilter::builder().capacity(capacity).fingerprint_bits(width).hasher(KeyHasher::xxh3(seed)).build().unwrap()
}

/// Keys from `from` on until one is refused for want of room; the first that was.
fn fill(filter: &mut CuckooFilter, from: u64) -> u64 {
    (from..).find(|key| filter.insert(key).is_err()).expect("there is an end")
}

fn table_agrees_with_an_array<L: Lanes>(width: u32) {
    let buckets = 10;
    let mut table = Table::new(buckets, width, u64::MAX).unwrap();
    let mut array = vec![[0u32; SLOTS]; buckets as usize];
    let mask = u32::MAX >> (32 - width);
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 32) as u32
    };
    for _ in 0..20_000 {
        let bucket = random() as usize % buckets as usize;
        // The largest and the smallest value are where a carry would run into the next slot.
        let value = [mask, 1, (random() & mask).max(1)][random() as usize % 3];
        let first = |of: u32| array[bucket].iter().position(|&slot| slot == of);
        match random() % 3 {
            0 => {
                if let Some(slot) = first(0) {
                    let empty = table.find::<L>(bucket, 0);
                    table.fill_first::<L>(bucket, empty, value);
                    array[bucket][slot] = value;
                }
            }
            1 => {
                let held = array[bucket][random() as usize % SLOTS];
                if held != 0 {
                    let found = table.find::<L>(bucket, held);
                    table.empty_first::<L>(bucket, found);
                    let slot = first(held).unwrap();
                    array[bucket][slot] = 0;
                }
            }
            _ => {
                let slot = random() as usize % SLOTS;
                table.replace::<L>(bucket, slot as u32, value);
                array[bucket][slot] = value;
            }
        }
        for (number, slots) in array.iter().enumerate() {
            for (slot, &held) in slots.iter().enumerate() {
                assert_eq!(table.slot::<L>(number, slot as u32), held);
            }
            for wanted in [0, value, mask, 1, value ^ 1, value & (mask >> 1)] {
                let copies = slots.iter().filter(|&&slot| slot == wanted).count() as u32;
                assert_eq!(table.find::<L>(number, wanted).count(), copies, "{width} {number} {wanted} {slots:x?}");
                let either = table.either_has::<L>([number, (number + 1) % 10], wanted);
                assert_eq!(either, copies > 0 || array[(number + 1) % 10].contains(&wanted));
            }
        }
    }
    let mut all = Vec::new();
    table.each::<L>(|bucket, fingerprint| all.push((bucket, fingerprint)));
    let expected: Vec<_> = array.iter().enumerate().flat_map(|(n, slots)| slots.iter().filter(|&&s| s != 0).map(move |&s| (n, s))).collect();
    assert_eq!(all, expected);
}

#[test]
fn four_slots_at_once_are_four_slots() {
    for width in sizing::MIN_WIDTH..=sizing::MAX_WIDTH {
        if width <= NARROW {
            table_agrees_with_an_array::<u64>(width);
        }
        table_agrees_with_an_array::<u128>(width);
    }
}

#[test]
fn a_full_filter_has_lost_nothing_and_changes_no_byte() {
    for width in WIDTHS {
        for capacity in [0, 1, 2, 3, 30, 1000, 20_000] {
            let mut filter = filter(capacity, width, u64::from(width));
            let refused = fill(&mut filter, 0);
            assert_eq!(filter.len(), refused);
            assert!(refused >= capacity, "{width} {capacity}");
            let before = filter.image().to_vec();
            for key in refused..refused + 200 {
                let mut copy = filter.clone();
                if copy.insert(&key).is_err() {
                    assert!(copy.image() == before && copy.len() == refused, "{width} {capacity}: bytes changed by an insert that failed");
                }
            }
            assert!((0..refused).all(|key| filter.contains(&key)), "{width} {capacity}: a key was lost");
            assert!(filter.load_factor() <= 1.0 && filter.is_saturated() == (refused > capacity || filter.estimated_fpr() > filter.predicted_fpr()));
        }
    }
}

/// The ninth copy is refused as what it is; a million more change nothing, and memory does not grow (other filters double without end).
#[test]
fn copies_end_at_eight_and_harm_nobody() {
    for width in WIDTHS {
        let mut filter = filter(1000, width, 3);
        (0..500u32).for_each(|key| filter.insert(&key).unwrap());
        let copies: Vec<_> = (0..9).map(|_| filter.insert("hot")).collect();
        assert!(copies[..8].iter().all(Result::is_ok));
        let before = (filter.image().to_vec(), filter.memory_bytes());
        for _ in 0..1_000_000 / WIDTHS.len() {
            assert_eq!(filter.insert("hot"), Err(CuckooError::TooManyDuplicates { copies: 8 }));
        }
        assert!(before == (filter.image().to_vec(), filter.memory_bytes()) && filter.count("hot") == 8 && filter.len() == 508);
        assert!(!filter.insert_unique("hot").unwrap());
        assert!((0..8).all(|_| filter.remove("hot")));
        assert!(filter.len() == 500 && (0..500u32).all(|key| filter.contains(&key)));
    }
}

/// What each foreign removal that finds something takes is a copy of somebody else, no more and no less; the docs of `remove` say so.
#[test]
fn foreign_removals_take_what_they_say_they_take() {
    let mut filter = filter(20_000, 8, 5);
    (0..20_000u64).for_each(|key| filter.insert(&key).unwrap());
    let removed = (1_000_000..1_010_000u64).filter(|key| filter.remove(key)).count() as u64;
    let lost = (0..20_000u64).filter(|key| !filter.contains(key)).count() as u64;
    assert_eq!(filter.len(), 20_000 - removed);
    // 10,000 strangers at a rate of 2.9 % are 290 ± 17; nearly all find a key that shares its fingerprint and buckets with nobody.
    assert!((150..450).contains(&removed) && lost <= removed && lost > removed / 2, "{removed} removed, {lost} lost");
}

#[test]
fn removing_from_an_empty_filter_finds_nothing() {
    for width in WIDTHS {
        let mut filter = filter(100, width, 1);
        assert!((0..1000u32).all(|key| !filter.remove(&key)) && filter.is_empty());
        filter.insert(&1).unwrap();
        assert!(filter.remove(&1) && !filter.remove(&1) && filter.is_empty() && filter.image().iter().all(|&byte| byte == 0));
    }
}

#[derive(Clone, Debug)]
enum Op {
    Insert(u16),
    InsertUnique(u16),
    Remove(u16),
    Batch(Vec<u16>),
    Clear,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        8 => (0..400u16).prop_map(Op::Insert),
        1 => (0..400u16).prop_map(Op::InsertUnique),
        6 => (0..400u16).prop_map(Op::Remove),
        1 => prop::collection::vec(0..400u16, 0..100).prop_map(Op::Batch),
        1 => Just(Op::Clear),
    ];
    prop::collection::vec(op, 0..400)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn agrees_with_an_exact_multiset(ops in ops(), width in prop::sample::select(&WIDTHS[..]), capacity in 0..300u64, seed: u64) {
        let mut filter = filter(capacity, width, seed);
        let mut exact: HashMap<u16, u32> = HashMap::new();
        for op in ops {
            match op {
                Op::Insert(key) => if filter.insert(&key).is_ok() { *exact.entry(key).or_default() += 1 },
                Op::InsertUnique(key) => {
                    let known = filter.contains(&key);
                    match filter.insert_unique(&key) {
                        Ok(added) => {
                            prop_assert_eq!(added, !known);
                            if added { *exact.entry(key).or_default() += 1 }
                        }
                        Err(_) => prop_assert!(!known),
                    }
                }
                // Only what is known to be in: the contract.
                Op::Remove(key) => if exact.get(&key).is_some_and(|&copies| copies > 0) {
                    prop_assert!(filter.remove(&key));
                    *exact.get_mut(&key).unwrap() -= 1;
                },
                Op::Batch(keys) => {
                    let before = filter.len();
                    let _ = filter.insert_batch(&keys);
                    for &key in &keys[..(filter.len() - before) as usize] { *exact.entry(key).or_default() += 1 }
                }
                Op::Clear => { filter.clear(); exact.clear(); }
            }
            prop_assert_eq!(filter.len(), exact.values().map(|&copies| u64::from(copies)).sum::<u64>());
        }
        for (key, &copies) in &exact {
            prop_assert!(copies == 0 || filter.contains(key));
            prop_assert!(filter.count(key) >= copies);
        }
        let keys: Vec<u16> = (0..500).collect();
        let answers = filter.contains_batch(&keys);
        prop_assert!(keys.iter().zip(answers.iter()).all(|(key, answer)| filter.contains(key) == *answer));
        let shared = AtomicCuckoo::try_from(filter.clone()).unwrap();
        prop_assert_eq!(shared.contains_batch(&keys), answers);
        prop_assert!(keys.iter().all(|key| shared.count(key) == filter.count(key)) && shared.len() == filter.len());
        for (key, &copies) in &exact {
            for _ in 0..copies { prop_assert!(shared.remove(key) && filter.remove(key)); }
        }
        prop_assert!(shared.is_empty() && filter.is_empty());
    }
}

/// Large enough that the batches ask ahead, on every instruction set that there is.
#[test]
fn batches_do_what_single_calls_do() {
    for (width, kernel) in [8, 13, 32].into_iter().flat_map(|width| Kernel::available().map(move |kernel| (width, kernel))) {
        let keys: Vec<u64> = (0..400_000).collect();
        let of = || CuckooFilter::builder().capacity(400_000).fingerprint_bits(width).kernel(kernel).hasher(KeyHasher::xxh3(9)).build().unwrap();
        let (mut one, mut many) = (of(), of());
        assert_eq!(one.kernel_name(), kernel.name());
        keys.iter().for_each(|key| one.insert(key).unwrap());
        many.insert_batch(&keys).unwrap();
        assert!(one.image() == many.image() && one.len() == many.len(), "{width}");
        let asked: Vec<u64> = (300_000..500_000).collect();
        let answers = many.contains_batch(&asked);
        assert!(asked.iter().zip(&answers).all(|(key, answer)| one.contains(key) == *answer) && answers[..100_000].all());
        let shared = AtomicCuckoo::try_from(many).unwrap();
        assert_eq!(shared.contains_batch(&asked), answers);
    }
}

#[test]
fn a_batch_that_fails_says_how_far_it_came() {
    let mut filter = filter(100, 12, 4);
    let keys: Vec<u32> = (0..1000).collect();
    let error = filter.insert_batch(&keys).unwrap_err();
    let taken = filter.len();
    assert!(error == CuckooError::Full { len: taken, capacity: 100 } && (100..200).contains(&taken));
    assert!(keys[..taken as usize].iter().all(|key| filter.contains(key)));
}

/// The chance of a false alarm is below 1e-6 a line: 5 standard deviations of a binomial count, plus 1 % for the load that varies.
#[test]
fn strangers_are_claimed_at_the_predicted_rate() {
    for (width, strangers) in [(7, 400_000u64), (8, 400_000), (10, 1_000_000), (12, 2_000_000), (13, 2_000_000)] {
        let mut filter = filter(100_000, width, 11);
        (0..100_000u64).for_each(|key| filter.insert(&key).unwrap());
        let claimed = (1 << 40..(1 << 40) + strangers).filter(|key| filter.contains(key)).count() as f64;
        let expected = filter.estimated_fpr() * strangers as f64;
        assert!(expected > 1000.0 && (claimed - expected).abs() < 5.0 * expected.sqrt() + 0.01 * expected, "{width}: {claimed} of {expected}");
        assert!((filter.estimated_fpr() - filter.predicted_fpr()).abs() < 1e-12);
    }
}

#[test]
fn the_width_follows_from_the_rate() {
    let plan = |p| sizing::plan(Capacity::new(1_000_000), Fpr::new(p).unwrap());
    assert_eq!([0.9, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6, 1e-8].map(|p| plan(p).width), [7, 7, 8, 10, 13, 17, 23, 30]);
    for p in [0.9, 0.05, 0.01, 1e-5, 1e-8] {
        let plan = plan(p);
        assert!(plan.predicted_fpr <= p && (plan.width == sizing::MIN_WIDTH || sizing::false_positive_rate(plan.width - 1, 0.95) > p));
    }
}

/// No power of two, no jump: from 2^16 keys on at most 1.06 bits a key for each bit of the fingerprint, and a load of 0.95 or more.
#[test]
fn any_capacity_takes_the_memory_of_its_keys() {
    for n in [1 << 16, (1 << 16) + 1, 100_000, 1_000_000, (1 << 23) + 1, 10_000_000, 10_000_001, 1 << 33] {
        let plan = sizing::plan_width(Capacity::new(n), 12);
        let slots = plan.buckets as f64 * 4.0;
        assert!(slots / n as f64 <= 1.06 && n as f64 / slots >= 0.9499 && plan.buckets.is_multiple_of(2), "{n}: {plan:?}");
        assert!(plan.memory_bytes() <= (slots * 12.0 / 8.0) as u64 + 24);
    }
    let least = sizing::plan_width(Capacity::new(0), 7);
    assert_eq!((least.buckets, least.memory_bytes(), least.predicted_fpr), (2, 23, 0.0));
}

/// Few seeds here; the table in `sizing.rs` is of many.
#[test]
fn as_many_keys_as_the_capacity_are_taken() {
    for n in (0..70).chain([100, 128, 200, 333, 500, 1000, 2000, 5000, 20_000, 65_535, 65_536]) {
        for seed in 0..(60_000 / (n + 20)).max(2) {
            for width in [7, 12] {
                let mut filter = filter(n, width, seed);
                assert_eq!(filter.try_extend(seed << 32..(seed << 32) + n), Ok(n), "{n} keys, seed {seed}, {width} bits");
            }
        }
    }
}

/// Outputs of SplitMix64, as hashes.
fn random_hashes(mut state: u64) -> impl FnMut() -> KeyHash {
    let mut random = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    };
    move || KeyHash::from_parts(random(), random())
}

/// Prints how often a filter of random hashes is full before its capacity: the table at the head of `sizing.rs`. Some three minutes in a release build.
#[test]
#[ignore = "a measurement, not a claim"]
fn slack_table() {
    let mut hash = random_hashes(99);
    for n in [9u64, 15, 20, 30, 50, 100, 200, 300, 500, 1000, 2000, 5000, 8000, 8192, 20_000, 65_536, 1_000_000, 10_000_000] {
        for width in [7, 12] {
            let mut filter = filter(n, width, 1);
            let trials = (300_000_000 / n).clamp(5, 1_000_000);
            let mut full = 0;
            for _ in 0..trials {
                filter.clear();
                full += u64::from((0..n).try_for_each(|_| filter.insert_hash(hash())).is_err());
            }
            println!("{n:9} keys  {width:2} bits  {:.3} slots a key  {full} of {trials}", filter.slots() as f64 / n as f64);
        }
    }
}

/// Prints how often a filter that is held at its capacity, a key out and a key in, is full: the figures in docs/limitations. Two minutes in a release build.
#[test]
#[ignore = "a measurement, not a claim"]
fn churn_table() {
    let mut hash = random_hashes(7);
    let mut churn = |n: usize, inserts: u64, insert: &mut dyn FnMut(KeyHash) -> bool, remove: &mut dyn FnMut(KeyHash) -> bool| {
        let (mut live, mut full) = (Vec::with_capacity(n), 0);
        for _ in 0..inserts {
            if live.len() == n {
                let gone: KeyHash = live.swap_remove(hash().first() as usize % n);
                assert!(remove(gone));
            }
            let new = hash();
            if insert(new) { live.push(new) } else { full += 1 }
        }
        println!("{n:9} keys  {full} of {inserts}");
    };
    for n in [15, 30, 76, 100, 300, 1000, 65_536] {
        let filter = std::cell::RefCell::new(filter(n, 12, 1));
        churn(n as usize, 16_000_000, &mut |new| filter.borrow_mut().insert_hash(new).is_ok(), &mut |old| filter.borrow_mut().remove_hash(old));
    }
    for (n, inserts) in [(65_536, 200_000_000), (1_000_000, 100_000_000)] {
        let shared = AtomicCuckoo::builder().capacity(n).fingerprint_bits(8).hasher(KeyHasher::xxh3(1)).build_atomic().unwrap();
        churn(n as usize, inserts, &mut |new| shared.insert_hash(new).is_ok(), &mut |old| shared.remove_hash(old));
    }
}

#[test]
fn a_million_keys_and_one_are_taken_at_any_width() {
    for width in [7, 8, 12, 20] {
        let mut filter = filter(1_000_001, width, 77);
        assert_eq!(filter.try_extend(0..1_000_001u64), Ok(1_000_001));
        assert!(filter.load_factor() > 0.949);
        assert!((0..1_000_001u64).all(|key| filter.contains(&key)));
    }
}

#[test]
fn wrong_numbers_are_errors_and_come_before_memory() {
    let of = |p| CuckooFilter::builder().capacity(10).fpr(p).build().map(|_| ());
    for p in [0.0, 1.0, -1.0, 2.0, f64::INFINITY] {
        assert_eq!(of(p), Err(ParamError::FprOutOfRange { requested: p }));
    }
    assert!(matches!(of(f64::NAN), Err(ParamError::FprOutOfRange { .. })));
    assert!(matches!(of(1e-9), Err(ParamError::FprTooSmall { .. })));
    assert_eq!(CuckooFilter::builder().build().map(|_| ()), Err(ParamError::NoCapacity));
    for width in [0, 6, 33, u32::MAX] {
        let wrong = ParamError::FingerprintBits { requested: width, smallest: 7, largest: 32 };
        assert_eq!(CuckooFilter::builder().capacity(1).fingerprint_bits(width).build().map(|_| ()), Err(wrong.clone()));
        assert_eq!(CuckooFilter::builder().capacity(1).fingerprint_bits(width).build_atomic().map(|_| ()), Err(wrong));
    }
    for capacity in [1 << 40, 1 << 62, u64::MAX] {
        assert!(matches!(CuckooFilter::new(capacity, 0.01), Err(ParamError::TooLarge { .. })), "{capacity}");
        assert!(matches!(AtomicCuckoo::new(capacity, 0.01), Err(ParamError::TooLarge { .. })), "{capacity}");
    }
    let least = CuckooFilter::new(1000, 0.01).unwrap().memory_bytes();
    let limited = |bytes| CuckooFilter::builder().capacity(1000).memory_limit(bytes).build();
    assert!(limited(least).is_ok());
    assert_eq!(limited(least - 1).map(|_| ()), Err(ParamError::TooLarge { needed: least, limit: least - 1 }));
}

#[test]
fn growing_keeps_every_key_or_changes_nothing() {
    let mut filter = filter(100, 12, 8);
    let held = fill(&mut filter, 0);
    let before = filter.image().to_vec();
    assert_eq!(filter.grow(10_000, 0..held - 1), Err(GrowError::KeysMissing { held, given: held - 1 }));
    assert!(matches!(filter.grow(10, 0..10_000u64), Err(GrowError::Insert(CuckooError::Full { .. }))));
    assert!(matches!(filter.grow(u64::MAX, 0..held), Err(GrowError::Params(ParamError::TooLarge { .. }))));
    assert!(filter.image() == before && filter.capacity() == 100);
    filter.grow(10_000, 0..held + 5).unwrap();
    assert!(
        filter.capacity() == 10_000 && filter.len() == held + 5 && filter.fingerprint_bits() == 12 && (0..held + 5).all(|key| filter.contains(&key))
    );
}

#[test]
fn a_shared_filter_takes_its_capacity_and_says_when_it_is_full() {
    for (width, slot) in [(7, 8), (8, 8), (9, 16), (16, 16), (17, 32), (32, 32)] {
        for n in [0, 1, 8, 9, 100, 5000] {
            let shared = AtomicCuckoo::builder().capacity(n).fingerprint_bits(width).hasher(KeyHasher::xxh3(n)).build_atomic().unwrap();
            assert_eq!((shared.slot_bits(), shared.bits(), shared.fingerprint_bits()), (slot, shared.slots() * u64::from(slot), width));
            (0..n).for_each(|key| shared.insert(&key).unwrap());
            let refused = (n..).find(|key| shared.insert(key).is_err()).unwrap();
            assert!(shared.len() == refused && (0..refused).all(|key| shared.contains(&key)));
            assert!(shared.load_factor() > 0.2, "{width} {n}");
            (0..refused).for_each(|key| assert!(shared.remove(&key)));
            assert!(shared.is_empty() && !shared.contains(&0));
            let copies = (0..).take_while(|_| shared.insert("hot").is_ok()).count();
            assert_eq!((copies, shared.insert("hot")), (8, Err(CuckooError::TooManyDuplicates { copies: 8 })));
        }
    }
}

/// Writers insert and remove keys of their own while readers ask for keys that stay. With eight-bit fingerprints over few buckets the copies of the
/// one are often those of the other.
#[test]
fn readers_find_what_stays_while_others_come_and_go() {
    for width in [7, 16, 32] {
        let shared = AtomicCuckoo::builder().capacity(150).fingerprint_bits(width).hasher(KeyHasher::xxh3(2)).build_atomic().unwrap();
        let stay: Vec<u64> = (0..50).collect();
        stay.iter().for_each(|key| shared.insert(key).unwrap());
        std::thread::scope(|s| {
            for thread in 1..4u64 {
                let (shared, stay) = (&shared, &stay);
                s.spawn(move || {
                    for round in 0..3000 {
                        let mine = (0..20).map(|key| (thread << 32) + (round % 7) * 100 + key);
                        let taken: Vec<u64> = mine.filter(|key| shared.insert(key).is_ok()).collect();
                        assert!(taken.iter().all(|key| shared.contains(key)));
                        assert!(stay.iter().all(|key| shared.contains(key)));
                        assert!(taken.iter().all(|key| shared.remove(key)));
                    }
                });
            }
        });
        assert!(shared.len() == 50 && shared.contains_batch(&stay).all());
    }
}

#[derive(Debug)]
struct NoDelta;

impl FilterFactory for NoDelta {
    fn base(&self, _: Capacity, _: Fpr, _: HasherFingerprint) -> Result<Box<dyn Insert>, ParamError> {
        Err(ParamError::NoCapacity)
    }

    fn delta(&self, _: Capacity, _: Fpr, _: HasherFingerprint) -> Result<Arc<dyn InsertShared>, ParamError> {
        Err(ParamError::NoEntropy)
    }
}

#[test]
fn a_factory_makes_bases_that_forget() {
    let hasher = KeyHasher::xxh3(6);
    for (p, slot, bits) in [(0.03, 8, 8.5), (0.01, 16, 17.0), (1e-5, 32, 34.0)] {
        let factory = CuckooFactory::new(NoDelta);
        let (capacity, fpr) = (Capacity::new(50_000), Fpr::new(p).unwrap());
        assert_eq!(factory.delta(capacity, fpr, hasher.fingerprint()).map(|_| ()), Err(ParamError::NoEntropy));
        let mut base = factory.base(capacity, fpr, hasher.fingerprint()).unwrap();
        let hashes: Vec<KeyHash> = (0..50_000u32).map(|key| hasher.hash(&key)).collect();
        base.insert_hash_batch(&hashes[1..]).unwrap();
        base.insert_hash(hashes[0]).unwrap();
        assert!(base.contains_hash_batch(&hashes).all() && base.remover().is_none());
        let base = base.freeze();
        assert!(base.contains_hash_batch(&hashes).all() && base.estimated_fpr() <= p && base.hasher_fingerprint() == hasher.fingerprint());
        assert!((base.memory_bytes() * 8) as f64 <= 50_000.0 * bits, "{slot}");
        let remover = base.remover().expect("it can");
        assert!(hashes[..25_000].iter().all(|&hash| remover.remove_hash_shared(hash)));
        assert!(base.contains_hash_batch(&hashes)[25_000..].all());
        assert!(hashes[..25_000].iter().filter(|&&hash| base.contains_hash(hash)).count() < 1000);
    }
    let limited = CuckooFactory::new(NoDelta).memory_limit(1000);
    assert!(matches!(
        limited.base(Capacity::new(50_000), Fpr::new(0.01).unwrap(), hasher.fingerprint()),
        Err(ParamError::TooLarge { limit: 1000, .. })
    ));
}

#[test]
fn the_traits_say_what_the_methods_say() {
    let hasher = KeyHasher::xxh3(1);
    let mut filter = filter(10, 16, 1);
    let hash = hasher.hash("key");
    let insert: &mut dyn Insert = &mut filter;
    (0..8).for_each(|_| insert.insert_hash(hash).unwrap());
    let error = insert.insert_hash(hash).unwrap_err();
    assert!(!error.is_full() && error.to_string().contains("too many duplicates"));
    let remove: &mut dyn Remove = &mut filter;
    assert!((0..8).all(|_| remove.remove_hash(hash)) && !remove.remove_hash(hash));
    let refused = fill(&mut filter, 0);
    let error = Insert::insert_hash(&mut filter, hasher.hash(&refused)).unwrap_err();
    assert!(error.is_full() && std::error::Error::source(&error).is_some());
    let membership: &dyn Membership = &filter;
    assert_eq!((membership.capacity(), membership.hasher_fingerprint()), (10, hasher.fingerprint()));
}

#[test]
fn debug_shows_the_size_and_no_content() {
    let mut filter = filter(1000, 12, 1);
    filter.insert("secret").unwrap();
    let shown = format!("{filter:?}");
    assert!(shown.contains("fingerprint_bits: 12") && shown.contains("len: 1") && !shown.contains("bytes") && !shown.contains("hasher"), "{shown}");
    fn is<T: Send + Sync + std::fmt::Debug>() {}
    is::<CuckooFilter>();
    is::<CuckooFilter<()>>();
    is::<AtomicCuckoo>();
    is::<CuckooError>();
    is::<GrowError>();
}
