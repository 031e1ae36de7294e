//! [`Filter`]: what is done to a subject, a whole pass at a time; and [`Candidate`]: how a subject is named and made.
//!
//! A pass is one call through the trait object, and the loop over its keys is compiled for the filter's own type, so that every crate is inlined as
//! far as its own code allows.

use crate::keys::BenchKey;

/// How many keys one batch call of a crate takes. A guess at what a service has at hand; larger ones change little.
pub const BATCH: usize = 1024;

/// A filter, or a floor that behaves like one.
pub trait Filter<K> {
    /// Inserts every key by the crate's call for one key. A static filter is constructed here.
    fn fill(&mut self, keys: &[K]) -> Result<(), String>;

    /// Inserts every key by the crate's call for many. Asked for only where [`Candidate::batches`] says so.
    fn fill_batch(&mut self, keys: &[K]) -> Result<(), String> {
        self.fill(keys)
    }

    /// How many of the keys it says are there, asked one by one.
    fn count(&self, keys: &[K]) -> usize;

    /// The same, asked in batches.
    fn count_batch(&self, keys: &[K]) -> usize {
        self.count(keys)
    }

    /// Bits of its memory.
    fn bits(&self) -> u64;
}

/// The loop of every single mode: sums, so that no answer can be left out and no branch is added to those of the filter.
#[inline(always)]
pub fn count<K>(keys: &[K], contains: impl Fn(&K) -> bool) -> usize {
    keys.iter().map(|key| usize::from(contains(key))).sum()
}

/// Which question a row answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// Ours, and the floors: what the others are compared with.
    Reference,
    /// The peer has as many bits as ours.
    Bits,
    /// The peer has the measured rate of ours, or comes as near as it can; see [`Sizing`].
    Fpr,
}

/// How the size of a row came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizing {
    /// Asked for the rate, by the crate's own rule, and the measured rate was within a few percent of ours.
    OwnRule,
    /// Adjusted until it was.
    Adjusted,
    /// The crate's own rule, and it cannot be sized finely: fingerprints have whole bits, tables are powers of two.
    Nearest,
    /// Given our bits.
    Given,
}

/// Which bar looks at a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// `BlockedBloom` with so many lines a key and the best kernel. The one that absentia plans by itself for the rate is what all are compared with.
    Blocked {
        lines: u8,
    },
    /// Any other filter of ours: other kernels and other types.
    OtherOfOurs,
    /// `CuckooFilter` at the width that the rate asks for, where that is not 8 bits.
    Cuckoo,
    /// The same with fingerprints of 8 bits, as `cuckoofilter` has them.
    CuckooEight,
    /// `CountingBloom` with one line a key.
    Counting,
    /// `RotatingBloom` of eight windows, in so many lines a key.
    Rotating {
        lines: u8,
    },
    /// `BlockedBloom` of the same memory, as it lays that out by itself.
    AsLargeAsRotating {
        lines: u8,
    },
    /// `cuckoofilter` with the hash that ours is given, and with its own.
    CuckooPeer,
    CuckooPeerOwnHash,
    /// `qfilter` with the hash that ours is given.
    Quotient,
    /// A loop that reads so many random lines, by the bare hash.
    Floor {
        lines: u8,
    },
    /// The floor with our hasher.
    FloorByOurs,
    /// Given the hash that ours is given.
    Fastbloom,
    FastbloomOwnHash,
    Sbbf,
    /// Given all 128 bits of the hash that ours is given, of which it uses 64.
    SbbfOurHash,
    Other,
}

/// A subject to measure, not yet made.
pub struct Candidate<K> {
    pub name: String,
    pub family: Family,
    pub compare: Compare,
    pub sizing: Sizing,
    /// Whether it stores keys at all.
    pub fills: bool,
    /// Whether it has calls for many keys.
    pub batches: bool,
    /// Makes an empty one.
    pub make: Box<dyn Fn() -> Box<dyn Filter<K>>>,
}

impl<K: BenchKey> Candidate<K> {
    /// A peer: it fills, one key at a time.
    pub fn peer(name: &str, family: Family, compare: Compare, sizing: Sizing, make: impl Fn() -> Box<dyn Filter<K>> + 'static) -> Self {
        Self { name: name.to_string(), family, compare, sizing, fills: true, batches: false, make: Box::new(make) }
    }
}
