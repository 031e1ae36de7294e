//! The floors: what it costs to hash a key and to read memory at random, and nothing else. No filter that hashes its keys can be faster.
//!
//! One by one, or as a batch does it: hash a group of 64, prefetch their lines, then test one bit of one word of each. The lines are as many as our
//! filter has, so that the misses are as deep. They are filled with random bits: pages that were never written are all one page to the kernel, and
//! would be read from the cache. No huge pages are asked for; a filter that does ask may pass below this floor.

use crate::filter::{Candidate, Compare, Family, Filter, Sizing, count};
use crate::keys::{BenchKey, SEED};
use absentia::KeyHasher;
use std::hint::black_box;

const GROUP: usize = 64;

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([u64; 8]);

/// How a floor hashes.
trait Hash128 {
    fn hash<K: BenchKey>(&self, key: &K) -> (u64, u64);
}

/// The bytes of a key as they are.
struct Bare(u64);

impl Hash128 for Bare {
    #[inline(always)]
    fn hash<K: BenchKey>(&self, key: &K) -> (u64, u64) {
        let wide = key.hash128(self.0);
        (wide as u64, (wide >> 64) as u64)
    }
}

/// As our filters do: what the rows of this one have above the bare one is the price of the portable encoding of keys.
impl Hash128 for KeyHasher {
    #[inline(always)]
    fn hash<K: BenchKey>(&self, key: &K) -> (u64, u64) {
        let hash = self.hash(key);
        (hash.first(), hash.second())
    }
}

/// `LINES` random lines a key.
struct Floor<H, const LINES: usize> {
    lines: Vec<Line>,
    hasher: H,
}

impl<H, const LINES: usize> Floor<H, LINES> {
    fn new(bits: u64, hasher: H) -> Self {
        let mut state = SEED;
        let mut word = || {
            // xorshift64 (Marsaglia 2003): quick, and random enough to be written.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let lines = (0..bits.div_ceil(512).max(1)).map(|_| Line(std::array::from_fn(|_| word()))).collect();
        Self { lines, hasher }
    }

    /// The `which`-th line of a hash, each by another half.
    #[inline(always)]
    fn line(&self, hash: (u64, u64), which: usize) -> &Line {
        let half = if which == 0 { hash.0 } else { hash.1 };
        &self.lines[((u128::from(half) * self.lines.len() as u128) >> 64) as usize]
    }

    #[inline(always)]
    fn test(&self, hash: (u64, u64)) -> bool {
        let (word, bit) = (hash.1 as usize & 7, (hash.1 >> 8) & 63);
        (0..LINES).fold(1, |all, which| all & (self.line(hash, which).0[word] >> bit)) & 1 != 0
    }
}

/// Brings the line's cache line nearer, where there is an instruction for it.
#[inline(always)]
fn prefetch(line: &Line) {
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)]
    // SAFETY: a prefetch reads nothing into the program and faults at no address; this one is of a live reference besides. SSE, which it belongs to,
    // is part of every x86-64 target.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(line).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}

impl<K: BenchKey, H: Hash128, const LINES: usize> Filter<K> for Floor<H, LINES> {
    fn fill(&mut self, _: &[K]) -> Result<(), String> {
        Ok(())
    }

    fn count(&self, keys: &[K]) -> usize {
        count(keys, |key| self.test(self.hasher.hash(key)))
    }

    fn count_batch(&self, keys: &[K]) -> usize {
        let mut hashes = [(0, 0); GROUP];
        let mut found = 0;
        for group in keys.chunks(GROUP) {
            for (hash, key) in hashes.iter_mut().zip(group) {
                *hash = self.hasher.hash(key);
                (0..LINES).for_each(|which| prefetch(self.line(*hash, which)));
            }
            found += count(&hashes[..group.len()], |&hash| self.test(hash));
        }
        found
    }

    fn bits(&self) -> u64 {
        self.lines.len() as u64 * 512
    }
}

/// The floors under a filter of so many bits.
pub fn candidates<K: BenchKey>(bits: u64) -> Vec<Candidate<K>> {
    let floor = |name: &str, family, make: fn(u64, u64) -> Box<dyn Filter<K>>| Candidate {
        name: name.to_string(),
        family,
        compare: Compare::Reference,
        sizing: Sizing::Given,
        fills: false,
        batches: true,
        // Not a constant to the compiler: a user's seed is not one either.
        make: Box::new(move || make(bits, black_box(SEED))),
    };
    vec![
        floor("floor, one line", Family::Floor { lines: 1 }, |bits, seed| Box::new(Floor::<_, 1>::new(bits, Bare(seed)))),
        floor("floor, two lines", Family::Floor { lines: 2 }, |bits, seed| Box::new(Floor::<_, 2>::new(bits, Bare(seed)))),
        floor("floor, one line by KeyHasher", Family::Other, |bits, seed| Box::new(Floor::<_, 1>::new(bits, KeyHasher::xxh3(seed)))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::keys_from;

    #[test]
    fn groups_answer_as_single_questions_do() {
        let keys: Vec<u64> = keys_from(0, 1_000);
        for floor in candidates::<u64>(100_000) {
            let floor = (floor.make)();
            assert_eq!(floor.count(&keys), floor.count_batch(&keys));
            assert!((100..700).contains(&floor.count(&keys)));
        }
    }
}
