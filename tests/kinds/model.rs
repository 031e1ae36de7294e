//! The model of a filter, an exact multiset, and a run of any operations on both: what a filter that removes or forgets must say, step by step.
//!
//! Used by the property tests of `removal.rs` and by the fuzz target `filter_ops`, which make the operations. The claims:
//!
//! - A key of which a copy is in the filter, and not forgotten, is never denied; nor are there fewer copies of it than there are, up to the number that
//!   the kind tells apart. Where a kind tells ages, a key is no older than it is.
//! - The length, where it is told, is exact.
//! - **After an error everything is as it was**: answers and copies for 1280 keys, length, size, fill and estimates are compared, and the call that
//!   failed fails again in the same way.
//! - Removing what is not there says so, and changes nothing. (Removing a false positive is left out: there the filters promise nothing.)
//! - Nothing is left where everything was removed, but for stuck counters.

use super::changes::{Changes, Removed};
use super::{WINDOW, Wanted};
use absentia::{BitVec, CuckooError, MIN_FPR, MockClock, ParamError};
use std::collections::BTreeMap;

/// A step. Keys are small numbers, so that steps meet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Copies of one key.
    Add {
        key: u64,
        times: u8,
    },
    /// A batch of keys that follow each other, the first of them twice.
    AddBatch {
        from: u64,
        len: u8,
    },
    /// Copies of a key that is there, the one after this.
    Remove {
        after: u64,
        times: u8,
    },
    /// A batch of keys that are there.
    RemoveBatch {
        after: u64,
        len: u8,
    },
    /// A key that is not there.
    RemoveAbsent {
        key: u64,
    },
    Ask {
        from: u64,
        len: u8,
    },
    Clear,
    /// Windows that are begun by hand.
    Rotate {
        times: u8,
    },
    /// Windows that pass by the clock.
    Pass {
        windows: u8,
    },
    Unite,
    Fold,
    /// To another capacity, and with a key too few where that is said.
    Grow {
        capacity: u64,
        one_is_missing: bool,
    },
}

impl Op {
    /// Any three bytes are a step.
    pub(crate) fn of([op, a, b]: [u8; 3]) -> Self {
        let key = u64::from(a) * 4;
        // A few keys come again and again; the others are one of 1024.
        let single = if b % 4 == 0 { u64::from(a % 8) } else { key + u64::from(b) % 4 };
        match op % 20 {
            0..4 => Self::Add { key: single, times: if b < 200 { 1 + b % 2 } else { b % 20 } },
            4..8 => Self::AddBatch { from: key, len: b },
            8..11 => Self::Remove { after: single, times: b % 20 },
            11..13 => Self::RemoveBatch { after: key, len: b },
            13 => Self::RemoveAbsent { key: key + u64::from(b) },
            14 => Self::Ask { from: key, len: b },
            15 => {
                if a < 64 {
                    Self::Clear
                } else {
                    Self::Fold
                }
            }
            16 => Self::Rotate { times: if a < 200 { 1 } else { b } },
            17 => Self::Pass { windows: if a < 200 { 1 } else { b } },
            18 => Self::Unite,
            _ => Self::Grow { capacity: u64::from(a) * 8, one_is_missing: b < 64 },
        }
    }
}

/// What is in a filter.
#[derive(Clone, Debug, Default)]
struct Model {
    held: BTreeMap<u64, Held>,
    /// The number of the current window.
    window: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Held {
    copies: u64,
    /// In which it was last inserted.
    window: u64,
}

impl Model {
    fn add(&mut self, key: u64) {
        let held = self.held.entry(key).or_default();
        held.copies += 1;
        held.window = self.window;
    }

    fn remove(&mut self, key: u64) {
        let held = self.held.get_mut(&key).expect("it was there");
        held.copies -= 1;
        if held.copies == 0 {
            self.held.remove(&key);
        }
    }

    fn copies(&self, key: u64) -> u64 {
        self.held.get(&key).map_or(0, |held| held.copies)
    }

    fn len(&self) -> u64 {
        self.held.values().map(|held| held.copies).sum()
    }

    /// The first of its keys from this one on, and around.
    fn from(&self, key: u64) -> impl Iterator<Item = u64> {
        self.held.range(key..).chain(self.held.range(..key)).map(|(&key, _)| key)
    }

