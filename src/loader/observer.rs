//! [`Observer`]: what happened, told to whoever counts. [`Counters`] is one that counts in memory under the names an operator will look for.
//!
//! The names are those of the metrics table in docs/internals; a name ends in `_total` where it only grows. The default is no observer at all, and
//! then nothing is counted and nothing is paid.

use super::retired::{Kept, Retired};
use crate::sync::{AtomicU64, Ordering};
use std::fmt;
use std::time::Duration;

/// How a lookup ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Present, read from the source.
    PresentSource,
    /// Present, from memory.
    PresentCache,
    /// Absent, by the filter.
    AbsentFilter,
    /// Absent, by a tombstone.
    AbsentTombstone,
    /// Absent, by a read of the source.
    AbsentSource,
    /// Unknown: an error or a time-out.
    UnknownFailed,
    /// Unknown: over budget.
    UnknownShed,
}

/// How a read of the source ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadResult {
    /// A row.
    Found,
    /// No row: the number that tells whether the source is being asked for what is not there.
    NotFound,
    /// An error.
    Error,
    /// No answer in time.
    Timeout,
}

/// What became of an absence that could have been remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreResult {
    /// Stored.
    Stored,
    /// Not stored: a write was pending in the fence of the key, or the gate was distrusted.
    Fenced,
    /// Not stored: a create of the key began while the source was read. A race, caught.
    TokenChanged,
    /// Not stored: no room, or the store failed.
    NotAdmitted,
}

/// Something worth counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A lookup, or a check that ended in Absent, was answered.
    Lookup(Outcome),
    /// The source was read.
    SourceLoad {
        /// How it ended.
        result: LoadResult,
        /// How long it took.
        took: Duration,
    },
    /// An absence was stored, or was not.
    TombstoneStore(StoreResult),
    /// A caller shared a read that was already under way. Those that share the next one are not counted.
    FlightJoined,
    /// A shared read could not be validated by a joiner, which read again.
    FlightNotValidated,
    /// A reader was dropped, panicked or was over age, and a waiter took over.
    FlightTakenOver,
    /// A stored entry could not be decoded, and will be replaced.
    DecodeError,
    /// The filter said maybe, and a read of the source for this lookup said no.
    FilterFalsePositive,
    /// A rebuild has scanned so many more keys: told every 65,536 keys, and at the end of the scan.
    Scanned {
        /// Keys since it was last told.
        keys: u64,
    },
    /// A rebuilt generation was swapped in.
    Swapped {
        /// Keys that its scan saw.
        keys: u64,
        /// From publishing to swap.
        took: Duration,
    },
    /// A rebuild failed or was dropped; the previous generation goes on serving.
    RebuildFailed,
    /// The gate's epoch changed: a distrust ended, a wrong absence or a lost lock was found or mended, or a predecessor's time was over.
    EpochChanged,
    /// The fence of a write whose outcome was never reported was lifted, after the primary was read.
    FenceExpired,
    /// A loader offered an absence that the gate refused.
    EvidenceRefused,
    /// The exclusive lock was found lost. The gate never trusts its filter again: restart, or build a new one.
    LockLost,
    /// An answer Absent would have been wrong, or was. Must be 0.
    WrongAbsent,
    /// The estimated false-positive rate passed the limit, and the filter is no longer asked.
    SwitchedOff,
    /// A key's delete was confirmed, and the filter was asked to forget it.
    Retired(Retired),
}

/// Is told what happens. Called on the hot path: count, and return.
pub trait Observer: Send + Sync {
    /// `event` happened.
    fn record(&self, event: &Event);
}

