//! What every [`Loader`] must do, as a suite for the tests of whoever writes one.
//!
//! Runs the loader behind a real gate, over a [`ScriptedSource`] whose reads it holds where a race needs them held. The gate is never rebuilt, so
//! its filter decides nothing and every lookup reaches the loader. As in the stores' suite, the first clause that does not hold panics.

mod races;
mod removable;
mod running;
mod scripted;

pub use removable::removable_base;
pub use scripted::{Hold, ScriptedError, ScriptedSource};

use super::{Coverage, Exclusivity, ExistenceGate, Lookup, Tombstones, WriteError};
use crate::loader::Loader;
use crate::negative::conformance::demand;
use running::Running;
use std::convert::Infallible;
use std::fmt;
use std::time::Duration;

const ROW: &str = "a row is present";
const NO_ROW: &str = "no row is absent";
const ERROR: &str = "an error is not an absence";
const ERROR_KEPT: &str = "an error is not remembered";
const ASKS: &str = "what is not known is asked of the source";
const CREATED: &str = "an absence from before a create is not answered after it";
const CREATED_JOIN: &str = "a read from before a create does not answer a caller from after it";
const CREATED_LATE: &str = "a read from before a create is not remembered after it";
const UPDATED: &str = "a row from before an update is not answered after it";
const DELETED: &str = "a row from before a delete is not answered after it";
const FRESH: &str = "a fresh lookup reads the source";
const FRESH_JOIN: &str = "a fresh lookup shares no read from before it";
const UNCOVERED: &str = "where tombstones are off nothing absent is remembered";
const UNCOVERED_JOIN: &str = "where tombstones are off no read from before a caller answers it";
const TOGETHER: &str = "callers at once all hear the answer";
const GONE: &str = "a caller that goes away strands nobody";
const PANIC: &str = "a panic strands nobody";

/// Checks a loader against the contract of [`Loader`]. `make` gives one that knows nothing, over the given source.
///
/// ```
/// use absentia::{MemoryStore, NegativeCache, conformance};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// conformance::loader(|source| NegativeCache::builder(source, MemoryStore::new()).build().unwrap()).await;
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Panics
///
/// Where a clause does not hold; the message quotes it.
pub async fn loader<L: Loader<u64, String> + 'static>(make: impl Fn(ScriptedSource) -> L) {
    LoaderSuite::new(make).run().await;
}

/// [`loader`], with patience of your own.
pub struct LoaderSuite<M> {
    make: M,
    patience: Duration,
    pause: Duration,
}

struct Scene {
    source: ScriptedSource,
    gate: ExistenceGate<u64, String>,
}

