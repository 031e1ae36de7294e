//! What every [`Store`] must do, as a suite for the tests of whoever writes one.
//!
//! A suite is a list of *clauses*, sentences of the trait's contract. It panics at the first one that does not hold, and names it. It knows no
//! runtime and spawns nothing: a store that needs one is tested inside it.

use super::{Entry, EntryState, Put, Store, StoreError};
use crate::fence::Token;
use crate::key::{KeyHash, KeyHasher};
use crate::loader::Hashed;
use crate::sync::{AtomicBool, Ordering};
use crate::time::Clock;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

/// Panics in the words that the suites share.
#[track_caller]
pub(crate) fn demand(suite: &str, clause: &str, holds: bool, found: impl fmt::Debug) {
    assert!(holds, "{suite} conformance: \"{clause}\" does not hold: {found:?}");
}

const ANSWERS: &str = "a store that is up answers";
const EMPTY: &str = "an empty store knows nothing";
const ROUND_TRIP: &str = "an entry comes back as it was put";
const NOT_YOUNGER: &str = "an entry does not come back younger than it was put";
const LOOKALIKES: &str = "a value is never mistaken for an absence";
const REPLACES: &str = "the newest entry replaces the one before";
const REMOVES: &str = "a removed entry is gone";
const WHOLE_KEY: &str = "keys are compared whole, not by hash";
const STALE: &str = "a put whose token died stores nothing";
const NOT_RESURRECTED: &str = "a put whose token died brings nothing older back";
const NOT_UNDONE: &str = "a remove is not undone by a put that it overtook";
const UNUSABLE: &str = "an entry under an unusable token stays unusable";
const FLOOD: &str = "absences never push out values";
const BUDGET: &str = "memory stays within the budget";

/// Checks a store against the contract of [`Store`]. `make` gives an empty one each time it is called.
///
/// ```
/// use absentia::{MemoryStore, conformance};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// conformance::store(MemoryStore::<u64, String>::new).await;
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Panics
///
/// Where a clause does not hold; the message quotes it.
pub async fn store<S: Store<u64, String>>(make: impl Fn() -> S) {
    StoreSuite::new(make).run().await;
}

/// [`store`], with a flood of a size of yours and a look at the store's memory.
pub struct StoreSuite<M, S> {
    make: M,
    flood: u64,
    budget: Option<Budget<S>>,
}

struct Budget<S> {
    bytes: u64,
    used: Box<dyn Fn(&S) -> u64>,
}

impl<M: Fn() -> S, S: Store<u64, String>> StoreSuite<M, S> {
    /// The suite for what `make` makes: 20,000 absences in the flood, no budget.
    pub fn new(make: M) -> Self {
        Self { make, flood: 20_000, budget: None }
    }

    /// How many distinct absent keys are put against the values of the flood test. Take enough to fill the store's budget for absences.
    #[must_use]
    pub fn flood(mut self, absences: u64) -> Self {
        self.flood = absences;
        self
    }

    /// `used` tells how much memory the store takes, which must stay at or below `bytes` under floods of absences and of values.
    #[must_use]
    pub fn budget(mut self, bytes: u64, used: impl Fn(&S) -> u64 + 'static) -> Self {
        self.budget = Some(Budget { bytes, used: Box::new(used) });
        self
    }

    /// Runs it.
    ///
    /// # Panics
    ///
    /// Where a clause does not hold.
    pub async fn run(self) {
        round_trips(&(self.make)()).await;
        removes(&(self.make)()).await;
        whole_keys(&(self.make)()).await;
        stale_puts(&self.make).await;
        overtaken_puts(&self.make).await;
        unusable_tokens(&(self.make)()).await;
        self.floods(&(self.make)()).await;
    }

