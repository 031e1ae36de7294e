//! [`Canaries`]: a few keys that were lately read from the source and found there. A rebuild that does not find them did not see what the source
//! sees.

use crate::key::Key;
use crate::loader::CacheKey;
use crate::sync::{Mutex, lock, try_lock};
use crate::time::Timestamp;
use std::borrow::Borrow;
use std::collections::VecDeque;
use std::time::Duration;

/// How many keys that were lately seen in the source are kept.
const CANARIES: usize = 64;

/// The keys, and when each was seen.
pub(super) struct Canaries<K>(Mutex<VecDeque<(K, Timestamp)>>);

impl<K: CacheKey> Canaries<K> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(VecDeque::new()))
    }

    /// Takes a key, where nobody else is at it: these are samples, and no lookup waits for them.
    pub(super) fn offer(&self, key: &K, now: Timestamp) {
        if let Some(mut ring) = try_lock(&self.0) {
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
