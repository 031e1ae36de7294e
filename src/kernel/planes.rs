//! Bit-planes: up to 32 sets of keys in one line, all asked at once.
//!
//! A line is cut into *groups* of as many bits as there are planes, and a position of a key is a group and not a bit. Bit `i` of each group belongs to
//! plane `i`, so that the bits of a key in all planes lie side by side, and the AND of its groups tells for every plane by itself whether the key is
//! in it:
//!
//! ```text
//! a word of 64 bits, 9 planes     │ group 0   │ group 1   │ … │ group 6   │ 1 bit unused │      ⌊64 / planes⌋ groups a word, eight words a line
//! a lane's product, 32 bits       │ top 3 bits: the word │ the 16 below, × groups >> 16: the group in it │
//! claims                          │ AND over lanes of (word >> group · planes)      one bit a plane; planes are never mixed
//! ```
//!
//! Groups do not cross words, so any number of planes from 2 to 32 has a layout, at a loss of less than one group a word. Which line, and which two
//! where a key has two, is the matter of [`Layout`]; the loops over lines and batches are those of `drive.rs`, whose test here answers with planes in
//! place of yes or no. This file holds the meaning, in plain Rust; `x86_64/planes.rs` must give the same answers.
//!
//! An insert scatters single bits and has no shorter form in vectors; every kernel takes the one of this file.

use super::layout::Layout;
use super::portable::SALT;
use super::prefetch::fetch;
use super::{Kernel, Kind, drive};
use crate::bits::{LINE_BITS, Line, WORDS, Words};
use crate::key::KeyHash;

/// The most planes of a line. Two groups a word are then left.
pub(crate) const MAX_PLANES: u32 = 32;

/// How the bits of a key lie in lines of planes. Small enough to be passed in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlaneLayout {
    lines: Layout,
    planes: u8,
    /// Groups in a word.
    groups: u8,
}

impl PlaneLayout {
    /// `planes` are taken into 2 to 32, `k` positions in each line into 1 to 16; with `halves`, a key has a line in each half of the lines.
    pub(crate) const fn new(planes: u32, k: u32, halves: bool) -> Self {
        let planes = if planes < 2 {
            2
        } else if planes > MAX_PLANES {
            MAX_PLANES
        } else {
            planes
        };
        Self { lines: Layout::new(k, halves), planes: planes as u8, groups: (64 / planes) as u8 }
    }

    /// The lines of a key.
    #[inline(always)]
    pub(crate) const fn lines(self) -> Layout {
        self.lines
    }

    /// Positions in a line, each with a bit for every plane.
    #[inline(always)]
    pub(crate) const fn positions(self) -> usize {
        self.groups as usize * WORDS
    }

    #[inline(always)]
    pub(super) const fn planes(self) -> u32 {
        self.planes as u32
    }

    #[inline(always)]
    pub(super) const fn groups(self) -> u32 {
        self.groups as u32
    }

    /// A word whose every group shows these planes.
    #[inline]
    pub(crate) fn spread(self, planes: u32) -> u64 {
        (0..self.groups()).fold(0, |word, group| word | u64::from(planes) << (group * self.planes()))
    }

    /// The positions of `second` in a line, as (word, the first bit of the group in it). They may repeat.
    #[inline(always)]
    fn at(self, second: u64) -> impl Iterator<Item = (usize, u32)> {
        let halves = [second as u32, (second >> 32) as u32];
        SALT.iter().take(self.lines.k() as usize).enumerate().map(move |(lane, &salt)| {
            let product = halves[lane % 2].wrapping_mul(salt);
            ((product >> WORD_SHIFT) as usize, ((((product >> GROUP_SHIFT) & 0xffff) * self.groups()) >> 16) * self.planes())
        })
    }

    /// The positions of `second` in one plane, as a line of their own: what an insert into a shared line sets.
    #[inline]
    pub(crate) fn mask(self, second: u64, plane: u32) -> [u64; WORDS] {
        let mut mask = [0; WORDS];
        for (word, group) in self.at(second) {
            mask[word] |= 1 << (group + plane);
        }
        mask
    }
}

/// The top bits of a product are a word of the line,
pub(super) const WORD_SHIFT: u32 = u32::BITS - WORDS.ilog2();

/// and the 16 below them choose a group in it. In `x86_64/planes.rs` that must be 16, the width of its multiplication.
pub(super) const GROUP_SHIFT: u32 = WORD_SHIFT - 16;

const _: () = assert!(LINE_BITS == 64 * WORDS && WORDS.is_power_of_two());

/// The planes among `live` that have all positions of `second`.
#[inline(always)]
fn test(line: &impl Words, second: u64, layout: PlaneLayout, live: u32) -> u32 {
    layout.at(second).fold(live, |all, (word, group)| all & (line.word(word) >> group) as u32)
}

