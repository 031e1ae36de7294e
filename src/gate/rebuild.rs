//! `rebuild`: a new generation beside the one that serves, swapped in when it has passed every check.
//!
//! Whatever goes wrong — the scan fails, panics, is dropped, is suspiciously empty — the building generation is taken back, the current one goes on
//! serving, and no announcement is lost, because creates have been setting their bits in the current one all along.

use super::ExistenceGate;
use super::generation::Building;
use super::scan::{KeySink, KeySource};
use crate::filter::Membership;
use crate::key::{HasherFingerprint, Key, KeyHash};
use crate::loader::{BoxError, CacheKey, CacheValue, Event};
use crate::params::{Capacity, ParamError};
use crate::sync::{AtomicBool, Mutex, Ordering, lock, point, rule_off};
use crate::time::Timestamp;
use std::borrow::Borrow;
use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, TryLockError};
use std::task::Poll;
use std::time::Duration;

/// What a rebuild may do that it would otherwise refuse.
#[derive(Clone, Copy, Debug)]
pub struct RebuildOptions {
    allow_empty: bool,
    max_shrink: f64,
}

impl Default for RebuildOptions {
    /// An empty scan is refused, and so is one with fewer than half the rows of the last.
    fn default() -> Self {
        Self { allow_empty: false, max_shrink: 0.5 }
    }
}

impl RebuildOptions {
    /// A scan without a single row is believed: a new table, or an emptied one.
    #[must_use]
    pub fn allow_empty(mut self) -> Self {
        self.allow_empty = true;
        self
    }

    /// A scan may have lost up to this part of the rows of the last one: 0.5 by default, 1 for any. NaN counts as 0.
    #[must_use]
    pub fn max_shrink(mut self, part: f64) -> Self {
        self.max_shrink = part.max(0.0);
        self
    }
}

/// What a rebuild did.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rebuilt {
    /// The new generation.
    pub generation: u64,
    /// Rows that the scan pushed.
    pub rows: u64,
    /// How often the source was scanned: more than once where the keys outgrew the size that was guessed.
    pub scans: u32,
    /// From the first publication to the swap.
    pub took: Duration,
    /// False where a distrust lived, a wrong absence was found during the rebuild, or the lock is lost: the filter stays a hint. (Under Advisory coverage it
    /// is one anyway.)
    pub trusted: bool,
}

/// Why a rebuild did not happen. The generation that served before goes on serving.
#[derive(Debug)]
#[non_exhaustive]
pub enum RebuildError {
    /// Another rebuild is under way.
    AlreadyRunning,
    /// The scan may lag further behind the primary than settled keys are kept for.
    LagNotCovered {
        /// What the key source says.
        lag: Duration,
        /// What the gate was built with.
        covered: Duration,
    },
    /// The scan failed.
    Scan(BoxError),
    /// The scan panicked, or the loader, or a filter.
    Panicked {
        /// What the panic said.
        message: String,
    },
    /// The scan says that it pushed another number of rows than arrived: it ended early, or lost some.
    RowsDiffer {
        /// What the scan says.
        reported: u64,
        /// What arrived.
        arrived: u64,
    },
    /// The scan pushed nothing.
    Empty,
    /// The scan pushed far fewer rows than the one before.
    Shrunken {
        /// Rows of the generation that serves.
        before: u64,
        /// Rows of this scan.
        now: u64,
    },
    /// The keys outgrew the filter again and again: the source grows faster than it can be scanned.
    Outgrown {
        /// Rows of the last scan.
        rows: u64,
        /// What that scan had room for.
        capacity: u64,
    },
    /// A scanned key is not in the finished filter: the filter kind breaks its contract.
    SelfTest,
    /// A key that the source lately had is not in the finished filter, and the source does not say that it is gone: the scan does not see what the source
    /// sees.
    CanaryMissing,
    /// The filter was made for another hasher.
    ForeignHasher {
        /// The gate's.
        gate: HasherFingerprint,
        /// The filter's.
        filter: HasherFingerprint,
    },
    /// The filter could not be made.
    Params(ParamError),
}

