//! The keys. Key number `i` is a bijection of `i`, so that nothing has to be remembered to know what was inserted: the numbers from 0 up to the
//! capacity. Strangers have numbers from [`STRANGERS`] on.
//!
//! A loop over the same few keys would measure a branch predictor that knows the answers, and a filter of which only these lines are in use. So keys
//! are always new ones, made a thousand at a time while the clock stands still ([`Stream`]).

use absentia::Key;
use std::ops::Range;
use std::time::{Duration, Instant};

/// More of them than any bench asks for.
pub(crate) const STRANGERS: Range<u64> = 1 << 62..1 << 63;

/// Keys that are made at a time, and those of a batch: 8 KiB of integers, which leaves most of a first-level cache to a small filter.
pub(crate) const BATCH: usize = 1024;

/// A kind of key.
pub(crate) trait BenchKey: Key + Copy + Send + Sync {
    /// What ids add to the number of keys.
    const SUFFIX: &'static str;

    fn numbered(number: u64) -> Self;
}

/// Spread over all 64 bits, by a bijection: 2^64 over the golden ratio.
fn spread(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl BenchKey for u64 {
    const SUFFIX: &'static str = "";

    #[inline(always)]
    fn numbered(number: u64) -> Self {
        spread(number)
    }
}

/// A string of 20 bytes, which as a key is the same as a `str` of these bytes: `sku-` and sixteen hexadecimal digits.
pub(crate) type Str20 = [u8; 20];

impl BenchKey for Str20 {
    const SUFFIX: &'static str = "-str20";

    #[inline(always)]
    fn numbered(number: u64) -> Self {
        let mut text = *b"sku-0000000000000000";
        let digits = spread(number);
        for (index, digit) in text[4..].iter_mut().enumerate() {
            *digit = b"0123456789abcdef"[(digits >> (60 - 4 * index)) as usize & 15];
        }
        text
    }
}

/// Keys in the order of their numbers, from the first again after the last.
pub(crate) struct Stream<K> {
    numbers: Range<u64>,
    next: u64,
    keys: Vec<K>,
}

impl<K: BenchKey> Stream<K> {
    pub(crate) fn new(numbers: Range<u64>) -> Self {
        Self { next: numbers.start, numbers, keys: Vec::with_capacity(BATCH) }
    }

    /// Gives `count` keys to `each`, a batch at a time, and tells how long that took. Before it begins from the first key again, it calls `again`,
    /// which is not timed.
    pub(crate) fn timed<S>(&mut self, count: u64, state: &mut S, again: impl Fn(&mut S), mut each: impl FnMut(&mut S, &[K])) -> Duration {
        let (mut left, mut time) = (count, Duration::ZERO);
        while left > 0 {
            if self.next == self.numbers.end {
                again(state);
                self.next = self.numbers.start;
            }
            let end = self.numbers.end.min(self.next + left.min(BATCH as u64));
            self.keys.clear();
            self.keys.extend((self.next..end).map(K::numbered));
            left -= end - self.next;
            self.next = end;
            let start = Instant::now();
            each(state, &self.keys);
            time += start.elapsed();
        }
        time
    }
}
