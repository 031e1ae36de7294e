//! The kinds of filter whose rate is measured, filled with keys that are cheap enough for 10^9 questions: their hashes are two mixers' outputs. What
//! the real hashers do with similar keys is asked in `tests/statistics.rs`.

use super::expected::{self, Expected};
use absentia::bloom::sizing::{LinePlan, LinesPerKey, Sizing, classical};
use absentia::filter::Membership;
use absentia::rotating::RotatingBuilder;
use absentia::{AtomicCuckoo, BitVec, BloomBuilder, Capacity, CuckooFilter, Fpr, KeyHash, KeyHasher, RotatingBloom, cuckoo, rotating};

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
    /// Counters, one line a key.
    Counting,
    /// Two.
    CountingTwoLines,
    /// Fingerprints.
    Cuckoo,
    /// The same, as many readers and writers share it.
    AtomicCuckoo,
    /// Made for many writers: more slots, so that nothing has to be moved.
    RoomyCuckoo,
    /// Eight windows, the keys spread over them.
    Rotating,
    /// The same, for many writers.
    AtomicRotating,
}

/// What a filter answers to some hashes.
pub(crate) type Ask = Box<dyn Fn(&[KeyHash]) -> BitVec>;

const WINDOWS: u32 = 8;

impl Kind {
    pub(crate) const ALL: [Self; 12] = [
        Self::Blocked,
        Self::TwoLines,
        Self::Atomic,
        Self::BlockedClassical,
        Self::Classic,
        Self::Counting,
        Self::CountingTwoLines,
        Self::Cuckoo,
        Self::AtomicCuckoo,
        Self::RoomyCuckoo,
        Self::Rotating,
        Self::AtomicRotating,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::TwoLines => "two_lines",
            Self::Atomic => "atomic",
            Self::BlockedClassical => "blocked-classical",
            Self::Classic => "classic",
            Self::Counting => "counting",
            Self::CountingTwoLines => "counting-two",
            Self::Cuckoo => "cuckoo",
            Self::AtomicCuckoo => "atomic_cuckoo",
            Self::RoomyCuckoo => "roomy_cuckoo",
            Self::Rotating => "rotating",
            Self::AtomicRotating => "atomic_rotating",
        }
    }

    /// Whether its rate at capacity is promised to be at most the one asked for.
    pub(crate) fn is_guaranteed(self) -> bool {
        !matches!(self, Self::BlockedClassical | Self::Classic)
    }

    /// How far it can be filled beyond its capacity.
    pub(crate) fn most(self) -> f64 {
        match self {
            Self::Cuckoo | Self::AtomicCuckoo | Self::RoomyCuckoo => 1.0,
            _ => f64::INFINITY,
        }
    }

    /// Whether what is expected is only known not to be exceeded: windows are asked at the same positions, and claim less together than they would if each
    /// were asked at its own.
    pub(crate) fn is_bounded_only(self) -> bool {
        matches!(self, Self::Rotating | Self::AtomicRotating)
    }

    fn sizing(self) -> Sizing {
        if self.is_guaranteed() { Sizing::Guaranteed } else { Sizing::Classical }
    }

    fn lines(self) -> LinesPerKey {
        match self {
            Self::Blocked | Self::Counting => LinesPerKey::One,
            Self::TwoLines | Self::CountingTwoLines => LinesPerKey::Two,
            _ => LinesPerKey::Auto,
        }
    }

    fn plan(self, capacity: u64, p: f64) -> LinePlan {
        self.sizing().plan_lines(Capacity::new(capacity), Fpr::new(p).expect("a rate"), self.lines())
    }

    /// Whether it has as many lines a key as a filter that is not told.
    pub(crate) fn is_default(self, capacity: u64, p: f64) -> bool {
        matches!(self, Self::Blocked | Self::TwoLines | Self::Atomic) && self.plan(capacity, p) == Self::Atomic.plan(capacity, p)
    }

    /// What is to be expected with `keys` keys in a filter for `capacity`, and the bits a key of the capacity.
    pub(crate) fn expected(self, capacity: u64, p: f64, keys: u64) -> (Expected, f64) {
        let (all, fpr) = (Capacity::new(capacity), Fpr::new(p).expect("a rate"));
        match self {
            Self::Classic => {
                let size = classical(all, fpr);
                return (expected::of_textbook(&size, keys), size.bits as f64 / capacity as f64);
            }
            Self::Counting | Self::CountingTwoLines => {
                let plan = Sizing::Guaranteed.plan_counters(all, fpr, self.lines());
                return (expected::of_counters(&plan, keys), (plan.lines * 512) as f64 / capacity as f64);
            }
            Self::Cuckoo | Self::AtomicCuckoo => {
                let plan = cuckoo::sizing::plan(all, fpr);
                let bits = if self == Self::Cuckoo { plan.width } else { plan.width.next_power_of_two().max(8) };
                return (expected::of_fingerprints(&plan, keys), (plan.buckets * 4 * u64::from(bits)) as f64 / capacity as f64);
            }
            Self::RoomyCuckoo => {
                let plan = cuckoo::sizing::plan_shared(all, fpr);
                return (expected::of_fingerprints(&plan, keys), (plan.memory_bytes() * 8) as f64 / capacity as f64);
            }
            Self::Rotating | Self::AtomicRotating => {
                let window = Capacity::new(capacity / u64::from(WINDOWS));
                let plan = rotating::plan(WINDOWS, window, fpr, LinesPerKey::Auto).expect("so many windows");
                let rate = plan.fpr_with(keys / u64::from(WINDOWS));
                // That windows of so many lines differ by more than some thousandths is out of the question.
                return (Expected { rate, variance: 1e-5 }, plan.bits_per_key(window));
            }
            _ => {}
        }
        let plan = self.plan(capacity, p);
        (expected::of_lines(&plan, keys), (plan.lines * 512) as f64 / capacity as f64)
    }

    /// A filter for `capacity` keys at rate `p`, with the keys of these numbers in it.
    pub(crate) fn filter(self, capacity: u64, p: f64, keys: std::ops::Range<u64>) -> Ask {
        let builder = BloomBuilder::default().capacity(capacity).fpr(p).hasher(KeyHasher::xxh3(0)).sizing(self.sizing()).lines_per_key(self.lines());
        match self {
            Self::Blocked | Self::TwoLines | Self::BlockedClassical => {
                let mut filter = builder.build().expect("memory for a filter");
                in_batches(keys, |hashes| _ = filter.insert_hash_batch(hashes));
                asked(filter)
            }
            Self::Atomic => {
                let filter = builder.build_atomic().expect("memory for a filter");
                in_batches(keys, |hashes| _ = filter.insert_hash_batch(hashes));
                asked(filter)
            }
            Self::Classic => {
                let mut filter = builder.build_classic().expect("memory for a filter");
                in_batches(keys, |hashes| _ = filter.insert_hash_batch(hashes));
                asked(filter)
            }
            Self::Counting | Self::CountingTwoLines => {
                let mut filter = builder.build_counting().expect("memory for a filter");
                in_batches(keys, |hashes| _ = filter.insert_hash_batch(hashes));
                asked(filter)
            }
            Self::Cuckoo | Self::AtomicCuckoo => {
                let mut filter = CuckooFilter::builder().capacity(capacity).fpr(p).hasher(KeyHasher::xxh3(0)).build().expect("memory for a filter");
                in_batches(keys, |hashes| filter.insert_hash_batch(hashes).expect("room for as many keys as the capacity"));
                if self == Self::Cuckoo { asked(filter) } else { asked(AtomicCuckoo::try_from(filter).expect("memory for a filter")) }
            }
            Self::RoomyCuckoo => {
                let filter =
                    AtomicCuckoo::builder().capacity(capacity).fpr(p).hasher(KeyHasher::xxh3(0)).build_atomic().expect("memory for a filter");
                let insert = |hash: &KeyHash| filter.insert_hash(*hash).expect("room for as many keys as the capacity");
                in_batches(keys, |hashes| hashes.iter().for_each(insert));
                asked(filter)
            }
            Self::AtomicRotating => {
                let filter = windows(capacity, p).build_atomic().expect("memory for a filter");
                let each = (keys.end - keys.start).div_ceil(u64::from(WINDOWS));
                for first in keys.clone().step_by(each.max(1) as usize) {
                    if first > keys.start {
                        filter.rotate();
                    }
                    in_batches(first..keys.end.min(first + each), |hashes| _ = filter.insert_hash_batch(hashes));
                }
                Box::new(move |hashes| filter.contains_hash_batch(hashes))
            }
            Self::Rotating => {
                let mut filter = windows(capacity, p).build().expect("memory for a filter");
                let each = (keys.end - keys.start).div_ceil(u64::from(WINDOWS));
                for first in keys.clone().step_by(each.max(1) as usize) {
                    if first > keys.start {
                        filter.rotate();
                    }
                    in_batches(first..keys.end.min(first + each), |hashes| _ = filter.insert_hash_batch(hashes));
                }
                Box::new(move |hashes| filter.contains_hash_batch(hashes))
            }
        }
    }
}

fn windows(capacity: u64, p: f64) -> RotatingBuilder {
    RotatingBloom::builder().windows(WINDOWS).capacity(capacity / u64::from(WINDOWS)).fpr(p).hasher(KeyHasher::xxh3(0))
}

fn asked(filter: impl Membership + 'static) -> Ask {
    Box::new(move |hashes| filter.contains_hash_batch(hashes))
}

/// How many of the keys of these numbers a filter has, or says that it has.
pub(crate) fn found(ask: &Ask, numbers: std::ops::Range<u64>) -> u64 {
    let mut found = 0;
    in_batches(numbers, |hashes| found += ask(hashes).count_ones() as u64);
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