/// Sets the positions of `second` in `plane`; true where one was not set.
#[inline(always)]
pub(super) fn set(line: &mut Line, second: u64, layout: PlaneLayout, plane: u32) -> bool {
    let mut all = 1;
    for (index, group) in layout.at(second) {
        let (word, bit) = (&mut line.0[index], group + plane);
        // A position that repeats finds its bit set by its twin; where the key was new, the twin has already said so.
        all &= *word >> bit;
        *word |= 1 << bit;
    }
    all & 1 == 0
}

/// The functions of a kernel for planes, from its `test`, `set` and `fetch` in the scope of the macro's caller.
macro_rules! planes_kernel {
    ($(#[$features:meta])?) => {
        $(#[$features])?
        pub(in crate::kernel) fn claims<L: Words>(lines: &[L], layout: PlaneLayout, live: u32, hash: KeyHash) -> u32 {
            drive::contains(lines, layout.lines(), hash, |line, second| test(line, second, layout, live))
        }

        $(#[$features])?
        pub(in crate::kernel) fn insert(lines: &mut [Line], layout: PlaneLayout, plane: u32, hash: KeyHash) -> bool {
            drive::insert(lines, layout.lines(), hash, |line, second| set(line, second, layout, plane))
        }

        $(#[$features])?
        pub(in crate::kernel) fn claims_batch<L: Words>(lines: &[L], layout: PlaneLayout, live: u32, hashes: &[KeyHash], answers: &mut [usize]) {
            drive::contains_batch(lines, layout.lines(), hashes, answers, |line| fetch(line), |line, second| test(line, second, layout, live));
        }

        $(#[$features])?
        pub(in crate::kernel) fn insert_batch(lines: &mut [Line], layout: PlaneLayout, plane: u32, hashes: &[KeyHash], answers: &mut [usize]) {
            drive::insert_batch(lines, layout.lines(), hashes, answers, |line| fetch(line), |line, second| set(line, second, layout, plane));
        }
    };
}
#[cfg(target_arch = "x86_64")]
pub(super) use planes_kernel;

mod portable {
    use super::*;
    planes_kernel! { #[inline(never)] }
}

/// One function of the kernel that a value stands for. NEON has none of its own.
macro_rules! dispatch {
    ($kernel:expr, $op:ident($($arg:expr),*)) => {
        match $kernel.0 {
            Kind::Portable => portable::$op($($arg),*),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor must have AVX2 and BMI2. A `Kind::Avx2` comes from `Kernel::available`, which saw that it has.
            Kind::Avx2 => unsafe { super::x86_64::planes::avx2::$op($($arg),*) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor must have AVX-512 F and VL, and BMI2. A `Kind::Avx512` comes from `Kernel::available`, which saw that it has.
            Kind::Avx512 => unsafe { super::x86_64::planes::avx512::$op($($arg),*) },
            #[cfg(target_arch = "aarch64")]
            Kind::Neon => portable::$op($($arg),*),
        }
    };
}

impl Kernel {
    /// The planes among `live` that hold all bits of `hash`.
    #[inline(always)]
    pub(crate) fn claims(self, lines: &[impl Words], layout: PlaneLayout, live: u32, hash: KeyHash) -> u32 {
        dispatch!(self, claims(lines, layout, live, hash))
    }

    /// Sets the bits of `hash` in `plane`; true where one of them was not set.
    #[inline(always)]
    pub(crate) fn insert_in(self, lines: &mut [Line], layout: PlaneLayout, plane: u32, hash: KeyHash) -> bool {
        dispatch!(self, insert(lines, layout, plane, hash))
    }

    /// Whether [`claims`](Self::claims) names any plane, for every hash: bit `i` of the words of `answers` is for `hashes[i]`.
    #[inline]
    pub(crate) fn claims_batch(self, lines: &[impl Words], layout: PlaneLayout, live: u32, hashes: &[KeyHash], answers: &mut [usize]) {
        debug_assert!(hashes.len() <= answers.len() * usize::BITS as usize);
        dispatch!(self, claims_batch(lines, layout, live, hashes, answers));
    }

    /// [`insert_in`](Self::insert_in) for every hash, in order.
    #[inline]
    pub(crate) fn insert_batch_in(self, lines: &mut [Line], layout: PlaneLayout, plane: u32, hashes: &[KeyHash], answers: &mut [usize]) {
        debug_assert!(hashes.len() <= answers.len() * usize::BITS as usize);
        dispatch!(self, insert_batch(lines, layout, plane, hashes, answers));
    }
}

#[cfg(all(test, not(absentia_loom)))]
mod tests {
    use super::*;
    use crate::bits::AtomicLine;
    use crate::kernel::MAX_HASHES;
    use proptest::prelude::*;

    /// What the layout says in words: a plane claims a hash where its mask is set in every line of the hash.
    fn meaning(lines: &[Line], layout: PlaneLayout, live: u32, hash: KeyHash) -> u32 {
        let holds = |plane: &u32| {
            layout.lines().places(lines.len(), hash).all(|place| {
                let mask = layout.mask(place.second, *plane);
                lines[place.line].0.iter().zip(&mask).all(|(word, mask)| word & mask == *mask)
            })
        };
        (0..layout.planes()).filter(|plane| live >> plane & 1 != 0).filter(holds).fold(0, |planes, plane| planes | 1 << plane)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn every_kernel_claims_and_sets_what_portable_does(
            planes in 2..=MAX_PLANES, k in 1..=MAX_HASHES, halves: bool, count in 1usize..20, live: u32, noise: u64,
            keys in prop::collection::vec((any::<u64>(), prop_oneof![any::<u64>(), 0u64..4, Just(u64::MAX)], any::<u32>()), 0..100),
        ) {
            let layout = PlaneLayout::new(planes, k, halves);
            let count = if halves { 2 * count } else { count };
            let live = live & (u32::MAX >> (32 - planes));
            let dirty = Line(std::array::from_fn(|i| noise.rotate_left(7 * i as u32) | noise.rotate_left(i as u32 + 9)));
            let hashes: Vec<_> = keys.iter().map(|&(first, second, _)| KeyHash::from_parts(first, second)).collect();
            for kernel in Kernel::available() {
                let (mut want, mut have) = (vec![dirty; count], vec![dirty; count]);
                for (&hash, plane) in hashes.iter().zip(keys.iter().map(|key| key.2 % planes)) {
                    let known = meaning(&want, layout, live, hash);
                    prop_assert_eq!(kernel.claims(&have, layout, live, hash), known, "{}", kernel);
                    let shared: Vec<_> = have.iter().map(|&line| AtomicLine::from(line)).collect();
                    prop_assert_eq!(kernel.claims(&shared, layout, live, hash), known, "{} on shared lines", kernel);
                    let new = meaning(&want, layout, 1 << plane, hash) == 0;
                    for place in layout.lines().places(count, hash) {
                        let mask = layout.mask(place.second, plane);
                        want[place.line].0.iter_mut().zip(&mask).for_each(|(word, mask)| *word |= mask);
                    }
                    prop_assert_eq!(kernel.insert_in(&mut have, layout, plane, hash), new, "{}", kernel);
                    prop_assert_eq!(&have, &want, "{}", kernel);
                }
                let mut answers = vec![7; hashes.len().div_ceil(usize::BITS as usize)];
                kernel.claims_batch(&have, layout, live, &hashes, &mut answers);
                for (index, &hash) in hashes.iter().enumerate() {
                    let bit = answers[index / usize::BITS as usize] >> (index % usize::BITS as usize) & 1 != 0;
                    prop_assert_eq!(bit, meaning(&want, layout, live, hash) != 0, "{}", kernel);
                }
                let mut one_by_one = have.clone();
                let news: Vec<_> = hashes.iter().map(|&hash| kernel.insert_in(&mut one_by_one, layout, 1, hash)).collect();
                kernel.insert_batch_in(&mut have, layout, 1, &hashes, &mut answers);
                prop_assert_eq!(&have, &one_by_one, "{}", kernel);
                for (index, new) in news.into_iter().enumerate() {
                    prop_assert_eq!(answers[index / usize::BITS as usize] >> (index % usize::BITS as usize) & 1 != 0, new, "{}", kernel);
                }
            }
        }
    }

    /// **A change here makes every stored filter deny keys that are in it**, as with the golden positions of `portable.rs`. The values were computed by
    /// an independent implementation, as 56 · product / 2^32 rounded down.
    #[test]
    fn positions_are_the_share_of_the_product() {
        let layout = PlaneLayout::new(9, 16, false);
        let at: Vec<_> = layout.at(0x0123_4567_89ab_cdef).map(|(word, group)| word as u32 * 7 + group / 9).collect();
        assert_eq!(at, [7, 1, 7, 31, 30, 22, 40, 51, 34, 11, 49, 27, 50, 1, 9, 8]);
        assert!(layout.at(u64::MAX).chain(layout.at(0)).all(|(word, group)| word < 8 && group <= 54));
    }

    #[test]
    fn every_number_of_planes_has_its_groups_and_spreads_over_them() {
        for planes in 2..=MAX_PLANES {
            let layout = PlaneLayout::new(planes, 4, false);
            assert_eq!(layout.positions(), 8 * (64 / planes as usize));
            assert_eq!(layout.spread(1).count_ones(), 64 / planes);
            let all = (0..planes).map(|plane| layout.spread(1 << plane)).fold(0, |all, one| {
                assert_eq!(all & one, 0);
                all | one
            });
            assert_eq!(all, layout.spread(u32::MAX >> (32 - planes)));
        }
    }
}
