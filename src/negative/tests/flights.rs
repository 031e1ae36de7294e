//! Single flight by random schedules: who hears what, who is stranded, and what is left behind.

use crate::fence::Token;
use crate::key::KeyHash;
use crate::loader::{Cause, Hashed, Join};
use crate::negative::flight::{Flights, Role, Ticket};
use crate::time::Clock;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

const MAX_AGE: Duration = Duration::from_secs(10);
/// Two keys with one hash: they must not share a flight.
const HASH: KeyHash = KeyHash::from_parts(5, 5);

fn hashed(key: &u64) -> Hashed<'_, u64> {
    Hashed { key, hash: HASH }
}

fn token(seq: u64) -> Token {
    Token::new(1, 1, seq, true)
}

/// One poll of `turn`. Dropping it in between changes nothing: what it waits for is looked at anew.
fn turn(ticket: &mut Ticket<'_, u64, u64>, clock: &Clock) -> Option<Role<u64>> {
    match pin!(ticket.turn(clock, || token(1))).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(role) => Some(role),
        Poll::Pending => None,
    }
}

fn leads(ticket: &mut Ticket<'_, u64, u64>, clock: &Clock) -> bool {
    matches!(turn(ticket, clock), Some(Role::Lead { .. }))
}

#[test]
fn keys_with_one_hash_have_two_flights() {
    let (flights, (clock, _)) = (Flights::<u64, u64>::new(4, MAX_AGE), Clock::mock());
    let mut one = flights.enter(hashed(&1), Join::Revalidate, |_| true);
    let mut two = flights.enter(hashed(&2), Join::Revalidate, |_| true);
    assert!(leads(&mut one, &clock) && leads(&mut two, &clock), "neither waits for the other");
    one.land(Ok(Some(10)), token(1));
    two.land(Ok(Some(20)), token(1));
    assert_eq!(flights.len(), 0);
}

#[test]
fn what_a_deposed_leader_says_reaches_nobody() {
    let (flights, (clock, hand)) = (Flights::<u64, u64>::new(4, MAX_AGE), Clock::mock());
    let mut old = flights.enter(hashed(&1), Join::Revalidate, |_| true);
    assert!(leads(&mut old, &clock));
    let mut new = flights.enter(hashed(&1), Join::Revalidate, |_| true);
    assert!(turn(&mut new, &clock).is_none());
    hand.advance(MAX_AGE);
    assert!(matches!(turn(&mut new, &clock), Some(Role::Lead { took_over: true })));
    assert!(!old.token().is_usable() && new.token().is_usable(), "nothing may be remembered of what the old one reads");
    let mut rider = flights.enter(hashed(&1), Join::Revalidate, |_| true);
    old.land(Ok(Some(1)), token(1));
    assert!(turn(&mut rider, &clock).is_none(), "the new leader still reads");
    new.land(Ok(Some(2)), token(1));
    let Some(Role::Landed { landed, shared }) = turn(&mut rider, &clock) else { panic!("not landed") };
    assert_eq!((landed.outcome.unwrap(), shared), (Some(2), true));
    drop(rider);
    assert_eq!(flights.len(), 0);
}

#[test]
fn a_rider_of_the_next_flight_leads_it_when_the_current_one_lands() {
    let (flights, (clock, _)) = (Flights::<u64, u64>::new(4, MAX_AGE), Clock::mock());
    let mut current = flights.enter(hashed(&1), Join::Next, |_| true);
    assert!(leads(&mut current, &clock), "no read is under way, so this one is the next");
    let mut invalid = flights.enter(hashed(&1), Join::Revalidate, |_| false);
    let mut next = flights.enter(hashed(&1), Join::Next, |_| true);
    assert!(!invalid.shares() && !next.shares());
    assert!(turn(&mut invalid, &clock).is_none() && turn(&mut next, &clock).is_none());
    current.land(Err(Cause::ReplicaAbsence), token(1));
    assert!(leads(&mut next, &clock) && turn(&mut invalid, &clock).is_none());
    next.land(Ok(None), token(1));
    let Some(Role::Landed { landed, shared: false }) = turn(&mut invalid, &clock) else { panic!("not landed, or shared") };
    assert_eq!(landed.outcome.unwrap(), None);
    drop(invalid);
    assert_eq!(flights.len(), 0);
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

struct Rider<'a> {
    ticket: Ticket<'a, u64, u64>,
    entered: u64,
    join: Join,
    /// When it began to read, if it reads.
    reads_since: Option<u64>,
}

