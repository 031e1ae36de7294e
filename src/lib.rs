//! **absentia** answers "does this id exist?" in nanoseconds, and never answers "no" wrongly.
#![warn(missing_docs)]

pub mod bloom;
pub mod filter;
mod bits;
mod kernel;
mod key;
mod params;
mod sync;

#[cfg(feature = "gate")]
mod fence;
#[cfg(feature = "gate")]
mod gate;
#[cfg(feature = "gate")]
mod loader;
#[cfg(feature = "gate")]
mod negative;
#[cfg(feature = "gate")]
mod time;

pub use bloom::{AtomicBlockedBloom, BlockedBloom, BloomBuilder};
pub use key::{HasherFingerprint, HasherId, Key, KeyEncoding, KeyHash, KeyHasher};
pub use params::{Capacity, DEFAULT_MEMORY_LIMIT, Fpr, MIN_FPR, ParamError};

#[cfg(feature = "gate")]
pub use fence::Token;
#[cfg(feature = "gate")]
pub use gate::{
    BuildError, Coverage, CreateGuard, CreateManyGuard, DistrustGuard, ExistenceGate, Exclusivity, GateBuilder, GateStatus, KeySink, KeySource, LockError,
    Lookup, Proof, Reason, RebuildError, RebuildOptions, Rebuilder, RebuilderConfig, Rebuilt, Resolution, Scanned, Tombstones, Trust, Verdict, WriteError,
    WriteError::Abort,
};
#[cfg(feature = "gate")]
pub use loader::{
    BoxError, CacheKey, CacheValue, CallerId, Cause, Consistency, Counters, DynLoader, Event, Evidence, Hashed, Join, LaneConfig, LoadContext, LoadResult,
    Loaded, Loader, Observer, Origin, Outcome, Permit, Source, StoreResult,
};
#[cfg(feature = "gate")]
pub use negative::{
    CacheBuildError, DynStore, Entry, EntryState, Jitter, MemoryStore, MemoryStoreBuilder, MemoryStoreStats, NegativeCache, NegativeCacheBuilder, NegativeTtl,
    PositiveTtl, Put, Store, StoreError, TtlError, TtlPolicy,
};
#[cfg(feature = "gate")]
pub use time::{Clock, MockClock, Timestamp};

/// What a gate's filters are made by where its builder names nothing else.
#[cfg(feature = "gate")]
fn default_filters() -> std::sync::Arc<dyn filter::FilterFactory> {
    std::sync::Arc::new(bloom::BloomFactory::default())
}
