//! [`Lane`]: a budget for reads of the source, in concurrency and in rate, shared fairly by caller.
//!
//! The gate puts lookups into the *suspect lane* when a filter says "no" and may not be believed (Advisory coverage, or distrust): a flood of ids
//! that do not exist then meets this budget and not the source. Nobody waits in a lane: over budget is an answer, with a time to come back.
//!
//! Fairness: a caller may hold at most its share of the concurrency and of the rate, where the share is one part in as many callers as were seen in
//! the last second, and never more than [`LaneConfig::max_share`]. So one scraper, alone at night, cannot take what the next caller will need.

use crate::key::{Key, KeyHasher};
use crate::sync::{Mutex, lock};
use crate::time::Timestamp;
use std::collections::HashMap;
use std::time::Duration;

/// Who asks: an account, an API key, an address. Lookups without one share [`CallerId::ANONYMOUS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallerId(u64);

impl CallerId {
    /// Everybody who did not say who they are.
    pub const ANONYMOUS: Self = Self(0);

    /// A caller by number.
    #[must_use]
    pub const fn new(id: u64) -> Self {
        Self(id)
    }

    /// A caller by name or address. Two callers whose names collide in 64 bits share a budget.
    #[must_use]
    pub fn of<K: Key + ?Sized>(name: &K) -> Self {
        Self(KeyHasher::xxh3(0).hash(name).first())
    }
}

/// The budget of a lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaneConfig {
    /// Reads of the source at once.
    pub concurrency: u32,
    /// Reads of the source a second, on average.
    pub rate: f64,
    /// Reads that may be saved up and spent at once.
    pub burst: f64,
    /// The largest part of all three that one caller may take, above 0 and at most 1.
    pub max_share: f64,
}

impl Default for LaneConfig {
    /// 64 at once, 1,000 a second, 200 in a burst, and no caller more than half of it.
    fn default() -> Self {
        Self { concurrency: 64, rate: 1_000.0, burst: 200.0, max_share: 0.5 }
    }
}

impl LaneConfig {
    /// The first thing wrong with it, in words.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        // Written so that NaN is a fault.
        if self.concurrency == 0 {
            Some("lane concurrency is 0")
        } else if !(self.rate > 0.0 && self.rate.is_finite()) {
            Some("lane rate is not a positive number")
        } else if !(self.burst >= 1.0 && self.burst.is_finite()) {
            Some("lane burst is below 1 or not a number")
        } else if !(self.max_share > 0.0 && self.max_share <= 1.0) {
            Some("lane max_share is not above 0 and at most 1")
        } else {
            None
        }
    }
}

/// Callers remembered at once. Beyond it, after the idle ones are dropped, newcomers count as anonymous: memory stays bounded under a flood of names.
const MAX_CALLERS: usize = 4096;
/// A caller unseen for this long no longer divides the budget.
const IDLE: Duration = Duration::from_secs(1);
/// How old a count of many callers may be.
const RECOUNT: Duration = Duration::from_millis(50);

#[derive(Clone, Copy)]
struct Bucket {
    tokens: f64,
    filled: Timestamp,
}

impl Bucket {
    fn refill(&mut self, now: Timestamp, rate: f64, burst: f64) {
        self.tokens = (self.tokens + now.since(self.filled).as_secs_f64() * rate).min(burst);
        self.filled = self.filled.max(now);
    }
}

struct Caller {
    reads: u32,
    bucket: Bucket,
    seen: Timestamp,
}

struct State {
    reads: u32,
    bucket: Bucket,
    callers: HashMap<CallerId, Caller>,
    /// Callers beside the one who asks, as of `counted`.
    others: usize,
    counted: Timestamp,
}

pub(crate) struct Lane {
    config: LaneConfig,
    state: Mutex<State>,
}

impl Lane {
    pub(crate) fn new(config: LaneConfig, now: Timestamp) -> Self {
        let bucket = Bucket { tokens: config.burst, filled: now };
        Self { config, state: Mutex::new(State { reads: 0, bucket, callers: HashMap::new(), others: 0, counted: now }) }
    }

