//! What was measured: a [`Row`] for each filter, in a [`Block`] for each number of keys, rate and kind of key.

use crate::filter::{Compare, Family, Sizing};
use crate::stats::{Rate, median};

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

    /// ns a key of the fastest and of the slowest round.
    pub fn ns_range(&self, op: Op, mode: Mode) -> Option<(f64, f64)> {
        let times = self.times[op as usize][mode as usize].iter().copied();
        Some((times.clone().min_by(f64::total_cmp)?, times.max_by(f64::total_cmp)?))
    }
}

/// Everything measured for one number of keys, one rate and one kind of key.
#[derive(Clone, Debug)]
pub struct Block {
    pub keys: u64,
    pub p: f64,
    pub key_type: &'static str,
    pub rows: Vec<Row>,
    /// ns a key of a parallel build with one thread and with two.
    pub parallel: Option<(f64, f64)>,
    /// The share of the time that this thread waited for a core, where the system tells.
    pub waited: Option<f64>,
}

impl Block {
    /// Our fastest at this: of several kernels the best.
    pub fn ours(&self, op: Op, mode: Mode) -> Option<f64> {
        let blocked = |row: &&Row| matches!(row.family, Family::Blocked { .. });
        self.rows.iter().filter(blocked).filter_map(|row| row.ns(op, mode)).min_by(f64::total_cmp)
    }

    /// Whether a peer that was sized for our rate missed it by more than 5 % and than chance, as it would if a crate's rate depended on size.
    pub fn rate_is_off(&self, row: &Row) -> bool {
        let ours = self.rows.iter().find(|row| matches!(row.family, Family::Blocked { .. })).and_then(|row| row.fpr);
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