impl fmt::Display for RebuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadyRunning => f.write_str("another rebuild is under way"),
            Self::LagNotCovered { lag, covered } => write!(f, "scan lag: the key source says {lag:?}, the gate covers {covered:?}"),
            Self::Scan(error) => write!(f, "scan failed: {error}"),
            Self::Panicked { message } => write!(f, "rebuild panicked: {message}"),
            Self::RowsDiffer { reported, arrived } => write!(f, "scanned rows: the scan reports {reported}, {arrived} arrived"),
            Self::Empty => f.write_str("scanned rows: none; if the table may be empty, rebuild_with RebuildOptions::default().allow_empty()"),
            Self::Shrunken { before, now } => {
                write!(f, "scanned rows: {now}, down from {before}; if that is so, rebuild_with RebuildOptions::default().max_shrink(1.0)")
            }
            Self::Outgrown { rows, capacity } => write!(f, "scanned rows: {rows}, more than the room for {capacity}, again and again"),
            Self::SelfTest => f.write_str("a scanned key is not in the finished filter"),
            Self::CanaryMissing => f.write_str("a key that the source lately had is not in the finished filter, and is not said to be gone"),
            Self::ForeignHasher { gate, filter } => write!(f, "hasher: the gate's is {gate}, the filter's is {filter}"),
            Self::Params(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for RebuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Scan(error) => Some(&**error),
            Self::Params(error) => Some(error),
            _ => None,
        }
    }
}

impl From<ParamError> for RebuildError {
    fn from(error: ParamError) -> Self {
        Self::Params(error)
    }
}

/// How often a scan may outgrow its filter within one rebuild.
const MAX_SCANS: u32 = 4;
/// No filter for created keys is smaller than this.
const MIN_DELTA: u64 = 1024;

impl<K: CacheKey, V: CacheValue> ExistenceGate<K, V> {
    /// Scans every key that exists into a new generation, checks it, and swaps it in. Readers never wait.
    ///
    /// A gate whose exclusive lock had a predecessor first waits until no COMMIT of that can be in flight (`max_transaction` after it was built), and one
    /// whose scans may lag until they see what was written unannounced (`scan_lag` after the last distrust). Call it from any task or thread; a scan that
    /// blocks belongs on a thread that may block, with tokio
    /// `spawn_blocking(move || Handle::current().block_on(gate.rebuild(&source)))`. A table that may be empty needs [`RebuildOptions::allow_empty`].
    ///
    /// # Errors
    ///
    /// [`RebuildError`]; the generation that serves goes on serving.
    ///
    /// # Cancellation
    ///
    /// May be dropped at any await: the building generation is taken back, and a later rebuild begins anew.
    pub async fn rebuild<S: KeySource<K>>(&self, source: &S) -> Result<Rebuilt, RebuildError> {
        self.rebuild_with(source, RebuildOptions::default()).await
    }

    /// [`rebuild`](Self::rebuild), allowing what is suspicious.
    ///
    /// # Errors
    ///
    /// As for [`rebuild`](Self::rebuild).
    pub async fn rebuild_with<S: KeySource<K>>(&self, source: &S, options: RebuildOptions) -> Result<Rebuilt, RebuildError> {
        let _alone = Alone::enter(&self.inner.rebuilding)?;
        let mut failed = Failed(Some(self));
        let rebuilt = caught(self.rebuild_alone(source, options)).await.map_err(|message| RebuildError::Panicked { message })??;
        failed.0 = None;
        Ok(rebuilt)
    }

