//! The boundary between the gate and whatever answers when a filter cannot: the [`Loader`] trait, and what it is told and may say.
//!
//! The gate owns the fences; a loader owns memory and the way to the source. What keeps the two honest is [`Evidence`]: a loader never simply says
//! "absent", it says why, and the gate checks that reason itself before anyone hears it. A loader that only reads a source needs to know none of
//! this: [`Loaded::from_source`] is all there is to say.

mod cause;
mod context;
mod lane;
mod observer;
mod retired;
mod source;

pub use cause::{BoxError, Cause};
pub(crate) use context::{Fences, Freshness};
pub use context::{Join, LoadContext};
pub(crate) use lane::Lane;
pub use lane::{CallerId, LaneConfig, Permit};
pub use observer::{Counters, Event, LoadResult, Observer, Outcome, StoreResult};
pub use retired::{Kept, Retired};
pub use source::{Consistency, Source};

use crate::fence::Token;
use crate::key::{Key, KeyHash};
use crate::time::Timestamp;
use std::future::Future;
use std::pin::Pin;

/// What a key must be to stand in front of a cache: it becomes bytes for the hash, and it is compared whole wherever an absence can follow.
///
/// Implemented for every type that fits; there is nothing to write.
pub trait CacheKey: Key + Eq + Clone + Send + Sync + 'static {}
impl<T: Key + Eq + Clone + Send + Sync + 'static> CacheKey for T {}

/// What a key's value must be: cloned to each caller that shares it (wrap large ones in an `Arc`).
pub trait CacheValue: Clone + Send + Sync + 'static {}
impl<T: Clone + Send + Sync + 'static> CacheValue for T {}

/// A key together with its hash, computed once per lookup.
#[derive(Debug)]
pub struct Hashed<'a, K> {
    /// The whole key.
    pub key: &'a K,
    /// Its hash under the gate's hasher.
    pub hash: KeyHash,
}

impl<K> Clone for Hashed<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for Hashed<'_, K> {}

/// Where a value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Read from the source during this load, by this caller or by one it shared the read with.
    Source,
    /// As `Source`, but from a replica: it exists, or did until lately.
    Replica,
    /// Remembered from an earlier read.
    Memory,
}

/// Why a loader says that a key is absent. The gate checks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The source was read *after this load began*, and has no such row. Needs no token: whatever was acknowledged before the lookup was there to be
    /// seen. Never say this of a read that began earlier, such as another caller's that this one joined.
    Read,
    /// A read that began before this load, shared with its caller: worth something only while the token captured before that read is valid.
    Shared {
        /// Captured by the caller that read, before it read.
        token: Token,
    },
    /// A remembered absence (a tombstone): worth something only while its token is valid, and only where the gate's coverage allows tombstones.
    Remembered {
        /// Captured before the read that found nothing.
        token: Token,
        /// When that read began.
        read_began: Timestamp,
    },
}

/// What a load found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loaded<V> {
    /// The key exists.
    Present {
        /// Its value.
        value: V,
        /// From where.
        origin: Origin,
    },
    /// The key does not exist, and this is why the loader thinks so.
    Absent(Evidence),
}

impl<V> Loaded<V> {
    /// The answer of a source that was read during this load: `Some` is present, `None` is absent.
    #[must_use]
    pub fn from_source(row: Option<V>) -> Self {
        match row {
            Some(value) => Self::Present { value, origin: Origin::Source },
            None => Self::Absent(Evidence::Read),
        }
    }
}

