//! Deletes that the filter may forget: `retire_with` and `begin_delete`.
//!
//! Like a create, such a delete is announced before its COMMIT and settled after it. What the gate needs from the caller is one fact that only the
//! database knows: whether this transaction deleted the key's last row ([`Removed`]). What it needs from itself is in [`retire`](super::retire).
//! Whatever is not certain leaves the key in the filter, where it costs source reads until the next rebuild and nothing else.

use super::create::poll_once;
use super::retire::{Doomed, Removed};
use super::write::WriteError;
use super::{ExistenceGate, canary};
use crate::key::{Key, KeyHash};
use crate::loader::{CacheKey, CacheValue, Hashed, Retired};
use crate::sync::rule_off;
use std::borrow::Borrow;
use std::fmt;
use std::future::Future;

impl<K: CacheKey, V: CacheValue> ExistenceGate<K, V> {
    /// Deletes the row of a key, and takes the key out of a filter that can remove, where that is proven to be safe. Otherwise it is
    /// [`delete_with`](Self::delete_with).
    ///
    /// `delete` must COMMIT before it returns `Ok`, and says what it did: [`Removed::of_unique`] of the affected rows, where the key is unique.
    /// Anything but an `Ok` of [`Removed::LastRow`] leaves the filter as it is. A key that was created since the last rebuild stays as well, and all
    /// do under Advisory coverage; [`Kept`](crate::Kept) has every reason.
    ///
    /// ```
    /// # use absentia::*;
    /// # async fn execute(_: &str) -> Result<u64, std::io::Error> { Ok(1) }
    /// # async fn example(gate: &ExistenceGate<String, u64>) -> Result<(), WriteError<std::io::Error>> {
    /// let retired = gate
    ///     .retire_with("sku-1", || async {
    ///         let rows = execute("DELETE FROM products WHERE sku = $1").await?; // and COMMIT; an error here: nobody knows
    ///         Ok(Removed::of_unique(rows))
    ///     })
    ///     .await?;
    /// if let Retired::Kept(why) = retired {
    ///     println!("a false positive until the next rebuild: {why:?}");
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`update_with`](Self::update_with).
    ///
    /// # Cancellation
    ///
    /// As for [`update_with`](Self::update_with).
    pub async fn retire_with<Q, E, F>(&self, key: &Q, delete: impl FnOnce() -> F) -> Result<Retired, WriteError<E>>
    where
        K: Borrow<Q>,
        Q: Key + ToOwned<Owned = K> + ?Sized,
        F: Future<Output = Result<Removed, WriteError<E>>>,
    {
        let core = &self.inner.core;
        let fence = self.fence(key.to_owned()).await;
        let doomed = core.doom(fence.hash());
        let result = match delete().await {
            Ok(removed) => {
                let retired = core.retire(fence.hash(), doomed, removed);
                fence.lower().await;
                Ok(retired)
            }
            Err(error) => {
                if !error.is_abort() && rule_off!(RetireUnconfirmed) {
                    core.retire(fence.hash(), doomed, Removed::LastRow);
                }
                if error.is_abort() {
                    fence.lower().await
                } else {
                    drop(fence)
                }
                Err(error)
            }
        };
        // As for any delete.
        self.inner.canaries.withdraw(key);
        result
    }

    /// Announces a delete and hands over the guard that settles it. When it returns you may COMMIT.
    ///
    /// For transactions that do not fit into a closure:
    ///
    /// ```
    /// # use absentia::*;
    /// # struct Tx; impl Tx { async fn delete(&self, _: u64) -> std::io::Result<u64> { Ok(1) } async fn commit(self) -> std::io::Result<()> { Ok(()) } }
    /// # async fn example(gate: &ExistenceGate<u64, String>, tx: Tx) -> std::io::Result<()> {
    /// let guard = gate.begin_delete(&7); // before the COMMIT
    /// let rows = tx.delete(7).await?;
    /// tx.commit().await?; // an error drops the guard: nobody knows
    /// let retired = guard.committed(Removed::of_unique(rows));
    /// # let _ = retired; Ok(()) }
    /// ```
    ///
    /// A guard settles one delete, once:
    ///
    /// ```compile_fail,E0382
    /// # use absentia::*;
    /// # fn example(gate: &ExistenceGate<u64, String>) {
    /// let guard = gate.begin_delete(&7);
    /// guard.committed(Removed::LastRow);
    /// guard.committed(Removed::LastRow); // used after it was moved
    /// # }
    /// ```
    ///
    /// Prefer [`retire_with`](Self::retire_with). This one cannot wait, so what is remembered of the row is dropped only where the loader can do that
    /// at once, as with a [`MemoryStore`](crate::MemoryStore); over a store that has to be awaited the old row may be served until it expires.
    pub fn begin_delete<Q>(&self, key: &Q) -> DeleteGuard<K, V>
    where
        K: Borrow<Q>,
        Q: Key + ToOwned<Owned = K> + ?Sized,
    {
        let key = key.to_owned();
        let core = &self.inner.core;
        let hash = core.hasher.hash(&key);
        core.begin_write(hash);
        // From here on the guard sees to the fence, also where what follows panics.
        let mut guard = DeleteGuard { gate: self.clone(), key: Some(key), hash, doomed: None };
        guard.forget();
        guard.doomed = Some(core.doom(hash));
        guard
    }
}

