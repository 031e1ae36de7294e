//! Filters that are built all at once: on many threads, and from iterators that tell the number of their keys, do not, or lie about it.
//!
//! The claim about threads is the strongest that there is: the same bytes as one thread makes. So the tests are equalities, on pools of 1, 2, 3 and
//! 8 threads, and need neither luck nor many cores.

use absentia::bloom::{BloomBuilder, LinesPerKey};
use absentia::{BlockedBloom, Key, KeyEncoding, KeyHasher, ParamError};

fn builder(lines: LinesPerKey) -> BloomBuilder {
    BlockedBloom::builder().lines_per_key(lines).hasher(KeyHasher::xxh3(1))
}

const LINES: [LinesPerKey; 2] = [LinesPerKey::One, LinesPerKey::Two];

/// An iterator over `keys` that says it has `hint` of them.
struct Liar<I> {
    keys: I,
    hint: (usize, Option<usize>),
}

impl<I: Iterator> Iterator for Liar<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.keys.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.hint
    }
}

impl<I: Iterator> ExactSizeIterator for Liar<I> {}

#[test]
fn a_filter_from_keys_is_sized_for_their_number_whether_or_not_it_was_known() {
    for lines in LINES {
        for count in [0u64, 1, 511, 512, 513, 5000] {
            let direct = || builder(lines).capacity(count);
            let mut want = direct().build().unwrap();
            want.extend(0..count);
            // Exact, unknown, and an upper bound that is not met.
            assert_eq!(builder(lines).build_from(0..count).unwrap(), want);
            assert_eq!(builder(lines).build_from((0..count).filter(|_| true)).unwrap(), want);
            assert_eq!(builder(lines).build_from(std::iter::successors(Some(0), |key| Some(key + 1)).take_while(|&key| key < count)).unwrap(), want);
            assert_eq!(builder(lines).build_from((0..count).collect::<Vec<_>>()).unwrap(), want);
            // A capacity that was given stays.
            assert_eq!(builder(lines).capacity(77).build_from(0..count).unwrap().capacity(), 77);
        }
    }
}

/// The number decides the size and nothing else: keys come as they come.
#[test]
fn an_iterator_that_lies_about_its_length_costs_a_rate_and_no_key() {
    for lines in LINES {
        for (said, count) in [(0, 3000u64), (1, 3000), (3000, 0), (100_000, 3000)] {
            let filter = builder(lines).build_from(Liar { keys: 0..count, hint: (said, Some(said)) }).unwrap();
            assert_eq!(filter.capacity(), said as u64);
            assert!((0..count).all(|key| filter.contains(&key)), "said {said}, had {count}");
            // A lower bound that is too high is no number, and the keys are counted.
            let filter = builder(lines).build_from(Liar { keys: 0..count, hint: (said, Some(said + 1)) }).unwrap();
            assert_eq!(filter.capacity(), count);
            assert!((0..count).all(|key| filter.contains(&key)));
        }
        let mut filter = builder(lines).capacity(100).build().unwrap();
        filter.extend(Liar { keys: 0..2000u64, hint: (usize::MAX, Some(0)) });
        assert!((0..2000u64).all(|key| filter.contains(&key)));
    }
}

#[test]
fn a_number_of_keys_beyond_all_memory_is_refused_before_a_key_is_read() {
    let keys = Liar { keys: std::iter::repeat_with(|| -> u64 { panic!("a key was read") }), hint: (usize::MAX, Some(usize::MAX)) };
    assert!(matches!(builder(LinesPerKey::Auto).build_from(keys), Err(ParamError::TooLarge { .. })));
    let keys = std::iter::repeat_with(|| -> u64 { panic!("a key was read") });
    assert!(matches!(builder(LinesPerKey::Auto).fpr(1.5).build_from(keys), Err(ParamError::FprOutOfRange { .. })));
}

/// A key whose bytes cannot be had.
#[derive(Clone, Copy)]
struct Touchy(u64);

impl Key for Touchy {
    const ENCODING: KeyEncoding = KeyEncoding::Int;

    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        assert!(self.0 != 1313, "a key that panics");
        self.0.with_bytes(f)
    }
}

/// Runs what must panic, with this in its message.
fn panics(with: &str, run: impl FnOnce()) {
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).expect_err("it did not panic");
    let message = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    assert!(message.is_some_and(|message| message.contains(with)), "{message:?}");
}

#[test]
fn a_key_that_panics_leaves_a_filter_that_denies_nothing_it_had() {
    for lines in LINES {
        let mut filter = builder(lines).capacity(4000).build().unwrap();
        filter.extend(0..1000u64);
        panics("a key that panics", || filter.extend((1000..2000).map(Touchy)));
        panics("a key that panics", || _ = filter.insert_batch(&[Touchy(2000), Touchy(1313)]));
        assert!((0..1000u64).all(|key| filter.contains(&key)));
        filter.extend(1000..2000u64);
        assert!((0..2000u64).all(|key| filter.contains(&key)));
    }
}

