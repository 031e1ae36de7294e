//! [`ExistenceGate`]: "does this id exist?", answered from memory where there is a proof, from the loader where there is not, and never "no" wrongly.
//!
//! ```text
//! lookup(k) ─► check: the filter says no, and is complete ────────────────────────► Absent(Filter)
//!                │ maybe / hint / doubt
//!                ▼
//!              loader: memory, a shared read, the source ─► evidence, which the gate checks itself ─► Present │ Absent(proof) │ Unknown(cause)
//!
//! create_with(k) ─► pending, fence, bits ─► your COMMIT ─► settle          so that no filter, tombstone or shared read can say "absent" afterwards
//! retire_with(k) ─► pending, fence ─► your DELETE, COMMIT ─► one copy out of the filter, where that is proven ─► settle
//! rebuild(source) ─► publish, copy pending ─► your scan ─► checks ─► swap   beside the generation that serves; readers never wait
//! ```
//!
//! [`core`] is the protocol and its argument, [`trust`] what it believes, [`generation`] the state it swaps, [`retire`] when a filter may forget;
//! [`lookup`], [`create`], [`write`](mod@write), [`delete`], [`distrust`] and [`rebuild`] what users call; [`rebuilder`] the schedule.

mod builder;
mod canary;
#[cfg(feature = "conformance")]
pub(crate) mod conformance;
mod core;
mod coverage;
mod create;
mod delete;
mod distrust;
mod generation;
mod lookup;
mod rebuild;
mod rebuild_outcome;
mod rebuilder;
mod retire;
mod scan;
mod trust;
mod unresolved;
mod verdict;
mod write;

#[cfg(all(test, absentia_loom))]
mod loom_tests;
#[cfg(all(test, not(absentia_loom)))]
mod tests;

pub use builder::{BuildError, GateBuilder};
pub use coverage::{Coverage, Exclusivity, LockError, Tombstones};
pub use create::{CreateGuard, CreateManyGuard};
pub use delete::DeleteGuard;
pub use distrust::DistrustGuard;
pub use generation::Trust;
pub use rebuild_outcome::{RebuildError, RebuildOptions, Rebuilt};
pub use rebuilder::{Rebuilder, RebuilderConfig};
pub use retire::Removed;
pub use scan::{KeySink, KeySource, Scanned};
pub use unresolved::Resolution;
pub use verdict::{Lookup, Proof, Reason, Verdict};
pub use write::WriteError;

use self::core::Core;
use crate::filter::FilterFactory;
use crate::key::KeyHasher;
use crate::loader::{CacheKey, CacheValue, DynLoader, Lane, LoadContext, Loader};
use crate::params::Fpr;
use crate::sync::{AtomicBool, Mutex, Ordering, lock};
use generation::Generation;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Answers whether a key exists.
///
/// **Guarantee (I1):** a lookup that starts after the success of a create reached its caller, and ends before a delete of the key begins, never
/// answers Absent: not from a stale filter, a stale tombstone, a shared read, nor after a crash, a cancelled task or a failed rebuild. It covers
/// creates that are announced to the gate before their COMMIT; what it says of others depends on the [`Coverage`].
///
/// **Cost:** a check reads memory: one hash, one load of the state, one or two lines (or two buckets) of the base, and as much of the filter of
/// created keys once there are some. It takes no lock and allocates nothing (a tuple key of more than 128 bytes is put together on the heap to be
/// hashed).
///
/// A gate is cheap to clone; clones are the same gate.
pub struct ExistenceGate<K, V> {
    inner: Arc<Inner<K, V>>,
}

impl<K, V> Clone for ExistenceGate<K, V> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

struct Inner<K, V> {
    core: Core,
    loader: Box<dyn DynLoader<K, V>>,
    factory: Arc<dyn FilterFactory>,
    /// What the lookups that a filter would rather rule out may cost.
    suspects: Lane,
    settings: Settings,
    unresolved: Mutex<unresolved::Unresolved<K>>,
    canaries: canary::Canaries<K>,
    rebuilding: AtomicBool,
    /// Generations that were replaced, until no reader holds them: freeing one takes time, and a reader should not be the one who pays.
    replaced: Mutex<Vec<Arc<Generation>>>,
}

#[derive(Clone, Copy, Debug)]
struct Settings {
    base_fpr: Fpr,
    delta_fpr: Fpr,
    delta_share: f64,
    expected_keys: u64,
    growth: f64,
    max_transaction: Duration,
    lookup_timeout: Duration,
    many_limit: usize,
}

