//! Announced creates: `create_with`, `begin_create` and `begin_create_many`.
//!
//! A create is announced *before* its COMMIT and settled after it. In between the key is pending: no absence of it is remembered, and a rebuild that
//! starts meanwhile copies it. What the guard is told in the end decides nothing about the filter, whose bits stay; it only says that no COMMIT of
//! this create can land any more. So whatever is not certain must not be reported: see [`WriteError`].

use super::core::Begun;
use super::write::{Outcome, WriteError};
use super::{DistrustGuard, ExistenceGate};
use crate::key::{Key, KeyHash};
use crate::loader::{CacheKey, CacheValue, Hashed};
use crate::sync::{point, rule_off};
use std::borrow::Borrow;
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

impl<K: CacheKey, V: CacheValue> ExistenceGate<K, V> {
    /// Creates a key: announces it, runs `create`, which must COMMIT before it returns `Ok`, and settles. **The way to create.**
    ///
    /// `create` gives the new value, if it has one to hand, to be remembered at once. Its `Err` means that the outcome is *unknown* (an error may
    /// hide a COMMIT that arrived) unless it is [`Abort`](super::WriteError::Abort), by which you say that it was rolled back for certain. `?` on any
    /// other error makes the careful choice.
    ///
    /// ```
    /// # use absentia::*;
    /// # async fn check_stock() -> Result<(), std::io::Error> { Ok(()) }
    /// # async fn insert(_: &str) -> Result<u64, std::io::Error> { Ok(7) }
    /// # async fn example(gate: &ExistenceGate<String, u64>) -> Result<(), WriteError<std::io::Error>> {
    /// let row = gate
    ///     .create_with("sku-1", || async {
    ///         check_stock().await.map_err(Abort)?; // before the COMMIT: rolled back for certain
    ///         Ok(Some(insert("sku-1").await?)) // INSERT … COMMIT; an error here: nobody knows
    ///     })
    ///     .await?;
    /// # Ok(()) }
    /// ```
    ///
    /// `?` takes one error type, the one of the result: convert others first (`parse().map_err(MyError::from)?`), and where the compiler asks for it
    /// end with `Ok::<_, WriteError<MyError>>(…)`.
    ///
    /// # Errors
    ///
    /// Whatever `create` gave. After [`WriteError::Unknown`] the key stays fenced until it is resolved.
    ///
    /// # Cancellation
    ///
    /// Dropped before `create` returned, the outcome is unknown.
    pub async fn create_with<Q, E, F>(&self, key: &Q, create: impl FnOnce() -> F) -> Result<Option<V>, WriteError<E>>
    where
        K: Borrow<Q>,
        Q: Key + ToOwned<Owned = K> + ?Sized,
        F: Future<Output = Result<Option<V>, WriteError<E>>>,
    {
        let mut guard = self.announce(key.to_owned());
        // What an earlier row of this key left behind.
        self.inner.loader.forget_boxed(guard.hashed(), &self.context(guard.hash)).await;
        match create().await {
            Ok(value) => {
                if let Some((value, token)) = guard.settle(value.clone()) {
                    let context = self.context(guard.hash);
                    self.inner.loader.remember_boxed(guard.hashed(), value, token, &context).await;
                }
                Ok(value)
            }
            Err(error) => {
                if error.is_abort() || rule_off!(ErrTakenAsAborted) {
                    guard.aborted();
                }
                Err(error)
            }
        }
    }

    /// Announces a create and hands over the guard that settles it. When it returns you may COMMIT.
    ///
    /// For ids that the database makes, and for transactions that do not fit into a closure:
    ///
    /// ```
    /// # use absentia::*;
    /// # struct Tx; impl Tx { async fn insert_returning_id(&self) -> std::io::Result<u64> { Ok(7) } async fn commit(self) -> std::io::Result<()> { Ok(()) } }
    /// # async fn example(gate: &ExistenceGate<u64, String>, tx: Tx) -> std::io::Result<()> {
    /// let id = tx.insert_returning_id().await?;
    /// let guard = gate.begin_create(&id); // before the COMMIT
    /// tx.commit().await?; // an error drops the guard: nobody knows
    /// guard.committed(Some("row".to_owned()));
    /// # Ok(()) }
    /// ```
    ///
    /// Prefer [`create_with`](Self::create_with), which cannot be settled wrongly. This one cannot wait, so what is remembered of an earlier row of
    /// the key is dropped only where the loader can do that at once, as with a [`MemoryStore`](crate::MemoryStore); over a store that has to be
    /// awaited the old row may be served until it expires. (An absence is not: its token is dead.)
    pub fn begin_create<Q>(&self, key: &Q) -> CreateGuard<K, V>
    where
        K: Borrow<Q>,
        Q: Key + ToOwned<Owned = K> + ?Sized,
    {
        let guard = self.announce(key.to_owned());
        poll_once(self.inner.loader.forget_boxed(guard.hashed(), &self.context(guard.hash)));
        guard
    }

    fn announce(&self, key: K) -> CreateGuard<K, V> {
        let hash = self.inner.core.hasher.hash(&key);
        let began = self.inner.core.begin(hash);
        CreateGuard { gate: self.clone(), key: Some(key), hash, began, settled: false }
    }

