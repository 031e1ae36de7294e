//! 4-bit counters: a line is 128 of them, sixteen to a word, and each operation works on all counters of a word at once.
//!
//! Counter `c` of a line is bits `4·(c % 16)` to `4·(c % 16) + 3` of word `c / 16`. Which counters are meant is said by [`Marks`]: a bit at the foot
//! of each. Marks are a set, so that a counter that is named twice is changed once.
//!
//! **A full counter is stuck.** How far beyond 15 it would be is not known, so that to take anything off it could take it to 0 while a key still
//! needs it. It is neither raised nor lowered until the line is cleared. A counter below 15 has never been full and is exact.

use super::{LINE_BITS, WORDS};

/// Counters in a line.
pub(crate) const COUNTERS: usize = LINE_BITS / 4;

/// The count at which a counter is stuck.
pub(crate) const FULL: u64 = 15;

/// A set of counters of a line: of each the lowest of its four bits.
pub(crate) type Marks = [u64; WORDS];

const FEET: u64 = 0x1111_1111_1111_1111;

/// The feet of the counters that are not 0.
#[inline(always)]
const fn occupied(word: u64) -> u64 {
    // Bits of the next counter come down as well, and end above the feet.
    let pairs = word | word >> 1;
    (pairs | pairs >> 2) & FEET
}

/// The feet of the counters that are stuck.
#[inline(always)]
const fn stuck(word: u64) -> u64 {
    let pairs = word & word >> 1;
    pairs & pairs >> 2 & FEET
}

/// How many counters of a line are not 0.
#[inline]
pub(crate) fn count_occupied(line: &[u64; WORDS]) -> u32 {
    line.iter().map(|&word| occupied(word).count_ones()).sum()
}

/// How many counters of a line are stuck.
#[inline]
pub(crate) fn count_stuck(line: &[u64; WORDS]) -> u32 {
    line.iter().map(|&word| stuck(word).count_ones()).sum()
}

/// The sums of two words' counters; what would be more than [`FULL`] is that.
#[inline(always)]
pub(crate) const fn sums(ours: u64, theirs: u64) -> u64 {
    /// Every other counter, which leaves room for a carry above each.
    const EVEN: u64 = 0x0f0f_0f0f_0f0f_0f0f;
    const fn half(ours: u64, theirs: u64) -> u64 {
        let sums = (ours & EVEN) + (theirs & EVEN);
        let over = sums >> 4 & EVEN;
        (sums | (over * FULL)) & EVEN
    }
    half(ours, theirs) | half(ours >> 4, theirs >> 4) << 4
}

/// One more in every marked counter that is not stuck; true where one of the marked was 0.
#[inline(always)]
pub(crate) fn add(line: &mut [u64; WORDS], marks: &Marks) -> bool {
    let mut missing = 0;
    for (word, &marks) in line.iter_mut().zip(marks) {
        missing |= marks & !occupied(*word);
        // No carry: what is not stuck is below 15.
        *word = word.wrapping_add(marks & !stuck(*word));
    }
    missing != 0
}

/// What taking a copy out of marked counters came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// One of the marked counters is 0: there was no copy. Nothing changed.
    Nothing,
    /// One less in each that is not stuck.
    Copy,
    /// All of them are stuck. Nothing changed.
    Stuck,
}

