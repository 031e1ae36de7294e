//! Loaders with one bug each, taken from caches that exist.

use absentia::conformance::{ScriptedError, ScriptedSource};
use absentia::*;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio::sync::{Notify, OnceCell};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    None,
    Down,
    /// Absence is a value of the payload's type.
    Sentinel,
    AbsenceIsAnError,
    /// otter #137: an invalidated load returned `"", nil`.
    ErrorIsAbsence,
    /// rails #25437: nil, cached for a day while the service was down.
    RemembersErrors,
    /// A plain cache of `Option<V>`.
    RemembersAbsences,
    /// The same with an eviction on write, which a slow read overtakes.
    EvictsOnly,
    NeverForgets,
    NeverFresh,
    /// Checks its token, and then says that it has read.
    CallsMemoryARead,
}

#[derive(Clone)]
enum Known {
    Row(String),
    NoRow(Token, Timestamp),
    Failed,
}

/// A small cache, correct but for its bug.
pub(crate) struct Buggy {
    source: ScriptedSource,
    bug: Bug,
    known: Mutex<HashMap<u64, (Known, Token)>>,
}

impl Buggy {
    pub(crate) fn new(source: ScriptedSource, bug: Bug) -> Self {
        Self { source, bug, known: Mutex::default() }
    }

    fn recall(&self, key: u64, context: &LoadContext<'_>) -> Option<Result<Loaded<String>, Cause>> {
        let (known, read_under) = self.known.lock().unwrap().get(&key).cloned()?;
        match known {
            Known::Row(value) => {
                let current = self.bug == Bug::NeverForgets || context.still_valid(read_under);
                current.then(|| Ok(Loaded::Present { value, origin: Origin::Memory }))
            }
            Known::NoRow(..) if matches!(self.bug, Bug::RemembersAbsences | Bug::EvictsOnly) => Some(Ok(Loaded::Absent(Evidence::Read))),
            Known::NoRow(token, _) if self.bug == Bug::CallsMemoryARead && context.still_valid(token) => Some(Ok(Loaded::Absent(Evidence::Read))),
            Known::NoRow(token, read_began) => context.still_valid(token).then(|| Ok(Loaded::Absent(Evidence::Remembered { token, read_began }))),
            Known::Failed => (self.bug == Bug::RemembersErrors).then(|| Err(Cause::source(ScriptedError))),
        }
    }
}

impl Loader<u64, String> for Buggy {
    async fn load(&self, key: &u64, context: &LoadContext<'_>) -> Result<Loaded<String>, Cause> {
        if self.bug == Bug::Down {
            return Err(Cause::source(ScriptedError));
        }
        if (!context.is_fresh() || self.bug == Bug::NeverFresh)
            && let Some(known) = self.recall(*key, context)
        {
            return known;
        }
        let (token, read_began) = (context.token(), context.now());
        let read = self.source.load(key).await;
        let known = match &read {
            Ok(Some(row)) => Known::Row(row.clone()),
            Ok(None) => Known::NoRow(token, read_began),
            Err(_) => Known::Failed,
        };
        self.known.lock().unwrap().insert(*key, (known, token));
        match read {
            Ok(None) if self.bug == Bug::AbsenceIsAnError => Err(Cause::source("no rows")),
            Ok(Some(row)) if self.bug == Bug::Sentinel && row.is_empty() => Ok(Loaded::from_source(None)),
            Err(_) if self.bug == Bug::ErrorIsAbsence => Ok(Loaded::from_source(None)),
            read => read.map(Loaded::from_source).map_err(Cause::source),
        }
    }

    async fn forget(&self, key: Hashed<'_, u64>, _context: &LoadContext<'_>) {
        if !matches!(self.bug, Bug::NeverForgets | Bug::RemembersAbsences) {
            self.known.lock().unwrap().remove(key.key);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flight {
    None,
    /// moka, FusionCache, DialCache: who comes joins, whenever the read began.
    Naive,
    /// Joins under the token of the read, which is right, but for fresh lookups too.
    SharesFresh,
    /// pingora #931, tailscale #18919: the reader is dropped, and its entry stays.
    StrandsOnDrop,
    /// go #41133, groupcache #139, cockroach #174960: the reader panics, and the key is poisoned.
    StrandsOnPanic,
}

/// A read under way: how to wait for it, under which token it reads, and what came of it.
type Read = Arc<(Token, OnceCell<Option<String>>)>;

/// Single flight, correct but for its bug.
pub(crate) struct Flights {
    source: ScriptedSource,
    flight: Flight,
    reads: Mutex<HashMap<u64, Read>>,
    poisoned: Mutex<HashMap<u64, Arc<Notify>>>,
}

impl Flights {
    pub(crate) fn new(source: ScriptedSource, flight: Flight) -> Self {
        Self { source, flight, reads: Mutex::default(), poisoned: Mutex::default() }
    }

    async fn read(&self, key: u64) -> Result<Option<String>, Cause> {
        self.source.load(&key).await.map_err(Cause::source)
    }
}

/// Leaves its key locked when it is dropped in the way that the bug does not foresee.
struct Lock<'a>(&'a Flights, u64, Arc<Notify>);

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        let forgotten = match self.0.flight {
            Flight::StrandsOnPanic => std::thread::panicking(),
            _ => !std::thread::panicking() && self.0.poisoned.lock().unwrap().contains_key(&self.1),
        };
        if !forgotten {
            self.0.poisoned.lock().unwrap().remove(&self.1);
            self.2.notify_waiters();
        }
    }
}

impl Loader<u64, String> for Flights {
    async fn load(&self, key: &u64, context: &LoadContext<'_>) -> Result<Loaded<String>, Cause> {
        match self.flight {
            Flight::None => self.read(*key).await.map(Loaded::from_source),
            Flight::Naive | Flight::SharesFresh => {
                let own: Read = Arc::new((context.token(), OnceCell::new()));
                let read = Arc::clone(self.reads.lock().unwrap().entry(*key).or_insert_with(|| Arc::clone(&own)));
                let row = read.1.get_or_try_init(|| self.read(*key)).await.cloned();
                self.reads.lock().unwrap().retain(|_, other| !Arc::ptr_eq(other, &read));
                if self.flight == Flight::Naive || Arc::ptr_eq(&own, &read) {
                    return row.map(Loaded::from_source);
                }
                if !context.still_valid(read.0) || context.join(read.0) == Join::Next && !context.is_fresh() {
                    return self.read(*key).await.map(Loaded::from_source);
                }
                Ok(match row? {
                    Some(value) => Loaded::Present { value, origin: Origin::Source },
                    None => Loaded::Absent(Evidence::Shared { token: read.0 }),
                })
            }
            Flight::StrandsOnDrop | Flight::StrandsOnPanic => loop {
                let other = {
                    let mut locks = self.poisoned.lock().unwrap();
                    let other = locks.get(key).cloned();
                    if other.is_none() {
                        locks.insert(*key, Arc::new(Notify::new()));
                    }
                    other.map(Notify::notified_owned)
                };
                if let Some(notified) = other {
                    notified.await;
                    continue;
                }
                let notify = Arc::clone(&self.poisoned.lock().unwrap()[key]);
                let lock = Lock(self, *key, notify);
                let row = self.read(*key).await;
                let done = self.poisoned.lock().unwrap().remove(key);
                done.iter().for_each(|notify| notify.notify_waiters());
                drop(lock);
                return row.map(Loaded::from_source);
            },
        }
    }
}
