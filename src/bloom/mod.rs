//! Bloom filters: of one cache line a key, of two where the rate is small, and the textbook's.
//!
//! | you have | take | bits a key at 1 % / 1e-4 / 1e-6 | cache lines a question |
//! |---|---|---|---|
//! | one thread that inserts, or a build phase and then readers | [`BlockedBloom`] | 9.9 / 19.8 / 31.1 | 1, or 2 from 3e-4 down |
//! | many threads that insert while others ask | [`AtomicBlockedBloom`] | the same | the same |
//! | keys that are removed again | [`CountingBloom`] | 43.4 / 86.8 / 152.1 | the same |
//! | less memory than time | [`ClassicBloom`] | 9.6 / 19.2 / 28.8 | 2, and k for a "maybe" |
//! | a gate that makes its own filters | [`BloomFactory`] | as blocked | as blocked |
//!
//! All give no answer but "not in it" and "maybe", and the first is never wrong. The blocked two give the same answers for the same keys under
//! the same hasher. How large they are is [`sizing`]; how fast, [`docs::performance`](crate::docs::performance); which inner loops they run on,
//! [`Kernel`].
//!
//! **Together.** Filters of one hasher, size and layout unite, intersect and compare: [`union_with`](BlockedBloom::union_with) and its kin return a
//! [`CombineError`] for others. (Counters do not intersect.) A filter that turned out too large is halved by [`fold`](BlockedBloom::fold).

mod atomic;
mod blocked;
mod builder;
mod classic;
mod counting;
mod factory;
#[cfg(all(test, absentia_loom))]
mod loom_tests;
mod occupancy;
#[cfg(feature = "rayon")]
mod par;
mod shape;
pub mod sizing;

pub use crate::filter::CombineError;
pub use crate::kernel::Kernel;
pub use atomic::AtomicBlockedBloom;
pub use blocked::BlockedBloom;
pub use builder::BloomBuilder;
pub use classic::ClassicBloom;
pub use counting::{CountingBloom, CountingError};
pub use factory::BloomFactory;
pub use sizing::{LinesPerKey, Sizing};
