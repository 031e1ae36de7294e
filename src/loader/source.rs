//! [`Source`]: the source of truth, usually a database. It is the only authority on what does not exist.

use super::{BoxError, CacheKey, CacheValue};
use std::future::Future;

/// What a "no such row" of a source is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Consistency {
    /// A read sees every row whose commit was acknowledged before the read began: a primary, or a quorum read.
    Linearizable,
    /// A read may miss such rows. What it finds exists; what it does not find is [`Cause::ReplicaAbsence`](super::Cause::ReplicaAbsence).
    Replica,
}

/// Reads one row from the source of truth.
///
/// ```
/// use absentia::Source;
/// # use std::{collections::HashMap, convert::Infallible};
/// struct Products(HashMap<String, u64>);
///
/// impl Source for Products {
///     type Key = String;
///     type Value = u64;
///     type Error = Infallible; // a real one: the driver's error
///     async fn load(&self, sku: &String) -> Result<Option<u64>, Infallible> {
///         Ok(self.0.get(sku).copied()) // SELECT … WHERE sku = $1
///     }
/// }
/// # let _ = Products(HashMap::new());
/// ```
pub trait Source: Send + Sync {
    /// What rows are asked for by. Equal exactly when the source's `=` says so.
    type Key: CacheKey;
    /// A row.
    type Value: CacheValue;
    /// What goes wrong. It has no path into any store.
    type Error: Into<BoxError> + Send;

    /// `Ok(Some)` is a row, `Ok(None)` a *definite* absence. A time-out, a refused connection, "zero rows because you may not see it": all `Err`.
    ///
    /// # Errors
    ///
    /// Whatever keeps the source from giving a definite answer.
    ///
    /// # Cancellation
    ///
    /// May be dropped at any await.
    fn load(&self, key: &Self::Key) -> impl Future<Output = Result<Option<Self::Value>, Self::Error>> + Send;

    /// What a `None` of this source is worth. Whoever reads a replica must say so here.
    fn consistency(&self) -> Consistency {
        Consistency::Linearizable
    }
}