const NAMES: [&str; 38] = [
    "gate_lookups_total{outcome=\"present\",proof=\"source\"}",
    "gate_lookups_total{outcome=\"present\",proof=\"cache\"}",
    "gate_lookups_total{outcome=\"absent\",proof=\"filter\"}",
    "gate_lookups_total{outcome=\"absent\",proof=\"tombstone\"}",
    "gate_lookups_total{outcome=\"absent\",proof=\"source\"}",
    "gate_lookups_total{outcome=\"unknown\",cause=\"failed\"}",
    "gate_lookups_total{outcome=\"unknown\",cause=\"shed\"}",
    "gate_source_loads_total{result=\"found\"}",
    "gate_source_loads_total{result=\"not_found\"}",
    "gate_source_loads_total{result=\"error\"}",
    "gate_source_loads_total{result=\"timeout\"}",
    "gate_tombstone_stores_total{result=\"stored\"}",
    "gate_tombstone_stores_total{result=\"fenced\"}",
    "gate_tombstone_stores_total{result=\"token_changed\"}",
    "gate_tombstone_stores_total{result=\"not_admitted\"}",
    "gate_flight_joins_total",
    "gate_flight_revalidations_total{result=\"failed\"}",
    "gate_flight_takeovers_total",
    "gate_decode_errors_total",
    "gate_filter_false_positives_total",
    "gate_filter_swaps_total{result=\"swapped\"}",
    "gate_filter_swaps_total{result=\"failed\"}",
    "gate_epoch_changes_total",
    "gate_fences_expired_total",
    "gate_wrong_absent_total",
    "gate_evidence_refused_total",
    "gate_filter_switched_off_total",
    "gate_lock_lost_total",
    "gate_filter_scanned_keys_total",
    "gate_filter_retired_total{result=\"removed\"}",
    "gate_filter_retired_total{result=\"not_last_row\"}",
    "gate_filter_retired_total{result=\"not_exclusive\"}",
    "gate_filter_retired_total{result=\"no_remover\"}",
    "gate_filter_retired_total{result=\"generation_changed\"}",
    "gate_filter_retired_total{result=\"not_trusted\"}",
    "gate_filter_retired_total{result=\"other_write\"}",
    "gate_filter_retired_total{result=\"in_delta\"}",
    "gate_filter_retired_total{result=\"not_there\"}",
];

/// Counting stripes, so that threads on different cores do not share a cache line.
const STRIPES: usize = 8;

#[repr(align(128))]
struct Stripe([AtomicU64; NAMES.len()]);

/// Counts every [`Event`] in memory, under the names of the metrics table.
///
/// ```
/// # use absentia::*;
/// # use std::sync::Arc;
/// # fn example(builder: GateBuilder<String, u64>) -> Result<(), BuildError> {
/// let counters = Arc::new(Counters::new());
/// let gate = builder.observer(counters.clone()).build()?;
/// let page: String = counters.iter().map(|(name, count)| format!("{name} {count}\n")).collect(); // Prometheus' text format
/// # let _ = (gate, page); Ok(()) }
/// ```
///
/// Counting costs an atomic addition that is mostly uncontended, and a second one for a read of the source. Reading sums the stripes and is not a
/// snapshot of one instant.
pub struct Counters {
    stripes: Box<[Stripe]>,
    source_nanos: AtomicU64,
}

impl Default for Counters {
    fn default() -> Self {
        Self { stripes: (0..STRIPES).map(|_| Stripe(std::array::from_fn(|_| AtomicU64::new(0)))).collect(), source_nanos: AtomicU64::new(0) }
    }
}

impl Counters {
    /// All zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn sum(&self, index: usize) -> u64 {
        // ORDERING: Relaxed: counters order nothing.
        self.stripes.iter().map(|stripe| stripe.0[index].load(Ordering::Relaxed)).sum()
    }

    /// One lookup outcome.
    #[must_use]
    pub fn lookups(&self, outcome: Outcome) -> u64 {
        self.sum(index(&Event::Lookup(outcome)))
    }

    /// Reads of the source that ended so.
    #[must_use]
    pub fn source_loads(&self, result: LoadResult) -> u64 {
        self.sum(index(&Event::SourceLoad { result, took: Duration::ZERO }))
    }

    /// Time spent reading the source, summed over all reads.
    #[must_use]
    pub fn source_load_time(&self) -> Duration {
        // ORDERING: Relaxed: counters order nothing.
        Duration::from_nanos(self.source_nanos.load(Ordering::Relaxed))
    }

    /// Answers Absent that were wrong, as far as was noticed. Page on any.
    #[must_use]
    pub fn wrong_absent(&self) -> u64 {
        self.sum(index(&Event::WrongAbsent))
    }

    /// Every counter by its name, labels included.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        NAMES.iter().enumerate().map(|(i, name)| (*name, self.sum(i)))
    }
}

