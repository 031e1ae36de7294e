//! [`Rebuilder`]: rebuilds on a schedule, early where the filter fills up, later where the source is down; and settles unresolved writes on the way.
//!
//! It is a future of yours to run: on a task, or on a thread of its own where the scan blocks. Nothing is spawned here. A panic of the
//! scan, the loader or a filter fails a rebuild and not the schedule.

use super::rebuild_outcome::RebuildOptions;
use super::{ExistenceGate, KeySource, RebuildError, Rebuilt, Trust};
use crate::loader::{CacheKey, CacheValue};
use std::fmt;
use std::time::Duration;

/// When a [`Rebuilder`] rebuilds.
#[derive(Clone, Copy, Debug)]
pub struct RebuilderConfig {
    every: Duration,
    jitter: f64,
    tick: Duration,
    retry: Duration,
    retry_max: Duration,
    options: RebuildOptions,
}

impl Default for RebuilderConfig {
    /// Every ten minutes, up to a tenth later; looked at every second; after a failure in two seconds, then four, up to a minute.
    fn default() -> Self {
        Self {
            every: Duration::from_secs(600),
            jitter: 0.1,
            tick: Duration::from_secs(1),
            retry: Duration::from_secs(2),
            retry_max: Duration::from_secs(60),
            options: RebuildOptions::default(),
        }
    }
}

impl RebuilderConfig {
    /// How long a generation serves at most, give or take the jitter; at least a millisecond, so that others run in between.
    #[must_use]
    pub fn every(mut self, interval: Duration) -> Self {
        self.every = interval.max(Duration::from_millis(1));
        self
    }

    /// How much of the interval is added at random, 0 to 1, so that many instances do not scan at once. Outside of that it counts as the nearer end.
    #[must_use]
    pub fn jitter(mut self, part: f64) -> Self {
        self.jitter = if part.is_nan() { 0.0 } else { part.clamp(0.0, 1.0) };
        self
    }

    /// How often it looks whether a rebuild is due early and unresolved writes can be settled; at least a millisecond.
    #[must_use]
    pub fn tick(mut self, interval: Duration) -> Self {
        self.tick = interval.max(Duration::from_millis(1));
        self
    }

    /// How long to wait after a failure, doubled each time up to `most`.
    #[must_use]
    pub fn retry(mut self, first: Duration, most: Duration) -> Self {
        self.retry = first.max(Duration::from_millis(1));
        self.retry_max = most.max(self.retry);
        self
    }

    /// What its rebuilds may do that is suspicious.
    #[must_use]
    pub fn options(mut self, options: RebuildOptions) -> Self {
        self.options = options;
        self
    }
}

/// Rebuilds a gate on a schedule.
///
/// ```
/// # use absentia::*;
/// # fn example<S: KeySource<String> + 'static>(gate: ExistenceGate<String, u64>, source: S) {
/// let config = RebuilderConfig::default().every(std::time::Duration::from_secs(300));
/// let rebuilder = Rebuilder::new(gate, source, config);
/// tokio::spawn(rebuilder.run(|result| match result {
///     Ok(rebuilt) => println!("{} keys, trusted: {}", rebuilt.rows, rebuilt.trusted),
///     Err(error) => eprintln!("rebuild failed, the filter before it serves on: {error}"),
/// })); // abort the task to stop
/// # }
/// ```
pub struct Rebuilder<K, V, S> {
    gate: ExistenceGate<K, V>,
    source: S,
    config: RebuilderConfig,
    failures: u32,
    /// No early rebuild within this time of the last: the source is scanned a third of the time at most.
    rest: Duration,
}

impl<K: CacheKey, V: CacheValue, S: KeySource<K>> Rebuilder<K, V, S> {
    /// A schedule for `gate`, scanning `source`.
    pub fn new(gate: ExistenceGate<K, V>, source: S, config: RebuilderConfig) -> Self {
        Self { gate, source, config, failures: 0, rest: Duration::ZERO }
    }

    /// Rebuilds when it is due, for ever; `report` hears of each rebuild. Due is: at once, then after the interval; earlier where more keys were
    /// created than the filter is sized for, where it was switched off, or where it is distrusted and nobody keeps it so; after a failure with
    /// back-off.
    ///
    /// # Cancellation
    ///
    /// Drop it to stop. A rebuild under way is taken back.
    pub async fn run(mut self, mut report: impl FnMut(Result<&Rebuilt, &RebuildError>)) {
        loop {
            let result = self.gate.rebuild_with(&self.source, self.config.options).await;
            report(result.as_ref());
            let wait = match result {
                Ok(rebuilt) => {
                    self.failures = 0;
                    self.rest = rebuilt.took * 2;
                    self.stretched(self.config.every)
                }
                Err(_) => {
                    self.failures = self.failures.saturating_add(1);
                    let doubled = self.config.retry.saturating_mul(1 << (self.failures - 1).min(20)).min(self.config.retry_max);
                    self.stretched(doubled)
                }
            };
            self.wait(wait).await;
        }
    }

    /// Waits, settling unresolved writes on each tick, until `wait` has passed or a rebuild is due early.
    async fn wait(&mut self, wait: Duration) {
        let clock = self.gate.inner.core.clock.clone();
        let began = clock.now();
        loop {
            let left = wait.saturating_sub(clock.now().since(began));
            if left.is_zero() {
                return;
            }
            clock.sleep(left.min(self.config.tick)).await;
            self.gate.resolve_unknown().await;
            self.gate.free_replaced();
            // After a failure the back-off is kept whatever the filter looks like.
            if self.failures == 0 && clock.now().since(began) >= self.rest && self.due_early() {
                return;
            }
        }
    }

    fn due_early(&self) -> bool {
        let state = self.gate.inner.core.state.load();
        let full = state.current.as_ref().is_some_and(|generation| generation.is_saturated() || generation.is_switched_off());
        let doubted = state.guards == 0 && matches!(state.trust, Trust::Distrusted | Trust::WrongAbsence);
        full || doubted
    }

    /// With a random part of the jitter. What is too long to be a duration is as long as one can be.
    fn stretched(&self, wait: Duration) -> Duration {
        Duration::try_from_secs_f64(wait.as_secs_f64() * (1.0 + self.config.jitter * self.chance())).unwrap_or(Duration::MAX)
    }

    /// Between 0 and 1. It need not be random, only different from instance to instance: the hash of a moment under the gate's secret.
    fn chance(&self) -> f64 {
        let core = &self.gate.inner.core;
        (core.hasher.hash(&core.clock.now().as_nanos()).second() >> 11) as f64 / (1u64 << 53) as f64
    }
}

impl<K, V, S> fmt::Debug for Rebuilder<K, V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rebuilder").field("config", &self.config).field("failures", &self.failures).finish_non_exhaustive()
    }
}