/// An announced delete. Settle it after the COMMIT or the rollback.
///
/// Dropped unsettled (a cancelled task, a panic), its outcome is unknown: the key stays in the filter, pending and fenced, until `max_transaction`
/// has passed and [`resolve_unknown`](ExistenceGate::resolve_unknown) has read the primary. That is safe, and costs source reads.
#[must_use = "a guard that is dropped unsettled leaves its key fenced"]
pub struct DeleteGuard<K: CacheKey, V: CacheValue> {
    gate: ExistenceGate<K, V>,
    /// None once the guard is settled, or `Drop` has parked it.
    key: Option<K>,
    hash: KeyHash,
    /// None only while it is made.
    doomed: Option<Doomed>,
}

impl<K: CacheKey, V: CacheValue> DeleteGuard<K, V> {
    /// The COMMIT succeeded. `removed` says what was deleted; of the last row of the key the filter's copy goes too, where that is safe.
    pub fn committed(mut self, removed: Removed) -> Retired {
        let doomed = self.doomed.expect("given where the guard was made");
        let retired = self.gate.inner.core.retire(self.hash, doomed, removed);
        self.settle();
        retired
    }

    /// It was rolled back, for certain: no COMMIT of it can land any more. After an error or a time-out that is *not* certain; drop the guard
    /// instead.
    pub fn aborted(mut self) {
        self.settle();
    }

    fn forget(&self) {
        if let Some(key) = &self.key {
            poll_once(self.gate.inner.loader.forget_boxed(Hashed { key, hash: self.hash }, &self.gate.context(self.hash)));
        }
    }

    fn canaries(&self) -> &canary::Canaries<K> {
        &self.gate.inner.canaries
    }

    fn settle(&mut self) {
        // Forgotten once more while the fence is still up: nothing read before now can be stored, and nothing stored before now remains.
        self.forget();
        if let Some(key) = self.key.take() {
            self.gate.inner.core.settle(self.hash);
            self.canaries().withdraw(&key);
        }
    }
}

impl<K: CacheKey, V: CacheValue> Drop for DeleteGuard<K, V> {
    fn drop(&mut self) {
        // Moved and not cloned: a `Clone` that panics must not lose it.
        if let Some(key) = self.key.take() {
            if let (true, Some(doomed)) = (rule_off!(RetireUnconfirmed), self.doomed) {
                self.gate.inner.core.retire(self.hash, doomed, Removed::LastRow);
            }
            self.canaries().withdraw(&key);
            self.gate.park_write(key, self.hash);
        }
    }
}

impl<K: CacheKey, V: CacheValue> fmt::Debug for DeleteGuard<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeleteGuard").field("settled", &self.key.is_none()).finish_non_exhaustive()
    }
}
