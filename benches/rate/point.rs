//! [`Point`]: one filter at one filling, what was found, and whether that is as it should be. The bounds stand at the head of the bench.

use super::expected::Expected;
use super::filter::{Ask, Kind, found};
use std::ops::Range;

/// Least bits a key of the design notes, and the rates they are for.
const BITS: [(f64, f64); 5] = [(1e-2, 9.90), (1e-3, 15.49), (1e-4, 19.79), (1e-5, 25.19), (1e-6, 30.98)];

/// Standard deviations from the prediction on either side; a normal variable leaves these with chance 2e-7.
const FROM_PREDICTED: f64 = 5.2;

/// Standard deviations above the rate asked for; a normal variable is above with chance 1e-3.
const ABOVE_PROMISED: f64 = 3.09;

/// False positives that must be expected before anything is concluded from their number.
const EXPECTED_AT_LEAST: f64 = 1000.0;

/// Questions that are judged where fewer would do: a tenth of a second's.
const QUESTIONS_AT_LEAST: f64 = 1.6e7;

pub(crate) struct Point {
    pub(crate) kind: Kind,
    pub(crate) capacity: u64,
    pub(crate) p: f64,
    /// Keys over capacity.
    pub(crate) fill: f64,
    pub(crate) expected: Expected,
    bits_per_key: f64,
    numbers: Range<u64>,
    /// Calls of [`ask`](Self::ask).
    calls: u64,
    /// False positives among the first of these, as many as are judged.
    found: u64,
    filter: Option<Ask>,
}

impl Point {
    /// `first` is the first number of its keys and strangers, which are not those of another point: then no two points are wrong together.
    pub(crate) fn new(kind: Kind, capacity: u64, p: f64, fill: f64, first: u64) -> Self {
        let numbers = first..first + (capacity as f64 * fill) as u64;
        let (expected, bits_per_key) = kind.expected(capacity, p, numbers.end - numbers.start);
        Self { kind, capacity, p, fill, expected, bits_per_key, numbers, calls: 0, found: 0, filter: None }
    }

    /// Questions of one call: so many that a call without any false positive, which criterion takes for an error, is out of the question.
    pub(crate) fn questions(&self) -> u64 {
        (1 << 16).max((30.0 / self.expected.rate) as u64)
    }

    /// Calls that are judged. However many criterion makes: then the judgement is the same in every run, and on every machine.
    fn judged(&self) -> u64 {
        (QUESTIONS_AT_LEAST.max(EXPECTED_AT_LEAST / self.expected.rate) / self.questions() as f64).ceil() as u64
    }

    /// Questions that are judged.
    pub(crate) fn judged_questions(&self) -> f64 {
        (self.judged() * self.questions()) as f64
    }

    /// Makes the filter, and looks whether its keys are there.
    pub(crate) fn fill(&mut self) {
        if self.filter.is_none() {
            let filter = self.kind.filter(self.capacity, self.p, self.numbers.clone());
            assert_eq!(found(&filter, self.numbers.clone()), self.numbers.end - self.numbers.start, "an inserted key is not there");
            self.filter = Some(filter);
        }
    }

    /// Asks about strangers who were not asked about before; how many in a million are said to be there.
    pub(crate) fn ask(&mut self) -> f64 {
        let filter = self.filter.as_ref().expect("a filter that was filled");
        let first = self.numbers.end + self.calls * self.questions();
        let found = found(filter, first..first + self.questions());
        if self.calls < self.judged() {
            self.found += found;
        }
        self.calls += 1;
        found as f64 / self.questions() as f64 * 1e6
    }

    /// Asks as much as a judgement needs, and judges. Nothing where the bench was not chosen.
    pub(crate) fn judge(&mut self) -> bool {
        if self.calls == 0 {
            return false;
        }
        while self.calls < self.judged() {
            self.ask();
        }
        self.filter = None;
        let (asked, found, what) = (self.judged_questions(), self.found as f64, self.row());
        let (mean, deviation) = (asked * self.expected.rate, self.expected.deviation(asked));
        assert!(found - mean <= FROM_PREDICTED * deviation, "more than predicted: {what}");
        // What is only bounded may fall short of the bound; by how much at most is a guess.
        let least = if self.kind.is_bounded_only() { 0.75 * mean } else { mean };
        assert!(found - least >= -FROM_PREDICTED * deviation, "less than predicted: {what}");
        if self.kind.is_guaranteed() && self.fill <= 1.0 {
            // What a filter whose mean rate is exactly p would show, had it the same spread.
            let promised = Expected { rate: self.p, ..self.expected };
            assert!(found <= asked * self.p + ABOVE_PROMISED * promised.deviation(asked), "above the rate that was asked for: {what}");
        }
        if let Some(bits) = self.noted_bits() {
            assert!(self.bits_per_key <= 1.01 * bits, "more memory than the design notes allow: {what}");
        }
        true
    }

    /// The bits a key that the design notes have for this, where they do.
    fn noted_bits(&self) -> Option<f64> {
        let noted = BITS.iter().find(|(p, _)| *p == self.p)?;
        self.kind.is_default(self.capacity, self.p).then_some(noted.1)
    }

    pub(crate) fn header() -> &'static str {
        "kind                    p   bits/key   noted   fill n   predicted    measured   measured/predicted      sd   measured/p"
    }

    pub(crate) fn row(&self) -> String {
        let (asked, found) = (self.judged_questions(), self.found as f64);
        let (rate, measured) = (self.expected.rate, found / asked);
        format!(
            "{:17} {:>7} {:10.2} {:>7} {:8.2} {rate:11.3e} {measured:11.3e} {:20.4} {:+7.2} {:12.3}",
            self.kind.name(),
            format!("{:e}", self.p),
            self.bits_per_key,
            self.noted_bits().map_or_else(|| "-".into(), |bits| format!("{bits:.2}")),
            self.fill,
            measured / rate,
            (found - asked * rate) / self.expected.deviation(asked),
            measured / self.p,
        )
    }
}