    /// Announces many creates at once, for an import that is one transaction.
    ///
    /// More keys than the announce limit (default 10,000), or than the filter for created keys has room for
    /// ([`created_capacity`](super::GateStatus::created_capacity)), are not announced: the gate is distrusted instead, until a rebuild after the
    /// settlement.
    pub fn begin_create_many<'k, Q>(&self, keys: impl IntoIterator<Item = &'k Q>) -> CreateManyGuard<K, V>
    where
        K: Borrow<Q>,
        Q: Key + ToOwned<Owned = K> + ?Sized + 'k,
    {
        let room = self.inner.core.state.load().current.as_ref().map_or(u64::MAX, |generation| generation.room());
        let limit = usize::try_from(room).unwrap_or(usize::MAX).min(self.inner.settings.many_limit);
        // Counted before any is announced: what is announced stays in the filter.
        let mut keys = keys.into_iter();
        let few: Vec<&Q> = keys.by_ref().take(limit).collect();
        CreateManyGuard(Some(match keys.next() {
            Some(_) => Many::Distrust(self.distrust()),
            None => Many::Announced(few.into_iter().map(|key| self.begin_create(key)).collect()),
        }))
    }
}

/// Runs a future that is usually ready at once: that of a store in memory. One that is not is dropped; what it would have done is an optimisation.
pub(super) fn poll_once<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

/// An announced create. Settle it after the COMMIT or the rollback.
///
/// Dropped unsettled (a cancelled task, a panic), its outcome is unknown: the key stays pending and fenced until `max_transaction` has passed and
/// [`resolve_unknown`](ExistenceGate::resolve_unknown) has read the primary. That is safe, and costs source reads.
#[must_use = "a guard that is dropped unsettled leaves its key fenced"]
pub struct CreateGuard<K: CacheKey, V: CacheValue> {
    gate: ExistenceGate<K, V>,
    /// None once `Drop` has parked it.
    key: Option<K>,
    hash: KeyHash,
    began: Begun,
    settled: bool,
}

impl<K: CacheKey, V: CacheValue> CreateGuard<K, V> {
    /// The COMMIT succeeded. `value`, if given, is remembered, unless another write of the key began meanwhile.
    pub fn committed(mut self, value: Option<V>) {
        if let Some((value, token)) = self.settle(value) {
            let context = self.gate.context(self.hash);
            poll_once(self.gate.inner.loader.remember_boxed(self.hashed(), value, token, &context));
        }
    }

    /// It was rolled back, for certain: no COMMIT of it can land any more. After an error or a time-out that is *not* certain; drop the guard
    /// instead.
    pub fn aborted(mut self) {
        self.settle(None);
    }

    fn hashed(&self) -> Hashed<'_, K> {
        Hashed { key: self.key.as_ref().expect("only Drop takes the key"), hash: self.hash }
    }

    /// Settles, and gives the value back with the token under which it may be remembered.
    fn settle(&mut self, value: Option<V>) -> Option<(V, crate::fence::Token)> {
        self.settled = true;
        point("settle: begun");
        let core = &self.gate.inner.core;
        match value {
            Some(value) => core.settle_alone(self.hash, self.began).map(|token| (value, token)),
            None => {
                core.settle(self.hash);
                None
            }
        }
    }
}

impl<K: CacheKey, V: CacheValue> Drop for CreateGuard<K, V> {
    fn drop(&mut self) {
        if !self.settled {
            // Moved and not cloned: a `Clone` that panics must not lose it.
            if let Some(key) = self.key.take() {
                self.gate.park_write(key, self.hash);
            }
        }
    }
}

impl<K: CacheKey, V: CacheValue> fmt::Debug for CreateGuard<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CreateGuard").field("settled", &self.settled).finish_non_exhaustive()
    }
}

enum Many<K: CacheKey, V: CacheValue> {
    Announced(Vec<CreateGuard<K, V>>),
    Distrust(DistrustGuard<K, V>),
}

/// Many announced creates, settled together. Dropped unsettled, their outcome is unknown, as for [`CreateGuard`].
#[must_use = "a guard that is dropped unsettled leaves its keys fenced"]
pub struct CreateManyGuard<K: CacheKey, V: CacheValue>(Option<Many<K, V>>);

impl<K: CacheKey, V: CacheValue> CreateManyGuard<K, V> {
    /// True where there were too many to announce, so that the gate is distrusted instead: rebuild after settling.
    #[must_use]
    pub fn is_distrust(&self) -> bool {
        matches!(self.0, Some(Many::Distrust(_)))
    }

    /// The COMMIT succeeded.
    pub fn committed(mut self) {
        self.settle(Outcome::Committed);
    }

    /// It was rolled back, for certain.
    pub fn aborted(mut self) {
        self.settle(Outcome::Aborted);
    }

    fn settle(&mut self, outcome: Outcome) {
        match self.0.take() {
            Some(Many::Announced(guards)) => guards.into_iter().for_each(|guard| match outcome {
                Outcome::Committed => guard.committed(None),
                Outcome::Aborted => guard.aborted(),
            }),
            Some(Many::Distrust(guard)) => drop(guard),
            None => {}
        }
    }
}

impl<K: CacheKey, V: CacheValue> Drop for CreateManyGuard<K, V> {
    fn drop(&mut self) {
        // Announced guards park themselves. A distrust must outlive any COMMIT that may still land, as a fence would.
        if let Some(Many::Distrust(guard)) = self.0.take()
            && let Some(gate) = guard.park()
        {
            gate.park_distrust();
        }
    }
}

impl<K: CacheKey, V: CacheValue> fmt::Debug for CreateManyGuard<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(Many::Announced(guards)) => write!(f, "CreateManyGuard({} announced)", guards.len()),
            Some(Many::Distrust(_)) => f.write_str("CreateManyGuard(distrust)"),
            None => f.write_str("CreateManyGuard(settled)"),
        }
    }
}
