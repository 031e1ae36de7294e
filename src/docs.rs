//! Prose: what surprises, how it works inside, how fast it is, what was decided. The same texts as in the folder `docs`.

#[doc = include_str!("../docs/decisions.md")]
pub mod decisions {}
#[doc = include_str!("../docs/internals.md")]
pub mod internals {}
#[doc = include_str!("../docs/limitations.md")]
pub mod limitations {}
#[doc = include_str!("../docs/performance.md")]
pub mod performance {}