/// One less in every marked counter of all these lines that is not stuck, if none of the marked is 0.
#[inline(always)]
pub(crate) fn take<const LINES: usize>(mut lines: [(&mut [u64; WORDS], Marks); LINES]) -> Taken {
    let (mut missing, mut loose) = (0, 0);
    for (line, marks) in &lines {
        for (&word, &marks) in line.iter().zip(marks) {
            missing |= marks & !occupied(word);
            loose |= marks & !stuck(word);
        }
    }
    if missing != 0 {
        return Taken::Nothing;
    }
    if loose == 0 {
        return Taken::Stuck;
    }
    for (line, marks) in &mut lines {
        for (word, &marks) in line.iter_mut().zip(&*marks) {
            // No borrow: none of the marked is 0.
            *word = word.wrapping_sub(marks & !stuck(*word));
        }
    }
    Taken::Copy
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(word: u64) -> [u64; 16] {
        std::array::from_fn(|index| word >> (4 * index) & FULL)
    }

    fn joined(counters: [u64; 16]) -> u64 {
        counters.iter().enumerate().map(|(index, &counter)| counter << (4 * index)).sum()
    }

    /// Each value beside each other value, at each place of a word, so that no bit of a neighbour is taken for one's own.
    fn words() -> impl Iterator<Item = u64> {
        (0..256u64).flat_map(|pair| (0..16).map(move |turn| (pair * 0x0101_0101_0101_0101).rotate_left(4 * turn) ^ (pair << (3 * turn))))
    }

    #[test]
    fn feet_tell_what_counters_are() {
        for word in words() {
            let feet = |of: fn(u64) -> bool| joined(split(word).map(|counter| u64::from(of(counter))));
            assert_eq!((occupied(word), stuck(word)), (feet(|counter| counter > 0), feet(|counter| counter == FULL)), "{word:x}");
        }
        let line = [0, 0x10, 0xff, 0, u64::MAX, 0, 0, 0x8000_0000_0000_0000];
        assert_eq!((count_occupied(&line), count_stuck(&line)), (20, 18));
    }

    #[test]
    fn sums_stop_at_fifteen() {
        for (ours, theirs) in words().zip(words().skip(1237)) {
            let (a, b) = (split(ours), split(theirs));
            assert_eq!(split(sums(ours, theirs)), std::array::from_fn(|index| (a[index] + b[index]).min(FULL)), "{ours:x} {theirs:x}");
        }
    }

    /// Against sixteen numbers that are counted one by one, with marks in every combination with every value.
    #[test]
    fn counters_go_up_and_down_one_by_one_and_stick_at_fifteen() {
        for (word, noise) in words().zip(words().skip(991)) {
            let feet = occupied(noise.rotate_left(5) & noise);
            let marked = split(feet);
            let before = split(word);
            let each = |of: fn(u64) -> u64| std::array::from_fn(|index| if marked[index] == 1 { of(before[index]) } else { before[index] });
            let any = |of: fn(u64) -> bool| (0..16).any(|index| marked[index] == 1 && of(before[index]));

            let (mut line, marks) = ([word; WORDS], [feet; WORDS]);
            assert_eq!(add(&mut line, &marks), any(|counter| counter == 0));
            assert_eq!(line.map(split), [each(|counter| (counter + 1).min(FULL)); WORDS], "{word:x} {feet:x}");

            let (mut line, mut other) = ([word; WORDS], [u64::MAX; WORDS]);
            let taken = take([(&mut line, marks), (&mut other, marks)]);
            let want = match () {
                () if any(|counter| counter == 0) => Taken::Nothing,
                () if any(|counter| counter < FULL) => Taken::Copy,
                () => Taken::Stuck,
            };
            assert_eq!(taken, want, "{word:x} {feet:x}");
            let less = each(|counter| if counter == FULL { FULL } else { counter.wrapping_sub(1) });
            assert_eq!(line.map(split), [if taken == Taken::Copy { less } else { before }; WORDS]);
            assert_eq!(other, [u64::MAX; WORDS]);
        }
    }

    /// A line whose counters allow it is not changed where another's do not.
    #[test]
    fn a_copy_is_taken_from_all_lines_or_from_none() {
        let marks = [1 << 8, 0, 0, 0, 0, 0, 0, 1];
        let has = [0x300, 0, 0, 0, 0, 0, 0, 2];
        let mut lines = [has, [0x300, 0, 0, 0, 0, 0, 0, 0x20]];
        let [a, b] = &mut lines;
        assert_eq!(take([(a, marks), (b, marks)]), Taken::Nothing);
        assert_eq!(lines, [has, [0x300, 0, 0, 0, 0, 0, 0, 0x20]]);
        lines[1] = [0xf00, 0, 0, 0, 0, 0, 0, 0xf];
        let [a, b] = &mut lines;
        assert_eq!(take([(a, marks), (b, marks)]), Taken::Copy);
        assert_eq!(lines, [[0x200, 0, 0, 0, 0, 0, 0, 1], [0xf00, 0, 0, 0, 0, 0, 0, 0xf]]);
    }
}
