//! [`Table`]: buckets of four fingerprints, packed without a gap, and the arithmetic that looks at the four at once.
//!
//! ```text
//! bucket b begins at bit 4·f·b, which is a byte or the middle of one
//! ┌────┬────┬────┬────┐
//! │ s0 │ s1 │ s2 │ s3 │   four slots of f bits, the first lowest; 0 is empty        f ≤ 16: read as one u64, else as one u128
//! └────┴────┴────┴────┘
//! ```
//!
//! **All four in a register** (Lamport, *Multiple Byte Processing with Full-Word Instructions*, 1975). With `x` = bucket xor the fingerprint in every
//! slot, a slot is equal where `x` is zero, and `(x − 1…1) & !x & H` is not zero exactly where some slot is: a borrow runs only out of a slot that
//! was zero. Which slots those are takes a sum that cannot run over from slot to slot, `!(((x & L) + L) | x) & H`.
//!
//! Bits above the bucket, which belong to the next one, are never looked at: carries and borrows run upwards.

use crate::bits;
use crate::params::ParamError;

/// Slots in a bucket.
pub(super) const SLOTS: usize = 4;

/// An integer that holds the four slots of a bucket and the half byte before it.
pub(super) trait Lanes: Copy {
    /// Bytes that are read for a bucket.
    const BYTES: usize;

    fn read(bytes: &[u8], at: usize) -> Self;
    fn write(self, bytes: &mut [u8], at: usize);
    /// The low bits.
    fn of(wide: u128) -> Self;
    /// `value` in every slot.
    fn spread(value: u32, masks: Masks<Self>) -> Self;
    fn put(self, value: u32, shift: u32) -> Self;
    fn take(self, mask: u32, shift: u32) -> Self;
    fn slot(self, shift: u32, mask: u32) -> u32;
    fn shifted(self, shift: u32) -> Self;
    /// Not zero exactly where a slot of `self` is equal to that of `pattern`.
    fn any_equal(self, pattern: Self, masks: Masks<Self>) -> Self;
    /// The highest bit of every slot that is equal to that of `pattern`.
    fn equal(self, pattern: Self, masks: Masks<Self>) -> Self;
    fn or(self, other: Self) -> Self;
    fn exceeds(self, other: Self) -> bool;
    fn count(self) -> u32;
    /// The place of the lowest bit that is set; at least the width of the type where none is.
    fn lowest(self) -> u32;
    fn is_zero(self) -> bool;
}

/// A bit in every slot.
#[derive(Clone, Copy)]
pub(super) struct Masks<L> {
    /// The lowest of each.
    ones: L,
    /// The highest of each.
    high: L,
}

macro_rules! lanes {
    ($word:ty) => {
        impl Lanes for $word {
            const BYTES: usize = size_of::<$word>();

            #[inline(always)]
            fn read(bytes: &[u8], at: usize) -> Self {
                let bytes = &bytes[at..at + Self::BYTES];
                Self::from_le_bytes(bytes.try_into().expect("a slice of that length"))
            }

            #[inline(always)]
            fn write(self, bytes: &mut [u8], at: usize) {
                bytes[at..at + Self::BYTES].copy_from_slice(&self.to_le_bytes());
            }

            #[inline(always)]
            fn of(wide: u128) -> Self {
                wide as Self
            }

            #[inline(always)]
            fn spread(value: u32, masks: Masks<Self>) -> Self {
                Self::from(value).wrapping_mul(masks.ones)
            }

            #[inline(always)]
            fn put(self, value: u32, shift: u32) -> Self {
                self | Self::from(value) << shift
            }

            #[inline(always)]
            fn take(self, mask: u32, shift: u32) -> Self {
                self & !(Self::from(mask) << shift)
            }

            #[inline(always)]
            fn slot(self, shift: u32, mask: u32) -> u32 {
                (self >> shift) as u32 & mask
            }

            #[inline(always)]
            fn shifted(self, shift: u32) -> Self {
                self >> shift
            }

            #[inline(always)]
            fn any_equal(self, pattern: Self, masks: Masks<Self>) -> Self {
                let x = self ^ pattern;
                x.wrapping_sub(masks.ones) & !x & masks.high
            }

            #[inline(always)]
            fn equal(self, pattern: Self, masks: Masks<Self>) -> Self {
                let x = self ^ pattern;
                let low = masks.high.wrapping_sub(masks.ones);
                !((x & low).wrapping_add(low) | x) & masks.high
            }

            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }

            #[inline(always)]
            fn exceeds(self, other: Self) -> bool {
                self > other
            }

            #[inline(always)]
            fn count(self) -> u32 {
                self.count_ones()
            }

            #[inline(always)]
            fn lowest(self) -> u32 {
                self.trailing_zeros()
            }

            #[inline(always)]
            fn is_zero(self) -> bool {
                self == 0
            }
        }
    };
}
lanes!(u64);
lanes!(u128);

/// The widest fingerprint of which four, and half a byte, fit in a `u64`.
pub(super) const NARROW: u32 = 16;

/// The buckets of a filter.
#[derive(Clone)]
pub(super) struct Table {
    bytes: Vec<u8>,
    width: u32,
    buckets: usize,
    masks: Masks<u128>,
}

/// Bytes of so many buckets, and of what a read of the last one reads beyond it; `u64::MAX` where that is more.
pub(super) fn bytes_of(buckets: u64, width: u32) -> u64 {
    let bits = u128::from(buckets) * u128::from(SLOTS as u32 * width);
    u64::try_from(bits.div_ceil(8) + 16).unwrap_or(u64::MAX)
}

