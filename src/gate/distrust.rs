//! [`DistrustGuard`]: for writers that bypass the gate. Imports, restores, a colleague with a console.
//!
//! While one lives nothing absent is remembered or served from memory, reads are shared only with the next flight, and the filter is a hint. When one
//! ends the epoch moves, which kills every token from before; and only a rebuild *published after the last has ended* restores trust in the filter,
//! because only its scan is sure to have seen what was written.

use super::ExistenceGate;
use crate::loader::{CacheKey, CacheValue};
use std::fmt;

/// Keeps a gate from trusting its memory of absence. Take it before the first write that bypasses the gate is committed, drop it after the last one.
#[must_use = "the gate is distrusted only while the guard lives"]
pub struct DistrustGuard<K, V> {
    /// None once it was [parked](Self::park).
    gate: Option<ExistenceGate<K, V>>,
}

impl<K: CacheKey, V: CacheValue> ExistenceGate<K, V> {
    /// Distrusts the gate for as long as the guard lives, and its filter until the next rebuild after that.
    ///
    /// ```
    /// # use absentia::*;
    /// # async fn copy_from_csv() {}
    /// # async fn example<S: KeySource<String>>(gate: &ExistenceGate<String, u64>, source: &S) -> Result<(), RebuildError> {
    /// let doubt = gate.distrust(); // before the first row is committed
    /// copy_from_csv().await; // writes behind the gate's back
    /// drop(doubt); // after the last one
    /// gate.rebuild(source).await?; // trusted again; a Rebuilder does this by itself
    /// # Ok(()) }
    /// ```
    pub fn distrust(&self) -> DistrustGuard<K, V> {
        self.inner.core.begin_distrust();
        DistrustGuard { gate: Some(self.clone()) }
    }
}

impl<K, V> DistrustGuard<K, V> {
    /// Leaves the distrust standing without its guard, and gives the gate back: who calls it sees to it that the distrust ends. The gate itself,
    /// which may do that, could not keep the guard, because the guard would keep the gate.
    pub(super) fn park(mut self) -> Option<ExistenceGate<K, V>> {
        self.gate.take()
    }
}

impl<K, V> Drop for DistrustGuard<K, V> {
    fn drop(&mut self) {
        if let Some(gate) = &self.gate {
            gate.inner.core.end_distrust();
        }
    }
}

impl<K, V> fmt::Debug for DistrustGuard<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DistrustGuard")
    }
}
