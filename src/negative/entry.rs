//! [`Entry`]: the typed envelope that a store keeps. Absence is a variant, not a value that a payload could collide with.

use crate::fence::Token;
use crate::time::Timestamp;

/// What is remembered of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntryState<V> {
    /// The row.
    Present(V),
    /// There was no row: a tombstone.
    Absent,
}

/// What a store keeps for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<V> {
    /// Row or tombstone.
    pub state: EntryState<V>,
    /// The fence of the key as captured before the source was read. A tombstone is served only while the fence still says so.
    pub token: Token,
    /// When the read of the source began.
    pub read_began: Timestamp,
    /// From when on it is no longer served.
    pub expires: Timestamp,
}

impl<V> Entry<V> {
    /// True for a tombstone.
    #[must_use]
    pub const fn is_absent(&self) -> bool {
        matches!(self.state, EntryState::Absent)
    }
}