impl Rider<'_> {
    /// Polls it, and checks what it hears. True where it is done.
    fn poll(&mut self, clock: &Clock, time: &mut u64) -> bool {
        match turn(&mut self.ticket, clock) {
            None => false,
            Some(Role::Lead { .. }) => {
                *time += 1;
                self.reads_since = Some(*time);
                false
            }
            Some(Role::Landed { landed, shared }) => {
                let read_began = landed.outcome.unwrap().expect("every read says when it began");
                assert!(shared || read_began > self.entered, "it is told that nothing older than itself answered: {read_began} {}", self.entered);
                assert!(!shared || self.join == Join::Revalidate, "it asked for the next read and shared an earlier one");
                true
            }
        }
    }
}

/// 3,000 schedules of about 60 steps over at most 8 riders of one key: coming, polled, landing, leaving, and time passing.
#[test]
fn whatever_happens_nobody_hears_a_read_older_than_they_may_and_nobody_is_stranded() {
    for seed in 0..3_000 {
        let (flights, (clock, hand)) = (Flights::<u64, u64>::new(1, MAX_AGE), Clock::mock());
        let (mut random, mut time, mut riders) = (Random(seed), 0, Vec::<Rider<'_>>::new());
        for _ in 0..60 {
            let who = random.below(riders.len().max(1));
            match random.below(10) {
                0..=2 if riders.len() < 8 => {
                    time += 1;
                    let join = if random.below(2) == 0 { Join::Next } else { Join::Revalidate };
                    let valid = random.below(4) > 0;
                    let ticket = flights.enter(hashed(&1), join, |_| valid);
                    riders.push(Rider { ticket, entered: time, join, reads_since: None });
                }
                3..=5 if !riders.is_empty() && riders[who].reads_since.is_none() && riders[who].poll(&clock, &mut time) => {
                    drop(riders.swap_remove(who));
                }
                6..=7 if !riders.is_empty() && riders[who].reads_since.is_some() => {
                    let rider = riders.swap_remove(who);
                    rider.ticket.land(Ok(rider.reads_since), token(1));
                }
                8 if !riders.is_empty() => drop(riders.swap_remove(who)),
                9 => hand.advance(Duration::from_secs(random.below(7) as u64)),
                _ => {}
            }
        }
        // Now and then somebody who is left is not polled any more, whether it leads or rides; then time has to pass for the others.
        let forgotten = (seed % 3 == 0 && !riders.is_empty()).then(|| riders.swap_remove(random.below(riders.len())));
        if forgotten.is_some() {
            hand.advance(MAX_AGE);
        }
        // Whoever is left is polled, and whoever reads lands: then all are done, without any more time passing.
        for _ in 0..40 {
            for who in (0..riders.len()).rev() {
                let rider = &mut riders[who];
                if rider.reads_since.is_some() {
                    let rider = riders.swap_remove(who);
                    rider.ticket.land(Ok(rider.reads_since), token(1));
                } else if rider.poll(&clock, &mut time) {
                    drop(riders.swap_remove(who));
                }
            }
        }
        assert!(riders.is_empty(), "seed {seed}: {} riders are stranded", riders.len());
        drop(forgotten);
        assert_eq!(flights.len(), 0, "seed {seed}: a slot is left behind");
    }
}
