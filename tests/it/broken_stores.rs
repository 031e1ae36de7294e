//! Stores with one bug each, taken from stores that exist.

use crate::support::yield_now;
use absentia::*;
use std::collections::HashMap;
use std::sync::Mutex;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    None,
    Down,
    InventsAbsence,
    LosesTheToken,
    Rejuvenates,
    /// Absence is a value of the payload's type: go-zero's `*`, rueidisaside's `_nil_`, rockscache's empty string.
    Sentinel(&'static str),
    /// SETNX: go-zero's `setCacheWithNotFound`.
    KeepsTheFirst,
    NeverRemoves,
    RemovesAll,
    /// pingora keeps entries by their 64-bit hash.
    ByHash,
    NeverAsks,
    Resurrects,
    /// Asks, goes to the network, and stores: a compare that is not one step with its set.
    AsksTooEarly,
    BelievesAnyToken,
    OneBudget,
}

/// A store in a map, correct but for its bug.
pub(crate) struct Buggy {
    bug: Bug,
    entries: Mutex<HashMap<u64, Entry<String>>>,
    ghosts: Mutex<HashMap<u64, Entry<String>>>,
    last_token: Mutex<Option<Token>>,
}

impl Buggy {
    pub(crate) fn new(bug: Bug) -> Self {
        Self { bug, entries: Mutex::default(), ghosts: Mutex::default(), last_token: Mutex::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.lock().unwrap().len()
    }

    fn address(&self, key: Hashed<'_, u64>) -> u64 {
        if self.bug == Bug::ByHash { key.hash.first() } else { *key.key }
    }
}

impl Store<u64, String> for Buggy {
    async fn get(&self, key: Hashed<'_, u64>) -> Result<Option<Entry<String>>, StoreError> {
        if self.bug == Bug::Down {
            return Err(StoreError::Unavailable("connection refused".into()));
        }
        let mut found = self.entries.lock().unwrap().get(&self.address(key)).cloned();
        if let Some(entry) = &mut found {
            match self.bug {
                Bug::LosesTheToken => entry.token = Token::unusable(),
                Bug::BelievesAnyToken if !entry.token.is_usable() => entry.token = self.last_token.lock().unwrap().unwrap(),
                Bug::Rejuvenates => entry.expires = entry.expires.plus(std::time::Duration::from_secs(60)),
                Bug::Sentinel(sentinel) if entry.state == EntryState::Present(sentinel.to_owned()) => entry.state = EntryState::Absent,
                _ => {}
            }
        } else if self.bug == Bug::InventsAbsence {
            let never = Timestamp::default();
            found = Some(Entry { state: EntryState::Absent, token: Token::unusable(), read_began: never, expires: never });
        }
        Ok(found)
    }

    async fn put(&self, key: Hashed<'_, u64>, entry: Entry<String>, still_valid: &(dyn Fn() -> bool + Sync)) -> Result<Put, StoreError> {
        if self.bug == Bug::AsksTooEarly {
            if !still_valid() {
                return Ok(Put::Stale);
            }
            yield_now().await;
            self.entries.lock().unwrap().insert(*key.key, entry);
            return Ok(Put::Stored);
        }
        let mut entries = self.entries.lock().unwrap();
        if self.bug != Bug::NeverAsks && !still_valid() {
            if let (Bug::Resurrects, Some(ghost)) = (self.bug, self.ghosts.lock().unwrap().remove(key.key)) {
                entries.insert(*key.key, ghost);
            }
            return Ok(Put::Stale);
        }
        if self.bug == Bug::KeepsTheFirst && entries.contains_key(key.key) {
            return Ok(Put::Stored);
        }
        if self.bug == Bug::OneBudget && entries.len() == 1_000 {
            let victim = *entries.keys().next().unwrap();
            entries.remove(&victim);
        }
        if entry.token.is_usable() {
            *self.last_token.lock().unwrap() = Some(entry.token);
        }
        entries.insert(self.address(key), entry);
        Ok(if self.bug == Bug::NeverAsks && !still_valid() { Put::Stale } else { Put::Stored })
    }

    async fn remove(&self, key: Hashed<'_, u64>) -> Result<(), StoreError> {
        let mut entries = self.entries.lock().unwrap();
        match self.bug {
            Bug::NeverRemoves => {}
            Bug::RemovesAll => entries.clear(),
            _ => {
                if let Some(ghost) = entries.remove(&self.address(key)) {
                    self.ghosts.lock().unwrap().insert(*key.key, ghost);
                }
            }
        }
        Ok(())
    }
}

/// A store that is right, and far away: it waits before and after each step.
pub(crate) struct Awaiting<S>(pub(crate) S);

impl<S: Store<u64, String>> Store<u64, String> for Awaiting<S> {
    async fn get(&self, key: Hashed<'_, u64>) -> Result<Option<Entry<String>>, StoreError> {
        yield_now().await;
        let found = self.0.get(key).await;
        yield_now().await;
        found
    }

    async fn put(&self, key: Hashed<'_, u64>, entry: Entry<String>, still_valid: &(dyn Fn() -> bool + Sync)) -> Result<Put, StoreError> {
        yield_now().await;
        let put = self.0.put(key, entry, still_valid).await;
        yield_now().await;
        put
    }

    async fn remove(&self, key: Hashed<'_, u64>) -> Result<(), StoreError> {
        yield_now().await;
        let removed = self.0.remove(key).await;
        yield_now().await;
        removed
    }
}
