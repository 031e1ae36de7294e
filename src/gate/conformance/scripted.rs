//! [`ScriptedSource`]: a source of truth in memory whose reads can be held, failed and counted.

use crate::gate::{KeySink, KeySource, Scanned};
use crate::loader::Source;
use crate::sync::{Mutex, lock};
use event_listener::Event;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Where reads of a [`ScriptedSource`] are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Before the row is looked at: a slow connection.
    BeforeRead,
    /// After the row was looked at, before the answer arrives: what they will say is already old.
    AfterRead,
}

/// A source of truth for tests: rows in memory, and reads that can be held at a point, failed, made to panic, and counted. Clones are the same
/// source.
///
/// It is a [`Source`] and a [`KeySource`]. Its rows change behind the back of any gate: announce what should be announced.
///
/// ```
/// use absentia::Source;
/// use absentia::conformance::ScriptedSource;
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let source = ScriptedSource::new();
/// source.insert(1, "one");
/// assert_eq!(source.load(&1).await.unwrap().as_deref(), Some("one"));
/// source.fail(true);
/// assert!(source.load(&1).await.is_err());
/// assert_eq!(source.reads(), 2);
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct ScriptedSource(Arc<Inner>);

#[derive(Default)]
struct Inner {
    script: Mutex<Script>,
    released: Event,
}

#[derive(Default)]
struct Script {
    rows: BTreeMap<u64, String>,
    hold: Option<Hold>,
    held: usize,
    failing: bool,
    panicking: bool,
    reads: u64,
}

impl ScriptedSource {
    /// Without rows.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Commits a row, replacing what was there.
    pub fn insert(&self, key: u64, value: impl Into<String>) {
        lock(&self.0.script).rows.insert(key, value.into());
    }

    /// Deletes a row.
    pub fn delete(&self, key: u64) {
        lock(&self.0.script).rows.remove(&key);
    }

    /// From now on reads stop at this point until [`release`](Self::release).
    pub fn hold(&self, at: Hold) {
        lock(&self.0.script).hold = Some(at);
    }

    /// Lets all held reads go on, and those that come.
    pub fn release(&self) {
        lock(&self.0.script).hold = None;
        self.0.released.notify(usize::MAX);
    }

    /// Reads that are held now. A read that was dropped is not.
    #[must_use]
    pub fn held(&self) -> usize {
        lock(&self.0.script).held
    }

    /// Whether reads and scans fail from now on.
    pub fn fail(&self, fail: bool) {
        lock(&self.0.script).failing = fail;
    }

    /// The next read to pass [`Hold::BeforeRead`] panics, without a message on stderr.
    pub fn panic_once(&self) {
        lock(&self.0.script).panicking = true;
    }

    /// Reads that have begun, whatever became of them.
    #[must_use]
    pub fn reads(&self) -> u64 {
        lock(&self.0.script).reads
    }

    async fn pass(&self, at: Hold) {
        loop {
            // Listening begins before the look, so that no release is missed.
            let listener = self.0.released.listen();
            let _held = {
                let mut script = lock(&self.0.script);
                if script.hold != Some(at) {
                    return;
                }
                script.held += 1;
                Held(&self.0)
            };
            listener.await;
        }
    }
}

struct Held<'a>(&'a Inner);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        lock(&self.0.script).held -= 1;
    }
}

/// What a [`ScriptedSource`] fails with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptedError;

impl fmt::Display for ScriptedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the script says that the source fails")
    }
}

impl std::error::Error for ScriptedError {}

impl Source for ScriptedSource {
    type Key = u64;
    type Value = String;
    type Error = ScriptedError;

    async fn load(&self, key: &u64) -> Result<Option<String>, ScriptedError> {
        lock(&self.0.script).reads += 1;
        self.pass(Hold::BeforeRead).await;
        let panicking = std::mem::take(&mut lock(&self.0.script).panicking);
        if panicking {
            std::panic::resume_unwind(Box::new("the script says that the source panics"));
        }
        let row = {
            let script = lock(&self.0.script);
            if script.failing { Err(ScriptedError) } else { Ok(script.rows.get(key).cloned()) }
        };
        self.pass(Hold::AfterRead).await;
        row
    }
}

impl KeySource<u64> for ScriptedSource {
    type Error = ScriptedError;

    async fn scan(&self, sink: &mut KeySink<'_, u64>) -> Result<Scanned, ScriptedError> {
        let keys: Vec<u64> = {
            let script = lock(&self.0.script);
            if script.failing {
                return Err(ScriptedError);
            }
            script.rows.keys().copied().collect()
        };
        keys.iter().for_each(|key| sink.push(key));
        Ok(Scanned { rows: keys.len() as u64 })
    }
}

impl fmt::Debug for ScriptedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let script = lock(&self.0.script);
        f.debug_struct("ScriptedSource")
            .field("rows", &script.rows.len())
            .field("hold", &script.hold)
            .field("failing", &script.failing)
            .field("reads", &script.reads)
            .finish_non_exhaustive()
    }
}
