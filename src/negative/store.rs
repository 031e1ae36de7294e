//! [`Store`]: where entries live. [`MemoryStore`](super::MemoryStore) is one; one of yours passes `absentia::conformance::store`.

use super::Entry;
use crate::loader::{BoxError, Hashed};
use std::fmt;
use std::future::Future;
use std::pin::Pin;

/// What became of an entry that was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It is there.
    Stored,
    /// Its token had died before it could be stored.
    Stale,
    /// No room for it within the budget.
    NoRoom,
}

/// Why a store could not answer. None of these is an absence: the cache reads the source.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// What is stored under the key cannot be read. It will be replaced.
    Undecodable {
        /// What is wrong with it.
        reason: String,
    },
    /// What is stored under the key was written by a newer version. A read does not replace it; a write of the key does.
    NewerVersion {
        /// The version it names.
        version: u32,
    },
    /// The store could not be reached.
    Unavailable(BoxError),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Undecodable { reason } => write!(f, "stored entry is undecodable: {reason}"),
            Self::NewerVersion { version } => write!(f, "stored entry has the newer version {version}"),
            Self::Unavailable(error) => write!(f, "store unavailable: {error}"),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unavailable(error) => Some(&**error),
            _ => None,
        }
    }
}

/// Keeps entries by whole key.
///
/// # Contract
///
/// Keys are compared whole, never by hash. `put` calls `still_valid` inside the same critical section in which it makes the entry visible, and a
/// `remove` that returns before `still_valid` is called, or begins after `put` returns, is not undone by that `put`. Memory stays within a budget
/// for any stream of keys, and absences never push out values. Expired entries may be returned: the reader checks.
///
/// # Cancellation
///
/// Any of the futures may be dropped at an await, after the store's time-out or with its caller; some are polled only once. What was dropped may
/// still happen later: an absence that lands late is void by its token, a value may be served until it expires.
pub trait Store<K, V>: Send + Sync {
    /// What is kept of the key.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; the cache then reads the source.
    fn get(&self, key: Hashed<'_, K>) -> impl Future<Output = Result<Option<Entry<V>>, StoreError>> + Send;

    /// Keeps `entry`, replacing what was there, if `still_valid` says so at the moment of storing.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; the entry may or may not be there then, and its token decides whether it counts.
    fn put(
        &self,
        key: Hashed<'_, K>,
        entry: Entry<V>,
        still_valid: &(dyn Fn() -> bool + Sync),
    ) -> impl Future<Output = Result<Put, StoreError>> + Send;

    /// Drops what is kept of the key.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; a value may then be served until it expires. A tombstone will not be: its token is dead.
    fn remove(&self, key: Hashed<'_, K>) -> impl Future<Output = Result<(), StoreError>> + Send;
}

type Boxed<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// The dyn-compatible twin of [`Store`], implemented for every store. `Box<dyn DynStore<K, V>>` is itself a [`Store`], so that a service can choose
/// one at run time.
pub trait DynStore<K, V>: Send + Sync {
    /// [`Store::get`], boxed.
    fn get_boxed<'a>(&'a self, key: Hashed<'a, K>) -> Boxed<'a, Option<Entry<V>>>;
    /// [`Store::put`], boxed.
    fn put_boxed<'a>(&'a self, key: Hashed<'a, K>, entry: Entry<V>, still_valid: &'a (dyn Fn() -> bool + Sync)) -> Boxed<'a, Put>
    where
        V: 'a;
    /// [`Store::remove`], boxed.
    fn remove_boxed<'a>(&'a self, key: Hashed<'a, K>) -> Boxed<'a, ()>;
}

impl<K: Sync, V: 'static, S: Store<K, V>> DynStore<K, V> for S {
    fn get_boxed<'a>(&'a self, key: Hashed<'a, K>) -> Boxed<'a, Option<Entry<V>>> {
        Box::pin(self.get(key))
    }
    fn put_boxed<'a>(&'a self, key: Hashed<'a, K>, entry: Entry<V>, still_valid: &'a (dyn Fn() -> bool + Sync)) -> Boxed<'a, Put>
    where
        V: 'a,
    {
        Box::pin(self.put(key, entry, still_valid))
    }
    fn remove_boxed<'a>(&'a self, key: Hashed<'a, K>) -> Boxed<'a, ()> {
        Box::pin(self.remove(key))
    }
}

impl<K, V> fmt::Debug for dyn DynStore<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DynStore")
    }
}

impl<K: Sync, V: Send + 'static> Store<K, V> for Box<dyn DynStore<K, V>> {
    async fn get(&self, key: Hashed<'_, K>) -> Result<Option<Entry<V>>, StoreError> {
        (**self).get_boxed(key).await
    }
    async fn put(&self, key: Hashed<'_, K>, entry: Entry<V>, still_valid: &(dyn Fn() -> bool + Sync)) -> Result<Put, StoreError> {
        (**self).put_boxed(key, entry, still_valid).await
    }
    async fn remove(&self, key: Hashed<'_, K>) -> Result<(), StoreError> {
        (**self).remove_boxed(key).await
    }
}
