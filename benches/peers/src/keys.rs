//! The keys: which are inserted, which are asked for, and how each becomes 64 bits for the crates that take a hash.
//!
//! Key `i` is a bijection of the number `i`, so distinct numbers are distinct keys and nothing has to be remembered to know that a key is absent:
//! the inserted keys are the numbers `0..n`, the absent ones come from [`ABSENT`] on and those for sizing from [`SIZING`] on.

use absentia::{Key, KeyEncoding};
use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128_with_seed};

/// Numbers from here on are asked for and never inserted.
pub const ABSENT: u64 = 1 << 62;

/// Numbers from here on are asked for while peers are sized, so that no filter is sized on the questions it is measured with.
pub const SIZING: u64 = 1 << 61;

/// The seed of every hash that this program may choose.
pub const SEED: u64 = 0x5eed_ab5e_4714_0f11;

/// A kind of key to measure with.
pub trait BenchKey: Key + Hash + Copy + Send + Sync + 'static {
    /// As in `--key-type`.
    const NAME: &'static str;

    /// Distinct numbers below 2^63 give distinct keys.
    fn from_number(number: u64) -> Self;

    /// Calls `f` with the bytes in memory: eight of an integer, the text of a text.
    fn with_raw_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R;

    /// XXH3-64 of those bytes, for crates that take a hash.
    #[inline(always)]
    fn hash64(&self, seed: u64) -> u64 {
        self.with_raw_bytes(|bytes| xxh3_64_with_seed(bytes, seed))
    }

    /// XXH3-128 of those bytes, for the floors.
    #[inline(always)]
    fn hash128(&self, seed: u64) -> u128 {
        self.with_raw_bytes(|bytes| xxh3_128_with_seed(bytes, seed))
    }

    /// The key itself where it is 64 bits, for crates that mix those themselves.
    fn raw64(&self) -> Option<u64> {
        None
    }
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014), a bijection of 64 bits.
fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl BenchKey for u64 {
    const NAME: &'static str = "u64";

    fn from_number(number: u64) -> Self {
        mix(number)
    }

    #[inline(always)]
    fn with_raw_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(&self.to_le_bytes())
    }

    #[inline(always)]
    fn raw64(&self) -> Option<u64> {
        Some(*self)
    }
}

/// Twenty bytes of text, `sku-` and sixteen hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Str20([u8; 20]);

/// Only the bytes: the length that `[u8; 20]` would write first says nothing where all keys are of one length, and costs a one-shot hasher a call.
impl Hash for Str20 {
    #[inline(always)]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(&self.0);
    }
}

impl Key for Str20 {
    const ENCODING: KeyEncoding = KeyEncoding::Bytes;

    #[inline(always)]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(&self.0)
    }
}

impl BenchKey for Str20 {
    const NAME: &'static str = "str20";

    fn from_number(number: u64) -> Self {
        let mut text = *b"sku-0000000000000000";
        let mixed = mix(number);
        for (digit, place) in text[4..].iter_mut().enumerate() {
            *place = b"0123456789abcdef"[(mixed >> (60 - 4 * digit)) as usize & 15];
        }
        Self(text)
    }

    #[inline(always)]
    fn with_raw_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(&self.0)
    }
}

/// A [`Hasher`] of XXH3-64 for crates that want one and take no hash. One call per value: the streaming form keeps half a kilobyte of state and
/// would be measured instead of the filter. Its seed is a constant, since `cuckoofilter` makes its hashers by `Default`.
#[derive(Clone, Copy, Debug)]
pub struct Xxh3Hasher(u64);

impl Default for Xxh3Hasher {
    #[inline(always)]
    fn default() -> Self {
        Self(SEED)
    }
}

impl Hasher for Xxh3Hasher {
    #[inline(always)]
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64_with_seed(bytes, self.0);
    }

    /// What arrays write before their elements. It goes into the seed of what follows.
    #[inline(always)]
    fn write_usize(&mut self, length: usize) {
        self.0 = self.0.wrapping_add(length as u64);
    }

    #[inline(always)]
    fn finish(&self) -> u64 {
        self.0
    }
}

/// A small generator for drawing which keys to ask for.
struct Draw(u64);

impl Draw {
    /// A number below `n`, by fastrange.
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(1);
        ((u128::from(mix(self.0)) * u128::from(n)) >> 64) as u64
    }
}

/// `count` keys of consecutive numbers.
pub fn keys_from<K: BenchKey>(first: u64, count: u64) -> Vec<K> {
    (first..first + count).map(K::from_number).collect()
}

/// `count` of the inserted keys `0..n` in random order: distinct where there are that many, else all of them over and over, each time in another order.
pub fn present_keys<K: BenchKey>(n: u64, count: u64, seed: u64) -> Vec<K> {
    present_numbers(n, count, seed).into_iter().map(K::from_number).collect()
}

fn present_numbers(n: u64, count: u64, seed: u64) -> Vec<u64> {
    let mut draw = Draw(mix(seed));
    let mut drawn = Vec::with_capacity(count as usize);
    if n >= 2 * count {
        let mut seen = HashSet::with_capacity(count as usize);
        while (drawn.len() as u64) < count {
            let number = draw.below(n);
            if seen.insert(number) {
                drawn.push(number);
            }
        }
        return drawn;
    }
    let mut all: Vec<u64> = (0..n).collect();
    while (drawn.len() as u64) < count {
        for last in (1..all.len()).rev() {
            all.swap(last, draw.below(last as u64 + 1) as usize);
        }
        let missing = count - drawn.len() as u64;
        drawn.extend(&all[..all.len().min(missing as usize)]);
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_distinct_keys() {
        let numbers = || (0..50_000).chain(ABSENT..ABSENT + 50_000).chain(SIZING..SIZING + 50_000);
        assert_eq!(numbers().map(<u64 as BenchKey>::from_number).collect::<HashSet<_>>().len(), 150_000);
        assert_eq!(numbers().map(|n| Str20::from_number(n).0).collect::<HashSet<_>>().len(), 150_000);
    }

    #[test]
    fn present_numbers_are_distinct_and_in_range() {
        let drawn = present_numbers(1_000, 300, 7);
        assert!(drawn.iter().all(|&number| number < 1_000));
        assert_eq!(drawn.iter().collect::<HashSet<_>>().len(), 300);
        assert_ne!(drawn, present_numbers(1_000, 300, 8));
    }

    #[test]
    fn few_keys_are_asked_for_over_and_over() {
        let drawn = present_numbers(10, 25, 7);
        assert_eq!(drawn.len(), 25);
        assert_eq!(drawn[..10].iter().collect::<HashSet<_>>().len(), 10);
        assert_ne!(drawn[..10], drawn[10..20]);
    }

    #[test]
    fn the_hasher_gives_what_the_hash_gives() {
        let mut hasher = Xxh3Hasher::default();
        let key = Str20::from_number(3);
        key.hash(&mut hasher);
        assert_eq!(hasher.finish(), key.hash64(SEED));
        let mut hasher = Xxh3Hasher::default();
        17u64.hash(&mut hasher);
        assert_eq!(hasher.finish(), 17u64.hash64(SEED));
    }
}
