//! [`CombineError`]: why two filters cannot become one, or one cannot be folded.
//!
//! Bits of two filters mean the same only where every choice that leads from a key to its bits is the same: the hasher with its secret, the size,
//! the positions a key, and the lines a key. Capacity and promised rate are not among them. What is checked here is checked before a bit changes.

use crate::key::HasherFingerprint;
use std::fmt;

/// Why filters were not combined. Neither has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CombineError {
    /// Their keys were hashed differently, by another function or under another secret: one's bits mean nothing to the other.
    Hasher {
        /// The filter that was to change.
        ours: HasherFingerprint,
        /// The other one.
        theirs: HasherFingerprint,
    },
    /// They have different sizes, so that a key has its bits at other places. Filters that are to be united are sized for the keys of all.
    Bits {
        /// Bits of the filter that was to change.
        ours: u64,
        /// Bits of the other one.
        theirs: u64,
    },
    /// They set different numbers of bits a key.
    Positions {
        /// Bit positions a key in the filter that was to change.
        ours: u32,
        /// The same in the other one.
        theirs: u32,
    },
    /// A key has its bits in one line of the one and in two lines of the other.
    LinesPerKey {
        /// Lines a key in the filter that was to change.
        ours: u32,
        /// The same in the other one.
        theirs: u32,
    },
    /// They remember different numbers of windows.
    Windows {
        /// Windows of the filter that was to change.
        ours: u32,
        /// Windows of the other one.
        theirs: u32,
    },
    /// They are not in the same window, so that "the current one" means another time in each.
    Window {
        /// The number of the current window of the filter that was to change.
        ours: u64,
        /// The same of the other one.
        theirs: u64,
    },
    /// The windows of one of them follow a clock, and begin at another time than those of the other.
    Clocked,
    /// The filter does not fold: its lines are an odd number (with two lines a key: those of each half; in a classic filter: its bits). See
    /// [`BloomBuilder::foldable`](crate::BloomBuilder::foldable).
    Odd {
        /// Bits of the filter.
        bits: u64,
    },
}

impl fmt::Display for CombineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hasher { ours, theirs } => write!(f, "hasher: ours is {ours}, theirs is {theirs}"),
            Self::Bits { ours, theirs } => write!(f, "bits: ours are {ours}, theirs are {theirs}"),
            Self::Positions { ours, theirs } => write!(f, "bit positions a key: ours are {ours}, theirs are {theirs}"),
            Self::LinesPerKey { ours, theirs } => write!(f, "lines a key: ours are {ours}, theirs are {theirs}"),
            Self::Windows { ours, theirs } => write!(f, "windows: ours are {ours}, theirs are {theirs}"),
            Self::Window { ours, theirs } => write!(f, "current window: ours is number {ours}, theirs is number {theirs}"),
            Self::Clocked => f.write_str("windows: they follow a clock, and only windows that are begun by hand can be the same"),
            Self::Odd { bits } => write!(f, "size: {bits} bits do not fold into halves; see BloomBuilder::foldable"),
        }
    }
}

impl std::error::Error for CombineError {}
