//! **absentia** answers "does this id exist?" in nanoseconds, and never answers "no" wrongly.
//!
//! # Which part do I need?
//!
//! | you want | take |
//! |---|---|
//! | to keep a database from being asked for ids that do not exist | [`ExistenceGate`] over a [`NegativeCache`]: start with the README's quick start |
//! | the same, with a cache of your own behind the filter | [`ExistenceGate`] over your [`Loader`] |
//! | to remember absences without a filter | an [`ExistenceGate`] that is never rebuilt: everything is possible, and the negative cache answers |
//! | a fast set that may say "maybe" | [`BlockedBloom`], or [`AtomicBlockedBloom`] where many threads insert, or [`ClassicBloom`] for the least memory (`default-features = false` is enough) |
//! | the same, and to remove keys again | [`CuckooFilter`]: 10.5 bits a key at 1 %; [`AtomicCuckoo`] where others ask meanwhile, 16.8 and more; [`CountingBloom`] where filters must unite |
//! | to know whether a key came in one of the last G windows of time | [`RotatingBloom`], or [`AtomicRotatingBloom`] where many threads insert |
//! | a gate that forgets deleted keys before the next rebuild, where that is proven safe | [`cuckoo::CuckooFactory`] and [`retire_with`](ExistenceGate::retire_with) |
//! | to know how large a filter must be | [`bloom::sizing`], [`cuckoo::sizing`], [`rotating::plan`] |
//!
//! # Who creates ids?
//!
//! That decides what a filter's "no" is worth, and the gate asks for it: [`Coverage`]. Creates are announced with
//! [`create_with`](ExistenceGate::create_with) before their COMMIT; writers that bypass the gate hold [`distrust`](ExistenceGate::distrust)
//! meanwhile.
//!
//! # Three answers
//!
//! [`Lookup`] is `Present`, `Absent` with its [`Proof`], or `Unknown` with its [`Cause`]. Unknown is a 503 or a 429, never a 404, and never stored.
//!
//! # Prose
//!
//! [`docs::limitations`] before you rely on it, [`docs::performance`] for how fast it is, [`docs::internals`] for why it may be relied on,
//! [`docs::decisions`] for what was tried.
// Without the gate half of the tour's links lead nowhere, and it says so in words.
#![cfg_attr(not(feature = "gate"), allow(rustdoc::broken_intra_doc_links))]

pub mod docs;

/// The README's snippets, compiled and run.
#[cfg(all(doctest, feature = "gate"))]
#[doc = include_str!("../README.md")]
struct Readme;

mod bits;
pub mod bloom;
pub mod cuckoo;
pub mod filter;
mod kernel;
mod key;
mod params;
mod rate;
pub mod rotating;
#[cfg(all(test, feature = "gate", not(absentia_loom), not(target_arch = "s390x")))]
mod sim;
mod sync;
mod sys;
mod time;

#[cfg(feature = "gate")]
mod fence;
#[cfg(feature = "gate")]
mod gate;
#[cfg(feature = "gate")]
mod loader;
#[cfg(feature = "gate")]
mod negative;

/// The answers of a batch: one bit a key, in order.
pub use bitvec::vec::BitVec;
pub use bloom::{AtomicBlockedBloom, BlockedBloom, BloomBuilder, BloomFactory, ClassicBloom, CountingBloom, CountingError};
pub use cuckoo::{AtomicCuckoo, CuckooBuilder, CuckooError, CuckooFactory, CuckooFilter, GrowError};
pub use key::{HasherFingerprint, HasherId, Key, KeyEncoding, KeyHash, KeyHasher};
pub use params::{Capacity, DEFAULT_MEMORY_LIMIT, Fpr, MIN_FPR, ParamError};
pub use rotating::{AtomicRotatingBloom, RotatingBloom, RotatingBuilder};
pub use time::{Clock, MockClock, Timestamp};

#[cfg(feature = "gate")]
pub use fence::Token;
#[cfg(feature = "gate")]
pub use gate::{
    BuildError, Coverage, CreateGuard, CreateManyGuard, DeleteGuard, DistrustGuard, Exclusivity, ExistenceGate, GateBuilder, GateStatus, KeySink,
    KeySource, LockError, Lookup, Proof, Reason, RebuildError, RebuildOptions, Rebuilder, RebuilderConfig, Rebuilt, Removed, Resolution, Scanned,
    Tombstones, Trust, Verdict, WriteError, WriteError::Abort,
};
#[cfg(feature = "gate")]
pub use loader::{
    BoxError, CacheKey, CacheValue, CallerId, Cause, Consistency, Counters, DynLoader, Event, Evidence, Hashed, Join, Kept, LaneConfig, LoadContext,
    LoadResult, Loaded, Loader, Observer, Origin, Outcome, Permit, Retired, Source, StoreResult,
};
#[cfg(feature = "gate")]
pub use negative::{
    CacheBuildError, DynStore, Entry, EntryState, Jitter, MemoryStore, MemoryStoreBuilder, MemoryStoreStats, NegativeCache, NegativeCacheBuilder,
    NegativeTtl, PositiveTtl, Put, Store, StoreError, TtlError, TtlPolicy,
};

/// Suites that a [`Store`], a [`Loader`] or a filter of yours that can remove must pass, for your own tests. They need no runtime, and panic at the
/// first clause of the trait's contract that does not hold.
#[cfg(feature = "conformance")]
pub mod conformance {
    pub use crate::gate::conformance::{Hold, LoaderSuite, ScriptedError, ScriptedSource, loader, removable_base};
    pub use crate::negative::conformance::{StoreSuite, store};
}

/// What a gate's filters are made by where its builder names nothing else.
#[cfg(feature = "gate")]
fn default_filters() -> std::sync::Arc<dyn filter::FilterFactory> {
    std::sync::Arc::new(bloom::BloomFactory::default())
}