/// Answers what the filter cannot: from memory, or from the source of truth.
///
/// [`NegativeCache`](crate::NegativeCache) is the one that this crate brings. Any type of yours can be one:
///
/// ```
/// use absentia::{Cause, LoadContext, Loaded, Loader};
/// # use std::collections::HashMap;
/// struct Table(HashMap<u64, String>);
///
/// impl Loader<u64, String> for Table {
///     async fn load(&self, key: &u64, _context: &LoadContext<'_>) -> Result<Loaded<String>, Cause> {
///         let row: Result<_, std::io::Error> = Ok(self.0.get(key).cloned()); // a real one: .await the database
///         row.map(Loaded::from_source).map_err(Cause::source)
///     }
/// }
/// # let _ = Table(HashMap::new());
/// ```
///
/// # Contract
///
/// An error is an `Err`, never an absence. An absence that was not read from the source after `load` was called carries the token under which it was
/// read ([`Evidence`]). Where [`LoadContext::is_fresh`], nothing remembered and nothing already under way may answer. `absentia::conformance::loader`
/// (feature `conformance`) checks a loader against all of it.
///
/// # Cancellation
///
/// The returned futures may be dropped at any await, by a caller that went away or by the gate's timeout; other callers of the same key must not
/// suffer. Those of [`forget`](Self::forget) and [`remember`](Self::remember) may be polled only once.
pub trait Loader<K, V>: Send + Sync {
    /// Finds out whether `key` exists.
    ///
    /// # Errors
    ///
    /// A [`Cause`]: the lookup becomes `Unknown`, which is a 503 and never a 404.
    fn load(&self, key: &K, context: &LoadContext<'_>) -> impl Future<Output = Result<Loaded<V>, Cause>> + Send;

    /// A write of the key is about to be committed, or has been: drop what is remembered of it. Called while the key's fence is up, so that nothing
    /// read before can be stored afterwards. A loader without memory has nothing to do.
    fn forget(&self, key: Hashed<'_, K>, context: &LoadContext<'_>) -> impl Future<Output = ()> + Send {
        let _ = (key, context);
        std::future::ready(())
    }

    /// The key's newest value, known from a create that was just committed. Store it only while the context's fence still says `token`.
    fn remember(&self, key: Hashed<'_, K>, value: V, token: Token, context: &LoadContext<'_>) -> impl Future<Output = ()> + Send {
        let _ = (key, value, token, context);
        std::future::ready(())
    }

    /// True for a loader that calls [`LoadContext::admit`] itself before each read of the source, because it answers some loads without one. For any
    /// other the gate admits each load as a whole.
    fn admits_its_own_reads(&self) -> bool {
        false
    }
}

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The dyn-compatible twin of [`Loader`], which the gate holds. Implemented for every loader.
pub trait DynLoader<K, V>: Send + Sync {
    /// [`Loader::load`], boxed.
    fn load_boxed<'a>(&'a self, key: &'a K, context: &'a LoadContext<'a>) -> Boxed<'a, Result<Loaded<V>, Cause>>;
    /// [`Loader::forget`], boxed.
    fn forget_boxed<'a>(&'a self, key: Hashed<'a, K>, context: &'a LoadContext<'a>) -> Boxed<'a, ()>;
    /// [`Loader::remember`], boxed.
    fn remember_boxed<'a>(&'a self, key: Hashed<'a, K>, value: V, token: Token, context: &'a LoadContext<'a>) -> Boxed<'a, ()>
    where
        V: 'a;
    /// [`Loader::admits_its_own_reads`].
    fn admits_its_own_reads(&self) -> bool;
}

impl<K: Sync, V: 'static, L: Loader<K, V>> DynLoader<K, V> for L {
    fn load_boxed<'a>(&'a self, key: &'a K, context: &'a LoadContext<'a>) -> Boxed<'a, Result<Loaded<V>, Cause>> {
        Box::pin(self.load(key, context))
    }
    fn forget_boxed<'a>(&'a self, key: Hashed<'a, K>, context: &'a LoadContext<'a>) -> Boxed<'a, ()> {
        Box::pin(self.forget(key, context))
    }
    fn remember_boxed<'a>(&'a self, key: Hashed<'a, K>, value: V, token: Token, context: &'a LoadContext<'a>) -> Boxed<'a, ()>
    where
        V: 'a,
    {
        Box::pin(self.remember(key, value, token, context))
    }
    fn admits_its_own_reads(&self) -> bool {
        Loader::admits_its_own_reads(self)
    }
}
