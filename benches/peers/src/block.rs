//! What was measured: a [`Row`] for each filter, in a [`Block`] for each number of keys, rate and kind of key.

use crate::filter::{Compare, Family, Sizing};
use crate::stats::{Rate, median};

/// The share of waiting above which a machine was crowded. A guess.
const CROWDED: f64 = 0.02;

/// What is asked or done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Absent,
    Present,
    Insert,
}

/// By which call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Single,
    Batch,
}

pub const OPS: [Op; 3] = [Op::Absent, Op::Present, Op::Insert];
pub const MODES: [Mode; 2] = [Mode::Single, Mode::Batch];

/// What was measured of one filter.
#[derive(Clone, Debug)]
pub struct Row {
    pub name: String,
    pub family: Family,
    pub compare: Compare,
    pub sizing: Sizing,
    pub bits_per_key: f64,
    /// `None` for a floor, which is no filter.
    pub fpr: Option<Rate>,
    /// Rounds of lookups, and of inserts, which are fewer where a fill is slow.
    pub rounds: u32,
    pub fills: u32,
    /// ns a key, of each round, by operation and mode.
    pub times: [[Vec<f64>; 2]; 3],
}

impl Row {
    /// Median ns a key, `None` where it was not measured.
    pub fn ns(&self, op: Op, mode: Mode) -> Option<f64> {
        median(&self.times[op as usize][mode as usize])
    }

    /// How many times as long as `other` this took, in the middle one of the rounds. Within a round both had the same clock and the same neighbours,
    /// so this is steadier than a ratio of medians. What was filled once has the first round only.
    pub fn times(&self, mode: Mode, other: &Row, op: Op, other_mode: Mode) -> Option<f64> {
        times(&self.times[op as usize][mode as usize], &other.times[op as usize][other_mode as usize])
    }

    /// ns a key of the fastest and of the slowest round.
    pub fn ns_range(&self, op: Op, mode: Mode) -> Option<(f64, f64)> {
        let times = self.times[op as usize][mode as usize].iter().copied();
        Some((times.clone().min_by(f64::total_cmp)?, times.max_by(f64::total_cmp)?))
    }
}

/// One way to build a filter of many keys, on one thread and on two.
#[derive(Clone, Debug, Default)]
pub struct Parallel {
    pub what: &'static str,
    /// ns a key, of each round.
    pub one: Vec<f64>,
    pub two: Vec<f64>,
}

impl Parallel {
    /// How many times as fast two threads are, in the middle one of the rounds.
    pub fn speedup(&self) -> Option<f64> {
        median(&self.one.iter().zip(&self.two).map(|(one, two)| one / two).collect::<Vec<_>>())
    }
}

/// A filter that was filled and emptied: see `churn.rs`.
#[derive(Clone, Debug)]
pub struct Churn {
    pub name: String,
    pub family: Family,
    pub keys: u64,
    pub bits_per_key: f64,
    /// The share of slots that were taken when it was full; none where slots are no measure.
    pub load: Option<f64>,
    /// Keys that were refused, of which each costs this peer another one.
    pub refused: u64,
    /// ns a key, of each round: filled key by key, and in batches; emptied key by key.
    pub fill: Vec<f64>,
    pub fill_batch: Vec<f64>,
    pub remove: Vec<f64>,
}

impl Churn {
    pub fn new(name: &str, family: Family, keys: u64) -> Self {
        let (bits_per_key, load, refused) = (0.0, None, 0);
        Self { name: name.to_string(), family, keys, bits_per_key, load, refused, fill: Vec::new(), fill_batch: Vec::new(), remove: Vec::new() }
    }
}

/// How many times as long the first took as the second, in the middle one of the rounds.
pub fn times(these: &[f64], others: &[f64]) -> Option<f64> {
    median(&these.iter().zip(others).map(|(this, other)| this / other).collect::<Vec<_>>())
}

