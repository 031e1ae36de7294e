//! [`Kernel`]: the inner loops of a filter, chosen once per filter at run time and called with lines and hashes.
//!
//! A kernel knows lines, hashes and a [`Layout`]; it does not know what a filter promises. `portable.rs` is the meaning: every other kernel gives
//! the same bits and answers, and one suite (`tests.rs`) holds each of them against it. What differs between them is three functions on one line,
//! test, set and mask, and two more where it is a line of counters (`counters.rs`). The loops around these are written once, in `drive.rs`.
//!
//! ```text
//! portable      16 scalar lanes, one after another             any machine
//! avx2          8 lanes a step, two steps where k > 8          x86-64 with AVX2 and BMI2, from 2013 on
//! avx512        8 lanes a step, or 16 in one where k > 8       x86-64 with AVX-512 F and VL
//! neon          16 bytes out of a table of 64, in one step     aarch64; tested under an emulator, never measured
//! ```
//!
//! Dispatch is a `match` on a byte, once for a key or once for some hundred, never a pointer call for a key; measured, a function pointer is as fast
//! and cannot be generic over the kind of line. This folder and `sys.rs` are the only places with `unsafe`.

// Intrinsics and calls into functions for an instruction set.
#![allow(unsafe_code)]

#[cfg(target_arch = "aarch64")]
mod aarch64;
mod counters;
mod drive;
mod layout;
mod planes;
mod portable;
mod prefetch;
#[cfg(all(test, not(absentia_loom)))]
mod tests;
mod view;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use crate::bits::{Line, WORDS, Words};
use crate::key::KeyHash;
pub(crate) use drive::{Asked, batch, each};
pub(crate) use layout::Layout;
#[cfg(any(test, feature = "rayon"))]
pub(crate) use layout::Place;
pub(crate) use planes::{MAX_PLANES, PlaneLayout};
pub(crate) use prefetch::fetch;
use std::fmt;
#[cfg(any(target_pointer_width = "64", target_endian = "little"))]
pub(crate) use view::words_of;

/// The most bit positions that a key may have in one line.
pub(crate) const MAX_HASHES: u32 = portable::SALT.len() as u32;

/// A set of inner loops that this machine can run: a value of this type is the proof that it can.
///
/// A filter takes the [`best`](Self::best) one by itself. All give the same bits and the same answers, so that the choice is for tests, benchmarks,
/// and whoever must keep wide vectors off a machine: [`BloomBuilder::kernel`](crate::BloomBuilder::kernel).
///
/// ```
/// use absentia::bloom::{BlockedBloom, Kernel};
///
/// for kernel in Kernel::available() {
///     let mut filter = BlockedBloom::builder().capacity(1000).kernel(kernel).build()?;
///     filter.insert("here");
///     assert!(filter.contains("here"), "{kernel}");
/// }
/// # Ok::<(), absentia::ParamError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Kernel(Kind);

/// Made in [`Kernel::available`] only, where the processor was asked: this is what the calls below rest on.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Kernel {
    /// Plain Rust, on any machine. The others are tested against it.
    pub const PORTABLE: Self = Self(Kind::Portable);

    /// Every kernel that this machine can run, slowest first.
    pub fn available() -> impl Iterator<Item = Self> {
        let kinds = [
            Some(Kind::Portable),
            #[cfg(target_arch = "x86_64")]
            x86_64::has_avx2().then_some(Kind::Avx2),
            #[cfg(target_arch = "x86_64")]
            x86_64::has_avx512().then_some(Kind::Avx512),
            #[cfg(target_arch = "aarch64")]
            aarch64::has_neon().then_some(Kind::Neon),
        ];
        kinds.into_iter().flatten().map(Self)
    }

    /// The fastest that this machine can run.
    #[must_use]
    pub fn best() -> Self {
        // Under a cfg of its own, a whole test suite runs on the meaning alone.
        if cfg!(absentia_portable) {
            return Self::PORTABLE;
        }
        Self::available().last().unwrap_or(Self::PORTABLE)
    }

    /// `portable`, `avx2`, `avx512` or `neon`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self.0 {
            Kind::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => "avx512",
            #[cfg(target_arch = "aarch64")]
            Kind::Neon => "neon",
        }
    }
}

