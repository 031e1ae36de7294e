//! [`Shape`]: everything about a filter but its fingerprints, and what follows from it. The plain and the atomic filter have one each.

use super::bucket::SLOTS;
use super::geometry::Geometry;
use super::sizing::{CuckooPlan, false_positive_rate, plan, plan_width};
use crate::kernel::Kernel;
use crate::key::HasherFingerprint;
use crate::params::{Capacity, Fpr, ParamError};
use std::fmt;

#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) capacity: u64,
    /// The rate that was asked for; 0 where the width was given instead.
    fpr: f64,
    /// The most memory, for this filter and for what it grows into.
    pub(super) limit: u64,
    pub(super) plan: CuckooPlan,
    pub(super) geometry: Geometry,
    pub(super) kernel: Kernel,
    pub(super) hasher: HasherFingerprint,
}

impl Shape {
    /// # Errors
    ///
    /// Where the buckets are more than can be counted here, and so more than there is memory for.
    pub(super) fn new(
        capacity: Capacity,
        fpr: f64,
        plan: CuckooPlan,
        kernel: Kernel,
        limit: u64,
        hasher: HasherFingerprint,
    ) -> Result<Self, ParamError> {
        let buckets = usize::try_from(plan.buckets).map_err(|_| ParamError::TooLarge { needed: plan.memory_bytes(), limit })?;
        let geometry = Geometry::new(buckets, plan.width);
        Ok(Self { capacity: capacity.get(), fpr, limit, plan, geometry, kernel, hasher })
    }

    /// The shape for another number of keys, with fingerprints of the same width, or of a larger one where the rate that was asked for takes it: a
    /// filter for a few keys keeps it with narrow ones, since most of its slots are empty.
    pub(super) fn for_capacity(&self, capacity: Capacity) -> Result<Self, ParamError> {
        let least = Fpr::new(self.fpr).map_or(0, |fpr| plan(capacity, fpr).width);
        Self::new(capacity, self.fpr, plan_width(capacity, self.plan.width.max(least)), self.kernel, self.limit, self.hasher)
    }

    pub(super) fn slots(&self) -> u64 {
        self.plan.buckets * SLOTS as u64
    }

    pub(super) fn load_factor(&self, len: u64) -> f64 {
        len as f64 / self.slots() as f64
    }

    pub(super) fn estimated_fpr(&self, len: u64) -> f64 {
        false_positive_rate(self.plan.width, self.load_factor(len))
    }

    /// More keys than it was sized for, or a rate above the promised one.
    pub(super) fn is_saturated(&self, len: u64) -> bool {
        len > self.capacity || self.estimated_fpr(len) > self.fpr.max(self.plan.predicted_fpr)
    }

    pub(super) fn per_key(&self, bits: u64) -> f64 {
        bits as f64 / self.capacity.max(1) as f64
    }

    /// Kind, bits, width and load; never the fingerprints or the secret.
    pub(super) fn debug(&self, f: &mut fmt::Formatter<'_>, kind: &str, bits: u64, len: u64) -> fmt::Result {
        f.debug_struct(kind)
            .field("capacity", &self.capacity)
            .field("len", &len)
            .field("bits", &bits)
            .field("fingerprint_bits", &self.plan.width)
            .field("kernel", &format_args!("{}", self.kernel))
            .field("load", &format_args!("{:.4}", self.load_factor(len)))
            .finish()
    }
}
