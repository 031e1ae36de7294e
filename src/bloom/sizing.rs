//! How many bits, lines and positions a key: pure mathematics, public, no filter needed.
//!
//! The textbook rule (Bloom 1970) assumes that a key's `k` bits may be anywhere. A filter that keeps them in one 512-bit line, for one cache miss
//! a question, has lines that are fuller than others, and the full ones answer "maybe" too often: at 1 % the textbook size gives 1.15 %, at 1e-6
//! thirteen times the rate. So [`Sizing::Guaranteed`] solves the exact rate instead.
//!
//! **Two lines a key.** The lower the rate, the more the full lines weigh: at 1e-6 one line takes 35 % more bits than the textbook. Half the
//! positions in each of two lines take 8 %, at a second cache miss, one that does not wait for the first. The table is then two equal parts, and a
//! key has one line in each, chosen by independent hash bits. So the two lines never coincide and share no bit, a false positive must pass two tests
//! that know nothing of each other, and the rate is a product, exactly:
//!
//! ```text
//! one line:     rate(n, L, k)
//! two lines:    rate(n, L/2, k/2)²      L and k even; all n keys are in both parts
//! ```
//!
//! Were both lines chosen from one table, a line would hold bits of either test, some keys would have the same line twice, and the square would be
//! an approximation from below. The function `rate` is [`line_fpr`].
//!
//! **Counters** of four bits take the place of bits in a [`CountingBloom`](super::CountingBloom): 128 to a line, and the same function with that
//! number. The shorter a line in places, the more its fullness varies, and the more that weighs: see [`CounterPlan`].

use crate::bits::nibbles::COUNTERS;
use crate::bits::{LINE_BITS, LINE_BYTES};
use crate::kernel::MAX_HASHES;
use crate::params::{Capacity, Fpr};
pub use crate::rate::LinesPerKey;
use crate::rate::{self, Places};
use std::f64::consts::LN_2;

/// Lines of 512 bits.
static LINE: Places = Places::of(LINE_BITS);

/// Lines of 128 counters.
static COUNTER_LINE: Places = Places::of(COUNTERS);

/// What a line of a filter is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Bit,
    Counter,
}

/// The exact false-positive rate of `lines` lines that hold `n` keys of `k` independent uniform positions each, all in one line; `k` is taken into
/// 1..=16 and `lines` to at least 1. Cost: some 0.3 µs. The result is within 1e-11 of the true value, so a rate far below that may be given as 0.
///
/// For a filter of two lines a key see [`LinePlan::fpr_with`].
#[must_use]
pub fn line_fpr(n: u64, lines: u64, k: u32) -> f64 {
    LINE.rate(n, lines, k)
}

/// By which rule a filter is sized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Sizing {
    /// The least memory at which the rate, with as many keys as the capacity, is at most the rate asked for. Over the textbook size: 3.5 % at 1e-2,
    /// 8 % at 1e-3, 11.5 % just above [`TWO_LINES_FROM`]; then in two lines 2.6 % at 3e-4, 3.5 % at 1e-4, 5.5 % at 1e-5, 8 % at 1e-6, 15 % at 1e-8.
    /// One line takes 15 %, 24 %, 35 % and 71 % at the last four.
    #[default]
    Guaranteed,
    /// The textbook size, rounded up to whole lines, as many in either part where there are two; for a given budget of bits. **The rate is then
    /// above the one asked for**: 1.15 % for 1 %, 1.6e-3 for 1e-3; in two lines 1.3e-4 for 1e-4, 2.5e-6 for 1e-6; and `predicted_fpr` says so. The
    /// number of positions is the best for this layout, at most the textbook's, or one more where two lines need an even number.
    Classical,
}

/// The highest rate for which [`LinesPerKey::Auto`] takes two lines. They save 8 % of the bits there (17.3 a key in place of 18.8), 10 % at 1e-4,
/// 20 % at 1e-6, and 6 % at 1e-3. Where a second cache miss begins to be worth that is a choice, not a result.
pub const TWO_LINES_FROM: f64 = 3e-4;

/// What a rule came to, for a filter of 512-bit lines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinePlan {
    /// Number of lines: at least 1, and even with two lines a key.
    pub lines: u64,
    /// Lines in which a key has bits, 1 or 2. Two are one in each half of the lines.
    pub lines_per_key: u32,
    /// Bit positions a key, in all its lines together: 1 to 16 in each, as many in one as in the other.
    pub k: u32,
    /// The rate with as many keys as the capacity: [`fpr_with`](Self::fpr_with) that number.
    pub predicted_fpr: f64,
}

