//! [`Flights`]: single flight. At most one read of the source per key is under way, unless one is over age; everybody else shares it, or
//! the next one.
//!
//! A key that is being read has a **slot** with a *current* flight and perhaps a *next* one. A flight has riders; one of them leads, which means
//! that it reads the source. Two rules decide who may share what ([`Join`]):
//!
//! ```text
//! Revalidate   ride the current flight, although its read began before you came; then check the leader's token yourself (rule R3)
//! Next         ride the next flight: its read begins after you came, so there is nothing to check
//!
//!   enter ──► current has a leader? ──no──► ride it and lead it
//!                     │yes
//!                     ├─ Revalidate and the leader's token is valid ──► ride it
//!                     └─ else ──► ride the next one (made on demand)
//!   landing: the current flight's riders get its outcome; the next flight becomes current, and one of its riders wakes up and leads
//! ```
//!
//! **Nobody is stranded** (I7). The leader is an ordinary caller inside its own future; nothing is spawned. If it is dropped or panics, its ticket's
//! `Drop` leaves the flight without a leader and wakes the riders: the first to look leads, *with a new read*. If it is merely not polled any more,
//! or its source hangs, riders depose it once it is over age, and do the same; what it says afterwards is nobody's answer but its own. Riders of the
//! next flight do so too, by giving the current one up. A panic goes to the leader's own caller only. An error is shared: it was everybody's read.
//!
//! All decisions are made under the lock of the slot's shard; the events only wake. Keys are compared whole: two keys that collide in the hash are
//! two flights (a well-known cache gets this wrong and lets them share an answer).

use crate::fence::Token;
use crate::loader::{CacheKey, Cause, Hashed, Join};
use crate::sync::{AtomicU64, Mutex, Ordering, lock};
use crate::time::{Clock, Timestamp, contained};
use event_listener::Event;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

/// How a flight ended.
#[derive(Clone, Debug)]
pub(crate) struct Landed<V> {
    pub(crate) outcome: Result<Option<V>, Cause>,
    /// Captured by the leader before it read.
    pub(crate) token: Token,
    lead: u64,
}

struct Flight<V> {
    event: Event,
    landed: OnceLock<Landed<V>>,
}

#[derive(Clone, Copy)]
struct Lead {
    id: u64,
    since: Timestamp,
    token: Token,
}

/// A flight that has not landed, as the slot sees it.
struct Seats<V> {
    flight: Arc<Flight<V>>,
    riders: usize,
    lead: Option<Lead>,
}

impl<V> Seats<V> {
    fn new() -> Self {
        Self { flight: Arc::new(Flight { event: Event::new(), landed: OnceLock::new() }), riders: 0, lead: None }
    }

    fn board(&mut self) -> Arc<Flight<V>> {
        self.riders += 1;
        Arc::clone(&self.flight)
    }

    fn is(&self, flight: &Arc<Flight<V>>) -> bool {
        Arc::ptr_eq(&self.flight, flight)
    }
}

struct Slot<K, V> {
    key: K,
    hash: u64,
    current: Seats<V>,
    next: Option<Seats<V>>,
}

type Shard<K, V> = Mutex<HashTable<Slot<K, V>>>;

pub(crate) struct Flights<K, V> {
    shards: Box<[Shard<K, V>]>,
    leads: AtomicU64,
    /// A leader older than this may be deposed.
    max_age: Duration,
}

/// What a rider finds when it looks for the lead.
enum Look {
    /// It leads.
    Lead { took_over: bool },
    /// Somebody else does; look again after this time.
    Wait(Duration),
    /// Its flight has landed meanwhile, or was given up and it has a seat on another.
    Again,
}

/// What a rider is to do now.
pub(crate) enum Role<V> {
    /// Read the source, and land. `took_over`: somebody else led before and is gone.
    Lead { took_over: bool },
    /// The flight has landed. `shared`: its read began before this rider came.
    Landed { landed: Landed<V>, shared: bool },
}

impl<K: CacheKey, V: Clone> Flights<K, V> {
    pub(crate) fn new(shards: usize, max_age: Duration) -> Self {
        let shards = (0..shards.next_power_of_two()).map(|_| Mutex::new(HashTable::new())).collect();
        Self { shards, leads: AtomicU64::new(1), max_age }
    }

