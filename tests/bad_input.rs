//! What a caller may get wrong, and where lengths and sizes have their edges: every kind of filter names the mistake, allocates nothing for it, and
//! gives right answers on both sides of every edge.

// A test that claims "nothing was allocated" has to see allocations.
#![allow(unsafe_code)]

mod kinds;

use absentia::bloom::{Kernel, LinesPerKey, Sizing, sizing};
use absentia::{BlockedBloom, Capacity, Fpr, KeyHash, KeyHasher, MIN_FPR, ParamError};
use kinds::{Bloom, Kind, Wanted, builder, every_bloom, every_kind, wanted};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, which remembers the largest piece that this thread asked for.
struct Watched;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

fn see(bytes: usize) {
    LARGEST.with(|largest| largest.set(largest.get().max(bytes)));
}

// SAFETY: every call goes to `System` with the arguments as they came, and `System` keeps the contract. `see` neither allocates nor unwinds: the
// thread-local is constant at its start and has nothing to drop.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        see(layout.size());
        // SAFETY: the caller keeps the contract of this very function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as above; what is given back came from `System`.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        see(bytes);
        // SAFETY: as above.
        unsafe { System.realloc(place, layout, bytes) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// The error of a build, during which nothing as large as a line of filter was allocated.
fn refused<F: Bloom>(builder: &absentia::BloomBuilder) -> ParamError {
    let builder = builder.clone();
    refusal(|| F::build(builder))
}

/// The same, of any kind.
fn not_made<F: Kind>(wanted: Wanted) -> ParamError {
    refusal(|| F::make(&wanted))
}

fn refusal<F>(build: impl FnOnce() -> Result<F, ParamError>) -> ParamError {
    LARGEST.set(0);
    let built = build();
    let largest = LARGEST.get();
    let error = built.map(|_| ()).expect_err("a filter that cannot be");
    assert!(largest < 64, "{error}: {largest} bytes were allocated");
    error
}

#[test]
fn the_allocator_of_these_tests_sees_a_filter() {
    LARGEST.set(0);
    let filter = BlockedBloom::build(builder(LinesPerKey::One, 1).capacity(1000)).unwrap();
    assert!(LARGEST.get() as u64 >= filter.memory_bytes());
}

/// Shorter than a word of answers, exactly one, one more; and the same around the number of keys that are hashed at a time.
const LENGTHS: [usize; 8] = [0, 1, 63, 64, 65, 511, 512, 513];

#[test]
fn a_batch_of_any_length_answers_like_its_keys_under_every_kernel() {
    fn check<F: Bloom>(lines: LinesPerKey) {
        for kernel in Kernel::available() {
            for (capacity, p) in [(0, 0.5), (1, 0.01), (700, 0.01), (700, 1e-6)] {
                let builder = builder(lines, 1).capacity(capacity).fpr(p).kernel(kernel);
                let new = || F::build(builder.clone()).unwrap();
                let (mut single, mut keyed, mut hashed) = (new(), new(), new());
                for len in LENGTHS {
                    let what = format!("{kernel}, {lines:?}, {capacity} keys at {p:e}, {len} in the batch");
                    // Every third key comes twice; half of them were in the batch before.
                    let keys: Vec<u64> = (0..len as u64).map(|id| (id - id % 3 / 2) * 2 + len as u64 / 2).collect();
                    let hashes: Vec<KeyHash> = keys.iter().map(|key| single.hasher().hash(key)).collect();
                    let asked: Vec<bool> = keys.iter().map(|key| single.contains(key)).collect();
                    for answers in [keyed.contains_batch(&keys), hashed.contains_hash_batch(&hashes)] {
                        assert!(answers.iter().by_vals().eq(asked.iter().copied()), "{what}");
                    }
                    let new: Vec<bool> = keys.iter().map(|key| single.insert(key)).collect();
                    for answers in [keyed.insert_batch(&keys), hashed.insert_hash_batch(&hashes)] {
                        assert!(answers.iter().by_vals().eq(new.iter().copied()), "{what}");
                        assert_eq!(answers.len(), len, "{what}");
                    }
                    assert!(keyed.contains_batch(&keys).all() && hashed.contains_hash_batch(&hashes).all(), "{what}");
                }
                let image = single.into_image();
                assert_eq!((keyed.into_image(), hashed.into_image()), (image.clone(), image));
            }
        }
    }
    every_bloom!(check());
}

/// The same for kinds that do not tell whether a key was new: whichever way the keys come in, the answers are the same.
#[test]
fn keys_and_hashes_and_batches_of_any_length_make_the_same_filter() {
    fn check<F: Kind>(lines: LinesPerKey) {
        for (capacity, p) in [(2500, 0.3), (2500, 0.01), (2500, 1e-6)] {
            let make = || F::make(&Wanted { fpr: p, ..wanted(lines, 1, capacity) }).unwrap();
            let [mut single, mut keyed, mut hashed, mut by_hash] = [(); 4].map(|()| make());
            let mut first = 0;
            for len in LENGTHS {
                let what = format!("{single:?}, {len} in the batch");
                let keys: Vec<u64> = (first..first + len as u64).collect();
                let hashes: Vec<KeyHash> = keys.iter().map(|key| single.hasher().hash(key)).collect();
                keyed.put_batch(&keys);
                hashed.put_hash_batch(&hashes);
                for (key, &hash) in keys.iter().zip(&hashes) {
                    let maybe = single.contains(key);
                    assert_eq!((single.contains_hash(hash), single.put(key), by_hash.put_hash(hash)), (maybe, !maybe, !maybe), "{what}");
                    assert!(!single.put(key) && !by_hash.put_hash(hash), "{what}");
                }
                // Those that are in, and as many that are not.
                let asked: Vec<u64> = (first..first + 2 * len as u64).collect();
                let hashes: Vec<KeyHash> = asked.iter().map(|key| single.hasher().hash(key)).collect();
                for filter in [&single, &keyed, &hashed, &by_hash] {
                    let one_by_one: Vec<bool> = asked.iter().map(|key| filter.contains(key)).collect();
                    assert!(one_by_one[..len].iter().all(|&found| found), "{what}");
                    for answers in [filter.contains_batch(&asked), filter.contains_hash_batch(&hashes)] {
                        assert_eq!(answers.len(), asked.len(), "{what}");
                        assert!(answers.iter().by_vals().eq(one_by_one.iter().copied()), "{what}");
                    }
                }
                first += len as u64;
            }
            let probes: Vec<u64> = (0..20_000).collect();
            let (answers, found) = (single.contains_batch(&probes), keyed.contains_batch(&probes));
            assert_eq!((&answers, &found), (&by_hash.contains_batch(&probes), &hashed.contains_batch(&probes)), "{single:?}");
            // Not so many copies more that a filter which counts them would answer otherwise.
            assert!(answers.count_ones().abs_diff(found.count_ones()) <= 400, "{single:?} {keyed:?}");
            for filter in [&mut single, &mut keyed, &mut hashed, &mut by_hash] {
                filter.clear();
                assert!(filter.contains_batch(&probes).not_any() && filter.fill_ratio() == 0.0 && filter.estimated_fpr() == 0.0, "{filter:?}");
            }
        }
    }
    every_kind!(check());
}

/// Hashes that fall on the first and the last line, the first and the last bit, and all on one another.
#[test]
fn hashes_of_all_zeros_and_all_ones_have_their_places() {
    fn check<F: Bloom>(lines: LinesPerKey) {
        for kernel in Kernel::available() {
            for bytes in [128, 64 * 6, 64 * 1002] {
                let mut filter = F::build(builder(lines, 1).memory(bytes).capacity(bytes / 2).kernel(kernel)).unwrap();
                let ends = [0, 1, u64::from(u32::MAX), 1 << 32, u64::MAX - 1, u64::MAX];
                for hash in ends.into_iter().flat_map(|first| ends.map(|second| KeyHash::from_parts(first, second))) {
                    assert_eq!(filter.contains_hash(hash), !filter.insert_hash(hash));
                    assert!(filter.contains_hash(hash) && !filter.insert_hash(hash));
                }
            }
        }
    }
    every_bloom!(check());
}

/// The same in a filter of any kind, for one key and for many.
#[test]
fn hashes_of_all_zeros_and_all_ones_are_keys_like_others() {
    fn check<F: Kind>(lines: LinesPerKey) {
        for capacity in [40, 300, 40_000] {
            let mut filter = F::make(&Wanted { fpr: 1e-3, ..wanted(lines, 1, capacity) }).unwrap();
            let ends = [0, 1, u64::from(u32::MAX), 1 << 32, u64::MAX - 1, u64::MAX];
            for hash in ends.into_iter().flat_map(|first| ends.map(|second| KeyHash::from_parts(first, second))) {
                assert_eq!(filter.contains_hash(hash), !filter.put_hash(hash));
                assert!(filter.contains_hash(hash) && !filter.put_hash(hash));
            }
        }
    }
    every_kind!(check());
}

/// XXH3 has other code for 0, up to 16, 128 and 240 bytes, and beyond; a tuple leaves the stack at 128.
#[test]
fn a_key_of_any_length_is_found() {
    fn check<F: Kind>(lines: LinesPerKey) {
        for hasher in [KeyHasher::xxh3(5), KeyHasher::siphash([5; 16])] {
            let mut filter = F::make(&Wanted { hasher, fpr: 1e-6, ..wanted(lines, 1, 100) }).unwrap();
            let whole: Vec<u8> = (0..1 << 20).map(|at: u32| (at % 251) as u8).collect();
            let lengths = [0, 1, 3, 4, 8, 9, 16, 17, 128, 129, 239, 240, 241, 1023, 1024, 1025, 1 << 20];
            for len in lengths {
                let key = &whole[..len];
                assert!(!filter.contains(key) && filter.put(key) && filter.contains(key) && !filter.put(&key.to_vec()), "{len}");
            }
            let keys: Vec<&[u8]> = lengths.iter().map(|&len| &whole[..len]).collect();
            assert!(filter.contains_batch(&keys).all() && keys.iter().all(|key| !filter.put(key)));
            assert!(filter.put(&("", "")) && filter.put(&(&whole, 1u8)) && filter.contains(&(&whole[..], 1u64)));
            // The last byte of a megabyte counts.
            let mut other = whole.clone();
            other[(1 << 20) - 1] ^= 1;
            assert!(!filter.contains(&other));
        }
    }
    every_kind!(check());
}

#[test]
fn no_rate_that_is_none_gets_as_far_as_memory() {
    fn check<F: Bloom>(lines: LinesPerKey) {
        for p in [0.0, -0.0, 1.0, f64::NAN, -1.0, f64::INFINITY, f64::NEG_INFINITY, 1.0 + f64::EPSILON, f64::MAX] {
            // Neither a budget of memory nor a capacity beyond all memory hides it.
            let builder = builder(lines, 1).fpr(p);
            for builder in [builder.clone().capacity(10), builder.clone().memory(1000), builder.clone().capacity(u64::MAX), builder.memory(0)] {
                let error = refused::<F>(&builder);
                assert!(matches!(error, ParamError::FprOutOfRange { requested } if requested.to_bits() == p.to_bits()), "{p}: {error}");
            }
        }
    }
    every_bloom!(check());
    fn check_all<F: Kind>(lines: LinesPerKey) {
        for p in [0.0, -0.0, 1.0, f64::NAN, -1.0, f64::INFINITY, f64::NEG_INFINITY, 1.0 + f64::EPSILON, f64::MAX] {
            let wanted = Wanted { fpr: p, ..wanted(lines, 1, 10) };
            for wanted in [Wanted { capacity: Some(u64::MAX), ..wanted.clone() }, Wanted { memory_limit: 0, ..wanted.clone() }, wanted] {
                let error = not_made::<F>(wanted);
                assert!(matches!(error, ParamError::FprOutOfRange { requested } if requested.to_bits() == p.to_bits()), "{p}: {error}");
            }
        }
        for p in [1e-9, f64::MIN_POSITIVE, 5e-324, MIN_FPR * (1.0 - f64::EPSILON)] {
            for capacity in [Some(10), None] {
                let error = not_made::<F>(Wanted { capacity, fpr: p, ..wanted(lines, 1, 0) });
                assert_eq!(error, ParamError::FprTooSmall { requested: p, smallest: MIN_FPR });
            }
        }
        for p in [MIN_FPR, 1.0 - f64::EPSILON] {
            let mut filter = F::make(&Wanted { fpr: p, ..wanted(lines, 1, 10) }).unwrap();
            assert!(
                (0..10u64).all(|key| {
                    filter.put(&key);
                    filter.contains(&key)
                }),
                "{filter:?}"
            );
        }
    }
    every_kind!(check_all());
}

#[test]
fn memory_for_less_than_a_line_is_too_small_and_says_what_would_do() {
    fn check<F: Bloom>(lines: LinesPerKey) {
        let least = match (F::CLASSIC, lines) {
            (true, _) => 1,
            (false, LinesPerKey::Two) => 128,
            (false, _) => 64,
        };
        for bytes in [0, 1, 63, 64, 127] {
            for capacity in [0, 1, 1_000_000, u64::MAX] {
                let builder = builder(lines, 1).memory(bytes).capacity(capacity);
                if bytes < least {
                    assert_eq!(refused::<F>(&builder), ParamError::MemoryTooSmall { given: bytes, needed: least });
                } else {
                    let mut filter = F::of(&builder, [1u64]);
                    assert!(filter.contains(&1u64) && filter.bits() <= 8 * bytes && filter.predicted_fpr() <= 1.0);
                    filter.clear();
                    assert!(!filter.contains(&1u64));
                }
            }
        }
    }
    every_bloom!(check());
    assert_eq!(BlockedBloom::with_memory(63, 1).unwrap_err(), ParamError::MemoryTooSmall { given: 63, needed: 64 });
    let auto = BlockedBloom::with_memory(127, 1).unwrap();
    assert_eq!((auto.lines(), auto.lines_per_key()), (1, 1));
}

#[test]
fn memory_beyond_the_limit_is_refused_and_not_asked_for() {
    fn check<F: Bloom>(lines: LinesPerKey) {
        for bytes in [u64::MAX, u64::MAX - 63, 1 << 63, (64 << 30) + 128] {
            let error = refused::<F>(&builder(lines, 1).memory(bytes).capacity(100));
            assert!(matches!(error, ParamError::TooLarge { needed, limit } if needed > limit && limit <= 64 << 30), "{error}");
            // No limit of ours: then that of the machine.
            let error = refused::<F>(&builder(lines, 1).memory(u64::MAX).capacity(100).memory_limit(u64::MAX));
            assert!(matches!(error, ParamError::TooLarge { needed, limit } if needed > limit && limit <= isize::MAX as u64), "{error}");
        }
    }
    every_bloom!(check());
    fn check_all<F: Kind>(lines: LinesPerKey) {
        for p in [0.5, 0.01, 1e-8] {
            for capacity in [1 << 62, 1 << 45] {
                let error = not_made::<F>(Wanted { fpr: p, ..wanted(lines, 1, capacity) });
                assert!(matches!(error, ParamError::TooLarge { needed, limit } if needed > limit), "{error}");
            }
        }
        assert!(matches!(not_made::<F>(Wanted { memory_limit: 0, ..wanted(lines, 1, 1000) }), ParamError::TooLarge { limit: 0, .. }));
        // The limit is of all the memory of the filter, and inclusive.
        let needed = F::make(&wanted(lines, 1, 1000)).unwrap().memory_bytes();
        assert!(F::make(&Wanted { memory_limit: needed, ..wanted(lines, 1, 1000) }).is_ok());
        let error = not_made::<F>(Wanted { memory_limit: needed - 1, ..wanted(lines, 1, 1000) });
        assert_eq!(error, ParamError::TooLarge { needed, limit: needed - 1 });
    }
    every_kind!(check_all());
}

/// A filter of counters once overflowed in its search for a size, where one of bits just did not.
#[test]
fn a_capacity_beyond_all_numbers_is_refused_too() {
    fn check<F: Kind>(lines: LinesPerKey) {
        for (capacity, p) in [u64::MAX, u64::MAX - 1, 1 << 63].into_iter().flat_map(|capacity| [0.999, 0.5, 0.01, 1e-8].map(|p| (capacity, p))) {
            let error = not_made::<F>(Wanted { fpr: p, ..wanted(lines, 1, capacity) });
            assert!(matches!(error, ParamError::TooLarge { needed, limit } if needed > limit), "{error}");
        }
    }
    every_kind!(check());
}

#[test]
fn folds_beyond_all_sizes_are_refused() {
    fn check<F: Bloom>(lines: LinesPerKey) {
        for times in [40, 62, 63, 64, 65, 1000, u32::MAX] {
            let error = refused::<F>(&builder(lines, 1).capacity(10).foldable(times));
            assert!(matches!(error, ParamError::TooLarge { needed, limit } if needed > limit), "{times}: {error}");
            let error = refused::<F>(&builder(lines, 1).capacity(10).memory(1 << 20).foldable(times));
            assert!(matches!(error, ParamError::MemoryTooSmall { given, needed } if given == 1 << 20 && needed > given), "{times}: {error}");
        }
    }
    every_bloom!(check());
}

/// **What "needed" once said wrong.** For a classic filter it was the number of bits, eight times the bytes that would do; and where the memory was
/// too little for a single line, what a filter needs that nobody wants to fold.
#[test]
fn the_memory_that_would_do_is_the_least_that_does() {
    fn check<F: Bloom>(lines: LinesPerKey) {
        for times in [0, 1, 2, 5, 9, 20] {
            for given in [0, 1, 63, 64, 128, 500] {
                let sized = |bytes: u64| builder(lines, 1).capacity(10).memory(bytes).foldable(times);
                if let Err(error) = F::build(sized(given)) {
                    let ParamError::MemoryTooSmall { given: named, needed } = error else { panic!("{error}") };
                    assert_eq!(named, given);
                    assert!(F::build(sized(needed)).is_ok(), "{lines:?}, {times} folds: {needed} bytes do not do");
                    assert!(F::build(sized(needed - 1)).is_err(), "{lines:?}, {times} folds: less than {needed} bytes do");
                }
            }
        }
    }
    every_bloom!(check());
    fn check_auto<F: Bloom>() {
        check::<F>(LinesPerKey::Auto);
    }
    check_auto::<BlockedBloom>();
}

/// A filter for one key, or for none, is a filter.
#[test]
fn a_capacity_of_one_and_of_none_hold_what_they_are_given() {
    fn check<F: Bloom>(lines: LinesPerKey) {
        for capacity in [0, 1] {
            for p in [0.999, 0.01, 1e-8] {
                let mut filter = F::build(builder(lines, 2).capacity(capacity).fpr(p)).unwrap();
                assert!(!filter.contains("a") && filter.insert("a") && filter.contains("a") && !filter.insert("a"));
                assert_eq!(filter.capacity(), capacity);
                // The textbook's filter may be a single bit, which knows less than one key.
                assert!(filter.memory_bytes() <= 128 && (filter.estimated_len() >= 1 || F::CLASSIC), "{lines:?}, {capacity} keys at {p:e}");
                filter.take_all(0..1000u64);
                assert!(
                    (0..1000u64).all(|key| filter.contains(&key)) && filter.is_saturated() == (filter.estimated_fpr() > p + p.min((1.0 - p) / 2.0))
                );
            }
        }
    }
    every_bloom!(check());
}

/// The same for every kind, as far as they go: a cuckoo filter takes eight keys at least, and says when it is full.
#[test]
fn every_kind_has_filters_for_no_keys_and_for_a_few() {
    fn check<F: Kind>(lines: LinesPerKey) {
        for capacity in [0, 1, 2, 3] {
            for p in [0.9, 0.01, 1e-8] {
                let mut filter = F::make(&Wanted { fpr: p, ..wanted(lines, 2, capacity) }).unwrap();
                for _ in 0..2 {
                    assert!((0..100u64).all(|key| !filter.contains(&key)) && filter.contains_batch(&[0u64; 100]).not_any());
                    assert!(!filter.contains("a") && filter.put("a") && filter.contains("a") && !filter.put("a"));
                    (0..capacity).for_each(|key| _ = filter.put(&key));
                    assert!((0..capacity).all(|key| filter.contains(&key)) && filter.contains("a"));
                    assert!(filter.fill_ratio() > 0.0 && filter.fill_ratio() <= 1.0, "{filter:?}");
                    assert!((0.0..=1.0).contains(&filter.estimated_fpr()) && (0.0..=1.0).contains(&filter.predicted_fpr()), "{filter:?}");
                    assert_eq!((filter.capacity(), filter.memory_bytes() <= 1024, filter.bits() <= 8 * 1024), (capacity, true, true), "{filter:?}");
                    filter.clear();
                    assert!(!filter.contains("a") && !filter.is_saturated());
                }
            }
        }
    }
    every_kind!(check());
}

/// 256 GiB and a line, on paper: numbers of lines beyond 32 bits are planned, predicted and folded like all others, and refused by the limit.
#[test]
fn more_lines_than_32_bits_count_are_planned_and_not_built() {
    const LINES: u64 = (1 << 32) + 1;
    for (lines_per_key, parts) in [(LinesPerKey::One, 1), (LinesPerKey::Two, 2)] {
        let capacity = Capacity::new(LINES * 51);
        let plan = sizing::plan_memory(LINES * 64 * parts, capacity, lines_per_key).unwrap();
        assert_eq!(plan.lines, LINES * parts);
        // As many keys a line as at a thousand lines, and so the same rate.
        let small = sizing::plan_memory(1001 * 64 * parts, Capacity::new(1001 * 51), lines_per_key).unwrap();
        assert_eq!(plan.k, small.k);
        assert!((plan.predicted_fpr / small.predicted_fpr - 1.0).abs() < 0.01, "{plan:?} {small:?}");
        assert_eq!(plan.folded(capacity), None);
        let even = sizing::plan_memory((LINES + 1) * 64 * parts, capacity, lines_per_key).unwrap();
        assert_eq!(even.folded(capacity).unwrap().lines, LINES.div_ceil(2) * parts);

        let needed = LINES * 64 * parts;
        let error = refused::<BlockedBloom>(&builder(lines_per_key, 1).memory(needed).capacity(capacity.get()));
        assert_eq!(error, ParamError::TooLarge { needed, limit: 64 << 30 });

        for rule in [Sizing::Guaranteed, Sizing::Classical] {
            // Bits are counted in 64, and the textbook's size is their number.
            let most = if rule == Sizing::Classical { 1 << 58 } else { u64::MAX };
            for (keys, p) in [(1 << 40, 0.01), (1 << 40, 1e-6), (most, 1e-8), (most, 0.5)] {
                let plan = rule.plan_lines(Capacity::new(keys), Fpr::new(p).unwrap(), lines_per_key);
                let least = keys as f64 * -p.log2() / std::f64::consts::LN_2 / 512.0;
                assert!(plan.lines as f64 >= least * 0.999 && (plan.lines as f64) < least * 3.0, "{rule:?} {keys} {p:e}: {plan:?}");
                assert!(plan.lines % parts == 0 && (1..=16).contains(&plan.k_per_line()), "{plan:?}");
                assert!(rule == Sizing::Classical || plan.predicted_fpr <= p, "{plan:?}");
            }
        }
    }
}

/// Fields of a plan are public, and a caller may have written anything there.
#[test]
fn a_plan_of_nonsense_is_no_panic() {
    for lines in [0, 1, 2, 3, u64::MAX] {
        for lines_per_key in [0, 1, 2, 3, u32::MAX] {
            for k in [0, 1, 2, 16, 17, 33] {
                let plan = sizing::LinePlan { lines, lines_per_key, k, predicted_fpr: f64::NAN };
                for keys in [0, 1, 1000, u64::MAX] {
                    let rate = plan.fpr_with(keys);
                    assert!((0.0..=1.0).contains(&rate), "{plan:?} with {keys}: {rate}");
                    _ = (plan.folded(Capacity::new(keys)), plan.k_per_line());
                }
            }
        }
    }
}

/// A forgotten capacity once made a filter of 512 bits.
#[test]
fn a_capacity_that_nobody_said_is_an_error() {
    let builder = absentia::BloomBuilder::new;
    assert_eq!(builder().build().unwrap_err(), ParamError::NoCapacity);
    assert_eq!(builder().build_atomic().unwrap_err(), ParamError::NoCapacity);
    assert_eq!(builder().build_classic().unwrap_err(), ParamError::NoCapacity);
    assert_eq!(builder().memory(1 << 20).build().unwrap_err(), ParamError::NoCapacity);
    assert!(builder().capacity(0).build().is_ok());
    fn check<F: Kind>(lines: LinesPerKey) {
        assert_eq!(not_made::<F>(Wanted { capacity: None, ..wanted(lines, 1, 0) }), ParamError::NoCapacity);
        let error = not_made::<F>(Wanted { capacity: None, fpr: 2.0, ..wanted(lines, 1, 0) });
        assert_eq!(error, ParamError::FprOutOfRange { requested: 2.0 });
    }
    every_kind!(check());
    // A wrong rate is named first.
    assert!(matches!(builder().fpr(2.0).build(), Err(ParamError::FprOutOfRange { .. })));
}