/// Everything measured for one number of keys, one rate and one kind of key.
#[derive(Clone, Debug)]
pub struct Block {
    pub keys: u64,
    pub p: f64,
    pub key_type: &'static str,
    pub rows: Vec<Row>,
    /// How many lines a key absentia plans by itself for this rate: which of ours the others are compared with.
    pub lines: u8,
    /// Builds on one thread and on two; none where the machine has but one.
    pub parallel: Vec<Parallel>,
    /// Fills and removals.
    pub churn: Vec<Churn>,
    /// The share of the time that this thread waited for a core, where the system tells.
    pub waited: Option<f64>,
}

impl Block {
    /// The filter of ours that all are compared with.
    pub fn ours(&self) -> Option<&Row> {
        self.rows.iter().find(|row| row.family == Family::Blocked { lines: self.lines })
    }

    /// How many times as long as ours at the same operation and mode, in the middle one of the rounds.
    pub fn ratio(&self, row: &Row, op: Op, mode: Mode) -> Option<f64> {
        row.times(mode, self.ours()?, op, mode)
    }

    /// Whether others were at work on the cores: times are processor time and stand that, but not the builds on two threads.
    pub fn crowded(&self) -> bool {
        self.waited.is_some_and(|waited| waited > CROWDED)
    }

    /// Whether a peer that was sized for our rate missed it by more than 5 % and than chance, as it would if a crate's rate depended on size.
    pub fn rate_is_off(&self, row: &Row) -> bool {
        let ours = self.ours().and_then(|row| row.fpr);
        let sized = row.compare == Compare::Fpr && row.sizing != Sizing::Nearest;
        let off = |theirs: Rate, ours: Rate| {
            let ((low, high), (our_low, our_high)) = (theirs.interval(), ours.interval());
            (low > our_high || high < our_low) && (theirs.value() / ours.value() - 1.0).abs() > 0.05
        };
        sized && row.fpr.zip(ours).is_some_and(|(theirs, ours)| off(theirs, ours))
    }

    /// By how much rounds differed: of all medians over their fastest rounds, the middle one. On a quiet machine 1.0 and little.
    pub fn noise(&self) -> f64 {
        let cells = self.rows.iter().flat_map(|row| OPS.into_iter().flat_map(move |op| MODES.map(|mode| (row, op, mode))));
        let ratios: Vec<f64> = cells.filter_map(|(row, op, mode)| Some(row.ns(op, mode)? / row.ns_range(op, mode)?.0)).collect();
        median(&ratios).unwrap_or(1.0)
    }
}

#[cfg(test)]
impl Row {
    /// A row for the tests of what is made of rows: single calls take `ns` and batches half of it.
    pub fn invented(name: &str, family: Family, compare: Compare, ns: f64, rate: Rate) -> Self {
        let times = [[vec![ns], vec![ns / 2.0]], [vec![ns], vec![ns / 2.0]], [vec![ns], vec![ns / 2.0]]];
        let sizing = Sizing::Given;
        Self { name: name.to_string(), family, compare, sizing, bits_per_key: 9.9, fpr: Some(rate), rounds: 1, fills: 1, times }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The machine slows down to the half in the second round: the medians of either are of different rounds, the ratios are not.
    #[test]
    fn ratios_are_of_rounds_and_not_of_medians() {
        let mut rows = [("ours", vec![2.0, 8.0, 4.0]), ("theirs", vec![6.0, 24.0, 12.0]), ("once", vec![10.0])].map(|(name, times)| {
            let mut row = Row::invented(name, Family::Blocked { lines: 1 }, Compare::Reference, 1.0, Rate::default());
            row.times[Op::Insert as usize][Mode::Single as usize] = times;
            row
        });
        let [ours, theirs, once] = &mut rows;
        assert_eq!(theirs.times(Mode::Single, ours, Op::Insert, Mode::Single), Some(3.0));
        assert_eq!(once.times(Mode::Single, ours, Op::Insert, Mode::Single), Some(5.0));
        ours.times = Default::default();
        assert_eq!(theirs.times(Mode::Single, ours, Op::Insert, Mode::Single), None);
    }
}
