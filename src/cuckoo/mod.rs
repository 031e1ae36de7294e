//! Cuckoo filters: sets from which keys can be removed.
//!
//! | you have | take |
//! |---|---|
//! | one thread that inserts and removes | [`CuckooFilter`] |
//! | many threads that remove, or insert and remove, while others ask | [`AtomicCuckoo`] |
//! | a gate that is to forget deleted keys | [`CuckooFactory`] |
//!
//! A cuckoo filter keeps a *fingerprint* of each key, some bits of its hash, in one of two *buckets* of four slots. Where both are full, others are
//! moved to their other bucket. It takes less memory than a blocked Bloom filter below 0.3 %, and unlike one it can be full. How large it is:
//! [`sizing`]. The way from a key to its places: `geometry.rs`; four slots at once: `bucket.rs`; how room is made: `relocate.rs`; what many threads
//! may do: `slots.rs`.

mod atomic;
mod bucket;
mod builder;
mod error;
mod factory;
mod filter;
mod geometry;
#[cfg(all(test, absentia_loom))]
mod loom_tests;
mod relocate;
mod shape;
pub mod sizing;
mod slots;
#[cfg(all(test, not(absentia_loom)))]
mod tests;

pub use crate::kernel::Kernel;
pub use atomic::AtomicCuckoo;
pub use builder::CuckooBuilder;
pub use error::{CuckooError, GrowError};
pub use factory::CuckooFactory;
pub use filter::CuckooFilter;