impl<M: Fn(ScriptedSource) -> L, L: Loader<u64, String> + 'static> LoaderSuite<M> {
    /// The suite for what `make` makes.
    pub fn new(make: M) -> Self {
        Self { make, patience: Duration::from_secs(5), pause: Duration::from_millis(20) }
    }

    /// How long a lookup may take before it counts as stranded (default 5 s). Only a loader that fails takes that long.
    #[must_use]
    pub fn patience(mut self, limit: Duration) -> Self {
        self.patience = limit;
        self
    }

    /// How long a second caller is given to reach whatever it will wait for (default 20 ms). Longer for a loader with a memory far away.
    #[must_use]
    pub fn pause(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// Runs it.
    ///
    /// # Panics
    ///
    /// Where a clause does not hold.
    pub async fn run(self) {
        self.answers().await;
        self.errors().await;
        self.creates().await;
        self.creates_during_a_read().await;
        self.fresh().await;
        self.fresh_during_a_read().await;
        self.writes().await;
        self.uncovered().await;
        self.uncovered_during_a_read().await;
        self.together().await;
        self.gone().await;
        self.panics().await;
    }

    fn exclusive(&self) -> Scene {
        self.scene(Coverage::Exclusive(Exclusivity::asserted("a test is the only writer").first_start()))
    }

    fn scene(&self, coverage: Coverage) -> Scene {
        let source = ScriptedSource::new();
        let builder = ExistenceGate::builder((self.make)(source.clone())).coverage(coverage).fence_stripes(1024).lookup_timeout(self.patience);
        let gate = builder.build().unwrap_or_else(|error| panic!("loader conformance: no gate: {error}"));
        Scene { source, gate }
    }

    async fn answers(&self) {
        let Scene { source, gate } = self.exclusive();
        for value in ["one", "", "null", "\0missing"] {
            let id = value.len() as u64 + 1;
            source.insert(id, value);
            for _ in 0..2 {
                expect(ROW, gate.lookup(&id).await, Some(value));
            }
        }
        for _ in 0..3 {
            expect(NO_ROW, gate.lookup(&99).await, None);
        }
    }

    async fn errors(&self) {
        for row in [Some("one"), None] {
            let Scene { source, gate } = self.exclusive();
            if let Some(value) = row {
                source.insert(1, value);
            }
            source.fail(true);
            for _ in 0..2 {
                let found = gate.lookup(&1).await;
                demand("loader", ERROR, found.is_unknown(), found);
            }
            source.fail(false);
            expect(ERROR_KEPT, gate.lookup(&1).await, row);
        }
    }

    async fn creates(&self) {
        // With a value to remember, without one, and settled by a guard.
        for how in 0..3 {
            let Scene { source, gate } = self.exclusive();
            for _ in 0..3 {
                expect(NO_ROW, gate.lookup(&1).await, None);
            }
            if how == 2 {
                let guard = gate.begin_create(&1);
                source.insert(1, "one");
                guard.committed(Some("one".to_owned()));
            } else {
                create(&gate, &source, 1, "one", how == 0).await;
            }
            for _ in 0..2 {
                expect(CREATED, gate.lookup(&1).await, Some("one"));
            }
        }
    }

    async fn writes(&self) {
        let Scene { source, gate } = self.exclusive();
        source.insert(1, "old");
        expect(ROW, gate.lookup(&1).await, Some("old"));
        write(&gate, 1, || source.insert(1, "new")).await;
        expect(UPDATED, gate.lookup(&1).await, Some("new"));
        source.hold(Hold::AfterRead);
        let mut early = Running::new(gate.lookup_fresh(&1));
        self.until_held(&source, &mut early).await;
        write(&gate, 1, || source.insert(1, "newer")).await;
        source.release();
        let _old = early.answer().await;
        expect(UPDATED, gate.lookup(&1).await, Some("newer"));
        let deleted: Result<(), WriteError<Infallible>> = gate
            .delete_with(&1, async || {
                source.delete(1);
                Ok(())
            })
            .await;
        demand("loader", DELETED, deleted.is_ok(), "the delete failed");
        expect(DELETED, gate.lookup(&1).await, None);
        create(&gate, &source, 1, "again", true).await;
        expect(CREATED, gate.lookup(&1).await, Some("again"));
    }

    async fn fresh(&self) {
        let Scene { source, gate } = self.exclusive();
        for _ in 0..3 {
            expect(NO_ROW, gate.lookup(&1).await, None);
        }
        // Behind the gate's back: nothing but a read can know.
        source.insert(1, "one");
        expect(FRESH, gate.lookup_fresh(&1).await, Some("one"));
        source.insert(1, "two");
        expect(FRESH, gate.lookup_fresh(&1).await, Some("two"));
        source.delete(1);
        expect(FRESH, gate.lookup_fresh(&1).await, None);
    }

    async fn uncovered(&self) {
        let Scene { source, gate } = self.scene(Coverage::Advisory { tombstones: Tombstones::Off });
        for _ in 0..3 {
            expect(NO_ROW, gate.lookup(&1).await, None);
        }
        source.insert(1, "one");
        expect(UNCOVERED, gate.lookup(&1).await, Some("one"));
    }
}

impl<M> fmt::Debug for LoaderSuite<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoaderSuite").field("patience", &self.patience).field("pause", &self.pause).finish_non_exhaustive()
    }
}

#[track_caller]
fn expect(clause: &str, found: Lookup<String>, row: Option<&str>) {
    let as_expected = match (&found, row) {
        (Lookup::Present(value), Some(row)) => value == row,
        (Lookup::Absent(_), None) => true,
        _ => false,
    };
    demand("loader", clause, as_expected, format_args!("expected {row:?}, heard {found:?}"));
}

async fn create(gate: &ExistenceGate<u64, String>, source: &ScriptedSource, id: u64, value: &str, give: bool) {
    let row = value.to_owned();
    let created: Result<_, WriteError<Infallible>> = gate
        .create_with(&id, async || {
            source.insert(id, row.clone());
            Ok(give.then_some(row))
        })
        .await;
    demand("loader", CREATED, created.is_ok(), created);
}

async fn write(gate: &ExistenceGate<u64, String>, id: u64, write: impl Fn()) {
    let written: Result<(), WriteError<Infallible>> = gate
        .update_with(&id, async || {
            write();
            Ok(())
        })
        .await;
    demand("loader", UPDATED, written.is_ok(), written);
}
