//! [`NegativeCache`]: the order of questions. Memory, then a flight, then the source.
//!
//! ```text
//! load(k) ─► fresh? ──no──► store: value of this epoch, unexpired ──► Present
//!              │                   tombstone, unexpired, token valid ► Absent(Remembered)
//!              │yes / nothing
//!              ▼
//!            flight ─► lead: admit → capture token → read → remember if the token still holds → land
//!                   ─► ride: landed outcome; if its read began before we came, only while its token holds, else once more with Join::Next
//! ```
//!
//! It goes round at most twice: the second time it shares only a read that begins after it asked, which needs no validation.

use super::flight::{Flights, Role, Ticket};
use super::{Entry, EntryState, Put, Store, StoreError, TtlPolicy};
use crate::fence::Token;
use crate::loader::{Cause, Consistency, Event, Evidence, Hashed, Join, LoadContext, LoadResult, Loaded, Loader, Origin, Source, StoreResult};
use std::fmt;
use std::time::Duration;

/// Why a [`NegativeCache`] could not be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CacheBuildError {
    /// A time-out is zero: nothing that has to wait could ever succeed.
    ZeroTimeout {
        /// The setter.
        name: &'static str,
    },
}

impl fmt::Display for CacheBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ZeroTimeout { name } => write!(f, "{name}: is zero"),
        }
    }
}

impl std::error::Error for CacheBuildError {}

/// Settings of a [`NegativeCache`].
#[derive(Debug)]
pub struct NegativeCacheBuilder<S, St> {
    source: S,
    store: St,
    ttl: TtlPolicy,
    timeout: Duration,
    store_timeout: Duration,
    shards: usize,
}

impl<S: Source, St: Store<S::Key, S::Value>> NegativeCacheBuilder<S, St> {
    /// Lifetimes (default: five minutes, thirty seconds, a quarter of jitter).
    #[must_use]
    pub fn ttl(mut self, ttl: TtlPolicy) -> Self {
        self.ttl = ttl;
        self
    }

    /// How long one read of the source may take (default 5 s). After it the answer is Unknown, and riders of the flight may take over.
    #[must_use]
    pub fn source_timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit;
        self
    }

    /// How long one call of the store may take (default 250 ms). After it the source is read and nothing is remembered.
    #[must_use]
    pub fn store_timeout(mut self, limit: Duration) -> Self {
        self.store_timeout = limit;
        self
    }

    /// Makes the cache.
    ///
    /// # Errors
    ///
    /// [`CacheBuildError::ZeroTimeout`]. (Lifetimes that do not fit together are refused by [`TtlPolicy::new`].)
    pub fn build(self) -> Result<NegativeCache<S, St>, CacheBuildError> {
        for (name, limit) in [("source_timeout", self.timeout), ("store_timeout", self.store_timeout)] {
            if limit.is_zero() {
                return Err(CacheBuildError::ZeroTimeout { name });
            }
        }
        // A quarter of grace: a leader whose read times out lands that for everybody, before its riders depose it and read again.
        let flights = Flights::new(self.shards, self.timeout.saturating_add(self.timeout / 4));
        Ok(NegativeCache { source: self.source, store: self.store, ttl: self.ttl, timeout: self.timeout, store_timeout: self.store_timeout, flights })
    }
}

/// A [`Loader`] that remembers values and absences and reads the source at most once per key at a time.
///
/// **Guarantee:** it never remembers an error, and it offers a remembered or shared absence only together with the token under which the source
/// was read, which the gate then checks. **Cost:** a hit is a look into the store, no timer and one reading of the clock; a miss allocates a
/// flight.
///
/// * *Same key at once?* One read, unless it is over age; the others share it, or the next one where nothing can be validated.
/// * *Leader dropped?* A waiter takes over with a new read.
/// * *Source panics?* The panic reaches the caller whose read it was; a waiter takes over.
/// * *Source hangs?* `Unknown(Timeout)` after the time-out; waiters depose a leader that is over age even if nobody polls it.
/// * *Store is down, or hangs?* The source is read and nothing is remembered.
pub struct NegativeCache<S: Source, St> {
    source: S,
    store: St,
    ttl: TtlPolicy,
    timeout: Duration,
    store_timeout: Duration,
    flights: Flights<S::Key, S::Value>,
}

