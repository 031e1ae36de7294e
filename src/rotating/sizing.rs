//! [`plan`]: how many lines and positions a filter of so many windows takes. Pure mathematics over [`rate`](crate::rate).
//!
//! Each window is a plane of bits of its own (`kernel/planes.rs`), and each holds up to `capacity` keys. One plane more is there for what is being
//! forgotten. So a line has B = 8·⌊64/(windows + 1)⌋ positions, and a stranger is claimed by one window at the rate `r` of lines of B places, which
//! is known exactly; in two lines a key, at the square of that, since a window must claim it in both.
//!
//! ```text
//! windows    1    2    3    4    5    6    7    8    9   10   12   15   20   31
//! B        256  168  128   96   80   72   64   56   48   40   32   32   24   16
//! ```
//!
//! **All windows together** claim a stranger at 1 − (1 − r)^windows or less. Less, since one question asks the same positions of every window:
//! whether these are few distinct ones is common to all, and so is a key that was inserted in several windows. Events that like to come together have
//! a union that is smaller than that of independent ones, by Jensen's inequality: given the question, the windows are independent and alike, and E[(1
//! − r_q)^windows] ≥ (1 − E[r_q])^windows. So what is promised is an upper bound, and met without a Monte Carlo in sight.

use crate::bits::LINE_BITS;
use crate::kernel::{MAX_PLANES, PlaneLayout};
use crate::params::{Capacity, Fpr, ParamError};
use crate::rate::{self, LinesPerKey, Places};

/// The most windows that a filter can remember: one plane of the 32 that a line can have is spare.
pub const MAX_WINDOWS: u32 = MAX_PLANES - 1;

/// What a plan came to.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct RotatingPlan {
    /// Windows that are remembered, the current one among them.
    pub windows: u32,
    /// Number of lines of 512 bits: at least 1, and even with two lines a key; `u64::MAX` where it is more.
    pub lines: u64,
    /// Lines in which a key has bits, 1 or 2.
    pub lines_per_key: u32,
    /// Bit positions a key, in all its lines together: 1 to 16 in each.
    pub k: u32,
    /// A bound on the rate of all windows together, each with as many keys as the capacity: [`fpr_with`](Self::fpr_with) that number.
    pub predicted_fpr: f64,
}

impl RotatingPlan {
    /// Bit positions in each of a key's lines.
    #[must_use]
    pub fn k_per_line(&self) -> u32 {
        self.k / self.lines_per_key
    }

    /// A bound on the rate of all windows together when each holds `n` keys: 1 − (1 − r)^windows with the exact rate `r` of one window. Cost: some
    /// ten microseconds.
    #[must_use]
    pub fn fpr_with(&self, n: u64) -> f64 {
        let window = places(self.windows).rate(n, self.lines / u64::from(self.lines_per_key), self.k_per_line()).powi(self.lines_per_key as i32);
        of_all(window, self.windows)
    }

    /// Bits for each key of each window, the spare plane counted in; a capacity of 0 counts as 1.
    #[must_use]
    pub fn bits_per_key(&self, capacity: Capacity) -> f64 {
        self.lines as f64 * LINE_BITS as f64 / f64::from(self.windows) / capacity.get().max(1) as f64
    }

    pub(super) fn layout(&self) -> PlaneLayout {
        PlaneLayout::new(self.windows + 1, self.k_per_line(), self.lines_per_key == 2)
    }
}

fn places(windows: u32) -> Places {
    Places::of(PlaneLayout::new(windows + 1, 1, false).positions())
}

/// The rate of a union of so many independent windows: 1 − (1 − r)^windows.
pub(super) fn of_all(window: f64, windows: u32) -> f64 {
    -(f64::from(windows) * (-window).ln_1p()).exp_m1()
}

/// The least lines at which `windows` windows of `capacity` keys each claim a stranger at no more than `fpr`, all windows together. Cost: some
/// thirty microseconds, no memory. A plan too large to build is still a plan.
///
/// ```
/// use absentia::rotating::{LinesPerKey, plan};
/// use absentia::{Capacity, Fpr, ParamError};
///
/// let capacity = Capacity::new(1_000_000); // in each of eight windows
/// let plan = plan(8, capacity, Fpr::new(0.01)?, LinesPerKey::Auto)?;
/// assert!(plan.predicted_fpr <= 0.01);
/// assert_eq!(plan.lines_per_key, 2);
/// assert!(plan.bits_per_key(capacity) < 18.5);
/// # Ok::<(), ParamError>(())
/// ```
///
/// # Errors
///
/// [`ParamError::Windows`] for none, or more than [`MAX_WINDOWS`].
pub fn plan(windows: u32, capacity: Capacity, fpr: Fpr, lines_per_key: LinesPerKey) -> Result<RotatingPlan, ParamError> {
    if !(1..=MAX_WINDOWS).contains(&windows) {
        return Err(ParamError::Windows { requested: windows, largest: MAX_WINDOWS });
    }
    let places = places(windows);
    // The rate that each window may have: 1 − (1 − p)^(1/windows).
    let window = -((-fpr.value()).ln_1p() / f64::from(windows)).exp_m1();
    let plan = |parts: u32| {
        let (lines, k) = rate::least_lines(&places, capacity.get(), if parts == 2 { window.sqrt() } else { window });
        let lines = lines.saturating_mul(u64::from(parts));
        let mut plan = RotatingPlan { windows, lines, lines_per_key: parts, k: k * parts, predicted_fpr: 0.0 };
        plan.predicted_fpr = plan.fpr_with(capacity.get());
        plan
    };
    Ok(match lines_per_key {
        LinesPerKey::One => plan(1),
        LinesPerKey::Two => plan(2),
        LinesPerKey::Auto => {
            let (one, two) = (plan(1), plan(2));
            if two.lines < one.lines { two } else { one }
        }
    })
}
