//! What must hold, checked at every answer and between steps. Each [`Kind`] of violation says exactly what it means.
//!
//! A question has an interval: the event before it was asked to the event of its answer. Several checks ask whether something was so *at some instant
//! of it*; the database keeps every change, so that is a look into its history.

use super::sched::Run;
use super::world::Change;
use crate::fence::Token;
use crate::gate::{ExistenceGate, Lookup, Proof, Reason, Verdict};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// **I1.** Absent, though a create of the key was acknowledged before the question, its row was there when it was asked, and no delete of the key
    /// began before the answer (other than those that were over before that create committed). Acknowledged is: `create_with` gave Ok; or the COMMIT
    /// of a `begin_create` gave Ok, fence still up; or an importer's COMMIT did while its `DistrustGuard` lived; or a client that was given an error
    /// read the row itself. In Advisory coverage also: an unannounced creator's COMMIT did.
    Promise,
    /// **I2, I6.** Absent, though the row was there at every instant of the question: what was said was never true while it could be. (Stronger than
    /// I1: it counts from the COMMIT.) Where unannounced tombstones may have an age, a row that was committed unannounced within that age is not
    /// counted.
    NeverTrue,
    /// **I3.** Absent by a tombstone, though a create of the key was under way, begun and unsettled, at every instant of the question.
    Tombstone,
    /// **I4.** The current generation does not claim a key, although a create of it was begun, and neither was its outcome "gone" nor had its row
    /// been deleted when the generation's scan looked. Where deletes retire: nor has the row that the scan found been deleted since.
    Bits,
    /// **I7.** A lookup waits, though the source has answered everybody and time need not pass.
    Stranded,
    /// **I7.** Absent "by the source", though no read of the key that found nothing, and came back with that, belongs to this question or to one that
    /// was open together with it; or the question was a fresh one, and none looked after it was asked.
    FromNothing,
    /// **I8.** Everything is settled and resolved, and something is still pending, or a fence still up.
    Pending,
    /// **I10, I11.** All is over, and lookups do not answer what the database has.
    Ending,
    /// Present with a row that was not there at any instant of the question.
    StaleRow,
    /// The gate says that it was wrong, where every creator announces.
    FalseAlarm,
    /// The protocol panicked.
    Panic,
}

#[derive(Clone, Debug)]
pub(super) struct Violation {
    pub(super) kind: Kind,
    pub(super) at: u64,
    pub(super) text: String,
}

struct Ack {
    at: u64,
    value: u64,
}

/// A delete: begun, and over once it is certain that none of it can commit any more.
struct Deletion {
    key: u64,
    begun: u64,
    over: Option<u64>,
}

/// A create that was announced.
struct Duty {
    key: u64,
    begun: u64,
    settling: Option<u64>,
    tx: Option<usize>,
    /// No transaction of it was, or will be, opened.
    dead: bool,
}

/// A question, until it is answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) key: u64,
    start: u64,
    clock: Duration,
    index: usize,
    /// It was asked with `lookup_fresh`.
    pub(super) fresh: bool,
}

pub(super) struct Check {
    keys: u64,
    /// How old a tombstone for an unannounced row may be.
    age: Option<Duration>,
    /// Writes to the store fail, or are not waited for, so old rows may remain there.
    rows_may_be_stale: bool,
    /// Deletes retire.
    pub(super) forgets: bool,
    pub(super) violations: Vec<Violation>,
    pub(super) last_token: Option<Token>,
    acks: Vec<(u64, Ack)>,
    deletions: Vec<Deletion>,
    duties: Vec<Duty>,
    /// When each question was answered.
    answered: Vec<Option<u64>>,
    /// By key: reads that came back with nothing, each with the event of its SELECT and the question that it was made for, if one.
    nothing: BTreeMap<u64, Vec<(u64, Option<usize>)>>,
}

impl Check {
    pub(super) fn new(keys: u64, age: Option<Duration>, rows_may_be_stale: bool) -> Self {
        Self {
            keys,
            age,
            rows_may_be_stale,
            forgets: false,
            violations: Vec::new(),
            last_token: None,
            acks: Vec::new(),
            deletions: Vec::new(),
            duties: Vec::new(),
            answered: Vec::new(),
            nothing: BTreeMap::new(),
        }
    }