/// The name.
impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel({})", self.name())
    }
}

/// One function of the kernel that a value stands for. No arm is inlined, so that this is a comparison and a jump; with the portable loop in it, it
/// was a function of its own that saved registers for that loop, and cost 1 ns a key.
macro_rules! dispatch {
    ($kernel:expr, $op:ident($($arg:expr),*)) => {
        match $kernel.0 {
            Kind::Portable => portable::$op($($arg),*),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor must have AVX2 and BMI2. A `Kind::Avx2` comes from `Kernel::available`, which saw that it has.
            Kind::Avx2 => unsafe { x86_64::avx2::$op($($arg),*) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor must have AVX-512 F and VL, and BMI2. A `Kind::Avx512` comes from `Kernel::available`, which saw that it has.
            Kind::Avx512 => unsafe { x86_64::avx512::$op($($arg),*) },
            #[cfg(target_arch = "aarch64")]
            // SAFETY: the processor must have NEON. A `Kind::Neon` comes from `Kernel::available`, which saw that it has.
            Kind::Neon => unsafe { aarch64::$op($($arg),*) },
        }
    };
}
use dispatch;

impl Kernel {
    /// Runs loops that no vector helps, but that are shorter where the instruction set has shifts and products of three operands (BMI2): where keys
    /// are asked for ahead, more of them are then under way, 15.6 to 11.3 ns a key in a batch of fingerprints at 10^7. All of it must be inlined into
    /// the closure, which `#[inline(always)]` sees to.
    #[inline]
    pub(crate) fn run<R>(self, loops: impl FnOnce() -> R) -> R {
        match self.0 {
            Kind::Portable => loops(),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor must have AVX2, BMI1 and BMI2. These come from `Kernel::available`, which saw that it has.
            Kind::Avx2 | Kind::Avx512 => unsafe { x86_64::run(loops) },
            #[cfg(target_arch = "aarch64")]
            Kind::Neon => loops(),
        }
    }

    /// Whether all bits of `hash` are set.
    #[inline(always)]
    pub(crate) fn contains(self, lines: &[impl Words], layout: Layout, hash: KeyHash) -> bool {
        dispatch!(self, contains(lines, layout, hash))
    }

    /// Sets the bits of `hash`; true where one of them was not set.
    #[inline(always)]
    pub(crate) fn insert(self, lines: &mut [Line], layout: Layout, hash: KeyHash) -> bool {
        dispatch!(self, insert(lines, layout, hash))
    }

    /// The positions of `second` as a line of their own: what an insert into a shared line sets.
    #[inline]
    pub(crate) fn mask(self, second: u64, layout: Layout) -> [u64; WORDS] {
        dispatch!(self, mask(second, layout))
    }

    /// [`contains`](Self::contains) for every hash: bit `i` of the words of `answers`, of which there must be enough, is for `hashes[i]`.
    #[inline]
    pub(crate) fn contains_batch(self, lines: &[impl Words], layout: Layout, hashes: &[KeyHash], answers: &mut [usize]) {
        debug_assert!(hashes.len() <= answers.len() * usize::BITS as usize);
        dispatch!(self, contains_batch(lines, layout, hashes, answers));
    }

    /// [`insert`](Self::insert) for every hash, in order: a hash that comes twice is new once.
    #[inline]
    pub(crate) fn insert_batch(self, lines: &mut [Line], layout: Layout, hashes: &[KeyHash], answers: &mut [usize]) {
        debug_assert!(hashes.len() <= answers.len() * usize::BITS as usize);
        dispatch!(self, insert_batch(lines, layout, hashes, answers));
    }

    /// Sets the bits of every place, in a stretch of lines that begins with line number `base`.
    #[cfg(any(test, feature = "rayon"))]
    #[inline]
    pub(crate) fn set_places(self, lines: &mut [Line], base: usize, places: &[Place], layout: Layout) {
        dispatch!(self, set_places(lines, base, places, layout));
    }
}