    fn each_copy(&self) -> Vec<u64> {
        self.held.iter().flat_map(|(&key, held)| std::iter::repeat_n(key, held.copies as usize)).collect()
    }
}

/// Keys that operations name, and some that they do not.
const PROBES: u64 = 1280;

/// Everything that can be seen of a filter.
#[derive(Debug, PartialEq)]
struct Seen {
    found: BitVec,
    copies: Vec<u32>,
    ages: Vec<Option<u32>>,
    numbers: (Option<u64>, u64, u64, u64, u64),
    rates: (f64, f64, f64),
}

/// Everything that can be seen of a filter, taken twice and compared.
pub(crate) fn same_before_and_after<F: Changes, R>(filter: &mut F, change: impl FnOnce(&mut F) -> R) -> R {
    let before = seen(filter);
    let result = change(filter);
    assert!(seen(filter) == before, "{filter:?} has changed");
    result
}

fn seen<F: Changes>(filter: &F) -> Seen {
    let probes: Vec<u64> = (0..PROBES).collect();
    Seen {
        found: filter.contains_batch(&probes),
        copies: probes.iter().map(|&key| filter.copies(key)).collect(),
        ages: probes.iter().map(|&key| filter.age(key)).collect(),
        numbers: (filter.len(), filter.capacity(), filter.bits(), filter.memory_bytes(), filter.stuck()),
        rates: (filter.fill_ratio(), filter.estimated_fpr(), filter.predicted_fpr()),
    }
}

/// A filter and its model.
#[derive(Debug)]
struct Pair<F> {
    filter: F,
    model: Model,
}

impl<F: Changes> Pair<F> {
    /// Everything that is in the filter is found; and more is known of one key in so many.
    fn check(&self, one_in: usize) {
        let keys: Vec<u64> = self.model.held.keys().copied().collect();
        let found = self.filter.contains_batch(&keys);
        for (index, (&key, held)) in keys.iter().zip(self.model.held.values()).enumerate() {
            if index % one_in == self.model.len() as usize % one_in {
                self.check_key(key, found[index]);
            }
            let is_remembered = self.filter.windows().is_none_or(|(windows, _)| self.model.window - held.window < windows.into());
            assert!(found[index] || !is_remembered, "{key} is denied: {self:?}");
        }
        if let Some(len) = self.filter.len() {
            assert_eq!(len, self.model.len(), "{self:?}");
        }
        if let Some((_, window)) = self.filter.windows() {
            assert_eq!(window, self.model.window, "{self:?}");
        }
    }

    /// What is known of a key, against what a batch said of it.
    fn check_key(&self, key: u64, in_batch: bool) {
        let (maybe, copies) = (self.filter.contains(&key), self.filter.copies(key));
        assert_eq!(in_batch, maybe, "a batch answers unlike its key {key}: {self:?}");
        assert_eq!(copies > 0, maybe, "{key}: {self:?}");
        assert_eq!(self.filter.contains_hash(self.filter.hasher().hash(&key)), maybe, "{key}: {self:?}");
        assert!(copies <= F::COPIES, "{key}: {self:?}");
        let Some(held) = self.model.held.get(&key) else { return };
        match self.filter.windows() {
            None => assert!(u64::from(copies) >= held.copies.min(F::COPIES.into()), "{copies} copies of {key}: {self:?}"),
            Some((windows, _)) => {
                let age = self.model.window - held.window;
                let told = self.filter.age(key);
                assert_eq!(told.is_some(), maybe, "{key}: {self:?}");
                assert!(told.is_none_or(|told| told < windows), "{key} is older than anything: {self:?}");
                // A false positive makes a key younger, never older.
                assert!(age >= windows.into() || told.is_some_and(|told| u64::from(told) <= age), "{key}, {age} windows ago: {told:?}, {self:?}");
            }
        }
    }

    /// A copy, or an error after which everything is as it was.
    fn add(&mut self, key: u64) -> bool {
        // A filter with much room is not looked at before: it takes longer than all the rest.
        let crowded = F::COPIES == 8 && (self.filter.fill_ratio() > 0.25 || self.model.copies(key) >= 7);
        let before = crowded.then(|| seen(&self.filter));
        let result = self.filter.add(key);
        let Err(error) = result else {
            self.model.add(key);
            assert!(self.filter.contains(&key), "{key}: {self:?}");
            return true;
        };
        let after = seen(&self.filter);
        assert!(before.is_none_or(|before| before == after), "{error}, and something has changed: {self:?}");
        let again = same_before_and_after(&mut self.filter, |filter| filter.add(key));
        assert_eq!(again, Err(error), "{self:?}");
        match error {
            CuckooError::TooManyDuplicates { copies } => assert_eq!((copies, self.filter.copies(key)), (8, 8), "{self:?}"),
            CuckooError::Full { len, capacity } => assert_eq!((len, capacity), (self.model.len(), self.filter.capacity()), "{self:?}"),
            other => panic!("{other}"),
        }
        false
    }

