//! absentia's own rows. A new kernel or a new kind of filter joins in [`candidates`] and nowhere else.

use crate::filter::{BATCH, Candidate, Compare, Family, Filter, Sizing, count};
use crate::keys::{BenchKey, SEED};
use absentia::{AtomicBlockedBloom, BlockedBloom, BloomBuilder, KeyHasher};

/// Every filter of ours that is measured, the one that peers are compared with first.
///
/// To be added here as they come: a row for each of `absentia::bloom::Kernel::available()` by the builder's `kernel`, `ClassicBloom`, and
/// "absentia blocked, two lines" as `Family::Blocked { lines: 2 }`, whose floor then is the one of two lines.
pub fn candidates<K: BenchKey>(n: u64, p: f64) -> Vec<Candidate<K>> {
    let ours = |name: String, family, make: Box<dyn Fn() -> Box<dyn Filter<K>>>| Candidate {
        name,
        family,
        compare: Compare::Reference,
        sizing: Sizing::OwnRule,
        fills: true,
        batches: true,
        make,
    };
    // The kernel does not depend on the size, so a filter for one key knows it.
    let kernel = blocked(1, p).kernel_name();
    vec![
        ours(format!("absentia blocked {kernel}"), Family::Blocked { lines: 1 }, Box::new(move || reference(n, p))),
        ours(format!("absentia atomic {kernel}"), Family::OtherOfOurs, Box::new(move || Box::new(builder(n, p).build_atomic().expect(CHECKED)))),
    ]
}

/// Where `BlockedBloom::builder().build_par(iter)` will be measured, on one thread and on two, for DESIGN §9's "≥ 1.6× on two cores over one": ns a
/// key of each. `None` while there is no such call.
pub fn parallel_build<K: BenchKey>(_n: u64, _p: f64, _keys: &[K]) -> Option<(f64, f64)> {
    None
}

/// The filter whose bits and whose rate the peers are given.
pub fn reference<K: BenchKey>(n: u64, p: f64) -> Box<dyn Filter<K>> {
    Box::new(blocked(n, p))
}

fn blocked(n: u64, p: f64) -> BlockedBloom {
    builder(n, p).build().expect(CHECKED)
}

const CHECKED: &str = "the arguments were checked, and memory was looked at";

fn builder(n: u64, p: f64) -> BloomBuilder {
    // Not a constant to the compiler: a user's seed is not one either.
    BlockedBloom::builder().capacity(n).fpr(p).hasher(KeyHasher::xxh3(std::hint::black_box(SEED)))
}

/// The plain and the atomic filter have the same calls and share no trait that takes keys.
macro_rules! ours {
    ($($filter:ty)*) => {$(
        impl<K: BenchKey> Filter<K> for $filter {
            fn fill(&mut self, keys: &[K]) -> Result<(), String> {
                for key in keys {
                    self.insert(key);
                }
                Ok(())
            }

            fn fill_batch(&mut self, keys: &[K]) -> Result<(), String> {
                for batch in keys.chunks(BATCH) {
                    std::hint::black_box(self.insert_batch(batch));
                }
                Ok(())
            }

            fn count(&self, keys: &[K]) -> usize {
                count(keys, |key| self.contains(key))
            }

            fn count_batch(&self, keys: &[K]) -> usize {
                keys.chunks(BATCH).map(|batch| self.contains_batch(batch).count_ones()).sum()
            }

            fn bits(&self) -> u64 {
                self.bits()
            }
        }
    )*};
}
ours! { BlockedBloom AtomicBlockedBloom }
