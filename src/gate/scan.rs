//! [`KeySource`]: where a rebuild gets every key that exists. [`KeySink`]: where the scan puts them.

use crate::filter::{Insert, InsertError, Membership};
use crate::key::{Key, KeyHash, KeyHasher};
use crate::loader::{BoxError, Event, Observer};
use std::borrow::Borrow;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// What a scan says it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scanned {
    /// Rows that it pushed, by its own count or the database's. Compared with what arrived.
    pub rows: u64,
}

/// Gives every key that exists in the source of truth, for a rebuild.
///
/// # Contract
///
/// The snapshot that is read is opened *inside* [`scan`](Self::scan), after it was called: keys whose create began before that are the gate's
/// business, all others the scan's. It is one snapshot, or keyset pages in key order (`WHERE id > $last ORDER BY id LIMIT n`), never `OFFSET`, which
/// skips rows when others are deleted. It reads the primary, or says by how much it may lag.
///
/// `scan` is called again from the start where the keys outgrow what the filter was sized for, or has room for.
///
/// ```
/// use absentia::{KeySink, KeySource, Scanned};
/// struct Products(Vec<String>);
///
/// impl KeySource<String> for Products {
///     type Error = std::convert::Infallible;
///     async fn scan(&self, sink: &mut KeySink<'_, String>) -> Result<Scanned, Self::Error> {
///         for sku in &self.0 {
///             sink.push(sku); // a real one: rows of SELECT sku FROM products
///         }
///         Ok(Scanned { rows: self.0.len() as u64 })
///     }
/// }
/// # let _ = Products(Vec::new());
/// ```
pub trait KeySource<K>: Send + Sync {
    /// What goes wrong. The rebuild fails then, and the generation that serves goes on.
    type Error: Into<BoxError> + Send;

    /// Pushes every key that exists into `sink`.
    ///
    /// # Errors
    ///
    /// Whatever keeps the scan from being complete.
    ///
    /// # Cancellation
    ///
    /// May be dropped at any await.
    fn scan(&self, sink: &mut KeySink<'_, K>) -> impl Future<Output = Result<Scanned, Self::Error>> + Send;

    /// How far behind the primary the scanned snapshot may be. Above the gate's `scan_lag` the rebuild is refused.
    fn lag(&self) -> Duration {
        Duration::ZERO
    }
}

/// How many scanned keys are kept to be looked up again in the finished filter.
const SAMPLES: usize = 1024;

/// After so many keys the observer hears of it.
const PROGRESS: u64 = 1 << 16;

/// Hashes that are gathered before they go into the filter together, so that their cache misses overlap.
const GATHERED: usize = 512;

/// What became of the filter that a scan filled.
pub(super) enum Filled {
    /// Every key is in it.
    Base(Arc<dyn Membership>),
    /// There were more keys than it was sized for.
    Outgrown,
    /// There were not, and all the same it found no room for one.
    Full(InsertError),
}

/// Takes the keys of a scan.
pub struct KeySink<'a, K> {
    hasher: &'a KeyHasher,
    base: Box<dyn Insert>,
    capacity: u64,
    rows: u64,
    /// Pushed, and not in the filter yet.
    gathered: Vec<KeyHash>,
    /// What the filter said to the first hash that it did not take.
    failed: Option<InsertError>,
    /// Every `stride`-th key, thinned out whenever there are too many.
    samples: Vec<KeyHash>,
    stride: u64,
    observer: Option<&'a dyn Observer>,
    keys: PhantomData<fn(K)>,
}

impl<'a, K> KeySink<'a, K> {
    pub(super) fn new(hasher: &'a KeyHasher, base: Box<dyn Insert>, capacity: u64, observer: Option<&'a dyn Observer>) -> Self {
        let gathered = Vec::with_capacity(GATHERED);
        Self { hasher, base, capacity, rows: 0, gathered, failed: None, samples: Vec::new(), stride: 1, observer, keys: PhantomData }
    }

    fn report(&self, keys: u64) {
        if let Some(observer) = self.observer {
            observer.record(&Event::Scanned { keys });
        }
    }

    /// Adds a key. Cost: one hash and one insert into the filter; some hundred keys go in together.
    ///
    /// A key that is pushed twice is in the filter twice, where that matters. Once there are more keys than the filter has room for they are only
    /// counted, and the scan will be called again, with room for them.
    pub fn push<Q>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
        Q: Key + ?Sized,
    {
        self.rows += 1;
        if self.rows.is_multiple_of(PROGRESS) {
            self.report(PROGRESS);
        }
        if self.outgrown() || self.failed.is_some() {
            return;
        }
        let hash = self.hasher.hash(key);
        self.gathered.push(hash);
        if self.gathered.len() == GATHERED {
            self.insert_gathered();
        }
        if self.rows.is_multiple_of(self.stride) {
            self.samples.push(hash);
            if self.samples.len() == SAMPLES {
                // Every other one goes, and half as many come.
                let mut n = 0;
                self.samples.retain(|_| {
                    n += 1;
                    n % 2 == 0
                });
                self.stride *= 2;
            }
        }
    }

    /// Keys pushed so far.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    pub(super) fn outgrown(&self) -> bool {
        self.rows > self.capacity
    }

    fn insert_gathered(&mut self) {
        // One key that is not in the filter is one too many: the build fails.
        self.failed = self.base.insert_hash_batch(&self.gathered).err();
        self.gathered.clear();
    }

    /// The filled filter, and the samples. An error is one that a larger filter would give too.
    pub(super) fn finish(mut self) -> Result<(Filled, Vec<KeyHash>), InsertError> {
        self.report(self.rows % PROGRESS);
        if self.failed.is_none() {
            self.insert_gathered();
        }
        let filled = match self.failed.take() {
            Some(error) if !error.is_full() => return Err(error),
            _ if self.outgrown() => Filled::Outgrown,
            Some(error) => Filled::Full(error),
            None => Filled::Base(self.base.freeze()),
        };
        Ok((filled, self.samples))
    }
}

impl<K> fmt::Debug for KeySink<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeySink").field("rows", &self.rows).field("capacity", &self.capacity).finish_non_exhaustive()
    }
}
