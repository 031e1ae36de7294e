//! [`Slots`]: which plane is which window. [`Sweep`]: which planes are being cleared, and how far that has come.
//!
//! Planes are taken in turn, and only by windows into which something is inserted: a window in which nothing comes takes none. So what must be known
//! is the plane of the newest such window, `head`, and how old each of them is, a bit a window of age:
//!
//! ```text
//! ages   …0 1 0 0 1 1      the current window (bit 0, always set), the one before and the one four windows ago have a plane each
//! plane       2 3 4        head = 4: the newest; the older ones are the planes before it, in turn
//! dead   the others        free to be cleared: first the one after head, which is the next window's
//! ```
//!
//! With one plane more than windows, there always is a dead one, and the longest dead is the next to be used. Ages are shifted by a rotation, by as
//! many bits as windows have passed: a year of missed rotations is one shift.
//!
//! The plain and the atomic filter share this. It is 37 bits, which the atomic one publishes as one word, together with as much of the number of the
//! window as there is room for.

use crate::kernel::MAX_PLANES;

/// Where in a packed word the number of the window begins: after 32 bits of ages and 5 of the head.
const NUMBER_SHIFT: u32 = u32::BITS + MAX_PLANES.ilog2();

/// Which planes are live, and of which age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slots {
    /// Bit `a`: the window `a` before the current one has a plane.
    ages: u32,
    /// The plane of the newest of them.
    head: u8,
    /// One more than there are windows: 2 to 32.
    planes: u8,
}

impl Slots {
    pub(super) fn new(windows: u32) -> Self {
        Self { ages: 1, head: 0, planes: windows as u8 + 1 }
    }

    /// As one word, and with it the low bits of the number of the current window.
    #[inline(always)]
    pub(super) fn packed(self, window: u64) -> u64 {
        u64::from(self.ages) | u64::from(self.head) << u32::BITS | window << NUMBER_SHIFT
    }

    /// Of the word that [`packed`](Self::packed) gave.
    #[inline(always)]
    pub(super) fn unpacked(word: u64, windows: u32) -> Self {
        Self { ages: word as u32, head: (word >> u32::BITS) as u8 % MAX_PLANES as u8, planes: windows as u8 + 1 }
    }

    /// The number of the window with which such a word was packed: the last one with its low bits that is not after `latest`.
    #[inline(always)]
    pub(super) fn number(word: u64, latest: u64) -> u64 {
        let low = u64::MAX >> NUMBER_SHIFT;
        latest.saturating_sub(latest.wrapping_sub(word >> NUMBER_SHIFT) & low)
    }

    fn windows(self) -> u32 {
        u32::from(self.planes) - 1
    }

    /// The plane of the newest window that has one: of the current one, except between [`aged`](Self::aged) and what follows it.
    #[inline(always)]
    pub(super) fn head(self) -> u32 {
        u32::from(self.head)
    }

    /// The planes of all windows that are remembered.
    #[inline(always)]
    pub(super) fn live(self) -> u32 {
        let (planes, count) = (u32::from(self.planes), self.ages.count_ones());
        // `count` ones that end at `head`, in a circle of `planes`: laid out one turn higher, where they fit, and the turn taken off.
        // Of none the place does not matter, and may be one beyond the word.
        let ones = ((1u64 << count) - 1) << ((self.head() + planes + 1 - count) % u64::BITS);
        (ones | ones >> planes) as u32 & self.all()
    }

    #[inline(always)]
    fn all(self) -> u32 {
        u32::MAX >> (32 - u32::from(self.planes))
    }

    /// The planes of no window.
    #[inline(always)]
    pub(super) fn dead(self) -> u32 {
        self.all() & !self.live()
    }

    /// So many windows later, of which none has a plane as yet.
    #[inline(always)]
    pub(super) fn aged(self, by: u64) -> Self {
        let (windows, ages) = (self.windows(), u64::from(self.ages));
        let ages = if by >= u64::from(windows) { 0 } else { (ages << by & ((1 << windows) - 1)) as u32 };
        Self { ages, ..self }
    }

    /// [`aged`](Self::aged), or itself where no window has passed.
    #[inline(always)]
    pub(super) fn aged_if(self, by: u64) -> Self {
        if by == 0 { self } else { self.aged(by) }
    }

    /// After [`aged`](Self::aged): the newest plane becomes that of the current window. For when nothing was ever inserted into it.
    pub(super) fn kept(self) -> Self {
        // The lowest age is that plane's own.
        Self { ages: self.ages & self.ages.saturating_sub(1) | 1, ..self }
    }