/// Found by an attack: the hint was given to `Vec`, which panicked ("capacity overflow") or ended the process, though nobody lied.
#[test]
fn a_hint_of_more_keys_than_memory_is_an_error_and_not_a_panic() {
    let too_large = |result: Result<BlockedBloom, ParamError>| assert!(matches!(result, Err(ParamError::TooLarge { .. })), "{result:?}");
    let small = || BlockedBloom::builder().memory_limit(1 << 20);
    too_large(small().build_from(0u64..));
    too_large(small().build_from(0..1u128 << 70));
    too_large(small().build_from((0..u64::MAX).chain(std::iter::once(5))));
    too_large(small().build_from((0u64..1 << 40).chain((0u64..).take_while(|&id| id < 10))));
    // No hint at all, and too many keys: they are not all read.
    let mut read = 0u64;
    too_large(small().build_from(std::iter::from_fn(|| {
        read += 1;
        Some(read)
    })));
    assert!(read < 1 << 21, "{read} keys were read for a filter of 1 MiB");
}

#[cfg(feature = "rayon")]
mod parallel {
    use super::*;
    use rayon::ThreadPool;
    use rayon::iter::plumbing::UnindexedConsumer;
    use rayon::prelude::*;

    fn pools() -> impl Iterator<Item = (usize, ThreadPool)> {
        [1, 2, 3, 8].into_iter().map(|threads| (threads, rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()))
    }

    /// Sizes with a remainder in every division that is made: by threads, by regions, by two parts; and filters that have fewer lines than there
    /// are regions, down to one. More keys than capacity, and none.
    #[test]
    fn many_threads_set_the_bits_of_one() {
        let keys_of = |count: u64| (0..count).map(|key| key * 7 / 3); // some come twice
        for (threads, pool) in pools() {
            for lines in LINES {
                for (capacity, count) in [(0, 0), (0, 3), (1, 1), (1, 1000), (40, 200), (333, 333), (1001, 5000), (20_011, 20_011), (60_000, 45_000)]
                {
                    let what = format!("{threads} threads, {lines:?}, {count} keys for {capacity}");
                    let builder = builder(lines).capacity(capacity).fpr(0.001);
                    let mut serial = builder.clone().build().unwrap();
                    serial.extend(keys_of(count));
                    let keys: Vec<u64> = keys_of(count).collect();
                    pool.install(|| {
                        let built = builder.clone().build_par(keys.par_iter()).unwrap();
                        assert_eq!(built, serial, "{what}");
                        assert_eq!(built.as_bits(), serial.as_bits(), "{what}");
                        let mut extended = builder.clone().build().unwrap();
                        // Half, the other half, and nothing.
                        let (front, back) = keys.split_at(keys.len() / 3);
                        extended.par_extend(front.to_vec());
                        extended.par_extend(back);
                        extended.par_extend(Vec::<u64>::new());
                        assert_eq!(extended, serial, "{what}");
                        let mut by_hash = builder.clone().build().unwrap();
                        let hasher = *by_hash.hasher();
                        by_hash.par_extend_hashes(keys.par_iter().map(|key| hasher.hash(key)));
                        assert_eq!(by_hash, serial, "{what}");
                    });
                }
            }
        }
    }

    #[test]
    fn every_kernel_builds_the_same_in_parallel() {
        for kernel in absentia::bloom::Kernel::available() {
            for lines in LINES {
                for p in [0.3, 0.01, 1e-8] {
                    let builder = builder(lines).capacity(3000).fpr(p).kernel(kernel);
                    let mut serial = builder.clone().build().unwrap();
                    serial.extend(0..3000u64);
                    assert_eq!(builder.build_par(0..3000u64).unwrap(), serial, "{kernel}, {lines:?}, {p:e}");
                }
            }
        }
    }

    #[test]
    fn a_parallel_iterator_without_a_length_is_counted() {
        for (threads, pool) in pools() {
            for lines in LINES {
                for count in [0u64, 1, 9999] {
                    let want = builder(lines).build_from((0..count).filter(|key| key % 3 == 0)).unwrap();
                    let built = pool.install(|| builder(lines).build_par((0..count).into_par_iter().filter(|key| key % 3 == 0)).unwrap());
                    assert_eq!(built, want, "{threads} threads, {count}");
                    let nested = (0..count).into_par_iter().flat_map(|key| (key..key + 1).into_par_iter().filter(|key| key % 3 == 0));
                    assert_eq!(pool.install(|| builder(lines).build_par(nested).unwrap()), want, "{threads} threads, {count}");
                    let bridged = (0..count).filter(|key| key % 3 == 0).par_bridge();
                    assert_eq!(pool.install(|| builder(lines).build_par(bridged).unwrap()), want, "{threads} threads, {count}");
                }
            }
        }
    }

