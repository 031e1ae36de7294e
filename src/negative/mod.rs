//! [`NegativeCache`]: remembers absence as well as presence, reads the source once per key at a time, and never remembers an error.
//!
//! It is the [`Loader`](crate::Loader) that stands behind the gate. An ordinary cache learns from every row it finds and nothing from a row that is
//! not there, so an id that does not exist costs a read of the source each time it is asked for. Here absence is a value: a **tombstone**, typed so
//! that no payload can be mistaken for it, short-lived, kept in a budget of its own, and *carrying the fence under which it was read*. When a create
//! of the key begins, the fence moves, and every tombstone read before is dead where it lies: nothing has to find and delete it, and one that is
//! stored a moment too late is born dead.
//!
//! [`policy`] holds the lifetimes, [`entry`] the envelope, [`store`] the place (and [`MemoryStore`], the one in process), [`flight`] the single
//! flight, [`cache`] the order of questions.

mod cache;
#[cfg(feature = "conformance")]
pub(crate) mod conformance;
mod entry;
mod flight;
mod memory;
mod policy;
mod store;

#[cfg(all(test, not(absentia_loom)))]
mod tests;

pub use cache::{CacheBuildError, NegativeCache, NegativeCacheBuilder};
pub use entry::{Entry, EntryState};
pub use memory::{MemoryStore, MemoryStoreBuilder, MemoryStoreStats};
pub use policy::{Jitter, NegativeTtl, PositiveTtl, TtlError, TtlPolicy};
pub use store::{DynStore, Put, Store, StoreError};