    /// After [`aged`](Self::aged): the next plane becomes that of the current window. It must be clean.
    pub(super) fn begun(self) -> Self {
        Self { ages: self.ages | 1, head: self.next() as u8, ..self }
    }

    /// The plane after `head`. It is dead as long as the current window is among the ages.
    pub(super) fn next(self) -> u32 {
        (self.head() + 1) % u32::from(self.planes)
    }

    /// The age of the newest window among the planes that claim a key; these must be live.
    pub(super) fn age_of(self, claims: u32) -> Option<u32> {
        if claims == 0 {
            return None;
        }
        // The circle laid out twice, and shifted so that `head` of the upper turn comes to the top.
        let planes = u32::from(self.planes);
        let back = ((u64::from(claims) | u64::from(claims) << planes) << (63 - planes - self.head())).leading_zeros();
        let ages = (0..back).fold(self.ages, |ages, _| ages & ages.saturating_sub(1));
        (ages != 0).then(|| ages.trailing_zeros())
    }

    /// The plane of the window of this age, if it has one.
    pub(super) fn of_age(self, age: u32) -> Option<u32> {
        let has = age < u32::BITS && self.ages >> age & 1 != 0;
        has.then(|| self.back((self.ages & ((1 << age) - 1)).count_ones()))
    }

    /// The plane `back` before `head`.
    fn back(self, back: u32) -> u32 {
        let planes = u32::from(self.planes);
        (self.head() + planes - back) % planes
    }

    /// The ages of all windows that have a plane, newest first.
    pub(super) fn ages(self) -> impl Iterator<Item = u32> {
        (0..u32::BITS).filter(move |age| self.ages >> age & 1 != 0)
    }

    /// The windows of both, each with a plane of its own: the oldest has plane 0.
    pub(super) fn united(self, other: Self) -> Self {
        let ages = self.ages | other.ages;
        Self { ages, head: ages.count_ones() as u8 - 1, ..self }
    }
}

/// A pass over the lines that clears some planes.
#[derive(Clone, Debug, Default)]
pub(super) struct Sweep {
    /// The planes; none while no pass is under way.
    pub(super) planes: u32,
    /// What is kept of a word.
    pub(super) keep: u64,
    /// The next line.
    pub(super) next: usize,
}

/// How many lines an insert clears while a pass is under way. Four make a pass end after a quarter as many inserts as there are lines, which for up
/// to about a dozen windows is well within the keys of one window; clearing in order is what a processor does best.
pub(super) const STEP: usize = 4;

#[cfg(all(test, not(absentia_loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a list of (plane, age).
        #[test]
        fn slots_are_a_list_of_planes_and_ages(windows in 1u32..=31, steps in prop::collection::vec((prop_oneof![Just(1u64), 0u64..40, any::<u64>()], any::<bool>()), 0..60)) {
            let (mut slots, planes) = (Slots::new(windows), windows + 1);
            let mut list = vec![(0u32, 0u64)];
            for (by, written) in steps {
                if by == 0 { continue; }
                for (_, age) in &mut list { *age = age.saturating_add(by); }
                let head = list[0].0;
                list.retain(|&(_, age)| age < u64::from(windows));
                let aged = slots.aged(by);
                prop_assert_eq!(aged.live(), list.iter().fold(0, |live, (plane, _)| live | 1 << plane));
                if written {
                    prop_assert_ne!(slots.dead() >> slots.next() & 1, 0);
                    list.insert(0, ((head + 1) % planes, 0));
                    slots = aged.begun();
                } else {
                    list.retain(|&(plane, _)| plane != head);
                    list.insert(0, (head, 0));
                    slots = aged.kept();
                }
                prop_assert_eq!(Slots::unpacked(slots.packed(by), windows), slots);
                prop_assert_eq!(Slots::number(slots.packed(by), by), by);
                prop_assert_eq!(Slots::number(slots.packed(by), by.saturating_add(9)), by);
                prop_assert_eq!(slots.live(), list.iter().fold(0, |live, (plane, _)| live | 1 << plane));
                prop_assert_eq!(slots.live() & slots.dead(), 0);
                prop_assert_eq!(slots.ages().map(u64::from).collect::<Vec<_>>(), list.iter().map(|&(_, age)| age).collect::<Vec<_>>());
                for (index, &(plane, age)) in list.iter().enumerate() {
                    prop_assert_eq!(slots.of_age(age as u32), Some(plane));
                    let older = list[index..].iter().fold(0, |claims, (plane, _)| claims | 1 << plane);
                    prop_assert_eq!(slots.age_of(older), Some(age as u32));
                }
                prop_assert_eq!(slots.age_of(0), None);
            }
        }
    }
}