    fn shard(&self, key: Hashed<'_, K>) -> &Shard<K, V> {
        &self.shards[(key.hash.first() >> 32) as usize & (self.shards.len() - 1)]
    }

    /// Takes a seat. `valid` says whether the token of a leader that is under way is still worth sharing.
    pub(crate) fn enter<'a>(&'a self, key: Hashed<'a, K>, join: Join, valid: impl Fn(Token) -> bool) -> Ticket<'a, K, V> {
        let mut shard = lock(self.shard(key));
        let slot = Self::slot(&mut shard, key);
        let (flight, joined) = match slot.current.lead {
            // No read is under way: whoever leads will begin after this moment.
            None => (slot.current.board(), None),
            Some(lead) if join == Join::Revalidate && valid(lead.token) => (slot.current.board(), Some(lead.id)),
            Some(_) => (slot.next.get_or_insert_with(Seats::new).board(), None),
        };
        Ticket { flights: self, key, flight, joined, lead: None }
    }

    /// Under the lock: the key's slot, made where there is none.
    fn slot<'s>(slots: &'s mut HashTable<Slot<K, V>>, key: Hashed<'_, K>) -> &'s mut Slot<K, V> {
        let hash = key.hash.first();
        match slots.entry(hash, |slot| slot.key == *key.key, |slot| slot.hash) {
            Entry::Occupied(slot) => slot.into_mut(),
            Entry::Vacant(free) => free.insert(Slot { key: key.key.clone(), hash, current: Seats::new(), next: None }).into_mut(),
        }
    }

    /// Under the lock: the rider's flight, if it is the one that may be led now.
    fn current_of<'s>(slots: &'s mut HashTable<Slot<K, V>>, key: Hashed<'_, K>, flight: &Arc<Flight<V>>) -> Option<&'s mut Seats<V>> {
        let slot = slots.find_mut(key.hash.first(), |slot| slot.key == *key.key)?;
        slot.current.is(flight).then_some(&mut slot.current)
    }

    /// Under the lock: the current flight is over. The next one moves up and its riders are woken; without one the slot goes.
    fn retire(slots: &mut HashTable<Slot<K, V>>, key: Hashed<'_, K>) {
        if let Ok(mut slot) = slots.find_entry(key.hash.first(), |slot| slot.key == *key.key) {
            match slot.get_mut().next.take() {
                Some(next) => {
                    next.flight.event.notify(usize::MAX);
                    slot.get_mut().current = next;
                }
                None => drop(slot.remove()),
            }
        }
    }

    #[cfg(all(test, not(absentia_loom)))]
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).len()).sum()
    }
}

/// A seat on a flight. Dropping it gives the seat up, and the lead with it.
pub(crate) struct Ticket<'a, K: CacheKey, V: Clone> {
    flights: &'a Flights<K, V>,
    key: Hashed<'a, K>,
    flight: Arc<Flight<V>>,
    /// The lead that was already under way when this rider came.
    joined: Option<u64>,
    /// The lead of this rider, if it leads.
    lead: Option<u64>,
}