    async fn floods(&self, store: &S) {
        const VALUES: u64 = 256;
        let within_budget = || {
            if let Some(budget) = &self.budget {
                let used = (budget.used)(store);
                demand("store", BUDGET, used <= budget.bytes, format_args!("{used} bytes of {}", budget.bytes));
            }
        };
        for id in 0..VALUES {
            put(store, hashed(&id), &present(&id.to_string(), id), true).await;
        }
        for id in 0..self.flood {
            put(store, hashed(&(id + (1 << 32))), &absent(id), true).await;
            if id % 1024 == 0 {
                within_budget();
            }
        }
        within_budget();
        for id in 0..VALUES {
            let kept = get(store, hashed(&id)).await;
            demand("store", FLOOD, kept.is_some_and(|entry| !entry.is_absent()), format_args!("value {id} of {VALUES} is gone"));
        }
        if self.budget.is_some() {
            for id in 0..self.flood {
                put(store, hashed(&(id + (1 << 33))), &present("a value of some length, as values are", id), true).await;
            }
            within_budget();
        }
    }
}

impl<M, S> fmt::Debug for StoreSuite<M, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreSuite").field("flood", &self.flood).field("budget", &self.budget.as_ref().map(|b| b.bytes)).finish_non_exhaustive()
    }
}

async fn round_trips<S: Store<u64, String>>(store: &S) {
    demand("store", EMPTY, get(store, hashed(&1)).await.is_none(), "found something");
    let mut seq = 0;
    let values = ["a value", "", "null", "nil", "\0", "\0missing", "*", "_nil_", "{}", "ü\u{10FFFF}\n", &"long ".repeat(2_000)];
    for (id, value) in values.iter().enumerate() {
        seq += 1;
        let (id, put_in) = (id as u64, present(value, seq));
        put(store, hashed(&id), &put_in, true).await;
        let kept = get(store, hashed(&id)).await;
        let start: String = value.chars().take(20).collect();
        demand("store", LOOKALIKES, !kept.as_ref().is_some_and(Entry::is_absent), &start);
        compare(ROUND_TRIP, kept, &put_in);
    }
    for put_in in [absent(1), present("x", 2), present("y", 3), absent(4), absent(5), present("", 6)] {
        put(store, hashed(&100), &put_in, true).await;
        compare(if seq == 0 { ROUND_TRIP } else { REPLACES }, get(store, hashed(&100)).await, &put_in);
    }
    let put_in = absent(7);
    put(store, hashed(&101), &put_in, true).await;
    compare(ROUND_TRIP, get(store, hashed(&101)).await, &put_in);
}

async fn removes<S: Store<u64, String>>(store: &S) {
    remove(store, hashed(&1)).await;
    put(store, hashed(&1), &present("one", 1), true).await;
    put(store, hashed(&2), &absent(2), true).await;
    put(store, hashed(&3), &present("three", 3), true).await;
    remove(store, hashed(&1)).await;
    remove(store, hashed(&2)).await;
    for id in [1, 2] {
        let kept = get(store, hashed(&id)).await;
        demand("store", REMOVES, kept.is_none(), kept);
    }
    compare("a remove takes its own key only", get(store, hashed(&3)).await, &present("three", 3));
}

async fn whole_keys<S: Store<u64, String>>(store: &S) {
    let hash = KeyHash::from_parts(0x5EED, 0xCAFE);
    let (one, two) = (Hashed { key: &1, hash }, Hashed { key: &2, hash });
    put(store, one, &present("one", 1), true).await;
    let kept = get(store, two).await;
    demand("store", WHOLE_KEY, kept.is_none(), kept);
    put(store, two, &absent(2), true).await;
    let (first, second) = (get(store, one).await, get(store, two).await);
    // It may have had to forget one of them. It may not mix them up.
    demand("store", WHOLE_KEY, first.as_ref().is_none_or(|entry| entry.state == EntryState::Present("one".into())), first);
    demand("store", WHOLE_KEY, second.as_ref().is_none_or(Entry::is_absent), second);
    remove(store, one).await;
    let first = get(store, one).await;
    demand("store", WHOLE_KEY, first.is_none(), first);
}

async fn stale_puts<S: Store<u64, String>>(make: &impl Fn() -> S) {
    for stale in [present("stale", 2), absent(2)] {
        let store = &make();
        put(store, hashed(&1), &stale, false).await;
        let kept = get(store, hashed(&1)).await;
        demand("store", STALE, kept.is_none(), kept);

        put(store, hashed(&1), &present("older", 1), true).await;
        put(store, hashed(&1), &stale, false).await;
        let kept = get(store, hashed(&1)).await;
        demand("store", STALE, kept.as_ref().is_none_or(|entry| entry.state == EntryState::Present("older".into())), kept);

        put(store, hashed(&2), &present("older", 1), true).await;
        remove(store, hashed(&2)).await;
        put(store, hashed(&2), &stale, false).await;
        let kept = get(store, hashed(&2)).await;
        demand("store", NOT_RESURRECTED, kept.is_none(), kept);
    }
}

