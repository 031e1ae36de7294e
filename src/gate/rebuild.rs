//! `rebuild`: a new generation beside the one that serves, swapped in when it has passed every check.
//!
//! Whatever goes wrong — the scan fails, panics, is dropped, is suspiciously empty — the building generation is taken back, the current one goes on
//! serving, and no announcement is lost, because creates have been setting their bits in the current one all along.

use super::ExistenceGate;
use super::generation::Building;
use super::rebuild_outcome::{RebuildError, RebuildOptions, Rebuilt};
use super::scan::{Filled, KeySink, KeySource};
use crate::filter::Membership;
use crate::key::KeyHash;
use crate::loader::{CacheKey, CacheValue, Event};
use crate::params::Capacity;
use crate::sync::{AtomicBool, Ordering, lock, point, rule_off};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// How often a scan may outgrow or overfill its filter within one rebuild.
const MAX_SCANS: u32 = 4;
/// By how much the next filter is larger where one of the right size was full. A guess: a kind that is full at its own capacity has little to go by.
const ROOMIER: f64 = 1.5;
/// No filter for created keys is smaller than this.
const MIN_DELTA: u64 = 1024;

impl<K: CacheKey, V: CacheValue> ExistenceGate<K, V> {
    /// Scans every key that exists into a new generation, checks it, and swaps it in. Readers never wait.
    ///
    /// A gate whose exclusive lock had a predecessor first waits until no COMMIT of that can be in flight (`max_transaction` after it was built), and
    /// one whose scans may lag until they see what was written unannounced (`scan_lag` after the last distrust). Call it from any task or thread; a
    /// scan that blocks belongs on a thread that may block, with tokio `spawn_blocking(move || Handle::current().block_on(gate.rebuild(&source)))`. A
    /// table that may be empty needs [`RebuildOptions::allow_empty`].
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
        self.free_replaced();
        point("rebuild: begins");

        let began = core.clock.now();
        let before = core.state.load().current.as_ref().map(|generation| (generation.rows, generation.delta_keys()));
        let settings = &self.inner.settings;
        let mut expected = before.map_or(0, |(rows, created)| rows.saturating_add(created)).max(settings.expected_keys).max(1);
        let (mut capacity, mut full) = (0, None);
        for scans in 1..=MAX_SCANS {
            capacity = (expected as f64 * settings.growth).ceil() as u64;
            let draft = self.build(source, capacity, lag).await?;
            let (building, rows) = (&draft.published.building, draft.rows);
            match (draft.filled, before) {
                // The draft is dropped, and with it taken back.
                (Filled::Outgrown, _) => (expected, full) = (rows, None),
                (Filled::Full(error), _) => (expected, full) = ((expected as f64 * ROOMIER).ceil() as u64, Some(error)),
                (Filled::Base(_), _) if rows == 0 && !options.allow_empty => return Err(RebuildError::Empty),
                (Filled::Base(_), Some((before, _)))
                    if (rows as f64) < before as f64 * (1.0 - options.max_shrink) && !(rows == 0 && options.allow_empty) =>
                {
                    return Err(RebuildError::Shrunken { before, now: rows });
                }
                (Filled::Base(base), _) => {
                    // Both ways of asking, because a check uses one and a batch the other.
                    if draft.samples.iter().any(|hash| !base.contains_hash(*hash)) || !base.contains_hash_batch(&draft.samples).all() {
                        return Err(RebuildError::SelfTest);
                    }
                    self.ask_canaries(&draft.canaries, &*base, building).await?;
                    // The last look before the word "trusted" can be said.
                    core.verify_exclusivity();
                    let (replaced, trusted) = core.swap(building, &base, rows);
                    lock(&self.inner.replaced).extend(replaced);
                    self.free_replaced();
                    let took = core.clock.now().since(began);
                    core.record(Event::Swapped { keys: rows, took });
                    return Ok(Rebuilt { generation: building.id, rows, scans, took, trusted });
                }
            }
        }
        Err(full.map_or(RebuildError::Outgrown { rows: expected, capacity }, RebuildError::Insert))
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
        let mut sink = KeySink::new(&core.hasher, base, capacity, core.observer.as_deref());
        let scanned = source.scan(&mut sink).await.map_err(|error| RebuildError::Scan(error.into()))?;
        point("rebuild: scanned");
        if rule_off!(CopyAfterScan) {
            core.copy_pending(&published.building);
        }
        if scanned.rows != sink.rows() {
            return Err(RebuildError::RowsDiffer { reported: scanned.rows, arrived: sink.rows() });
        }
        let rows = sink.rows();
        let (filled, samples) = sink.finish()?;
        Ok(Draft { published, filled, rows, samples, canaries })
    }

    /// Keys that were lately seen in the source must be claimed by the new generation, or be gone from the source by now.
    async fn ask_canaries(&self, canaries: &[K], base: &dyn Membership, building: &Building) -> Result<(), RebuildError> {
        for key in canaries {
            let hash = self.inner.core.hasher.hash(key);
            let claimed = || base.contains_hash(hash) || building.contains(hash);
            // Cleared only by a read that says it is gone: a source that cannot answer is a doubt. Asked again after the read, because a deleted key
            // that was created anew meanwhile was announced before it could be found.
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
    filled: Filled,
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