    /// All keys that are ever asked for. Nobody creates the last one.
    pub(super) fn keys(&self) -> Range<u64> {
        0..self.keys
    }

    pub(super) fn deletion_over(&mut self, deletion: Option<usize>, at: u64) {
        if let Some(deletion) = deletion {
            self.deletions[deletion].over.get_or_insert(at);
        }
    }

    pub(super) fn duty_opened(&mut self, duty: usize, tx: usize) {
        self.duties[duty].tx = Some(tx);
    }

    /// The guard of the create is about to be settled, or is gone.
    pub(super) fn duty_settling(&mut self, duty: usize, at: u64) {
        let duty = &mut self.duties[duty];
        duty.settling.get_or_insert(at);
        duty.dead = duty.tx.is_none();
    }
}

impl Run {
    pub(super) fn violate(&mut self, kind: Kind, text: String) {
        if !self.check.violations.iter().any(|v| v.kind == kind) {
            let at = self.event("VIOLATION", None);
            self.check.violations.push(Violation { kind, at, text });
        }
    }

    // ---- what actors report --------------------------------------------------------------------------------------------------------------------

    pub(super) fn ack(&mut self, key: u64, value: u64) {
        let at = self.event("acknowledged", Some(key));
        self.check.acks.push((key, Ack { at, value }));
    }

    pub(super) fn deletion_begins(&mut self, key: u64) -> usize {
        let begun = self.event("delete begins", Some(key));
        self.check.deletions.push(Deletion { key, begun, over: None });
        self.check.deletions.len() - 1
    }

    /// A create of `key` has been announced: its begin has returned.
    pub(super) fn duty_begins(&mut self, key: u64) -> usize {
        let begun = self.event("create announced", Some(key));
        self.check.duties.push(Duty { key, begun, settling: None, tx: None, dead: false });
        self.check.duties.len() - 1
    }

    /// A read of the source comes back with nothing.
    pub(super) fn found_nothing(&mut self, key: u64, selected: u64) {
        self.event("read: found nothing", Some(key));
        let question = *self.question();
        self.check.nothing.entry(key).or_default().push((selected, question));
    }

    pub(super) fn ask(&mut self, what: &'static str, key: u64) -> Asked {
        let start = self.event(what, Some(key));
        self.check.answered.push(None);
        let index = self.check.answered.len() - 1;
        *self.question() = Some(index);
        Asked { key, start, clock: self.world.clock, index, fresh: false }
    }

    pub(super) fn gave_up(&mut self, asked: Asked) {
        self.check.answered[asked.index] = Some(self.now);
        *self.question() = None;
    }

    pub(super) fn verdict(&mut self, asked: Asked, verdict: Verdict) {
        match verdict {
            Verdict::Absent(proof) => self.answer(asked, &Lookup::Absent(proof)),
            Verdict::Possible(_) => self.gave_up(asked),
        }
    }

    pub(super) fn answer(&mut self, asked: Asked, answer: &Lookup<u64>) {
        let Asked { key, start, index, .. } = asked;
        let (what, number) = match answer {
            Lookup::Present(value) => ("answer: Present", *value),
            Lookup::Absent(Proof::Filter { .. }) => ("answer: Absent, filter", key),
            Lookup::Absent(Proof::Tombstone { .. }) => ("answer: Absent, tombstone", key),
            Lookup::Absent(Proof::Source) => ("answer: Absent, source", key),
            Lookup::Unknown(_) => ("answer: Unknown", key),
        };
        let end = self.event(what, Some(number));
        self.check.answered[index] = Some(end);
        *self.question() = None;
        match answer {
            Lookup::Absent(proof) => self.absent(asked, *proof, end),
            Lookup::Present(row) if !self.check.rows_may_be_stale && !self.was(key, start, end, |there| there == Some(*row)) => {
                self.violate(Kind::StaleRow, format!("key {key}: Present({row}), which was not there from event {start} to {end}"));
            }
            _ => {}
        }
    }

    // ---- what is checked -----------------------------------------------------------------------------------------------------------------------

    /// At some instant of the interval the row of `key` was as `so` says.
    fn was(&self, key: u64, start: u64, end: u64, so: impl Fn(Option<u64>) -> bool) -> bool {
        let first = so(self.world.row_at(key, start));
        first || self.world.changes(key).iter().any(|change| change.at > start && change.at <= end && so(change.row))
    }