impl<K: CacheKey, V: Clone> Ticket<'_, K, V> {
    /// True for a rider that came to a read already under way.
    pub(crate) fn shares(&self) -> bool {
        self.joined.is_some()
    }

    /// Waits until there is something to do: lead, or take what has landed. `capture` gives the token under which a new lead begins.
    pub(crate) async fn turn(&mut self, clock: &Clock, capture: impl Fn() -> Token) -> Role<V> {
        loop {
            // The listener is set up before the look: whatever changes after the look wakes it.
            let listener = self.flight.event.listen();
            if let Some(landed) = self.flight.landed.get() {
                let shared = self.joined == Some(landed.lead);
                return Role::Landed { landed: landed.clone(), shared };
            }
            let patience = match self.try_lead(clock.now(), &capture) {
                Look::Lead { took_over } => return Role::Lead { took_over },
                Look::Wait(patience) => patience,
                Look::Again => continue,
            };
            // Woken by a landing, by a leader's end, or because a leader is now over age.
            let (mut listener, mut timer) = (pin!(listener), pin!(clock.sleep(patience)));
            std::future::poll_fn(|cx| {
                // Woken on the thread of whoever lands or leaves, which is somebody else's lookup.
                let waker = contained(cx.waker());
                let mut cx = Context::from_waker(&waker);
                match listener.as_mut().poll(&mut cx) {
                    Poll::Ready(()) => Poll::Ready(()),
                    Poll::Pending => timer.as_mut().poll(&mut cx),
                }
            })
            .await;
        }
    }

    /// Takes the lead if it is free or its holder is over age. A rider of the next flight does not wait for either: it gives the current flight up,
    /// its own moves up, and who rode the one that was given up follows. `capture` is called for the one who leads.
    fn try_lead(&mut self, now: Timestamp, capture: impl Fn() -> Token) -> Look {
        let max_age = self.flights.max_age;
        let mut shard = lock(self.flights.shard(self.key));
        if self.flight.landed.get().is_some() {
            return Look::Again;
        }
        let slot = Flights::slot(&mut shard, self.key);
        let rides_next = slot.next.as_ref().is_some_and(|next| next.is(&self.flight));
        if !rides_next && !slot.current.is(&self.flight) {
            // Given up. What took its place is read after this rider came, so there is nothing to share and nothing to check.
            (self.flight, self.joined) = (slot.current.board(), None);
            return Look::Again;
        }
        let age = slot.current.lead.map(|lead| now.since(lead.since));
        if let Some(age) = age.filter(|age| *age < max_age) {
            return Look::Wait(max_age - age);
        }
        if rides_next && let Some(next) = slot.next.take() {
            std::mem::replace(&mut slot.current, next).flight.event.notify(usize::MAX);
        }
        // ORDERING: Relaxed: only uniqueness is asked of it.
        let id = self.flights.leads.fetch_add(1, Ordering::Relaxed);
        slot.current.lead = Some(Lead { id, since: now, token: capture() });
        self.lead = Some(id);
        Look::Lead { took_over: age.is_some() || self.joined.is_some() }
    }

    /// The token that was captured when this rider took the lead.
    pub(crate) fn token(&self) -> Token {
        let mut shard = lock(self.flights.shard(self.key));
        let seats = Flights::current_of(&mut shard, self.key, &self.flight);
        // Deposed: what it reads is its own business, and nothing may be remembered of it.
        seats.and_then(|seats| seats.lead).filter(|lead| Some(lead.id) == self.lead).map_or(Token::unusable(), |lead| lead.token)
    }

    /// True while this rider leads: not before, and not once it was deposed. What a deposed leader reads may be older than what its successor does,
    /// and nothing may be remembered of it.
    pub(crate) fn leads(&self) -> bool {
        let mut shard = lock(self.flights.shard(self.key));
        let lead = Flights::current_of(&mut shard, self.key, &self.flight).and_then(|seats| seats.lead);
        self.lead.is_some() && lead.map(|lead| lead.id) == self.lead
    }

    /// The leader has read. Its riders get the outcome, unless it was deposed meanwhile.
    pub(crate) fn land(mut self, outcome: Result<Option<V>, Cause>, token: Token) {
        let Some(id) = self.lead else { return };
        let mut shard = lock(self.flights.shard(self.key));
        let leads = Flights::current_of(&mut shard, self.key, &self.flight).and_then(|seats| seats.lead).is_some_and(|lead| lead.id == id);
        if leads {
            let _ = self.flight.landed.set(Landed { outcome, token, lead: id });
            Flights::retire(&mut shard, self.key);
            drop(shard);
            self.lead = None;
            self.flight.event.notify(usize::MAX);
        }
    }
}

impl<K: CacheKey, V: Clone> Drop for Ticket<'_, K, V> {
    fn drop(&mut self) {
        if self.flight.landed.get().is_some() {
            return; // Landed flights have left their slot.
        }
        let mut shard = lock(self.flights.shard(self.key));
        let Some(slot) = shard.find_mut(self.key.hash.first(), |slot| slot.key == *self.key.key) else { return };
        if slot.current.is(&self.flight) {
            let seats = &mut slot.current;
            seats.riders -= 1;
            if self.lead.is_some() && seats.lead.map(|lead| lead.id) == self.lead {
                seats.lead = None;
            }
            if seats.riders == 0 {
                Flights::retire(&mut shard, self.key);
            } else if seats.lead.is_none() {
                // All of them: the one that is told could be on its way out as well.
                seats.flight.event.notify(usize::MAX);
            }
        } else if let Some(seats) = slot.next.as_mut().filter(|seats| seats.is(&self.flight)) {
            seats.riders -= 1;
            if seats.riders == 0 {
                slot.next = None;
            }
        }
    }
}