    fn add_batch(&mut self, keys: &[u64]) {
        let result = self.filter.add_batch(keys);
        // Those before the one that was refused.
        let taken = self.filter.len().map_or(keys.len(), |len| (len - self.model.len()) as usize);
        assert_eq!(result.is_ok(), taken == keys.len(), "{result:?}: {self:?}");
        keys[..taken].iter().for_each(|&key| self.model.add(key));
        if let Err(error) = result {
            let again = same_before_and_after(&mut self.filter, |filter| filter.add(keys[taken]));
            assert_eq!(again, Err(error), "{self:?}");
        }
    }

    /// A copy that is there.
    fn remove(&mut self, key: u64) {
        // Of a filter that is full a look at all of it costs more than the rest.
        let before = (self.filter.copies(key) == 15).then(|| seen(&self.filter));
        match self.filter.remove(key) {
            None => return,
            Some(Removed::Copy) => {}
            Some(Removed::Nothing) => panic!("{key} is there and was not found: {self:?}"),
            Some(Removed::Stuck) => {
                assert!(before.is_some_and(|before| before == seen(&self.filter)), "{key} stays, and something has changed: {self:?}");
                assert!(F::COPIES == 15 && self.filter.copies(key) == 15, "{key}: {self:?}");
            }
        }
        self.model.remove(key);
    }

    fn remove_batch(&mut self, keys: &[u64]) {
        let Some(taken) = self.filter.remove_batch(keys) else { return };
        assert_eq!(taken.len(), keys.len());
        for (&key, taken) in keys.iter().zip(taken) {
            assert!(taken || self.filter.copies(key) == 15, "{key} is there and was not found: {self:?}");
            self.model.remove(key);
        }
    }

    fn remove_absent(&mut self, key: u64) {
        if self.model.copies(key) == 0 && !self.filter.contains(&key) {
            let removed = same_before_and_after(&mut self.filter, |filter| filter.remove(key));
            assert!(matches!(removed, None | Some(Removed::Nothing)), "{key} is not there: {self:?}");
        }
    }

    fn ask(&self, keys: &[u64]) {
        let found = self.filter.contains_batch(keys);
        assert_eq!(found.len(), keys.len());
        keys.iter().zip(found).for_each(|(&key, found)| self.check_key(key, found));
    }

    fn clear(&mut self) {
        self.filter.clear();
        self.model.held.clear();
        self.is_empty();
    }

    fn is_empty(&self) {
        let seen = seen(&self.filter);
        assert!(seen.found.not_any() && seen.copies.iter().all(|&copies| copies == 0), "{self:?}");
        assert_eq!((seen.numbers.0.unwrap_or(0), seen.rates.0, seen.rates.1), (0, 0.0, 0.0), "{self:?}");
    }

    fn unite(&mut self, other: &Self) {
        let before = seen(&self.filter);
        match self.filter.unite(&other.filter) {
            None => {}
            Some(Err(_)) => assert!(seen(&self.filter) == before, "an error, and something has changed: {self:?}"),
            Some(Ok(())) => {
                assert!(self.filter.windows().is_none() || self.model.window == other.model.window, "{self:?} {other:?}");
                for (&key, theirs) in &other.model.held {
                    let ours = self.model.held.entry(key).or_default();
                    *ours = Held { copies: ours.copies + theirs.copies, window: ours.window.max(theirs.window) };
                }
            }
        }
    }

    fn fold(&mut self) {
        let before = seen(&self.filter);
        match self.filter.halve() {
            None => {}
            Some(Err(_)) => assert!(seen(&self.filter) == before, "an error, and something has changed: {self:?}"),
            Some(Ok(())) => {
                let halves = (before.numbers.1 / 2, before.numbers.2 / 2);
                assert_eq!((self.filter.capacity(), self.filter.bits()), halves, "{self:?}");
            }
        }
    }

    fn grow(&mut self, capacity: u64, one_is_missing: bool) {
        let mut keys = self.model.each_copy();
        let is_missing = one_is_missing && keys.pop().is_some();
        let before = seen(&self.filter);
        match self.filter.grow(capacity, &keys) {
            None => {}
            Some(Err(_)) => assert!(seen(&self.filter) == before, "an error, and something has changed: {self:?}"),
            Some(Ok(())) => assert!(!is_missing && self.filter.capacity() == capacity, "{self:?}"),
        }
    }