impl<K: CacheKey, V: CacheValue> ExistenceGate<K, V> {
    /// A gate in front of `loader`.
    ///
    /// Its coverage must be said before it can be built, see [`Coverage`].
    pub fn builder<L: Loader<K, V> + 'static>(loader: L) -> GateBuilder<K, V> {
        GateBuilder::new(Box::new(loader))
    }

    fn context(&self, hash: crate::key::KeyHash) -> LoadContext<'_> {
        let core = &self.inner.core;
        LoadContext {
            hash,
            fences: core,
            freshness: crate::loader::Freshness::Any,
            lane: None,
            caller: crate::loader::CallerId::ANONYMOUS,
            clock: &core.clock,
            observer: core.observer.as_deref(),
        }
    }

    /// The hasher of this gate. A filter made elsewhere must use it.
    #[must_use]
    pub fn hasher(&self) -> &KeyHasher {
        &self.inner.core.hasher
    }

    /// What the gate knows about itself. Costs a pass over the filter of created keys, and the locks of the pending ones.
    #[must_use]
    pub fn status(&self) -> GateStatus {
        let core = &self.inner.core;
        let (trust, waits) = (core.trust(), core.too_early_for());
        let state = core.state.load();
        let current = state.current.as_deref();
        GateStatus {
            trust,
            waits: (!waits.is_zero()).then_some(waits),
            epoch: state.epoch,
            distrust_guards: state.guards,
            // ORDERING: Relaxed: a gauge.
            rebuilding: self.inner.rebuilding.load(Ordering::Relaxed),
            generation: current.map(|g| g.id),
            keys: current.map_or(0, |g| g.rows),
            created_since: current.map_or(0, Generation::delta_keys),
            created_capacity: current.map_or(0, Generation::delta_capacity),
            age: current.map(|g| core.clock.now().since(g.built)),
            saturated: current.is_some_and(Generation::is_saturated),
            switched_off: current.is_some_and(Generation::is_switched_off),
            estimated_fpr: current.map_or(1.0, Generation::estimated_fpr),
            filter_bytes: current.map_or(0, Generation::memory_bytes),
            fence_bytes: core.fence_bytes(),
            pending_writes: core.pending.len(),
            unresolved_writes: lock(&self.inner.unresolved).len(),
        }
    }

    /// Frees replaced generations that no reader holds any more. The rebuilder does it; call it only to free memory sooner.
    fn free_replaced(&self) {
        let free: Vec<_> = {
            let mut replaced = lock(&self.inner.replaced);
            replaced.extract_if(.., |generation| Arc::strong_count(generation) == 1).collect()
        };
        drop(free);
    }
}

/// What a gate knows about itself at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct GateStatus {
    /// How far the filter may be believed.
    pub trust: Trust,
    /// How long a rebuild would wait now before it scans: until no COMMIT of a predecessor can be in flight, and a lagging scan sees what was written
    /// unannounced.
    pub waits: Option<Duration>,
    /// Moves when a distrust ends, a wrong absence or a lost lock is found or mended, or a predecessor's time is over.
    pub epoch: u64,
    /// Distrust guards that live.
    pub distrust_guards: u32,
    /// A rebuild is under way, or waits to begin.
    pub rebuilding: bool,
    /// Number of the generation that serves; none before the first rebuild.
    pub generation: Option<u64>,
    /// Rows that its scan saw.
    pub keys: u64,
    /// Keys created since that were new to the filter; too low once it is saturated.
    pub created_since: u64,
    /// How many keys may be created before the false-positive rate rises above what was asked for.
    pub created_capacity: u64,
    /// How long ago it was swapped in.
    pub age: Option<Duration>,
    /// More keys were created than it was sized for.
    pub saturated: bool,
    /// Its false-positive rate passed the limit, and it is not asked.
    pub switched_off: bool,
    /// Estimated from what is set in the filters.
    pub estimated_fpr: f64,
    /// Memory of the serving generation's filters.
    pub filter_bytes: u64,
    /// Memory of the fences.
    pub fence_bytes: u64,
    /// Keys with a write under way or unresolved: creates, and others.
    pub pending_writes: usize,
    /// Writes whose outcome was never reported.
    pub unresolved_writes: usize,
}

impl<K: CacheKey, V: CacheValue> fmt::Debug for ExistenceGate<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.inner.core.state.load();
        f.debug_struct("ExistenceGate")
            .field("coverage", &self.inner.core.coverage)
            .field("trust", &state.trust)
            .field("generation", &state.current.as_ref().map(|g| g.id))
            .field("epoch", &state.epoch)
            .finish_non_exhaustive()
    }
}
