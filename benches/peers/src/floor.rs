//! The floors: what it costs to hash a key and to read memory at random, and nothing else. No filter that hashes its keys can be faster.
//!
//! One by one, or grouped as a batch does it: hash a group of 64, prefetch their lines, then test one bit of each. The lines are as many as our filter
//! has, so that the misses are as deep. They are filled with random bits: pages that were never written are all one page to the kernel, and would be
//! read from the cache.
//!
//! Our large filters ask the system for huge pages, which spare them the misses of address translation. So that this does not pass for speed of ours,
//! there are floors of both kinds, and the bars take the faster one. Peers have the memory that they allocate themselves.

use crate::filter::{Candidate, Compare, Family, Filter, Sizing, count};
use crate::keys::{BenchKey, SEED};
use absentia::KeyHasher;
use memmap2::MmapMut;
use std::hint::black_box;

const GROUP: usize = 64;

const LINE_BYTES: usize = 64;

/// From so many bits on our filters ask for huge pages: `WORTH_ASKING` in absentia's src/sys.rs.
const HUGE_FROM: u64 = (8 << 20) * 8;

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

/// As our filters do: what the row of this one has above the bare one is the price of the portable encoding of keys. For integers, which are eight bytes
/// whatever their value, it measures as nothing.
impl Hash128 for KeyHasher {
    #[inline(always)]
    fn hash<K: BenchKey>(&self, key: &K) -> (u64, u64) {
        let hash = self.hash(key);
        (hash.first(), hash.second())
    }
}

/// Which pages are behind the lines.
#[derive(Clone, Copy, PartialEq)]
enum Pages {
    /// As the system gives them unasked.
    AsGiven,
    /// Huge ones are asked for.
    Huge,
}

/// `LINES` random lines a key.
struct Floor<H, const LINES: usize> {
    memory: MmapMut,
    hasher: H,
}

impl<H, const LINES: usize> Floor<H, LINES> {
    fn new(bits: u64, pages: Pages, hasher: H) -> Self {
        let bytes = bits.div_ceil(8 * LINE_BYTES as u64).max(1) as usize * LINE_BYTES;
        let mut memory = MmapMut::map_anon(bytes).expect("memory was looked at");
        if pages == Pages::Huge {
            // A request, as ours is: a system without huge pages refuses, and this is a plain floor then.
            #[cfg(target_os = "linux")]
            let _ = memory.advise(memmap2::Advice::HugePage);
        }
        let mut state = SEED;
        for word in memory.as_chunks_mut::<8>().0 {
            // xorshift64 (Marsaglia 2003): quick, and random enough to be written.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            *word = state.to_le_bytes();
        }
        Self { memory, hasher }
    }

    /// Maps begin with a page, so none of these straddles two cache lines.
    #[inline(always)]
    fn lines(&self) -> &[[u8; LINE_BYTES]] {
        self.memory.as_chunks().0
    }
}

/// The `which`-th line of a hash, each by another half.
#[inline(always)]
fn line(lines: &[[u8; LINE_BYTES]], hash: (u64, u64), which: usize) -> &[u8; LINE_BYTES] {
    let half = if which == 0 { hash.0 } else { hash.1 };
    &lines[((u128::from(half) * lines.len() as u128) >> 64) as usize]
}

/// Whether one bit is set in all lines of a hash.
#[inline(always)]
fn test<const LINES: usize>(lines: &[[u8; LINE_BYTES]], hash: (u64, u64)) -> bool {
    let (byte, bit) = (hash.1 as usize % LINE_BYTES, (hash.1 >> 8) & 7);
    (0..LINES).fold(1, |all, which| all & (line(lines, hash, which)[byte] >> bit)) & 1 != 0
}

/// Brings the line's cache line nearer, where there is an instruction for it.
#[inline(always)]
fn prefetch(line: &[u8; LINE_BYTES]) {
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
        let lines = self.lines();
        count(keys, |key| test::<LINES>(lines, self.hasher.hash(key)))
    }

    fn count_batch(&self, keys: &[K]) -> usize {
        let lines = self.lines();
        let mut hashes = [(0, 0); GROUP];
        let mut found = 0;
        for group in keys.chunks(GROUP) {
            for (hash, key) in hashes.iter_mut().zip(group) {
                *hash = self.hasher.hash(key);
                (0..LINES).for_each(|which| prefetch(line(lines, *hash, which)));
            }
            found += count(&hashes[..group.len()], |&hash| test::<LINES>(lines, hash));
        }
        found
    }

    fn bits(&self) -> u64 {
        self.memory.len() as u64 * 8
    }
}

/// The floors under a filter of so many bits. Below [`HUGE_FROM`] ours does not ask for huge pages, and no floor does.
pub fn candidates<K: BenchKey>(bits: u64) -> Vec<Candidate<K>> {
    let huge = bits >= HUGE_FROM;
    let mut all = Vec::new();
    for pages in [Pages::AsGiven, Pages::Huge].into_iter().filter(|&pages| huge || pages == Pages::AsGiven) {
        let suffix = if pages == Pages::Huge { ", huge pages" } else { "" };
        // Not a constant to the compiler: a user's seed is not one either.
        let seed = || black_box(SEED);
        let mut floor = |name: &str, family, make: Box<dyn Fn() -> Box<dyn Filter<K>>>| {
            let (compare, sizing) = (Compare::Reference, Sizing::Given);
            all.push(Candidate { name: format!("floor, {name}{suffix}"), family, compare, sizing, fills: false, batches: true, make });
        };
        floor("one line", Family::Floor { lines: 1 }, Box::new(move || Box::new(Floor::<_, 1>::new(bits, pages, Bare(seed())))));
        floor("two lines", Family::Floor { lines: 2 }, Box::new(move || Box::new(Floor::<_, 2>::new(bits, pages, Bare(seed())))));
        if huge == (pages == Pages::Huge) {
            let ours = move || KeyHasher::xxh3(seed());
            floor("one line by KeyHasher", Family::FloorByOurs, Box::new(move || Box::new(Floor::<_, 1>::new(bits, pages, ours()))));
        }
    }
    all
}

/// The names of all floors.
pub fn names() -> Vec<String> {
    [1, HUGE_FROM].into_iter().flat_map(candidates::<u64>).map(|floor| floor.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::keys_from;

    #[test]
    fn groups_answer_as_single_questions_do() {
        let keys: Vec<u64> = keys_from(0, 1_000);
        for (bits, floors) in [(100_000, 3), (HUGE_FROM, 5)] {
            let candidates = candidates::<u64>(bits);
            assert_eq!(candidates.len(), floors);
            for floor in candidates {
                let floor = (floor.make)();
                assert_eq!(floor.count(&keys), floor.count_batch(&keys));
                assert!((100..700).contains(&floor.count(&keys)));
                assert_eq!(floor.bits(), bits.next_multiple_of(512));
            }
        }
    }
}
