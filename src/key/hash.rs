//! [`KeyHash`]: the 128 bits that stand for a key, computed once per lookup and given to every filter, fence and flight.
//!
//! ```text
//!              first (64 bits)                              second (64 bits)
//! high ┌──────────────────────────────┐ low     high ┌──────────────┬──────────────┐ low
//!      │ line ........ line 2, stripe │              │ odd lanes    │ even lanes   │
//!      └──────────────────────────────┘              └──────────────┴──────────────┘
//!        │               │     │                       32 bits each: multiplied by the lane's odd constant,
//!        │               │     ├─ low bits: fence       the top 9 bits of the product are a bit position
//!        │               │     │  stripes               in the 512-bit line; in a second line the two
//!        │               │     └─ bit 32 and up:        halves change places
//!        │               │        shards of maps
//!        │               └─ the second line, if any: fastrange of `first` turned by 32 bits, so bit 31 decides first
//!        └─ fastrange over the line count: the high bits decide
//! ```
//!
//! The line takes `first` from the top, a second line from the middle and the stripe from the bottom, so that for fewer than 2^32 lines they share few
//! bits or none. A hash never stands in for a key where an absence can follow: maps compare whole keys; a filter may only err towards "maybe".

/// Two 64-bit base hashes of a key. Equal keys under one [`KeyHasher`](crate::KeyHasher) have equal hashes, on every platform.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyHash {
    first: u64,
    second: u64,
}

impl KeyHash {
    /// Wraps two 64-bit hashes that the caller computed. They must be independent and uniform over all 64 bits; a weaker pair costs false
    /// positives, never false negatives.
    #[inline]
    #[must_use]
    pub const fn from_parts(first: u64, second: u64) -> Self {
        Self { first, second }
    }

    /// The hash that chooses where: line, stripe, shard.
    #[inline]
    #[must_use]
    pub const fn first(self) -> u64 {
        self.first
    }

    /// The hash that chooses what: the bit positions inside the line.
    #[inline]
    #[must_use]
    pub const fn second(self) -> u64 {
        self.second
    }
}

/// Hashes are derived from a secret seed, and printing them would help to forge keys: `Debug` shows the type only.
impl std::fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyHash(..)")
    }
}