impl LinePlan {
    fn of_parts(parts: u32, (lines, k): (u64, u32)) -> Self {
        Self { lines: lines * u64::from(parts), lines_per_key: parts, k: k * parts, predicted_fpr: 0.0 }
    }

    fn predicting(mut self, unit: Unit, capacity: Capacity) -> Self {
        self.predicted_fpr = self.rate(unit.line(), capacity.get());
        self
    }

    /// [`fpr_with`](Self::fpr_with), of any unit.
    fn rate(&self, places: &Places, n: u64) -> f64 {
        places.rate(n, self.lines_in_part(), self.k_per_line()).powi(self.parts() as i32)
    }

    /// The parts of the table, one for each line of a key. The fields are public, so a caller may have written anything there.
    fn parts(&self) -> u32 {
        self.lines_per_key.clamp(1, 2)
    }

    fn lines_in_part(&self) -> u64 {
        self.lines / u64::from(self.parts())
    }

    /// Bit positions in each of a key's lines: `k / lines_per_key`.
    #[must_use]
    pub fn k_per_line(&self) -> u32 {
        self.k / self.parts()
    }

    /// The exact rate with `n` keys inserted: [`line_fpr`] of one part, to the power of the parts. Cost: some 0.3 µs.
    #[must_use]
    pub fn fpr_with(&self, n: u64) -> f64 {
        self.rate(&LINE, n)
    }

    /// The plan of this filter folded to half its lines: `k` as it is, and the rate that half the lines give with `capacity` keys. None where a
    /// part has an odd number of lines, since lines are folded two by two and parts are not mixed.
    #[must_use]
    pub fn folded(&self, capacity: Capacity) -> Option<Self> {
        Unit::Bit.folded(self, capacity)
    }
}

/// What a rule came to, for a [`CountingBloom`](super::CountingBloom): lines of 512 bits, 128 counters in each.
///
/// Of memory in bits a key, at 1e-2, 1e-3, 1e-4 and 1e-6: 43.4, 76, 124 and 309 in one line a key, 39.4, 61.6, 86.8 and 152 in two. What
/// [`LinesPerKey::Auto`] does is the same as for bits; from 1e-2 down [`LinesPerKey::Two`] saves 9 % and more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CounterPlan {
    /// Number of lines: at least 1, and even with two lines a key.
    pub lines: u64,
    /// Lines in which a key has counters, 1 or 2. Two are one in each half of the lines.
    pub lines_per_key: u32,
    /// Counters a key, in all its lines together: 1 to 16 in each, as many in one as in the other.
    pub k: u32,
    /// The rate with as many keys as the capacity: [`fpr_with`](Self::fpr_with) that number.
    pub predicted_fpr: f64,
}

impl CounterPlan {
    /// The exact false-positive rate with `n` distinct keys in the filter, as [`LinePlan::fpr_with`] for lines of 128 places. Copies of a key do not
    /// change it. Cost: some 0.3 µs.
    #[must_use]
    pub fn fpr_with(&self, n: u64) -> f64 {
        let Self { lines, lines_per_key, k, predicted_fpr } = *self;
        LinePlan { lines, lines_per_key, k, predicted_fpr }.rate(&COUNTER_LINE, n)
    }
}

