//! Bloom filters that forget: "was this key seen in one of the last G windows of time?"
//!
//! | you have | take |
//! |---|---|
//! | one thread that inserts | [`RotatingBloom`] |
//! | many threads that insert while others ask and windows pass | [`AtomicRotatingBloom`] |
//!
//! A ring of G filters, one a window, must be asked G times: G cache misses a question. Here the G windows are bit-planes of *one* line, or of two,
//! so that a question costs what it costs in one filter, however many windows there are. The bits of a position in all windows lie side by side; the
//! AND of a key's positions says for every window at once whether the key is in it, and windows never mix.
//!
//! **How long a key is remembered.** A key that was inserted in window w is found while the current window is w + G − 1 at the latest, and forgotten
//! from w + G on, but for false positives. So it is remembered for at least G − 1 whole windows, and for at most G. Insert it again and that begins
//! anew.
//!
//! **Forgetting is one step.** A window that is too old is masked out at once. Its bits are cleared later, a few lines with each insert, before they
//! are needed for a new window; a plane is spare for that, which costs one part in G + 1 of the memory.
//!
//! How large a filter is: [`plan`]. It takes more bits than a ring of filters would, since short planes fill less evenly; docs/limitations has the
//! numbers.

mod atomic;
mod bloom;
mod builder;
#[cfg(all(test, absentia_loom))]
mod loom_tests;
mod occupancy;
mod shape;
mod sizing;
mod slots;
#[cfg(all(test, not(absentia_loom)))]
mod tests;
mod timer;

pub use crate::rate::LinesPerKey;
pub use atomic::AtomicRotatingBloom;
pub use bloom::RotatingBloom;
pub use builder::RotatingBuilder;
pub use sizing::{MAX_WINDOWS, RotatingPlan, plan};
