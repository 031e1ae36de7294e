//! The simulated database: rows, transactions, point reads, snapshots, and the clock.
//!
//! A transaction is open from its first statement until its COMMIT takes effect or it is gone; the row appears at one event, which is all that
//! "committed" means here. A client that loses sight of its transaction leaves an *orphan*, whose COMMIT may land later: at any event, but within
//! `max_transaction` of its beginning by the clock, as a source must enforce. Reads are linearizable: what they answer was so at one event between
//! their beginning and their end. Every change is kept, so that the check can ask what was there at any event.

use super::sched::{Run, with};
use crate::time::MockClock;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

pub(super) const MAX_TRANSACTION: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug)]
pub(super) enum Write {
    /// Conflicts with a row that is there.
    Insert(u64),
    Delete,
}

/// A row appeared or disappeared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub(super) at: u64,
    pub(super) clock: Duration,
    pub(super) row: Option<u64>,
    /// The gate had been told.
    pub(super) announced: bool,
}

pub(super) struct Tx {
    writes: Vec<(u64, Write)>,
    opened: Duration,
    announced: bool,
    /// Nobody waits for it any more.
    orphan: bool,
    /// Success is acknowledged the moment it commits: the client is not part of the simulation.
    foreign: bool,
    /// When it ended, and whether by a commit.
    pub(super) end: Option<(u64, bool)>,
    /// Rows that it deleted.
    pub(super) deleted: u64,
    /// The delete that it belongs to, see [`super::check`].
    pub(super) deletion: Option<usize>,
}

pub(super) struct World {
    rows: BTreeMap<u64, u64>,
    history: BTreeMap<u64, Vec<Change>>,
    pub(super) txs: Vec<Tx>,
    pub(super) clock: Duration,
    /// When the clock was moved, and to what.
    moves: Vec<(u64, Duration)>,
    hand: MockClock,
    /// Reads that fail, hang or panic, in percent.
    pub(super) faults: u64,
    /// Most turns that a slow answer takes.
    pub(super) slowness: u64,
    values: u64,
    hung: Vec<Waker>,
    /// Where each scan looked, by generation: for each key the event of which its rows are the state.
    pub(super) scans: Vec<BTreeMap<u64, u64>>,
}

impl World {
    pub(super) fn new(hand: MockClock) -> Self {
        Self {
            rows: BTreeMap::new(),
            history: BTreeMap::new(),
            txs: Vec::new(),
            clock: Duration::ZERO,
            moves: Vec::new(),
            hand,
            faults: 0,
            slowness: 0,
            values: 0,
            hung: Vec::new(),
            scans: Vec::new(),
        }
    }

    pub(super) fn rows(&self) -> &BTreeMap<u64, u64> {
        &self.rows
    }

    pub(super) fn changes(&self, key: u64) -> &[Change] {
        self.history.get(&key).map_or(&[], Vec::as_slice)
    }

    /// The last change of `key` up to and including event `at`.
    pub(super) fn change_at(&self, key: u64, at: u64) -> Option<&Change> {
        self.changes(key).iter().rev().find(|change| change.at <= at)
    }

    pub(super) fn row_at(&self, key: u64, at: u64) -> Option<u64> {
        self.change_at(key, at).and_then(|change| change.row)
    }

    /// The rows as they were at event `at`.
    pub(super) fn rows_at(&self, at: u64) -> BTreeMap<u64, u64> {
        self.history.keys().filter_map(|key| self.row_at(*key, at).map(|row| (*key, row))).collect()
    }

    /// The last event that happened `lag` ago, or longer: what a replica that lags by no more is sure to have.
    pub(super) fn seen_for_sure(&self, lag: Duration, now: u64) -> u64 {
        self.moves.iter().find(|(_, clock)| *clock + lag > self.clock).map_or(now, |(at, _)| at - 1)
    }

    pub(super) fn fresh_value(&mut self) -> u64 {
        self.values += 1;
        self.values
    }
}

impl Run {
    pub(super) fn open(&mut self, writes: Vec<(u64, Write)>, announced: bool) -> usize {
        self.event("db: transaction opened", writes.first().map(|(key, _)| *key));
        let opened = self.world.clock;
        self.world.txs.push(Tx { writes, opened, announced, orphan: false, foreign: false, end: None, deleted: 0, deletion: None });
        self.world.txs.len() - 1
    }