    async fn rebuild_alone<S: KeySource<K>>(&self, source: &S, options: RebuildOptions) -> Result<Rebuilt, RebuildError> {
        let core = &self.inner.core;
        let (lag, covered) = (source.lag(), core.scan_lag);
        if lag > covered {
            return Err(RebuildError::LagNotCovered { lag, covered });
        }
        loop {
            let wait = core.too_early_for();
            if wait.is_zero() {
                break;
            }
            core.clock.sleep(wait).await;
        }
        core.verify_exclusivity();
        core.unstick();
        self.free_retired();
        point("rebuild: begins");

        let began = core.clock.now();
        let before = core.state.load().current.as_ref().map(|generation| (generation.rows, generation.delta_keys()));
        let settings = &self.inner.settings;
        let mut expected = before.map_or(settings.expected_keys, |(rows, created)| rows.saturating_add(created)).max(1);
        let mut capacity = 0;
        for scans in 1..=MAX_SCANS {
            capacity = (expected as f64 * settings.growth).ceil() as u64;
            let draft = self.build(source, capacity, lag).await?;
            let (building, rows) = (&draft.published.building, draft.rows);
            match (&draft.base, before) {
                (None, _) => {
                    expected = rows;
                    continue; // The draft is dropped, and with it taken back.
                }
                (Some(_), _) if rows == 0 && !options.allow_empty => return Err(RebuildError::Empty),
                (Some(_), Some((before, _))) if (rows as f64) < before as f64 * (1.0 - options.max_shrink) && !(rows == 0 && options.allow_empty) => {
                    return Err(RebuildError::Shrunken { before, now: rows });
                }
                (Some(base), _) => {
                    // Both ways of asking, because a check uses one and a batch the other.
                    if draft.samples.iter().any(|hash| !base.contains_hash(*hash)) || !base.contains_hash_batch(&draft.samples).all() {
                        return Err(RebuildError::SelfTest);
                    }
                    self.ask_canaries(&draft.canaries, &**base, building).await?;
                    // The last look before the word "trusted" can be said.
                    core.verify_exclusivity();
                    let (replaced, trusted) = core.swap(building, base, rows);
                    lock(&self.inner.retired).extend(replaced);
                    self.free_retired();
                    let took = core.clock.now().since(began);
                    core.record(Event::Swapped { keys: rows, took });
                    return Ok(Rebuilt { generation: building.id, rows, scans, took, trusted });
                }
            }
        }
        Err(RebuildError::Outgrown { rows: expected, capacity })
    }

    /// R8 up to the end of the scan.
    async fn build<S: KeySource<K>>(&self, source: &S, capacity: u64, lag: Duration) -> Result<Draft<'_, K, V>, RebuildError> {
        let core = &self.inner.core;
        let settings = &self.inner.settings;
        let hasher = core.hasher.fingerprint();
        let created = ((capacity as f64 * settings.delta_share).ceil() as u64).max(MIN_DELTA);
        let base = self.inner.factory.base(Capacity::new(capacity), settings.base_fpr, hasher)?;
        let delta = self.inner.factory.delta(Capacity::new(created), settings.delta_fpr, hasher)?;
        for filter in [base.hasher_fingerprint(), delta.hasher_fingerprint()] {
            if filter != hasher {
                return Err(RebuildError::ForeignHasher { gate: hasher, filter });
            }
        }
        let canaries = self.inner.canaries.older_than(core.clock.now(), lag);
        let published = Published { gate: self, building: core.publish(&delta) };
        if !rule_off!(CopyAfterScan) {
            core.copy_pending(&published.building);
        }
        let mut sink = KeySink::new(&core.hasher, base, capacity);
        let scanned = source.scan(&mut sink).await.map_err(|error| RebuildError::Scan(error.into()))?;
        point("rebuild: scanned");
        if rule_off!(CopyAfterScan) {
            core.copy_pending(&published.building);
        }
        if scanned.rows != sink.rows() {
            return Err(RebuildError::RowsDiffer { reported: scanned.rows, arrived: sink.rows() });
        }
        let (rows, outgrown) = (sink.rows(), sink.outgrown());
        let (base, samples) = sink.finish();
        Ok(Draft { published, base: (!outgrown).then_some(base), rows, samples, canaries })
    }

    /// Keys that were lately seen in the source must be claimed by the new generation, or be gone from the source by now.
    async fn ask_canaries(&self, canaries: &[K], base: &dyn Membership, building: &Building) -> Result<(), RebuildError> {
        for key in canaries {
            let hash = self.inner.core.hasher.hash(key);
            let claimed = || base.contains_hash(hash) || building.contains(hash);
            // Cleared only by a read that says it is gone: a source that cannot answer is a doubt. Asked again after the read, because a deleted key that was
            // created anew meanwhile was announced before it could be found.
            if !claimed() && !self.lookup_fresh(key).await.is_absent() && !claimed() {
                return Err(RebuildError::CanaryMissing);
            }
        }
        Ok(())
    }
}

