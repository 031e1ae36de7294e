//! Bloom filters of one cache line a key: one cache miss a question, whatever the rate.
//!
//! | you have | take |
//! |---|---|
//! | one thread that inserts, or a build phase and then readers | [`BlockedBloom`] |
//! | many threads that insert while others ask | [`AtomicBlockedBloom`] |
//! | a gate that makes its own filters | [`BloomFactory`] |
//!
//! Both filters give the same answers for the same keys, under the same hasher. How large they are is [`sizing`].

mod atomic;
mod batch;
mod blocked;
mod builder;
mod classic;
mod combine;
mod factory;
#[cfg(all(test, absentia_loom))]
mod loom_tests;
mod occupancy;
mod once;
#[cfg(feature = "rayon")]
mod par;
mod shape;
pub mod sizing;

pub use crate::kernel::Kernel;
pub use atomic::AtomicBlockedBloom;
pub use blocked::BlockedBloom;
pub use builder::BloomBuilder;
pub use classic::ClassicBloom;
pub use combine::CombineError;
pub use factory::BloomFactory;
pub use sizing::{LinesPerKey, Sizing};