    /// Leaves a transaction to its fate.
    pub(super) fn orphan(&mut self, tx: usize) {
        self.event("db: client lost", None);
        self.world.txs[tx].orphan = true;
    }

    /// A transaction of somebody outside of the simulation, under way.
    pub(super) fn open_foreign(&mut self, writes: Vec<(u64, Write)>) {
        let tx = self.open(writes, false);
        self.world.txs[tx].foreign = true;
        self.world.txs[tx].orphan = true;
    }

    /// False where it conflicts: then it is rolled back.
    pub(super) fn commit(&mut self, tx: usize) -> bool {
        let (writes, announced) = (self.world.txs[tx].writes.clone(), self.world.txs[tx].announced);
        let conflict = writes.iter().any(|(key, write)| matches!(write, Write::Insert(_)) && self.world.rows.contains_key(key));
        let at = self.event(if conflict { "db: conflict" } else { "db: COMMIT" }, writes.first().map(|(key, _)| *key));
        self.world.txs[tx].end = Some((at, !conflict));
        self.check.deletion_over(self.world.txs[tx].deletion, at);
        if conflict {
            return false;
        }
        for (key, write) in writes {
            let row = match write {
                Write::Insert(value) => self.world.rows.insert(key, value).map_or(Some(value), |_| Some(value)),
                Write::Delete if self.world.rows.remove(&key).is_none() => continue,
                Write::Delete => {
                    self.world.txs[tx].deleted += 1;
                    None
                }
            };
            self.world.history.entry(key).or_default().push(Change { at, clock: self.world.clock, row, announced });
            if let (true, Some(value)) = (self.world.txs[tx].foreign, row) {
                self.ack(key, value);
            }
        }
        true
    }

    pub(super) fn abort(&mut self, tx: usize) {
        let at = self.event("db: ROLLBACK", None);
        self.world.txs[tx].end = Some((at, false));
        self.check.deletion_over(self.world.txs[tx].deletion, at);
    }

    /// Decides about an orphan.
    fn decide(&mut self, tx: usize) {
        if self.rng.percent(70) {
            self.commit(tx);
        } else {
            self.abort(tx);
        }
    }

    /// Some orphan's fate is sealed, if there is one.
    pub(super) fn decide_one(&mut self) {
        let open: Vec<usize> = (0..self.world.txs.len()).filter(|&tx| self.world.txs[tx].orphan && self.world.txs[tx].end.is_none()).collect();
        if !open.is_empty() {
            let tx = self.rng.of(&open);
            self.decide(tx);
        }
    }

    /// Time passes. What may not be open that long is decided before.
    pub(super) fn advance(&mut self, by: Duration) {
        let then = self.world.clock + by;
        for tx in 0..self.world.txs.len() {
            let Tx { orphan, end, opened, .. } = &self.world.txs[tx];
            if *orphan && end.is_none() && *opened + MAX_TRANSACTION <= then {
                self.decide(tx);
            }
        }
        let at = self.event("clock: moved, milliseconds", Some(by.as_millis() as u64));
        self.world.clock = then;
        self.world.moves.push((at, then));
        self.world.hand.advance(by);
    }

    /// The source is well again: hanging reads get an answer, and all answers are quick.
    pub(super) fn recover(&mut self) {
        self.event("db: recovered", None);
        self.draining = true;
        self.world.hung.drain(..).for_each(Waker::wake);
    }

    /// How many turns something takes: mostly few, sometimes many.
    pub(super) fn delay(&mut self) -> u64 {
        match self.world.slowness {
            _ if self.draining => 0,
            slow if slow > 0 && self.rng.percent(10) => self.rng.below(slow),
            _ => self.rng.below(3),
        }
    }
}

/// Is pending for some turns.
pub(super) fn nap() -> Nap {
    Nap(with(|run| run.delay()))
}

pub(super) struct Nap(u64);

impl Future for Nap {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.0 == 0 || with(|run| run.draining) {
            return Poll::Ready(());
        }
        self.0 -= 1;
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Is pending until the source recovers.
pub(super) struct Hang;

impl Future for Hang {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        with(|run| {
            if run.draining {
                return Poll::Ready(());
            }
            run.world.hung.push(cx.waker().clone());
            Poll::Pending
        })
    }
}
