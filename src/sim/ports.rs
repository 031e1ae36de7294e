//! What the real code is plugged into: the source, the scan, a store that takes its time, and a look at the fences.

use super::actors::linger;
use super::sched::{pause, with};
use super::world::{Hang, nap};
use crate::fence::Token;
use crate::gate::{KeySink, KeySource, Scanned};
use crate::loader::{Cause, Hashed, LoadContext, Loaded, Loader, Source};
use crate::negative::{Entry, MemoryStore, NegativeCache, Put, Store, StoreError};
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::time::Duration;

/// The payload of a panic that belongs to the play.
pub(super) struct Staged;

/// The database as a [`Source`].
pub(super) struct Database;

#[derive(Clone, Copy)]
enum Fate {
    Answer,
    Fail,
    Hang,
    Panic,
}

fn fate() -> Fate {
    with(|run| {
        let faults = if run.draining { 0 } else { run.world.faults };
        if run.rng.percent(faults) { run.rng.of(&[Fate::Fail, Fate::Fail, Fate::Hang, Fate::Panic]) } else { Fate::Answer }
    })
}

impl Source for Database {
    type Key = u64;
    type Value = u64;
    type Error = &'static str;

    async fn load(&self, key: &u64) -> Result<Option<u64>, &'static str> {
        let fate = fate();
        pause("read: begun");
        nap().await;
        let (selected, row) = with(|run| (run.event("read: SELECT", Some(*key)), run.world.rows().get(key).copied()));
        pause("read: selected");
        nap().await;
        match fate {
            Fate::Answer => {
                if row.is_none() {
                    with(|run| run.found_nothing(*key, selected));
                }
                Ok(row)
            }
            Fate::Fail => Err("connection reset"),
            Fate::Panic => resume_unwind(Box::new(Staged)),
            Fate::Hang => {
                Hang.await;
                Err("recovered")
            }
        }
    }
}

/// The database as a [`KeySource`].
#[derive(Clone, Default)]
pub(super) struct Scan {
    /// Keyset pages instead of one snapshot.
    pub(super) paged: bool,
    /// A replica, this far behind at most.
    pub(super) lag: Duration,
    /// It takes its time before it looks.
    pub(super) hesitant: bool,
    /// Against the contract: a snapshot from before `rebuild` was called, and its event.
    pub(super) early: Option<(u64, BTreeMap<u64, u64>)>,
}

impl Scan {
    async fn push_all(&self, sink: &mut KeySink<'_, u64>, keys: impl Iterator<Item = u64>) -> u64 {
        let mut rows = 0;
        for key in keys {
            sink.push(&key);
            rows += 1;
            pause("scan: row");
            nap().await;
        }
        rows
    }
}

impl KeySource<u64> for Scan {
    type Error = &'static str;

    fn lag(&self) -> Duration {
        self.lag
    }

    async fn scan(&self, sink: &mut KeySink<'_, u64>) -> Result<Scanned, &'static str> {
        let scan = with(|run| {
            run.world.scans.push(BTreeMap::new());
            run.world.scans.len() - 1
        });
        let fate = fate();
        pause("scan: begun");
        nap().await;
        if self.hesitant {
            linger(60);
        }
        let mut rows = 0;
        if self.paged {
            let mut after = None;
            loop {
                // One page, which is one statement, which is one snapshot.
                let page: Vec<u64> = with(|run| {
                    let at = run.event("scan: page", after);
                    let all: Vec<u64> = run.world.rows().keys().copied().filter(|key| after.is_none_or(|after| *key > after)).take(2).collect();
                    let upto = if all.len() == 2 { all[1] } else { u64::MAX };
                    let keys = run.check.keys();
                    run.world.scans[scan].extend(keys.filter(|key| after.is_none_or(|after| *key > after) && *key <= upto).map(|key| (key, at)));
                    all
                });
                let last = page.last().copied();
                rows += self.push_all(sink, page.into_iter()).await;
                if last.is_none() {
                    break;
                }
                after = last;
            }
        } else {
            let snapshot = with(|run| {
                let (at, rows) = match &self.early {
                    Some(early) => early.clone(),
                    None => {
                        run.event("scan: snapshot", None);
                        let oldest = if self.lag.is_zero() { run.now } else { run.world.seen_for_sure(self.lag, run.now) };
                        let at = if run.rng.percent(50) { oldest } else { oldest + run.rng.below(run.now - oldest + 1) };
                        (at, run.world.rows_at(at))
                    }
                };
                let keys = run.check.keys();
                run.world.scans[scan].extend(keys.map(|key| (key, at)));
                rows
            });
            rows = snapshot.len() as u64;
            // Nothing tells that a scan ended early but the count.
            let pushed = if matches!(fate, Fate::Hang) { snapshot.len() / 2 } else { snapshot.len() };
            self.push_all(sink, snapshot.into_keys().take(pushed)).await;
        }
        pause("scan: over");
        match fate {
            Fate::Answer | Fate::Hang => Ok(Scanned { rows }),
            Fate::Fail => Err("scan reset"),
            Fate::Panic => resume_unwind(Box::new(Staged)),
        }
    }
}

/// A store in memory with a way to it that takes time, and sometimes is down.
pub(super) struct Shelf {
    inner: MemoryStore<u64, u64>,
    faults: u64,
}

impl Shelf {
    pub(super) fn new(faults: u64) -> Self {
        Self { inner: MemoryStore::builder().shards(1).build(), faults }
    }

    async fn way(&self, there: &'static str) -> Result<(), StoreError> {
        pause(there);
        if with(|run| run.rng.percent(15)) {
            nap().await;
        }
        if with(|run| !run.draining && run.rng.percent(self.faults)) {
            return Err(StoreError::Unavailable("store is down".into()));
        }
        Ok(())
    }
}

impl Store<u64, u64> for Shelf {
    async fn get(&self, key: Hashed<'_, u64>) -> Result<Option<Entry<u64>>, StoreError> {
        self.way("store: get").await?;
        let entry = self.inner.get(key).await;
        self.way("store: got").await?;
        entry
    }

    async fn put(&self, key: Hashed<'_, u64>, entry: Entry<u64>, still_valid: &(dyn Fn() -> bool + Sync)) -> Result<Put, StoreError> {
        self.way("store: put").await?;
        let put = self.inner.put(key, entry, still_valid).await;
        self.way("store: stored").await?;
        put
    }

    async fn remove(&self, key: Hashed<'_, u64>) -> Result<(), StoreError> {
        self.way("store: remove").await?;
        let removed = self.inner.remove(key).await;
        self.way("store: removed").await?;
        removed
    }
}

/// The negative cache, and a look at the fence whenever it loads.
pub(super) struct Probed(pub(super) NegativeCache<Database, Shelf>);

impl Loader<u64, u64> for Probed {
    async fn load(&self, key: &u64, context: &LoadContext<'_>) -> Result<Loaded<u64>, Cause> {
        let token = context.token();
        with(|run| run.check.last_token = Some(token));
        pause("loader: called");
        let loaded = self.0.load(key, context).await;
        pause("loader: done");
        loaded
    }

    async fn forget(&self, key: Hashed<'_, u64>, context: &LoadContext<'_>) {
        self.0.forget(key, context).await;
    }

    async fn remember(&self, key: Hashed<'_, u64>, value: u64, token: Token, context: &LoadContext<'_>) {
        self.0.remember(key, value, token, context).await;
    }

    fn admits_its_own_reads(&self) -> bool {
        self.0.admits_its_own_reads()
    }
}