/// In here and in the kinds a plan of counters is a [`LinePlan`] that was made by its unit, and is asked for another rate through it.
impl Unit {
    fn line(self) -> &'static Places {
        match self {
            Self::Bit => &LINE,
            Self::Counter => &COUNTER_LINE,
        }
    }

    /// In a line.
    fn places(self) -> u64 {
        match self {
            Self::Bit => LINE_BITS as u64,
            Self::Counter => COUNTERS as u64,
        }
    }

    /// The plan of so many lines, and the rate of them.
    pub(super) fn with_lines(self, plan: LinePlan, lines: u64, capacity: Capacity) -> LinePlan {
        LinePlan { lines, ..plan }.predicting(self, capacity)
    }

    /// [`LinePlan::folded`].
    pub(super) fn folded(self, plan: &LinePlan, capacity: Capacity) -> Option<LinePlan> {
        let part = plan.lines_in_part();
        (part > 0 && part.is_multiple_of(2)).then(|| self.with_lines(*plan, plan.lines / 2, capacity))
    }

    /// [`Sizing::plan_lines`].
    pub(super) fn plan(self, sizing: Sizing, capacity: Capacity, fpr: Fpr, lines_per_key: LinesPerKey) -> LinePlan {
        let p = fpr.value();
        let two = match lines_per_key {
            LinesPerKey::Auto => p <= TWO_LINES_FROM,
            LinesPerKey::One => false,
            LinesPerKey::Two => true,
        };
        let (parts, p) = if two { (2, p.sqrt()) } else { (1, p) };
        let part = match sizing {
            Sizing::Guaranteed => rate::least_lines(self.line(), capacity.get(), p),
            Sizing::Classical => {
                let textbook = classical(capacity, fpr);
                let lines = textbook.bits.div_ceil(self.places() * u64::from(parts)).max(1);
                // More than the textbook's k is never best but in filters so small that rounding up to a line gave them bits to spare, and would
                // only cost time there.
                (lines, rate::best_k(self.line(), capacity.get(), lines, textbook.k.div_ceil(parts)))
            }
        };
        LinePlan::of_parts(parts, part).predicting(self, capacity)
    }

    /// [`plan_memory`].
    pub(super) fn plan_memory(self, bytes: u64, capacity: Capacity, lines_per_key: LinesPerKey) -> Option<LinePlan> {
        let plan = |parts: u32| {
            let lines = bytes / LINE_BYTES as u64 / u64::from(parts);
            let k = || rate::best_k(self.line(), capacity.get(), lines, MAX_HASHES);
            (lines > 0).then(|| LinePlan::of_parts(parts, (lines, k())).predicting(self, capacity))
        };
        let is_worth_it = |two: &LinePlan, one: &LinePlan| {
            two.predicted_fpr <= TWO_LINES_FROM && rate::distinguishable(two.predicted_fpr) < rate::distinguishable(one.predicted_fpr)
        };
        match lines_per_key {
            LinesPerKey::One => plan(1),
            LinesPerKey::Two => plan(2),
            LinesPerKey::Auto => {
                let one = plan(1)?;
                Some(plan(2).filter(|two| is_worth_it(two, &one)).unwrap_or(one))
            }
        }
    }
}

/// What the textbook says, for a filter whose bits may be anywhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Classical {
    /// m = ⌈n · log2(1/p) / ln 2⌉; `u64::MAX` where that is more.
    pub bits: u64,
    /// k = round((m/n) · ln 2), at least 1.
    pub k: u32,
    /// (1 − e^(−k·n/m))^k.
    pub predicted_fpr: f64,
}

impl Classical {
    /// The most bit positions a key: with more, a key costs time and the rate is below 1e-19 all the same.
    pub const MAX_K: u32 = 64;

    /// The best that `capacity` keys can have in `bits` bits: k as the textbook says, at most [`MAX_K`](Self::MAX_K). A capacity of 0 counts as 1.
    #[must_use]
    pub fn of_bits(bits: u64, capacity: Capacity) -> Self {
        let n = capacity.get().max(1) as f64;
        let k = ((bits as f64 / n * LN_2).round() as u32).clamp(1, Self::MAX_K);
        Self { bits, k, predicted_fpr: classical_fpr(n, bits, k) }
    }
}

/// (1 − e^(−k·n/m))^k.
pub(super) fn classical_fpr(n: f64, bits: u64, k: u32) -> f64 {
    (-(-f64::from(k) * n / bits as f64).exp_m1()).powi(k as i32)
}

impl Sizing {
    /// Lines and positions for `capacity` keys at rate `fpr`, by [`LinesPerKey::Auto`]: see [`plan_lines`](Self::plan_lines).
    ///
    /// ```
    /// use absentia::bloom::sizing::Sizing;
    /// use absentia::{Capacity, Fpr, ParamError};
    ///
    /// let plan = Sizing::Guaranteed.plan(Capacity::new(1_000_000), Fpr::new(0.01)?);
    /// assert!(plan.predicted_fpr <= 0.01);
    /// assert_eq!((plan.lines_per_key, plan.k), (1, 6));
    /// assert_eq!(plan.lines * 512 / 100_000, 99); // 9.9 bits a key
    /// # Ok::<(), ParamError>(())
    /// ```
    #[must_use]
    pub fn plan(self, capacity: Capacity, fpr: Fpr) -> LinePlan {
        self.plan_lines(capacity, fpr, LinesPerKey::Auto)
    }