impl Table {
    pub(super) fn new(buckets: u64, width: u32, limit: u64) -> Result<Self, ParamError> {
        let bytes = bits::allocate(bytes_of(buckets, width), limit, || 0)?;
        let ones = 1 | 1 << width | 1 << (2 * width) | 1 << (3 * width);
        Ok(Self { bytes, width, buckets: buckets as usize, masks: Masks { ones, high: ones << (width - 1) } })
    }

    pub(super) fn clear(&mut self) {
        self.bytes.fill(0);
    }

    /// Whether it is in a second-level cache so surely that nothing is gained by asking for buckets ahead.
    pub(super) fn is_cached(&self) -> bool {
        self.bytes.len() <= 512 << 10
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The byte in which a bucket begins, and the bit in that.
    #[inline(always)]
    fn at(&self, bucket: usize) -> (usize, u32) {
        let half_bytes = bucket * self.width as usize;
        (half_bytes / 2, (half_bytes as u32 & 1) * 4)
    }

    #[inline(always)]
    pub(super) fn first_byte(&self, bucket: usize) -> &u8 {
        &self.bytes[self.at(bucket).0]
    }

    const fn mask(&self) -> u32 {
        u32::MAX >> (u32::BITS - self.width)
    }

    #[inline(always)]
    fn masks<L: Lanes>(&self) -> Masks<L> {
        Masks { ones: L::of(self.masks.ones), high: L::of(self.masks.high) }
    }

    #[inline(always)]
    pub(super) fn lanes<L: Lanes>(&self, bucket: usize) -> L {
        let (byte, bit) = self.at(bucket);
        L::read(&self.bytes, byte).shifted(bit)
    }

    /// Whether one of two buckets has a fingerprint.
    #[inline(always)]
    pub(super) fn either_has<L: Lanes>(&self, buckets: [usize; 2], fingerprint: u32) -> bool {
        let masks = self.masks::<L>();
        let pattern = L::spread(fingerprint, masks);
        let equal = buckets.map(|bucket| self.lanes::<L>(bucket).any_equal(pattern, masks));
        !equal[0].or(equal[1]).is_zero()
    }

    /// The slots of a bucket that hold this; 0 is an empty slot.
    #[inline(always)]
    pub(super) fn find<L: Lanes>(&self, bucket: usize, fingerprint: u32) -> Found<L> {
        let masks = self.masks::<L>();
        Found(self.lanes::<L>(bucket).equal(L::spread(fingerprint, masks), masks))
    }

    /// What is in a slot.
    #[inline(always)]
    pub(super) fn slot<L: Lanes>(&self, bucket: usize, slot: u32) -> u32 {
        self.slot_of(self.lanes::<L>(bucket), slot)
    }

    #[inline(always)]
    pub(super) fn slot_of<L: Lanes>(&self, lanes: L, slot: u32) -> u32 {
        lanes.slot(slot * self.width, self.mask())
    }

    /// Writes a fingerprint into the first of some empty slots.
    #[inline(always)]
    pub(super) fn fill_first<L: Lanes>(&mut self, bucket: usize, empty: Found<L>, fingerprint: u32) {
        let (byte, bit) = self.at(bucket);
        // What was found is the highest bit of the slot.
        let slot = empty.0.lowest() + 1 - self.width;
        L::read(&self.bytes, byte).put(fingerprint, bit + slot).write(&mut self.bytes, byte);
    }

    /// Empties the first of some slots.
    #[inline(always)]
    pub(super) fn empty_first<L: Lanes>(&mut self, bucket: usize, found: Found<L>) {
        let (byte, bit) = self.at(bucket);
        let slot = found.0.lowest() + 1 - self.width;
        L::read(&self.bytes, byte).take(self.mask(), bit + slot).write(&mut self.bytes, byte);
    }

    /// Writes a fingerprint over another.
    #[inline(always)]
    pub(super) fn replace<L: Lanes>(&mut self, bucket: usize, slot: u32, fingerprint: u32) {
        let (byte, bit) = self.at(bucket);
        let shift = bit + slot * self.width;
        L::read(&self.bytes, byte).take(self.mask(), shift).put(fingerprint, shift).write(&mut self.bytes, byte);
    }

    /// Every fingerprint, with its bucket.
    pub(super) fn each<L: Lanes>(&self, mut each: impl FnMut(usize, u32)) {
        for bucket in 0..self.buckets {
            (0..SLOTS as u32)
                .map(|slot| self.slot::<L>(bucket, slot))
                .filter(|&fingerprint| fingerprint != 0)
                .for_each(|fingerprint| each(bucket, fingerprint));
        }
    }
}

/// Some slots of a bucket: the highest bit of each.
#[derive(Clone, Copy)]
pub(super) struct Found<L>(L);

impl<L: Lanes> Found<L> {
    #[inline(always)]
    pub(super) fn count(self) -> u32 {
        self.0.count()
    }

    #[inline(always)]
    pub(super) fn is_none(self) -> bool {
        self.0.is_zero()
    }

    /// Whether it is more slots than the other, where both are those from some slot on, as empty slots are unless something was removed: then the
    /// mask of more slots is the larger number. Otherwise a guess. (To count the bits takes four times as long on a processor that is only known to
    /// be x86-64.)
    #[inline(always)]
    pub(super) fn seems_more_than(self, other: Self) -> bool {
        self.0.exceeds(other.0)
    }
}