    /// A permit, or how long until one may be had.
    pub(crate) fn admit(&self, caller: CallerId, now: Timestamp) -> Result<Permit<'_>, Duration> {
        let LaneConfig { concurrency, rate, burst, max_share } = self.config;
        let mut state = lock(&self.state);
        let State { reads, bucket, callers, others, counted } = &mut *state;
        let mut caller = caller;
        if !callers.contains_key(&caller) && callers.len() >= MAX_CALLERS {
            callers.retain(|_, c| c.reads > 0 || now.since(c.seen) < IDLE);
            if callers.len() >= MAX_CALLERS {
                caller = CallerId::ANONYMOUS;
            }
        }
        // Exact while there are few. Among many one more or less matters little, and counting them each time would.
        if callers.len() <= 64 || now.since(*counted) >= RECOUNT {
            *others = callers.iter().filter(|(id, c)| **id != caller && (c.reads > 0 || now.since(c.seen) < IDLE)).count();
            *counted = now;
        }
        let share = (1.0 / (*others + 1) as f64).min(max_share);
        let (own_rate, own_burst) = (rate * share, (burst * share).max(1.0));
        let own = callers.entry(caller).or_insert(Caller { reads: 0, bucket: Bucket { tokens: own_burst, filled: now }, seen: now });
        own.seen = now;
        bucket.refill(now, rate, burst);
        own.bucket.refill(now, own_rate, own_burst);

        if *reads >= concurrency || f64::from(own.reads) >= (f64::from(concurrency) * share).max(1.0) {
            // Nobody knows when a read ends; about one at the lane's own rate is a fair guess, and it is a guess.
            return Err(Duration::from_secs_f64((1.0 / own_rate).clamp(0.001, 60.0)));
        }
        let missing = ((1.0 - bucket.tokens) / rate).max((1.0 - own.bucket.tokens) / own_rate);
        if missing > 0.0 {
            return Err(Duration::from_secs_f64(missing.clamp(0.001, 60.0)));
        }
        bucket.tokens -= 1.0;
        own.bucket.tokens -= 1.0;
        own.reads += 1;
        *reads += 1;
        Ok(Permit(Some((self, caller))))
    }
}

/// Leave to read the source, given back when dropped.
#[must_use = "the budget is taken only while the permit lives"]
pub struct Permit<'a>(Option<(&'a Lane, CallerId)>);

impl Permit<'_> {
    pub(crate) const fn free() -> Self {
        Self(None)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if let Some((lane, caller)) = self.0 {
            let mut state = lock(&lane.state);
            state.reads -= 1;
            if let Some(own) = state.callers.get_mut(&caller) {
                own.reads -= 1;
            }
        }
    }
}

impl std::fmt::Debug for Permit<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Permit(lane)" } else { "Permit(free)" })
    }
}

#[cfg(all(test, not(absentia_loom)))]
mod tests {
    use super::*;

    const CONFIG: LaneConfig = LaneConfig { concurrency: 8, rate: 10.0, burst: 8.0, max_share: 0.5 };
    const SCRAPER: CallerId = CallerId::new(1);
    const CLIENT: CallerId = CallerId::new(2);

    #[test]
    fn one_caller_exhausts_only_its_own_share() {
        let now = Timestamp::default();
        let lane = Lane::new(CONFIG, now);
        let held: Vec<_> = (0..100).filter_map(|_| lane.admit(SCRAPER, now).ok()).collect();
        assert_eq!(held.len(), 4, "half of eight");
        assert!(lane.admit(CLIENT, now).is_ok(), "the other half is there for somebody else");
    }

    #[test]
    fn a_dropped_permit_frees_concurrency_but_not_rate() {
        let now = Timestamp::default();
        let lane = Lane::new(CONFIG, now);
        let spent = (0..100).filter(|_| lane.admit(SCRAPER, now).is_ok()).count();
        assert_eq!(spent, 4, "the burst share is spent though nothing is held");
        let retry = lane.admit(SCRAPER, now).unwrap_err();
        assert!(lane.admit(SCRAPER, now.plus(retry)).is_ok(), "retry_after was honest");
    }

    #[test]
    fn a_flood_of_caller_names_is_bounded_in_memory() {
        let now = Timestamp::default();
        let lane = Lane::new(LaneConfig { concurrency: 1_000_000, rate: 1e9, burst: 1e9, max_share: 1.0 }, now);
        let _held: Vec<_> = (0..3 * MAX_CALLERS as u64).map(|n| lane.admit(CallerId::new(n + 10), now)).collect();
        assert!(lock(&lane.state).callers.len() <= MAX_CALLERS + 1);
    }

    #[test]
    fn faults_are_found_by_name() {
        assert!(LaneConfig::default().fault().is_none());
        for bad in [
            LaneConfig { concurrency: 0, ..CONFIG },
            LaneConfig { rate: f64::NAN, ..CONFIG },
            LaneConfig { rate: 0.0, ..CONFIG },
            LaneConfig { burst: 0.5, ..CONFIG },
            LaneConfig { max_share: 1.5, ..CONFIG },
            LaneConfig { max_share: f64::NAN, ..CONFIG },
        ] {
            assert!(bad.fault().is_some(), "{bad:?}");
        }
    }
}