    /// A parallel iterator that lies about its length.
    struct ParLiar(u64, usize);

    impl ParallelIterator for ParLiar {
        type Item = u64;

        fn drive_unindexed<C: UnindexedConsumer<u64>>(self, consumer: C) -> C::Result {
            (0..self.0).into_par_iter().drive_unindexed(consumer)
        }

        fn opt_len(&self) -> Option<usize> {
            Some(self.1)
        }
    }

    #[test]
    fn a_parallel_iterator_that_lies_about_its_length_costs_a_rate_and_no_key() {
        for (threads, pool) in pools() {
            for (count, said) in [(3000, 0), (3000, 1), (0, 3000), (3000, 100_000)] {
                let filter = pool.install(|| builder(LinesPerKey::Auto).build_par(ParLiar(count, said)).unwrap());
                assert_eq!(filter.capacity(), said as u64);
                assert!((0..count).all(|key| filter.contains(&key)), "{threads} threads: said {said}, had {count}");
            }
        }
    }

    #[test]
    fn wrong_numbers_are_refused_before_a_key_is_read() {
        let keys = || (0..10u64).into_par_iter().map(|_| -> u64 { panic!("a key was read") });
        assert!(matches!(builder(LinesPerKey::Auto).fpr(0.0).build_par(keys()), Err(ParamError::FprOutOfRange { .. })));
        assert!(matches!(builder(LinesPerKey::Auto).memory(63).build_par(keys()), Err(ParamError::MemoryTooSmall { given: 63, needed: 64 })));
        assert!(matches!(builder(LinesPerKey::Auto).memory_limit(0).build_par(keys()), Err(ParamError::TooLarge { needed: 64, limit: 0 })));
        assert!(matches!(builder(LinesPerKey::Auto).build_par(ParLiar(0, usize::MAX)), Err(ParamError::TooLarge { .. })));
        let endless =
            builder(LinesPerKey::Auto).capacity(u64::MAX).build_par((0..u64::MAX).into_par_iter().map(|_| -> u64 { panic!("a key was read") }));
        assert!(matches!(endless, Err(ParamError::TooLarge { .. })));
    }

    /// Wherever in the keys the panic is, it arrives, and the filter goes on as if only some of the keys had come.
    #[test]
    fn a_panic_arrives_and_leaves_a_filter_that_denies_nothing_it_had() {
        for (threads, pool) in pools() {
            for lines in LINES {
                for bad in [0u64, 1, 777, 9_998, 9_999] {
                    let mut filter = builder(lines).capacity(30_000).build().unwrap();
                    filter.extend(100_000..105_000u64);
                    let before = filter.clone();
                    let panicking = (0..10_000u64).into_par_iter().map(move |key| if key == bad { panic!("the iterator panics") } else { key });
                    panics("the iterator panics", || pool.install(|| filter.par_extend(panicking)));
                    assert!((100_000..105_000u64).all(|key| filter.contains(&key)), "{threads} threads, {bad}");
                    panics("a key that panics", || pool.install(|| filter.par_extend((0..2000).into_par_iter().map(Touchy))));
                    assert!((100_000..105_000u64).all(|key| filter.contains(&key)), "{threads} threads, {bad}");

                    // Nothing but some of those keys has come: with all of them it is the filter that it would have been.
                    let mut whole = before;
                    whole.extend((0..10_000u64).chain(1..2000));
                    let mut again = filter.clone();
                    assert_eq!((again.union_with(&whole), &again), (Ok(()), &whole), "{threads} threads, {bad}: bits of no key");
                    pool.install(|| filter.par_extend((0..10_000u64).into_par_iter()));
                    assert_eq!(filter, whole, "{threads} threads, {bad}");
                }
            }
        }
        panics("the iterator panics", || {
            _ = builder(LinesPerKey::Auto).build_par((0..10u64).into_par_iter().map(|_| -> u64 { panic!("the iterator panics") }));
        });
    }

    /// A thread that waits in the iterator for other work of the pool may take up another stretch of the same keys meanwhile.
    #[test]
    fn an_iterator_that_uses_the_pool_itself_loses_nothing() {
        for (threads, pool) in pools() {
            let keys = (0..20_000u32).into_par_iter().with_max_len(64).map(|key| {
                let (half, rest) = rayon::join(|| key / 2, || key - key / 2);
                half + rest
            });
            let built = pool.install(|| builder(LinesPerKey::Two).build_par(keys).unwrap());
            assert_eq!(built, builder(LinesPerKey::Two).build_from(0..20_000u32).unwrap(), "{threads} threads");
        }
    }
}