impl<S: Source, St: Store<S::Key, S::Value>> NegativeCache<S, St> {
    /// A cache over `source` that remembers in `store`.
    pub fn builder(source: S, store: St) -> NegativeCacheBuilder<S, St> {
        NegativeCacheBuilder {
            source,
            store,
            ttl: TtlPolicy::default(),
            timeout: Duration::from_secs(5),
            store_timeout: Duration::from_millis(250),
            shards: 64,
        }
    }

    /// The store.
    pub fn store(&self) -> &St {
        &self.store
    }

    /// The source of truth.
    pub fn source(&self) -> &S {
        &self.source
    }

    fn origin(&self) -> Origin {
        match self.source.consistency() {
            Consistency::Linearizable => Origin::Source,
            Consistency::Replica => Origin::Replica,
        }
    }

    /// What memory says, if it may say anything. `writable` tells whether an entry may be put afterwards.
    async fn recall(&self, key: Hashed<'_, S::Key>, context: &LoadContext<'_>, writable: &mut bool) -> Option<Loaded<S::Value>> {
        let entry = match context.clock().timeout(self.store_timeout, self.store.get(key)).await {
            Some(Ok(entry)) => entry?,
            Some(Err(StoreError::Undecodable { .. })) => {
                context.record(Event::DecodeError);
                return None; // and replaced by what will be read
            }
            Some(Err(StoreError::NewerVersion { .. } | StoreError::Unavailable(_))) | None => {
                *writable = false;
                return None;
            }
        };
        if context.now() >= entry.expires {
            return None;
        }
        let Entry { state, token, read_began, .. } = entry;
        match state {
            EntryState::Present(value) => context.same_epoch(token).then_some(Loaded::Present { value, origin: Origin::Memory }),
            EntryState::Absent => {
                let good = context.tombstones_allowed() && context.still_valid(token);
                good.then_some(Loaded::Absent(Evidence::Remembered { token, read_began }))
            }
        }
    }

    /// Reads the source as the leader of `ticket` and lands the flight.
    async fn lead(
        &self,
        key: Hashed<'_, S::Key>,
        context: &LoadContext<'_>,
        ticket: Ticket<'_, S::Key, S::Value>,
        writable: bool,
    ) -> Result<Option<S::Value>, Cause> {
        // Before the flight has begun: if this caller is over its share, the ticket is dropped and a rider with a share left may lead.
        let permit = context.admit()?;
        let token = ticket.token();
        let began = context.now();
        crate::sync::point("cache:token captured");
        let read = context.clock().timeout(self.timeout, self.source.load(key.key)).await;
        crate::sync::point("cache:source read");
        drop(permit);
        let (outcome, result) = match read {
            None => (Err(Cause::Timeout { limit: self.timeout }), LoadResult::Timeout),
            Some(Err(error)) => (Err(Cause::source(error)), LoadResult::Error),
            Some(Ok(Some(value))) => (Ok(Some(value)), LoadResult::Found),
            Some(Ok(None)) if self.source.consistency() == Consistency::Replica => (Err(Cause::ReplicaAbsence), LoadResult::NotFound),
            Some(Ok(None)) => (Ok(None), LoadResult::NotFound),
        };
        context.record(Event::SourceLoad { result, took: context.now().since(began) });
        if let (Ok(found), true) = (&outcome, writable && ticket.leads()) {
            let (state, expires) = match found {
                Some(value) => (Some(EntryState::Present(value.clone())), self.ttl.positive_expiry(key.hash, began)),
                None => (context.tombstones_allowed().then_some(EntryState::Absent), self.ttl.negative_expiry(key.hash, began)),
            };
            if let Some(state) = state {
                self.keep(key, Entry { state, token, read_began: began, expires }, context).await;
            }
        }
        ticket.land(outcome.clone(), token);
        outcome
    }

