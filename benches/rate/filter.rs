//! The kinds of filter whose rate is measured, filled with keys that are cheap enough for 10^9 questions: their hashes are two mixers' outputs. What
//! the real hashers do with similar keys is asked in `tests/statistics.rs`.

use super::expected::{self, Expected};
use absentia::bloom::sizing::{LinePlan, LinesPerKey, Sizing, classical};
use absentia::filter::Membership;
use absentia::{BloomBuilder, Capacity, Fpr, KeyHash, KeyHasher};

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// One line a key.
    Blocked,
    /// Two.
    TwoLines,
    /// The lines that a filter takes by itself, for many writers.
    Atomic,
    /// Lines too, in the textbook's memory.
    BlockedClassical,
    /// The textbook's filter.
    Classic,
}

impl Kind {
    pub(crate) const ALL: [Self; 5] = [Self::Blocked, Self::TwoLines, Self::Atomic, Self::BlockedClassical, Self::Classic];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::TwoLines => "two_lines",
            Self::Atomic => "atomic",
            Self::BlockedClassical => "blocked-classical",
            Self::Classic => "classic",
        }
    }

    /// Whether its rate at capacity is promised to be at most the one asked for.
    pub(crate) fn is_guaranteed(self) -> bool {
        matches!(self, Self::Blocked | Self::TwoLines | Self::Atomic)
    }

    fn sizing(self) -> Sizing {
        if self.is_guaranteed() { Sizing::Guaranteed } else { Sizing::Classical }
    }

    fn lines(self) -> LinesPerKey {
        match self {
            Self::Blocked => LinesPerKey::One,
            Self::TwoLines => LinesPerKey::Two,
            _ => LinesPerKey::Auto,
        }
    }

    fn plan(self, capacity: u64, p: f64) -> LinePlan {
        self.sizing().plan_lines(Capacity::new(capacity), Fpr::new(p).expect("a rate"), self.lines())
    }

    /// Whether it has as many lines a key as a filter that is not told.
    pub(crate) fn is_default(self, capacity: u64, p: f64) -> bool {
        self.is_guaranteed() && self.plan(capacity, p) == Self::Atomic.plan(capacity, p)
    }

    /// What is to be expected with `keys` keys in a filter for `capacity`, and the bits a key of the capacity.
    pub(crate) fn expected(self, capacity: u64, p: f64, keys: u64) -> (Expected, f64) {
        if self == Self::Classic {
            let size = classical(Capacity::new(capacity), Fpr::new(p).expect("a rate"));
            return (expected::of_textbook(&size, keys), size.bits as f64 / capacity as f64);
        }
        let plan = self.plan(capacity, p);
        (expected::of_lines(&plan, keys), (plan.lines * 512) as f64 / capacity as f64)
    }

    /// A filter for `capacity` keys at rate `p`, with the keys of these numbers in it.
    pub(crate) fn filter(self, capacity: u64, p: f64, keys: std::ops::Range<u64>) -> Box<dyn Membership> {
        let builder = BloomBuilder::default().capacity(capacity).fpr(p).hasher(KeyHasher::xxh3(0)).sizing(self.sizing()).lines_per_key(self.lines());
        match self {
            Self::Blocked | Self::TwoLines | Self::BlockedClassical => {
                let mut filter = builder.build().expect("memory for a filter");
                in_batches(keys, |hashes| _ = filter.insert_hash_batch(hashes));
                Box::new(filter)
            }
            Self::Atomic => {
                let filter = builder.build_atomic().expect("memory for a filter");
                in_batches(keys, |hashes| _ = filter.insert_hash_batch(hashes));
                Box::new(filter)
            }
            Self::Classic => {
                let mut filter = builder.build_classic().expect("memory for a filter");
                in_batches(keys, |hashes| _ = filter.insert_hash_batch(hashes));
                Box::new(filter)
            }
        }
    }
}

/// How many of the keys of these numbers `filter` has, or says that it has.
pub(crate) fn found(filter: &dyn Membership, numbers: std::ops::Range<u64>) -> u64 {
    let mut found = 0;
    in_batches(numbers, |hashes| found += filter.contains_hash_batch(hashes).count_ones() as u64);
    found
}

/// The hashes of the keys of these numbers, some thousand at a time.
fn in_batches(numbers: std::ops::Range<u64>, mut give: impl FnMut(&[KeyHash])) {
    const BATCH: u64 = 4096;
    let mut hashes = Vec::with_capacity(BATCH as usize);
    for start in numbers.clone().step_by(BATCH as usize) {
        hashes.clear();
        hashes.extend((start..numbers.end.min(start + BATCH)).map(mixed));
        give(&hashes);
    }
}

/// Stafford's variant 13 of the 64-bit mixer, as in SplitMix64.
fn mix(state: u64) -> u64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Two mixers of different streams, as in `tests/statistics.rs`.
fn mixed(number: u64) -> KeyHash {
    KeyHash::from_parts(mix(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)), mix(number.wrapping_mul(0xd134_2543_de82_ef95) ^ 0x5851_f42d_4c95_7f2d))
}