    fn absent(&mut self, asked: Asked, proof: Proof, end: u64) {
        let Asked { key, start, clock, .. } = asked;
        let missing = self.was(key, start, end, |there| there.is_none());
        let excused = match (self.check.age, self.world.change_at(key, start)) {
            (Some(age), Some(Change { announced: false, clock: committed, row: Some(_), .. })) => *committed + age >= clock,
            _ => false,
        };
        if !missing && !excused {
            let text = format!("key {key}: Absent({proof:?}), but the row was there from event {start} to {end}");
            if self.was_promised(key, start, end) {
                self.violate(Kind::Promise, text.clone());
            }
            self.violate(Kind::NeverTrue, text);
        }
        if matches!(proof, Proof::Tombstone { .. }) {
            let under_way = |d: &Duty| d.key == key && d.begun < start && d.settling.is_none_or(|settling| settling > end);
            if self.check.duties.iter().any(under_way) {
                self.violate(Kind::Tombstone, format!("key {key}: tombstone served from event {start} to {end}, a create was under way"));
            }
        }
        if proof == Proof::Source && !self.was_read(asked) {
            self.violate(Kind::FromNothing, format!("key {key}: Absent(Source) at event {end}, but no read found nothing"));
        }
    }

    fn was_promised(&self, key: u64, start: u64, end: u64) -> bool {
        let Some(Change { at: committed, row: Some(row), .. }) = self.world.change_at(key, start) else { return false };
        let acknowledged = self.check.acks.iter().any(|(k, ack)| *k == key && ack.value == *row && ack.at < start);
        let in_the_way = |d: &Deletion| d.key == key && d.begun < end && d.over.is_none_or(|over| over > *committed);
        acknowledged && !self.check.deletions.iter().any(in_the_way)
    }

    /// A read of the key came back with nothing that was made for this question, or for one that was open together with it, or for none. For a fresh
    /// question, one that looked after it was asked.
    fn was_read(&self, Asked { key, start, fresh, .. }: Asked) -> bool {
        let open = |question: Option<usize>| question.is_none_or(|question| self.check.answered[question].is_none_or(|end| end >= start));
        self.check.nothing.get(&key).is_some_and(|reads| reads.iter().any(|(selected, question)| open(*question) && (!fresh || *selected > start)))
    }

    /// I4, as far as `check` lets it be seen.
    pub(super) fn check_bits(&mut self, verdict: impl Fn(u64) -> Verdict, generation: impl Fn() -> Option<u64>) {
        for key in self.check.keys() {
            if !self.check.duties.iter().any(|duty| duty.key == key && !duty.dead) {
                continue;
            }
            let claimed = matches!(verdict(key), Verdict::Possible(Reason::Maybe | Reason::Loading | Reason::SwitchedOff));
            let Some(generation) = (if claimed { None } else { generation() }) else { continue };
            let Some(looked) = self.world.scans.get(generation as usize - 1).and_then(|scan| scan.get(&key)).copied() else { continue };
            // What the scan found is owed for as long as it is there. Whoever creates the key again owes it anew.
            let gone = self.check.forgets && self.was(key, looked, self.now, |there| there.is_none());
            let owed =
                self.check.duties.iter().filter(|duty| duty.key == key && !duty.dead).any(|duty| match duty.tx.map(|tx| self.world.txs[tx].end) {
                    None | Some(None) => true,
                    Some(Some((at, committed))) => at > looked || (committed && !gone && self.world.row_at(key, looked).is_some()),
                });
            if owed {
                self.violate(Kind::Bits, format!("key {key}: generation {generation}, scanned at event {looked}, does not claim it"));
            }
        }
    }
}

/// A claim of I8, asked for after all is over: nothing pending, nothing unresolved.
pub(super) fn leftovers(gate: &ExistenceGate<u64, u64>) -> Option<String> {
    let status = gate.status();
    let left = status.pending_writes + status.unresolved_writes + status.distrust_guards as usize;
    let text = || format!("{} pending, {} unresolved, {} distrusting", status.pending_writes, status.unresolved_writes, status.distrust_guards);
    (left > 0).then(text)
}
