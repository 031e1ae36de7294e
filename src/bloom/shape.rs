//! [`Shape`]: everything about a filter but its bits.
//!
//! The plain and the atomic filter are a shape and a vector of lines each. Memory is decided here: checked against the limit in 64-bit arithmetic
//! before anything is allocated, and then asked for in a way that may be refused.

use super::occupancy::Occupancy;
use super::sizing::{LinePlan, Sizing};
use crate::bits::{LINE_BITS, LINE_BYTES};
use crate::kernel::Kernel;
use crate::key::HasherFingerprint;
use crate::params::{Capacity, Fpr, ParamError};
use std::fmt;

/// The parameters of a filter, and what follows from them.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) capacity: u64,
    fpr: f64,
    pub(super) plan: LinePlan,
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
    pub(super) fn new(capacity: Capacity, fpr: Fpr, sizing: Sizing, hasher: HasherFingerprint) -> Self {
        Self { capacity: capacity.get(), fpr: fpr.value(), plan: sizing.plan(capacity, fpr), kernel: Kernel::best(), hasher }
    }

    /// As many empty lines as the plan has.
    pub(super) fn allocate<L>(&self, limit: u64, empty: impl FnMut() -> L) -> Result<Vec<L>, ParamError> {
        // No allocation may be larger than isize::MAX; on a 32-bit machine that limit is the lower one.
        let limit = limit.min(isize::MAX as u64);
        let needed = self.plan.lines.saturating_mul(LINE_BYTES as u64);
        if needed > limit {
            return Err(ParamError::TooLarge { needed, limit });
        }
        let count = usize::try_from(self.plan.lines).expect("a number of lines whose bytes fit in isize");
        let mut lines = Vec::new();
        lines.try_reserve_exact(count).map_err(|_| ParamError::OutOfMemory { needed })?;
        lines.resize_with(count, empty);
        Ok(lines)
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

    /// The rate that the filter was made to keep: the one asked for, or the predicted one where the sizing rule admits more.
    fn promised_fpr(&self) -> f64 {
        self.fpr.max(self.plan.predicted_fpr)
    }

    /// Twice the promised rate, or half-way from it to 1 where that is less.
    pub(super) fn is_saturated(&self, occupancy: &Occupancy) -> bool {
        let promised = self.promised_fpr();
        occupancy.fpr(self.plan.k) > promised + promised.min((1.0 - promised) / 2.0)
    }

    /// Kind, bits, k, fill and kernel; never the bits themselves or the secret.
    pub(super) fn debug(&self, f: &mut fmt::Formatter<'_>, kind: &str, occupancy: &Occupancy) -> fmt::Result {
        f.debug_struct(kind)
            .field("capacity", &self.capacity)
            .field("bits", &self.bits())
            .field("k", &self.plan.k)
            .field("fill", &format_args!("{:.4}", occupancy.fill_ratio()))
            .field("kernel", &format_args!("{}", self.kernel.name()))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::KeyHasher;

    fn shape(capacity: u64, fpr: f64) -> Shape {
        Shape::new(Capacity::new(capacity), Fpr::new(fpr).unwrap(), Sizing::Guaranteed, KeyHasher::xxh3(1).fingerprint())
    }

    #[test]
    fn memory_is_refused_before_it_is_asked_for() {
        let made = |capacity, limit| {
            let mut made = 0u64;
            let result = shape(capacity, 0.01).allocate(limit, || made += 1).map(|lines| lines.len() as u64);
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
    fn saturation_is_twice_the_promise_or_half_way_to_certainty() {
        let full = |share: usize| {
            let mut occupancy = Occupancy::default();
            (0..10).for_each(|line| occupancy.add(if line < share { LINE_BITS as u32 } else { 0 }));
            occupancy
        };
        assert!(!shape(1000, 0.1).is_saturated(&full(2)) && shape(1000, 0.1).is_saturated(&full(3)));
        assert!(!shape(1000, 0.5).is_saturated(&full(7)) && shape(1000, 0.5).is_saturated(&full(8)));
        assert!(!shape(1000, 0.1).is_saturated(&Occupancy::default()));
    }
}