    async fn keep(&self, key: Hashed<'_, S::Key>, entry: Entry<S::Value>, context: &LoadContext<'_>) {
        let (absent, token) = (entry.is_absent(), entry.token);
        let result = if !token.is_usable() && !crate::sync::rule_off!(PendingIgnored) {
            StoreResult::Fenced
        } else {
            let still_valid = || context.still_valid(token);
            match context.clock().timeout(self.store_timeout, self.store.put(key, entry, &still_valid)).await {
                Some(Ok(Put::Stored)) => StoreResult::Stored,
                Some(Ok(Put::Stale)) => StoreResult::TokenChanged,
                Some(Ok(Put::NoRoom) | Err(_)) | None => StoreResult::NotAdmitted,
            }
        };
        if absent {
            context.record(Event::TombstoneStore(result));
        }
    }
}

/// A flight's outcome as its rider may report it: `shared` means that the read began before the rider came.
fn landed<V>(outcome: Option<V>, origin: Origin, shared: bool, token: Token) -> Loaded<V> {
    match outcome {
        Some(value) => Loaded::Present { value, origin },
        None if shared => Loaded::Absent(Evidence::Shared { token }),
        None => Loaded::Absent(Evidence::Read),
    }
}

impl<S: Source, St: Store<S::Key, S::Value>> Loader<S::Key, S::Value> for NegativeCache<S, St> {
    async fn load(&self, key: &S::Key, context: &LoadContext<'_>) -> Result<Loaded<S::Value>, Cause> {
        let key = Hashed { key, hash: context.hash() };
        let mut writable = true;
        // Asked also where memory may not answer: it tells whether it may be written.
        let known = self.recall(key, context, &mut writable).await;
        if let (Some(known), false) = (known, context.is_fresh()) {
            return Ok(known);
        }
        let mut join = context.join(context.token());
        loop {
            let mut ticket = self.flights.enter(key, join, |token| context.still_valid(token) || crate::sync::rule_off!(JoinWithoutLook));
            if ticket.shares() {
                context.record(Event::FlightJoined);
            }
            match ticket.turn(context.clock(), || context.token()).await {
                Role::Lead { took_over } => {
                    if took_over {
                        context.record(Event::FlightTakenOver);
                    }
                    return self.lead(key, context, ticket, writable).await.map(|found| landed(found, self.origin(), false, Token::unusable()));
                }
                Role::Landed { landed: flight, shared } => {
                    // Values are validated as well: a write of the key may have been acknowledged before this caller came.
                    if !shared || context.still_valid(flight.token) || crate::sync::rule_off!(JoinWithoutRevalidation) {
                        return flight.outcome.map(|outcome| landed(outcome, self.origin(), shared, flight.token));
                    }
                    context.record(Event::FlightNotValidated);
                    join = Join::Next;
                }
            }
        }
    }

    async fn forget(&self, key: Hashed<'_, S::Key>, context: &LoadContext<'_>) {
        // Where the store fails, a value may be served until it expires; a tombstone will not, its token is dead.
        let _ = context.clock().timeout(self.store_timeout, self.store.remove(key)).await;
    }

    async fn remember(&self, key: Hashed<'_, S::Key>, value: S::Value, token: Token, context: &LoadContext<'_>) {
        let now = context.now();
        let entry = Entry { state: EntryState::Present(value), token, read_began: now, expires: self.ttl.positive_expiry(key.hash, now) };
        self.keep(key, entry, context).await;
    }

    fn admits_its_own_reads(&self) -> bool {
        true
    }
}

impl<S: Source, St: fmt::Debug> fmt::Debug for NegativeCache<S, St> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NegativeCache").field("store", &self.store).field("ttl", &self.ttl).field("timeout", &self.timeout).finish_non_exhaustive()
    }
}
