//! Writes that are not creates: `update_with`, `delete_with`, `rename`, `invalidate`.
//!
//! Each raises the key's fence before its COMMIT and again after, and drops what is remembered in between, so that no slow reader can put an old row
//! back. None of them touches the filter: a deleted key stays in it, as a false positive, until the next rebuild (R9). `retire_with`, which may, is
//! in [`delete`](super::delete).

use super::ExistenceGate;
use crate::key::{Key, KeyHash};
use crate::loader::{CacheKey, CacheValue, Hashed};
use std::borrow::Borrow;
use std::error::Error;
use std::fmt;
use std::future::Future;

/// How a write that did not succeed ended. The difference matters more than the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteError<E> {
    /// Rolled back, for certain: no COMMIT of it can land any more. The fence comes down at once.
    Abort(E),
    /// Nobody knows: the COMMIT may have landed, or may land yet. The fence stays up until the primary has been read, later. `?` makes this one.
    Unknown(E),
}

impl<E> WriteError<E> {
    /// True where the write was rolled back for certain.
    #[must_use]
    pub const fn is_abort(&self) -> bool {
        matches!(self, Self::Abort(_))
    }

    /// The error, whichever it was.
    #[must_use]
    pub fn into_inner(self) -> E {
        match self {
            Self::Abort(error) | Self::Unknown(error) => error,
        }
    }
}

impl<E> From<E> for WriteError<E> {
    fn from(error: E) -> Self {
        Self::Unknown(error)
    }
}

impl<E: fmt::Display> fmt::Display for WriteError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Abort(error) => write!(f, "write rolled back: {error}"),
            Self::Unknown(error) => write!(f, "write failed with unknown outcome: {error}"),
        }
    }
}

impl<E: Error + 'static> Error for WriteError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Abort(error) | Self::Unknown(error) => Some(error),
        }
    }
}

/// What a guard is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Committed,
    Aborted,
}

/// A raised fence. Dropped without being lowered, the outcome of its write is unknown.
pub(super) struct Fence<'a, K: CacheKey, V: CacheValue> {
    gate: &'a ExistenceGate<K, V>,
    /// None once `Drop` has parked it.
    key: Option<K>,
    hash: KeyHash,
    up: bool,
}

impl<K: CacheKey, V: CacheValue> Fence<'_, K, V> {
    pub(super) fn hash(&self) -> KeyHash {
        self.hash
    }

    async fn forget(&self) {
        let Some(key) = &self.key else { return };
        self.gate.inner.loader.forget_boxed(Hashed { key, hash: self.hash }, &self.gate.context(self.hash)).await;
    }

    /// The write is over, for certain.
    pub(super) async fn lower(mut self) {
        // Forgotten once more while the fence is still up: nothing read before now can be stored, and nothing stored before now remains.
        self.forget().await;
        self.gate.inner.core.settle(self.hash);
        self.up = false;
    }
}

impl<K: CacheKey, V: CacheValue> Drop for Fence<'_, K, V> {
    fn drop(&mut self) {
        if self.up {
            // Moved and not cloned: a `Clone` that panics must not lose it.
            if let Some(key) = self.key.take() {
                self.gate.park_write(key, self.hash);
            }
        }
    }
}

impl<K: CacheKey, V: CacheValue> ExistenceGate<K, V> {
    pub(super) async fn fence(&self, key: K) -> Fence<'_, K, V> {
        let hash = self.inner.core.hasher.hash(&key);
        self.inner.core.begin_write(hash);
        let fence = Fence { gate: self, key: Some(key), hash, up: true };
        fence.forget().await;
        fence
    }

    /// Changes the row of an existing key: `update` must COMMIT before it returns `Ok`. An upsert may create, so it belongs into
    /// [`create_with`](Self::create_with), and so does an undelete.
    ///
    /// # Errors
    ///
    /// Whatever `update` gave; [`WriteError::Unknown`] leaves the key fenced until it is resolved.
    ///
    /// # Cancellation
    ///
    /// Dropped before this call returned, the outcome is unknown, also where `update` had returned.
    pub async fn update_with<Q, T, E, F>(&self, key: &Q, update: impl FnOnce() -> F) -> Result<T, WriteError<E>>
    where
        K: Borrow<Q>,
        Q: Key + ToOwned<Owned = K> + ?Sized,
        F: Future<Output = Result<T, WriteError<E>>>,
    {
        let fence = self.fence(key.to_owned()).await;
        let result = update().await;
        match &result {
            Err(WriteError::Unknown(_)) => drop(fence),
            Ok(_) | Err(WriteError::Abort(_)) => fence.lower().await,
        }
        result
    }

    /// Deletes the row of a key: `delete` must COMMIT before it returns `Ok`. The key stays in the filter until the next rebuild, so lookups of it
    /// read the source, or meet the tombstone of the first one that did; [`retire_with`](Self::retire_with) takes it out of a filter that can remove.
    ///
    /// # Errors
    ///
    /// As for [`update_with`](Self::update_with).
    ///
    /// # Cancellation
    ///
    /// As for [`update_with`](Self::update_with).
    pub async fn delete_with<Q, T, E, F>(&self, key: &Q, delete: impl FnOnce() -> F) -> Result<T, WriteError<E>>
    where
        K: Borrow<Q>,
        Q: Key + ToOwned<Owned = K> + ?Sized,
        F: Future<Output = Result<T, WriteError<E>>>,
    {
        let result = self.update_with(key, delete).await;
        // It need not be found by the next rebuild any more. After an unknown outcome either.
        self.inner.canaries.withdraw(key);
        result
    }

    /// Moves a row from one key to another: a delete of `old` and a create of `new` in one transaction. `rename` must COMMIT before it returns `Ok`.
    ///
    /// # Errors
    ///
    /// As for [`update_with`](Self::update_with), for both keys.
    ///
    /// # Cancellation
    ///
    /// As for [`update_with`](Self::update_with), for both keys.
    pub async fn rename<Q, E, F>(&self, old: &Q, new: &Q, rename: impl FnOnce() -> F) -> Result<(), WriteError<E>>
    where
        K: Borrow<Q>,
        Q: Key + ToOwned<Owned = K> + ?Sized,
        F: Future<Output = Result<(), WriteError<E>>>,
    {
        self.delete_with(old, || async { self.create_with(new, || async { rename().await.map(|()| None) }).await.map(|_| ()) }).await
    }

    /// The row of the key was changed or deleted: drop what is remembered of it. Called after your own COMMIT and before its acknowledgement, it does
    /// for an update or a delete what [`update_with`](Self::update_with) does around one. A key that somebody else *created* needs
    /// [`distrust`](Self::distrust) before, or Advisory coverage; this is too late for it.
    ///
    /// # Cancellation
    ///
    /// Dropped half-way, the key stays fenced until it is resolved.
    pub async fn invalidate<Q>(&self, key: &Q)
    where
        K: Borrow<Q>,
        Q: Key + ToOwned<Owned = K> + ?Sized,
    {
        self.inner.canaries.withdraw(key);
        self.fence(key.to_owned()).await.lower().await;
    }
}