impl Observer for Counters {
    fn record(&self, event: &Event) {
        thread_local!(static STRIPE: usize = stripe_of_this_thread());
        // ORDERING: Relaxed: counters order nothing.
        self.stripes[STRIPE.with(|s| *s)].0[index(event)].fetch_add(amount(event), Ordering::Relaxed);
        if let Event::SourceLoad { took, .. } = event {
            let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
            // ORDERING: Relaxed: counters order nothing.
            self.source_nanos.fetch_add(nanos, Ordering::Relaxed);
        }
    }
}

/// What an event adds to its counter.
const fn amount(event: &Event) -> u64 {
    match event {
        Event::Scanned { keys } => *keys,
        _ => 1,
    }
}

fn stripe_of_this_thread() -> usize {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    std::thread::current().id().hash(&mut hasher);
    hasher.finish() as usize % STRIPES
}

fn index(event: &Event) -> usize {
    match event {
        Event::Lookup(outcome) => *outcome as usize,
        Event::SourceLoad { result, .. } => 7 + *result as usize,
        Event::TombstoneStore(result) => 11 + *result as usize,
        Event::FlightJoined => 15,
        Event::FlightNotValidated => 16,
        Event::FlightTakenOver => 17,
        Event::DecodeError => 18,
        Event::FilterFalsePositive => 19,
        Event::Swapped { .. } => 20,
        Event::RebuildFailed => 21,
        Event::EpochChanged => 22,
        Event::FenceExpired => 23,
        Event::WrongAbsent => 24,
        Event::EvidenceRefused => 25,
        Event::SwitchedOff => 26,
        Event::LockLost => 27,
        Event::Scanned { .. } => 28,
        Event::Retired(retired) => 29 + retired_index(*retired),
    }
}

const fn retired_index(retired: Retired) -> usize {
    match retired {
        Retired::Removed => 0,
        Retired::Kept(Kept::NotLastRow) => 1,
        Retired::Kept(Kept::NotExclusive) => 2,
        Retired::Kept(Kept::NoRemover) => 3,
        Retired::Kept(Kept::GenerationChanged) => 4,
        Retired::Kept(Kept::NotTrusted) => 5,
        Retired::Kept(Kept::OtherWrite) => 6,
        Retired::Kept(Kept::InDelta) => 7,
        Retired::Kept(Kept::NotThere) => 8,
    }
}

impl fmt::Debug for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().filter(|(_, count)| *count > 0)).finish()
    }
}

#[cfg(all(test, not(absentia_loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_event_lands_under_its_own_name() {
        let counters = Counters::new();
        counters.record(&Event::Lookup(Outcome::UnknownShed));
        counters.record(&Event::SourceLoad { result: LoadResult::Timeout, took: Duration::from_millis(3) });
        counters.record(&Event::TombstoneStore(StoreResult::NotAdmitted));
        counters.record(&Event::EvidenceRefused);
        counters.record(&Event::Retired(Retired::Kept(Kept::NotThere)));
        let seen: Vec<_> = counters.iter().filter(|(_, n)| *n > 0).map(|(name, _)| name).collect();
        assert_eq!(
            seen,
            [
                "gate_lookups_total{outcome=\"unknown\",cause=\"shed\"}",
                "gate_source_loads_total{result=\"timeout\"}",
                "gate_tombstone_stores_total{result=\"not_admitted\"}",
                "gate_evidence_refused_total",
                "gate_filter_retired_total{result=\"not_there\"}",
            ]
        );
        assert_eq!(counters.source_load_time(), Duration::from_millis(3));
    }
}
