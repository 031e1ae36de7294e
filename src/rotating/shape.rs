//! [`Shape`]: everything about a filter but its bits and its time.

use super::occupancy::Occupancy;
use super::sizing::RotatingPlan;
use crate::bits::{self, LINE_BITS, LINE_BYTES};
use crate::filter::CombineError;
use crate::kernel::{Kernel, PlaneLayout};
use crate::key::HasherFingerprint;
use crate::params::{Capacity, ParamError};
use crate::rate;
use std::fmt;

/// The parameters of a filter, and what follows from them.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// Keys of one window.
    pub(super) capacity: u64,
    /// The rate that was asked for.
    pub(super) fpr: f64,
    pub(super) plan: RotatingPlan,
    pub(super) layout: PlaneLayout,
    pub(super) kernel: Kernel,
    pub(super) hasher: HasherFingerprint,
}

/// Everything that decides an answer. Not the kernel: all kernels give the same bits.
impl PartialEq for Shape {
    fn eq(&self, other: &Self) -> bool {
        (self.capacity, self.fpr, self.plan, self.hasher) == (other.capacity, other.fpr, other.plan, other.hasher)
    }
}

impl Shape {
    /// As many empty lines as the plan has, checked against the limit before anything is allocated.
    pub(super) fn allocate<L>(&self, limit: u64, empty: impl FnMut() -> L) -> Result<Vec<L>, ParamError> {
        bits::allocate(self.plan.lines, limit, empty)
    }

    pub(super) fn bits(&self) -> u64 {
        self.plan.lines * LINE_BITS as u64
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        self.plan.lines * LINE_BYTES as u64
    }

    pub(super) fn bits_per_key(&self) -> f64 {
        self.plan.bits_per_key(Capacity::new(self.capacity))
    }

    /// Whether the rate is too far above the one asked for.
    pub(super) fn is_saturated(&self, estimated: f64) -> bool {
        rate::is_saturated(estimated, self.fpr)
    }

    /// Whether a key has its bits at the same places in both.
    pub(super) fn combines_with(&self, other: &Self) -> Result<(), CombineError> {
        let (ours, theirs) = (&self.plan, &other.plan);
        if self.hasher != other.hasher {
            Err(CombineError::Hasher { ours: self.hasher, theirs: other.hasher })
        } else if ours.windows != theirs.windows {
            Err(CombineError::Windows { ours: ours.windows, theirs: theirs.windows })
        } else if ours.lines != theirs.lines {
            Err(CombineError::Bits { ours: self.bits(), theirs: other.bits() })
        } else if ours.lines_per_key != theirs.lines_per_key {
            Err(CombineError::LinesPerKey { ours: ours.lines_per_key, theirs: theirs.lines_per_key })
        } else if ours.k != theirs.k {
            Err(CombineError::Positions { ours: ours.k, theirs: theirs.k })
        } else {
            Ok(())
        }
    }

    /// Kind, windows, bits, k, fill and kernel; never the bits themselves or the secret.
    pub(super) fn debug(&self, f: &mut fmt::Formatter<'_>, kind: &str, window: u64, occupancy: &Occupancy) -> fmt::Result {
        f.debug_struct(kind)
            .field("windows", &self.plan.windows)
            .field("window", &window)
            .field("capacity", &self.capacity)
            .field("bits", &self.bits())
            .field("k", &self.plan.k)
            .field("lines_per_key", &self.plan.lines_per_key)
            .field("fill", &format_args!("{:.4}", occupancy.fill_ratio(self.plan.windows)))
            .field("kernel", &format_args!("{}", self.kernel))
            .finish()
    }
}