/// A write raises its fence and then removes. Cut in at each await of a put.
async fn overtaken_puts<S: Store<u64, String>>(make: &impl Fn() -> S) {
    for slow in [present("slow", 1), absent(1)] {
        for polls in 0..6 {
            let store = &make();
            let valid = AtomicBool::new(true);
            // ORDERING: Acquire pairs with the Release below, as a fence's do.
            let still_valid = || valid.load(Ordering::Acquire);
            let mut put = pin!(store.put(hashed(&1), slow.clone(), &still_valid));
            let mut done = None;
            for _ in 0..polls {
                if let Poll::Ready(result) = poll_fn(|cx| Poll::Ready(put.as_mut().poll(cx))).await {
                    done = Some(result);
                    break;
                }
            }
            valid.store(false, Ordering::Release);
            remove(store, hashed(&1)).await;
            let result = match done {
                Some(result) => result,
                None => put.await,
            };
            let kept = get(store, hashed(&1)).await;
            demand("store", NOT_UNDONE, kept.is_none(), format_args!("cut after {polls} polls, the put said {result:?}, kept {kept:?}"));
        }
    }
}

async fn unusable_tokens<S: Store<u64, String>>(store: &S) {
    put(store, hashed(&1), &present("usable", 9), true).await;
    for (id, state) in [(2, EntryState::Absent), (3, EntryState::Present("x".to_owned()))] {
        let entry = Entry { state, token: Token::unusable(), ..absent(1) };
        // It may also refuse it.
        answer(store.put(hashed(&id), entry, &|| true).await);
        let kept = get(store, hashed(&id)).await;
        demand("store", UNUSABLE, kept.as_ref().is_none_or(|entry| !entry.token.is_usable()), kept);
    }
}

fn hashed(key: &u64) -> Hashed<'_, u64> {
    Hashed { key, hash: KeyHasher::xxh3(0).hash(key) }
}

fn present(value: &str, seq: u64) -> Entry<String> {
    Entry { state: EntryState::Present(value.to_owned()), ..absent(seq) }
}

fn absent(seq: u64) -> Entry<String> {
    let now = Clock::standard().now();
    Entry { state: EntryState::Absent, token: Token::new(1, 1, seq, true), read_began: now, expires: now.plus(Duration::from_secs(3600)) }
}

fn compare(clause: &str, kept: Option<Entry<String>>, put: &Entry<String>) {
    let same = kept.as_ref().is_some_and(|kept| kept.state == put.state && kept.token == put.token);
    demand("store", clause, same, kept.as_ref().map(|kept| (kept.is_absent(), kept.token)));
    let not_younger = kept.as_ref().is_some_and(|kept| kept.read_began <= put.read_began && kept.expires <= put.expires);
    // Entries that a test compares with were made a moment later than those that it put.
    demand("store", NOT_YOUNGER, not_younger, kept.map(|kept| (kept.read_began, kept.expires)));
}

#[track_caller]
fn answer<T>(result: Result<T, StoreError>) -> T {
    match result {
        Ok(answer) => answer,
        Err(error) => panic!("store conformance: \"{ANSWERS}\" does not hold: {error}"),
    }
}

async fn get<S: Store<u64, String>>(store: &S, key: Hashed<'_, u64>) -> Option<Entry<String>> {
    answer(store.get(key).await)
}

/// Puts under a token that is valid, or is not, and checks what the store says of it.
async fn put<S: Store<u64, String>>(store: &S, key: Hashed<'_, u64>, entry: &Entry<String>, valid: bool) {
    let said = answer(store.put(key, entry.clone(), &|| valid).await);
    demand("store", STALE, (said == Put::Stale) != valid, format_args!("token valid: {valid}, the put said {said:?}"));
}

async fn remove<S: Store<u64, String>>(store: &S, key: Hashed<'_, u64>) {
    answer(store.remove(key).await);
}