    /// Lines and positions for `capacity` keys at rate `fpr`, in `lines_per_key` lines a key. Cost: 3 to 8 µs, no memory. Never fails: a
    /// plan too large to build is still a plan.
    ///
    /// A capacity of 0 gives one line, or one in each part; [`Guaranteed`](Self::Guaranteed) with the positions that a large filter of this rate
    /// would have.
    ///
    /// ```
    /// use absentia::bloom::sizing::{LinesPerKey, Sizing};
    /// use absentia::{Capacity, Fpr, ParamError};
    ///
    /// let (keys, fpr) = (Capacity::new(1_000_000), Fpr::new(1e-6)?);
    /// let [one, two] = [LinesPerKey::One, LinesPerKey::Two].map(|lines| Sizing::Guaranteed.plan_lines(keys, fpr, lines));
    /// assert_eq!([one.lines * 512 / 1_000_000, two.lines * 512 / 1_000_000], [38, 31]); // bits a key
    /// assert_eq!([one.k_per_line(), two.k_per_line()], [16, 9]);
    /// # Ok::<(), ParamError>(())
    /// ```
    #[must_use]
    pub fn plan_lines(self, capacity: Capacity, fpr: Fpr, lines_per_key: LinesPerKey) -> LinePlan {
        Unit::Bit.plan(self, capacity, fpr, lines_per_key)
    }

    /// Lines and counters for `capacity` distinct keys at rate `fpr`, as [`plan_lines`](Self::plan_lines), for a
    /// [`CountingBloom`](super::CountingBloom). [`Classical`](Self::Classical) is as many counters as the textbook has bits, rounded up to lines.
    ///
    /// ```
    /// use absentia::bloom::sizing::{LinesPerKey, Sizing};
    /// use absentia::{Capacity, Fpr, ParamError};
    ///
    /// let plan = Sizing::Guaranteed.plan_counters(Capacity::new(1_000_000), Fpr::new(0.01)?, LinesPerKey::Auto);
    /// assert_eq!((plan.lines_per_key, plan.k), (1, 6));
    /// assert_eq!(plan.lines * 512 / 1_000_000, 43); // bits a key
    /// # Ok::<(), ParamError>(())
    /// ```
    #[must_use]
    pub fn plan_counters(self, capacity: Capacity, fpr: Fpr, lines_per_key: LinesPerKey) -> CounterPlan {
        let LinePlan { lines, lines_per_key, k, predicted_fpr } = Unit::Counter.plan(self, capacity, fpr, lines_per_key);
        CounterPlan { lines, lines_per_key, k, predicted_fpr }
    }
}

/// The plan for a budget of memory: as many whole lines as fit in `bytes`, and the `k` of the lowest rate that they have with `capacity` keys.
/// None where `bytes` are too few for one line a part: below 64, or 128 for [`LinesPerKey::Two`]. Cost: 4 to 9 µs, no memory.
///
/// [`LinesPerKey::Auto`] takes two lines where their rate is at most [`TWO_LINES_FROM`] and lower than that of one, as it is but for tables of a few
/// lines. Rates below 1e-11 in one line count as equal, and the fewest positions are taken; no keys count as one.
///
/// ```
/// use absentia::bloom::sizing::{LinesPerKey, plan_memory};
/// use absentia::Capacity;
///
/// let plan = plan_memory(4 << 20, Capacity::new(1_000_000), LinesPerKey::Auto).expect("4 MiB are many lines");
/// assert_eq!((plan.lines, plan.lines_per_key, plan.k), (65_536, 2, 20)); // 33.6 bits a key
/// assert!((3.9e-7..4.0e-7).contains(&plan.predicted_fpr));
/// ```
#[must_use]
pub fn plan_memory(bytes: u64, capacity: Capacity, lines_per_key: LinesPerKey) -> Option<LinePlan> {
    Unit::Bit.plan_memory(bytes, capacity, lines_per_key)
}

/// The textbook size for `capacity` keys at rate `fpr`.
///
/// ```
/// use absentia::bloom::sizing::classical;
/// use absentia::{Capacity, Fpr, ParamError};
///
/// let size = classical(Capacity::new(1_000_000), Fpr::new(0.01)?);
/// assert_eq!((size.bits / 8, size.k), (1_198_132, 7)); // 1.2 MB
/// # Ok::<(), ParamError>(())
/// ```
#[must_use]
pub fn classical(capacity: Capacity, fpr: Fpr) -> Classical {
    let n = capacity.get() as f64;
    let log = -fpr.value().log2();
    // A float becomes an integer by saturation, which is what the field promises.
    let bits = (n * log / LN_2).ceil() as u64;
    if bits == 0 {
        return Classical { bits, k: (log.round() as u32).max(1), predicted_fpr: 0.0 };
    }
    let k = ((bits as f64 / n * LN_2).round() as u32).max(1);
    Classical { bits, k, predicted_fpr: classical_fpr(n, bits, k) }
}

#[cfg(test)]
mod tests;
