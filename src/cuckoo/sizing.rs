//! How wide fingerprints are and how many buckets there are: from capacity and rate to a [`CuckooPlan`].
//!
//! A key is a fingerprint in one of m/2 pairs of buckets: one of (m/2)·(2^f − 1) cases, all equally likely. A stranger is claimed where its own case
//! is that of one of the n keys. With `α` = n/(4·m), the share of the slots that is taken:
//!
//! ```text
//! rate = 1 − e^(−8·α/(2^f − 1))        about 8·α/2^f
//! ```
//!
//! and each halving of the rate costs one bit a key.
//!
//! **How many keys fit** is a matter of chance, of little in large filters. Filters of random hashes that were full before their capacity, of so
//! many:
//!
//! ```text
//! keys           8 or fewer        15        30       100       300       1000     8000     8192    65,536    10^6   10^7
//! slots a key    8 in all        2.13      1.60      1.28      1.120     1.072    1.055    1.053   1.053     1.053  1.053
//! full, f = 7    never        3/10^6    5/10^6    0/10^6    1/10^6  0/300,000  1/37,500  0/36,621  0/4577   0/300   0/30
//! full, f = 12   never        1/10^6    3/10^6    0/10^6    1/10^6  0/300,000  0/37,500  0/36,621  0/4577   0/300   0/30
//! ```
//!
//! So the chance is some 1e-5 at most where it was measured well, and below 1e-4 elsewhere by all that the distribution shows: filters that were
//! filled until they were full came to 0.967 of the slots at 2^16 (median), 0.962 at 10^6, 0.959 at 1.6·10^7 and 0.957 at 1.3·10^8, within half a per
//! cent, whatever the width. (`cargo test --release --lib slack_table -- --ignored --nocapture`.) Copies of a key count as keys, and eight of one
//! fill its two buckets: many of them fill a filter early.

use super::bucket::{SLOTS, bytes_of};
use super::slots::slot_bits;
use crate::params::{Capacity, Fpr};

/// The narrowest fingerprint: below, too many keys of a large filter have the same two buckets.
pub const MIN_WIDTH: u32 = 7;
/// The widest.
pub const MAX_WIDTH: u32 = 32;

/// A size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuckooPlan {
    /// Buckets of four slots: an even number, at least 2.
    pub buckets: u64,
    /// Bits of a fingerprint, 7 to 32.
    pub width: u32,
    /// The rate with as many keys as the capacity.
    pub predicted_fpr: f64,
}

impl CuckooPlan {
    /// Bytes of memory; `u64::MAX` where that is more.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        bytes_of(self.buckets, self.width)
    }
}

/// The rate at which strangers are claimed where a share `load` of all slots is taken by fingerprints of `width` bits.
#[must_use]
pub fn false_positive_rate(width: u32, load: f64) -> f64 {
    let values = ((1u64 << width.clamp(MIN_WIDTH, MAX_WIDTH)) - 1) as f64;
    -(-8.0 * load.clamp(0.0, 1.0) / values).exp_m1()
}

/// The share of slots that keys may take in a large filter. Two buckets of four would take 0.98 of independent fingerprints, and 0.97 was reached
/// with 127 of them (f = 7); the rest keeps inserts fast, and away from chance.
const LOAD: f64 = 0.95;

/// Slots more than that below [`LARGE`] keys, where chance decides: see the table at the head.
const SLACK: f64 = 16.0;

/// From so many keys on a load of [`LOAD`] alone is safe.
const LARGE: u64 = 1 << 13;

/// The even number of buckets that `capacity` distinct keys take.
fn buckets_for(capacity: u64) -> u64 {
    // Two buckets are both of every key's, so that eight keys always fit.
    if capacity <= 2 * SLOTS as u64 {
        return 2;
    }
    let slots = capacity as f64 / LOAD + if capacity < LARGE { SLACK } else { 0.0 };
    even((slots / SLOTS as f64).ceil() as u64)
}

/// The even number of buckets in which `capacity` distinct keys find a slot without moving any.
fn buckets_shared(capacity: u64) -> u64 {
    if capacity <= 2 * SLOTS as u64 {
        return 2;
    }
    let slots = capacity.saturating_mul(if capacity < 1 << 22 { 4 } else { 5 });
    even(slots.div_ceil(SLOTS as u64))
}

const fn even(buckets: u64) -> u64 {
    buckets.saturating_add(buckets % 2)
}

/// The size for `capacity` distinct keys at rate `fpr`: the narrowest fingerprint that keeps it, at the load that so many keys come to.
#[must_use]
pub fn plan(capacity: Capacity, fpr: Fpr) -> CuckooPlan {
    of_rate(capacity, buckets_for(capacity.get()), fpr)
}

/// The size for `capacity` distinct keys with fingerprints of `width` bits, taken into 7 to 32.
#[must_use]
pub fn plan_width(capacity: Capacity, width: u32) -> CuckooPlan {
    of_width(capacity, buckets_for(capacity.get()), width)
}

/// The size of an [`AtomicCuckoo`](super::AtomicCuckoo) that takes `capacity` distinct keys one by one, which moves nothing to make room.
#[must_use]
pub fn plan_shared(capacity: Capacity, fpr: Fpr) -> CuckooPlan {
    let plan = of_rate(capacity, buckets_shared(capacity.get()), fpr);
    // What fills a slot costs nothing.
    plan_shared_width(capacity, slot_bits(plan.width))
}

/// The same with fingerprints of `width` bits, taken into 7 to 32.
#[must_use]
pub fn plan_shared_width(capacity: Capacity, width: u32) -> CuckooPlan {
    of_width(capacity, buckets_shared(capacity.get()), width)
}

fn of_rate(capacity: Capacity, buckets: u64, fpr: Fpr) -> CuckooPlan {
    let rate = |width| false_positive_rate(width, load(capacity, buckets));
    of_width(capacity, buckets, (MIN_WIDTH..MAX_WIDTH).find(|&width| rate(width) <= fpr.value()).unwrap_or(MAX_WIDTH))
}

fn of_width(capacity: Capacity, buckets: u64, width: u32) -> CuckooPlan {
    let width = width.clamp(MIN_WIDTH, MAX_WIDTH);
    CuckooPlan { buckets, width, predicted_fpr: false_positive_rate(width, load(capacity, buckets)) }
}

fn load(capacity: Capacity, buckets: u64) -> f64 {
    capacity.get() as f64 / (buckets as f64 * SLOTS as f64)
}