/// A generation that is being built, as far as its scan.
struct Draft<'a, K: CacheKey, V: CacheValue> {
    published: Published<'a, K, V>,
    /// None where the keys outgrew it.
    base: Option<Arc<dyn Membership>>,
    rows: u64,
    samples: Vec<KeyHash>,
    canaries: Vec<K>,
}

/// Takes the building generation back when dropped. After the swap there is nothing left to take back.
struct Published<'a, K: CacheKey, V: CacheValue> {
    gate: &'a ExistenceGate<K, V>,
    building: Arc<Building>,
}

impl<K: CacheKey, V: CacheValue> Drop for Published<'_, K, V> {
    fn drop(&mut self) {
        self.gate.inner.core.unpublish(self.building.id);
    }
}

/// Reports a rebuild that failed or was dropped.
struct Failed<'a, K: CacheKey, V: CacheValue>(Option<&'a ExistenceGate<K, V>>);

impl<K: CacheKey, V: CacheValue> Drop for Failed<'_, K, V> {
    fn drop(&mut self) {
        if let Some(gate) = self.0 {
            gate.inner.core.record(Event::RebuildFailed);
        }
    }
}

/// One rebuild at a time.
struct Alone<'a>(&'a AtomicBool);

impl<'a> Alone<'a> {
    fn enter(running: &'a AtomicBool) -> Result<Self, RebuildError> {
        // ORDERING: Acquire pairs with the Release in Drop: what the last rebuild did is seen by this one.
        if running.swap(true, Ordering::Acquire) { Err(RebuildError::AlreadyRunning) } else { Ok(Self(running)) }
    }
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        // ORDERING: Release, see `enter`.
        self.0.store(false, Ordering::Release);
    }
}

/// Runs a future to its end; a panic of it ends here, as what it said. Nothing that it borrowed is used afterwards but what locks and guards protect.
pub(super) async fn caught<F: Future>(future: F) -> Result<F::Output, String> {
    let mut future = pin!(future);
    std::future::poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
        Err(panic) => Poll::Ready(Err(message(&*panic))),
    })
    .await
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "(not a text)".to_owned())
}

/// How many keys that were lately seen in the source are kept.
const CANARIES: usize = 64;

/// Keys that were lately read from the source and found there. A rebuild must find them too.
pub(super) struct Canaries<K>(Mutex<VecDeque<(K, Timestamp)>>);

impl<K: CacheKey> Canaries<K> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(VecDeque::new()))
    }

    /// Takes a key, where nobody else is at it: these are samples, and no lookup waits for them.
    pub(super) fn offer(&self, key: &K, now: Timestamp) {
        let ring = match self.0.try_lock() {
            Ok(ring) => Some(ring),
            Err(TryLockError::Poisoned(ring)) => Some(ring.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        if let Some(mut ring) = ring {
            if ring.iter().any(|(canary, _)| canary == key) {
                return;
            }
            if ring.len() == CANARIES {
                ring.pop_front();
            }
            ring.push_back((key.clone(), now));
        }
    }

    /// The key may be deleted now.
    pub(super) fn withdraw<Q>(&self, key: &Q)
    where
        K: Borrow<Q>,
        Q: Key + ?Sized,
    {
        let same = |a: &[u8], b: &Q| b.with_bytes(|b| a == b);
        lock(&self.0).retain(|(canary, _)| !canary.with_bytes(|canary| same(canary, key)));
    }

    /// Those that a scan which begins now, and lags by no more than `lag`, must see.
    pub(super) fn older_than(&self, now: Timestamp, lag: Duration) -> Vec<K> {
        lock(&self.0).iter().filter(|(_, seen)| now.since(*seen) >= lag).map(|(key, _)| key.clone()).collect()
    }
}