    /// Takes everything out again, so that nothing must be left.
    fn end(mut self) {
        self.check(1);
        let probes: Vec<u64> = (0..PROBES).collect();
        self.ask(&probes);
        let rates = [self.filter.fill_ratio(), self.filter.estimated_fpr(), self.filter.predicted_fpr()];
        assert!(rates.iter().all(|rate| (0.0..=1.0).contains(rate)), "{self:?}");
        _ = self.filter.is_saturated();
        // Whatever a stuck counter belonged to stays.
        if self.filter.stuck() == 0 && F::COPIES > 1 {
            let all = std::mem::take(&mut self.model.held);
            // Copies that cannot be told apart are taken out one by one.
            for (&key, held) in &all {
                (0..held.copies).for_each(|_| assert_eq!(self.filter.remove(key), Some(Removed::Copy), "{key}: {:?}", self.filter));
            }
            self.is_empty();
            // In another order than before, so that a full one may refuse some of them.
            _ = all.iter().flat_map(|(&key, held)| std::iter::repeat_n(key, held.copies as usize)).all(|key| self.add(key));
            self.check(1);
        }
        self.filter.leave(&probes);
    }
}

/// Runs steps on two filters of one kind, each step on one of them, the other being there to be united with. `hand` moves the clock that `wanted` has.
pub(crate) fn run<F: Changes>(wanted: &Wanted, hand: Option<&MockClock>, steps: impl IntoIterator<Item = (bool, Op)>) {
    let make = || F::make(wanted).map(|filter| Pair { filter, model: Model::default() });
    let mut pairs = match (make(), make()) {
        (Ok(first), Ok(second)) => [first, second],
        (Err(error), _) | (_, Err(error)) => return refused(wanted, &error),
    };
    let mut passed = 0;
    for (second, op) in steps {
        let (front, back) = pairs.split_at_mut(1);
        let (ours, theirs) = if second { (&mut back[0], &front[0]) } else { (&mut front[0], &back[0]) };
        match op {
            Op::Add { key, times } => _ = (0..times).all(|_| ours.add(key)),
            Op::AddBatch { from, len } => ours.add_batch(&std::iter::once(from).chain(from..from + u64::from(len)).collect::<Vec<_>>()),
            Op::Remove { after, times } => {
                let first = ours.model.from(after).next();
                if let Some(key) = first {
                    let times = ours.model.copies(key).min(times.into());
                    (0..times).for_each(|_| ours.remove(key));
                }
            }
            Op::RemoveBatch { after, len } => {
                let keys: Vec<u64> = ours.model.from(after).take(len.into()).collect();
                ours.remove_batch(&keys);
            }
            Op::RemoveAbsent { key } => ours.remove_absent(key),
            Op::Ask { from, len } => ours.ask(&(from..from + u64::from(len)).collect::<Vec<_>>()),
            Op::Clear => ours.clear(),
            Op::Rotate { times } => {
                if ours.filter.windows().is_some() {
                    (0..times).for_each(|_| ours.filter.rotate());
                    ours.model.window += u64::from(times);
                }
            }
            Op::Pass { windows } => {
                if let Some(hand) = hand {
                    hand.advance(WINDOW * u32::from(windows));
                    passed += u64::from(windows);
                }
            }
            Op::Unite => ours.unite(theirs),
            Op::Fold => ours.fold(),
            Op::Grow { capacity, one_is_missing } => ours.grow(capacity, one_is_missing),
        }
        // Windows that passed by the clock, unless more were begun by hand.
        pairs.iter_mut().filter(|pair| pair.filter.windows().is_some()).for_each(|pair| pair.model.window = pair.model.window.max(passed));
        pairs[usize::from(second)].check(8);
    }
    pairs.into_iter().for_each(Pair::end);
}

/// There was a reason.
fn refused(wanted: &Wanted, error: &ParamError) {
    match error {
        ParamError::FprOutOfRange { .. } => assert!(wanted.fpr.is_nan() || wanted.fpr <= 0.0 || wanted.fpr >= 1.0, "{error}: {wanted:?}"),
        ParamError::FprTooSmall { .. } => assert!(wanted.fpr < MIN_FPR, "{error}: {wanted:?}"),
        ParamError::Windows { .. } => assert!(!(1..=absentia::rotating::MAX_WINDOWS).contains(&wanted.windows), "{error}: {wanted:?}"),
        ParamError::TooLarge { needed, limit } => assert!(needed > limit && *limit == wanted.memory_limit, "{error}: {wanted:?}"),
        other => panic!("{other}: {wanted:?}"),
    }
}
