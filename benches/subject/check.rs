//! Are the answers right that a bench measures? Of keys that were inserted, all of them; of strangers, as many as the sizing predicts.
//!
//! **Bound.** Of Q strangers F are answered "maybe", at a predicted rate r; |F − Q·r| ≤ 10 + 6·√(Q·r) + 8·Q·r/√L for L lines of 512 bits. The second
//! term is six standard deviations of the questions; the third is as much of the contents of one filter, whose rate differs from r by a standard
//! deviation of at most 1.25/√L of it (computed for one line of bits at 1 %: 0.62, for two at 1e-4: 1.24); the first is for few questions. A false alarm
//! then has a chance below 1e-7 for each id.

use super::keys::{BenchKey, STRANGERS};
use super::kinds::{Removes, Subject};
use super::ways::Way;

/// Keys that were given, and how many of them had an answer of interest: there, new, or not new.
#[derive(Default)]
pub(crate) struct Tally {
    asked: u64,
    found: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, asked: usize, found: usize) {
        self.asked += asked as u64;
        self.found += found as u64;
    }

    fn bounds(&self, rate: f64, bits: u64) -> (f64, f64) {
        let mean = self.asked as f64 * rate;
        (mean, 10.0 + 6.0 * mean.sqrt() + 8.0 * mean / (bits as f64 / 512.0).sqrt())
    }

    /// Every key was there.
    pub(crate) fn is_all(&self) {
        assert_eq!(self.found, self.asked, "an inserted key is not there");
    }

    /// No key was new.
    pub(crate) fn is_none(&self) {
        assert_eq!(self.found, 0, "an inserted key is new");
    }

    /// The rate is the one that was predicted for a full filter.
    pub(crate) fn is_as_predicted(&self, filter: &impl Subject) {
        let [(least, below), (most, above)] = [*filter.rates().start(), *filter.rates().end()].map(|rate| self.bounds(rate, filter.bits()));
        let (found, asked) = (self.found as f64, self.asked);
        assert!(found >= least - below, "{found} of {asked} strangers found, predicted at least {least:.1} - {below:.1}");
        assert!(found <= most + above, "{found} of {asked} strangers found, predicted at most {most:.1} + {above:.1}");
    }

    /// The rate is at most the one that was predicted for a full filter: while it was filled, it was less.
    pub(crate) fn is_at_most_predicted(&self, filter: &impl Subject) {
        let (mean, bound) = self.bounds(filter.predicted_fpr(), filter.bits());
        assert!(self.found as f64 <= mean + bound, "{} of {} new keys were not new, predicted {mean:.1} + {bound:.1}", self.found, self.asked);
    }
}

/// Looks at a part of the answers of a full filter, one by one and in batches. What is measured later is looked at again.
pub(crate) fn answers<F: Subject, K: BenchKey>(filter: &F, keys: u64) {
    let some = |first: u64, count: u64| (first..first + count).map(K::numbered).collect::<Vec<K>>();
    let (present, absent) = (some(0, keys.min(1 << 16)), some(STRANGERS.end - (1 << 16), 1 << 16));
    assert!(present.iter().all(|key| filter.contains(key)), "an inserted key is not there");
    assert!(filter.contains_batch(&present).all(), "an inserted key is not there when asked for in a batch");
    let found: Vec<bool> = absent.iter().map(|key| filter.contains(key)).collect();
    assert!(filter.contains_batch(&absent).iter().by_vals().eq(found.iter().copied()), "a batch answers otherwise than single questions");
    Tally { asked: absent.len() as u64, found: found.iter().filter(|&&found| found).count() as u64 }.is_as_predicted(filter);
}

/// Looks at a part of the answers that an empty filter gives while it is filled, and empties it again.
pub(crate) fn inserts<W: Way, F: Subject, K: BenchKey>(filter: &mut F, keys: u64) {
    let some: Vec<K> = (0..keys.min(1 << 16)).map(K::numbered).collect();
    let mut not_new = Tally::default();
    not_new.add(some.len(), some.len() - W::insert(filter, &some));
    not_new.is_at_most_predicted(filter);
    if F::KNOWN {
        assert_eq!(W::insert(filter, &some), 0, "an inserted key is new");
    }
    assert_eq!(W::contains(filter, &some), some.len(), "an inserted key is not there");
    filter.clear();
    assert_eq!(W::contains(filter, &some), 0, "a key is there that was cleared away");
}

/// Looks at what a full filter says while some of its keys are taken out, and puts them back.
pub(crate) fn removals<W: Way, F: Removes, K: BenchKey>(filter: &mut F, keys: u64) {
    let some: Vec<K> = (0..keys.min(1 << 16)).map(K::numbered).collect();
    assert_eq!(W::remove(filter, &some), some.len(), "a key that is there was not found to be removed");
    let mut claimed = Tally::default();
    claimed.add(some.len(), W::contains(filter, &some));
    claimed.is_at_most_predicted(filter);
    let others: Vec<K> = (some.len() as u64..keys.min(1 << 17)).map(K::numbered).collect();
    assert_eq!(W::contains(filter, &others), others.len(), "a key is gone that was not removed");
    filter.fill(some.iter().copied());
    assert_eq!(W::contains(filter, &some), some.len(), "an inserted key is not there");
}

/// Every key was taken out, and nothing of any is left.
pub(crate) fn is_empty<W: Way, F: Subject, K: BenchKey>(filter: &F, keys: u64) {
    let some: Vec<K> = (0..keys.min(1 << 16)).map(K::numbered).collect();
    assert_eq!(W::contains(filter, &some), 0, "a key is there of which every copy was removed");
}
