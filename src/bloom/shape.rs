//! [`Shape`]: everything about a filter but its bits.
//!
//! The plain and the atomic filter are a shape and a vector of lines each. Memory is decided here: checked against the limit in 64-bit arithmetic
//! before anything is allocated, and then asked for in a way that may be refused.

use super::occupancy::Occupancy;
use super::sizing::LinePlan;
use crate::bits::{self, LINE_BITS, LINE_BYTES, Words};
use crate::filter::CombineError;
use crate::kernel::{Kernel, Layout};
use crate::key::HasherFingerprint;
use crate::params::{Capacity, ParamError};
use std::fmt;

/// The parameters of a filter, and what follows from them.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) capacity: u64,
    /// The rate that was asked for; the predicted one where memory was given instead.
    fpr: f64,
    pub(super) plan: LinePlan,
    pub(super) layout: Layout,
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
    pub(super) fn new(capacity: Capacity, fpr: f64, plan: LinePlan, kernel: Kernel, hasher: HasherFingerprint) -> Self {
        let layout = Layout::new(plan.k_per_line(), plan.lines_per_key == 2);
        Self { capacity: capacity.get(), fpr, plan, layout, kernel, hasher }
    }

    /// As many empty lines as the plan has.
    pub(super) fn allocate<L>(&self, limit: u64, empty: impl FnMut() -> L) -> Result<Vec<L>, ParamError> {
        bits::allocate(self.plan.lines, limit, empty)
    }

    /// Room for as many lines as the plan has, whose number is then known to fit in `usize`.
    #[cfg(feature = "rayon")]
    pub(super) fn reserve<L>(&self, limit: u64) -> Result<Vec<L>, ParamError> {
        bits::reserve(self.plan.lines, limit)
    }

    pub(super) fn bits(&self) -> u64 {
        self.plan.lines * LINE_BITS as u64
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        self.plan.lines * LINE_BYTES as u64
    }

    pub(super) fn bits_per_key(&self) -> f64 {
        self.bits() as f64 / self.capacity.max(1) as f64
    }

    pub(super) fn occupancy(&self, lines: &[impl Words]) -> Occupancy {
        Occupancy::of(self.layout, lines)
    }

    /// The rate that the filter was made to keep: the one asked for, or the predicted one where the sizing rule admits more.
    pub(super) fn promised_fpr(&self) -> f64 {
        self.fpr.max(self.plan.predicted_fpr)
    }

    /// Whether the bits of the two mean the same. What each was sized for does not matter.
    pub(super) fn combines_with(&self, other: &Self) -> Result<(), CombineError> {
        let (ours, theirs) = (&self.plan, &other.plan);
        if self.hasher != other.hasher {
            Err(CombineError::Hasher { ours: self.hasher, theirs: other.hasher })
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

    /// The shape of half the size, for half the keys.
    pub(super) fn folded(&self) -> Result<Self, CombineError> {
        let capacity = self.capacity / 2;
        let plan = self.plan.folded(Capacity::new(capacity)).ok_or(CombineError::Odd { bits: self.bits() })?;
        Ok(Self { capacity, plan, ..self.clone() })
    }

    /// Kind, bits, k, fill and kernel; never the bits themselves or the secret.
    pub(super) fn debug(&self, f: &mut fmt::Formatter<'_>, kind: &str, occupancy: &Occupancy) -> fmt::Result {
        f.debug_struct(kind)
            .field("capacity", &self.capacity)
            .field("bits", &self.bits())
            .field("k", &self.plan.k)
            .field("lines_per_key", &self.plan.lines_per_key)
            .field("fill", &format_args!("{:.4}", occupancy.fill_ratio()))
            .field("kernel", &format_args!("{}", self.kernel))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bloom::Sizing;
    use crate::key::KeyHasher;
    use crate::params::Fpr;

    fn shape(capacity: u64, fpr: f64) -> Shape {
        let plan = Sizing::Guaranteed.plan(Capacity::new(capacity), Fpr::new(fpr).unwrap());
        Shape::new(Capacity::new(capacity), fpr, plan, Kernel::best(), KeyHasher::xxh3(1).fingerprint())
    }

    #[test]
    fn memory_is_refused_before_it_is_asked_for() {
        let made = |capacity, limit| {
            let mut made = 0u64;
            let result = shape(capacity, 0.01)
                .allocate(limit, || {
                    made += 1;
                    crate::bits::Line::EMPTY
                })
                .map(|lines| lines.len() as u64);
            (result, made)
        };
        let limit = isize::MAX as u64;
        assert_eq!(made(u64::MAX, u64::MAX), (Err(ParamError::TooLarge { needed: u64::MAX, limit }), 0));
        let needed = shape(1000, 0.01).memory_bytes();
        assert_eq!(made(1000, needed - 1), (Err(ParamError::TooLarge { needed, limit: needed - 1 }), 0));
        assert_eq!(made(1000, needed), (Ok(needed / 64), needed / 64));
        assert_eq!(made(0, 0), (Err(ParamError::TooLarge { needed: 64, limit: 0 }), 0));
    }

    #[cfg(target_pointer_width = "64")]
    #[test]
    fn an_allocator_that_refuses_is_an_error() {
        // 2^61 bytes: countable, and more than any address space.
        let shape = shape(1 << 60, 0.1);
        let needed = shape.memory_bytes();
        assert_eq!(shape.allocate(u64::MAX, || crate::bits::Line::EMPTY), Err(ParamError::OutOfMemory { needed }));
    }

    #[test]
    fn bits_per_key_of_nobody_are_those_of_one() {
        assert_eq!((shape(0, 0.01).bits_per_key(), shape(1, 0.01).bits_per_key()), (512.0, 512.0));
    }

    #[test]
    fn every_difference_of_meaning_is_named() {
        let ours = shape(1000, 0.01);
        assert_eq!(ours.combines_with(&ours.clone()), Ok(()));
        // Another promise about the same bits is no difference.
        assert_eq!(ours.combines_with(&Shape { capacity: 5, fpr: 0.5, kernel: Kernel::PORTABLE, ..ours.clone() }), Ok(()));
        let hasher = KeyHasher::xxh3(2).fingerprint();
        let stranger = Shape { hasher, ..ours.clone() };
        assert_eq!(ours.combines_with(&stranger), Err(CombineError::Hasher { ours: ours.hasher, theirs: hasher }));
        let longer = shape(2000, 0.01);
        assert_eq!(ours.combines_with(&longer), Err(CombineError::Bits { ours: ours.bits(), theirs: longer.bits() }));
        let other = |plan| ours.combines_with(&Shape { plan, ..ours.clone() });
        assert_eq!(other(LinePlan { k: 7, ..ours.plan }), Err(CombineError::Positions { ours: 6, theirs: 7 }));
        assert_eq!(other(LinePlan { lines_per_key: 2, ..ours.plan }), Err(CombineError::LinesPerKey { ours: 1, theirs: 2 }));
    }
}
