//! The loops around the three functions of a kernel, written once: over the lines of a key, and over the keys of a batch.
//!
//! A kernel calls these from functions of its instruction set and hands its own functions in as closures, which belong to that instruction set too;
//! as everything here is inlined there, the loops are compiled for it. That is why all of it must stay `#[inline(always)]`, and why there are `for` loops
//! and no `fold` or `for_each`: a function of the standard library that calls a closure is compiled without those instructions, and cannot inline it.
//!
//! **Batches.** While a step of eight keys is tested, the lines of the next four steps are on their way: thirty-two cache misses at once, or twice as
//! many with two lines a key, and none waited for. Bench `batch`.
//!
//! **What a test answers** is yes or no, or the planes that claim a key (`planes.rs`): a key is there where the AND over its lines is not the default.
//!
//! **No early exit.** The test of the second line does not wait for that of the first: their misses overlap, and there is no branch that a good
//! filter would make unpredictable.

use super::layout::{Layout, turned, turned_second};
use crate::bits::nibbles::{self, Marks, Taken};
use crate::bits::{Line, Words, index_in};
use crate::key::KeyHash;
use std::ops::BitAnd;

#[inline(always)]
pub(super) fn contains<L: Words, T: BitAnd<Output = T>>(lines: &[L], layout: Layout, hash: KeyHash, test: impl Fn(&L, u64) -> T) -> T {
    if !layout.halves() {
        return test(&lines[index_in(lines, hash.first())], hash.second());
    }
    let ((front, back), hash2) = (layout.parts(lines), turned(hash));
    let (first, second) = (&front[index_in(front, hash.first())], &back[index_in(back, hash2.first())]);
    test(first, hash.second()) & test(second, hash2.second())
}

#[inline(always)]
pub(super) fn insert(lines: &mut [Line], layout: Layout, hash: KeyHash, set: impl Fn(&mut Line, u64) -> bool) -> bool {
    if !layout.halves() {
        let place = index_in(lines, hash.first());
        return set(&mut lines[place], hash.second());
    }
    let ((front, back), hash2) = (layout.parts_mut(lines), turned(hash));
    let (first, second) = (index_in(front, hash.first()), index_in(back, hash2.first()));
    set(&mut front[first], hash.second()) | set(&mut back[second], hash2.second())
}

/// Takes a copy out of lines of counters; both lines of a key are looked at before either changes.
#[inline(always)]
pub(super) fn take(lines: &mut [Line], layout: Layout, hash: KeyHash, marks: impl Fn(u64) -> Marks) -> Taken {
    if !layout.halves() {
        let place = index_in(lines, hash.first());
        return nibbles::take([(&mut lines[place].0, marks(hash.second()))]);
    }
    let ((front, back), hash2) = (layout.parts_mut(lines), turned(hash));
    let (first, second) = (index_in(front, hash.first()), index_in(back, hash2.first()));
    nibbles::take([(&mut front[first].0, marks(hash.second())), (&mut back[second].0, marks(hash2.second()))])
}

/// Keys that are asked for, and then tested, at a time.
const STEP: usize = 8;

/// How many steps ahead of the one that is tested lines are asked for.
const DEPTH: usize = 4;

/// A key that was asked for: its lines, and what chooses positions in the first.
#[derive(Clone, Copy)]
pub(crate) struct Asked<const LINES: usize> {
    pub(crate) lines: [usize; LINES],
    pub(crate) second: u64,
}

/// Step by step, and some steps ahead: `ask` starts the loads of a key's lines, `answer` looks at them.
#[inline(always)]
pub(crate) fn batch<S, const LINES: usize>(
    state: &mut S,
    hashes: &[KeyHash],
    answers: &mut [usize],
    ask: impl Fn(&S, KeyHash) -> Asked<LINES>,
    answer: impl Fn(&mut S, Asked<LINES>) -> bool,
) {
    let mut ring = [[Asked { lines: [0; LINES], second: 0 }; STEP]; DEPTH];
    let mut coming = hashes.chunks(STEP);
    for slot in &mut ring {
        ask_step(state, slot, coming.next().unwrap_or(&[]), &ask);
    }
    let mut number = 0;
    for (group, bits) in hashes.chunks(WORD).zip(answers) {
        let mut word = 0;
        for (index, step) in group.chunks(STEP).enumerate() {
            let slot = &mut ring[number % DEPTH];
            number += 1;
            let asked = *slot;
            if let Some(step) = coming.next() {
                ask_step(state, slot, step, &ask);
            }
            let mut some = 0;
            if step.len() == STEP {
                // Of a known length, which the compiler unrolls.
                for (bit, &asked) in asked.iter().enumerate() {
                    some |= usize::from(answer(state, asked)) << bit;
                }
            } else {
                for (bit, &asked) in asked[..step.len()].iter().enumerate() {
                    some |= usize::from(answer(state, asked)) << bit;
                }
            }
            word |= some << (STEP * index);
        }
        *bits = word;
    }
}

/// `ask` for the hashes of a step.
#[inline(always)]
fn ask_step<S, const LINES: usize>(state: &S, slot: &mut [Asked<LINES>; STEP], step: &[KeyHash], ask: impl Fn(&S, KeyHash) -> Asked<LINES>) {
    if let Ok(step) = <&[KeyHash; STEP]>::try_from(step) {
        for (asked, &hash) in slot.iter_mut().zip(step) {
            *asked = ask(state, hash);
        }
    } else {
        for (asked, &hash) in slot.iter_mut().zip(step) {
            *asked = ask(state, hash);
        }
    }
}

/// Lines that are in a second-level cache so surely that nothing is gained by asking for them ahead: 512 KiB of them.
const CACHED: usize = 1 << 13;

/// `answer` for each hash, one after another.
#[inline(always)]
pub(crate) fn each(hashes: &[KeyHash], answers: &mut [usize], mut answer: impl FnMut(KeyHash) -> bool) {
    for (group, bits) in hashes.chunks(WORD).zip(answers) {
        let mut word = 0;
        for (bit, &hash) in group.iter().enumerate() {
            word |= usize::from(answer(hash)) << bit;
        }
        *bits = word;
    }
}

/// One bit a hash into `answers`, which has a word for every `usize::BITS` of them, the last one for what is left. `fetch` starts the load of a line
/// and does not wait for it.
#[inline(always)]
pub(super) fn contains_batch<L: Words, T: BitAnd<Output = T> + PartialEq + Default>(
    mut lines: &[L],
    layout: Layout,
    hashes: &[KeyHash],
    answers: &mut [usize],
    fetch: impl Fn(&L),
    test: impl Fn(&L, u64) -> T,
) {
    if lines.len() <= CACHED {
        return each(hashes, answers, |hash| contains(lines, layout, hash, &test) != T::default());
    }
    if !layout.halves() {
        let ask = |lines: &&[L], hash: KeyHash| {
            let line = index_in(lines, hash.first());
            fetch(&lines[line]);
            Asked { lines: [line], second: hash.second() }
        };
        return batch(&mut lines, hashes, answers, ask, |lines, asked| test(&lines[asked.lines[0]], asked.second) != T::default());
    }
    let ask = |(front, back): &(&[L], &[L]), hash: KeyHash| {
        let lines = [index_in(front, hash.first()), index_in(back, turned(hash).first())];
        fetch(&front[lines[0]]);
        fetch(&back[lines[1]]);
        Asked { lines, second: hash.second() }
    };
    batch(&mut layout.parts(lines), hashes, answers, ask, |(front, back), asked| {
        test(&front[asked.lines[0]], asked.second) & test(&back[asked.lines[1]], turned_second(asked.second)) != T::default()
    });
}

/// The same for inserts, one key after another: two keys may share a line, and a hash that comes twice is new once.
#[inline(always)]
pub(super) fn insert_batch(
    lines: &mut [Line],
    layout: Layout,
    hashes: &[KeyHash],
    answers: &mut [usize],
    fetch: impl Fn(&Line),
    set: impl Fn(&mut Line, u64) -> bool,
) {
    if lines.len() <= CACHED {
        return each(hashes, answers, |hash| insert(lines, layout, hash, &set));
    }
    change_batch(lines, layout, hashes, answers, fetch, &set, |first, at_first, second, at_second| set(first, at_first) | set(second, at_second));
}

/// [`take`] for each hash, one after another; a bit is set where a copy was taken.
#[inline(always)]
pub(super) fn take_batch(
    lines: &mut [Line],
    layout: Layout,
    hashes: &[KeyHash],
    answers: &mut [usize],
    fetch: impl Fn(&Line),
    marks: impl Fn(u64) -> Marks,
) {
    if lines.len() <= CACHED {
        return each(hashes, answers, |hash| take(lines, layout, hash, &marks) == Taken::Copy);
    }
    let one = |line: &mut Line, at| nibbles::take([(&mut line.0, marks(at))]) == Taken::Copy;
    let two = |first: &mut Line, at_first, second: &mut Line, at_second| {
        nibbles::take([(&mut first.0, marks(at_first)), (&mut second.0, marks(at_second))]) == Taken::Copy
    };
    change_batch(lines, layout, hashes, answers, fetch, one, two);
}

/// `one` for the line of each key, or `two` for its lines, each with what chooses the positions there.
#[inline(always)]
fn change_batch(
    mut lines: &mut [Line],
    layout: Layout,
    hashes: &[KeyHash],
    answers: &mut [usize],
    fetch: impl Fn(&Line),
    one: impl Fn(&mut Line, u64) -> bool,
    two: impl Fn(&mut Line, u64, &mut Line, u64) -> bool,
) {
    if !layout.halves() {
        let ask = |lines: &&mut [Line], hash: KeyHash| {
            let line = index_in(lines, hash.first());
            fetch(&lines[line]);
            Asked { lines: [line], second: hash.second() }
        };
        return batch(&mut lines, hashes, answers, ask, |lines, asked| one(&mut lines[asked.lines[0]], asked.second));
    }
    let ask = |(front, back): &(&mut [Line], &mut [Line]), hash: KeyHash| {
        let lines = [index_in(front, hash.first()), index_in(back, turned(hash).first())];
        fetch(&front[lines[0]]);
        fetch(&back[lines[1]]);
        Asked { lines, second: hash.second() }
    };
    batch(&mut layout.parts_mut(lines), hashes, answers, ask, |(front, back), asked| {
        two(&mut front[asked.lines[0]], asked.second, &mut back[asked.lines[1]], turned_second(asked.second))
    });
}

const WORD: usize = usize::BITS as usize;

/// How many places ahead of the one that is set a line is asked for.
#[cfg(any(test, feature = "rayon"))]
const AHEAD: usize = STEP * DEPTH;

/// Sets places whose lines are known, relative to `base`, in order.
#[cfg(any(test, feature = "rayon"))]
#[inline(always)]
pub(super) fn set_places(
    lines: &mut [Line],
    base: usize,
    places: &[crate::kernel::Place],
    fetch: impl Fn(&Line),
    set: impl Fn(&mut Line, u64) -> bool,
) {
    for place in places.iter().take(AHEAD) {
        fetch(&lines[place.line - base]);
    }
    let mut coming = places.iter().skip(AHEAD);
    for place in places {
        if let Some(place) = coming.next() {
            fetch(&lines[place.line - base]);
        }
        set(&mut lines[place.line - base], place.second);
    }
}

/// The functions of a kernel, from its `test`, `set` and `fetch` in the scope of the macro's caller. `$features` are those of its instruction set,
/// so that a caller must have seen them.
macro_rules! kernel {
    ($(#[$features:meta])?) => {
        $(#[$features])?
        pub(in crate::kernel) fn contains<L: Words>(lines: &[L], layout: Layout, hash: KeyHash) -> bool {
            drive::contains(lines, layout, hash, |line, second| test(line, second, layout))
        }

        $(#[$features])?
        pub(in crate::kernel) fn insert(lines: &mut [Line], layout: Layout, hash: KeyHash) -> bool {
            drive::insert(lines, layout, hash, |line, second| set(line, second, layout))
        }

        $(#[$features])?
        pub(in crate::kernel) fn contains_batch<L: Words>(lines: &[L], layout: Layout, hashes: &[KeyHash], answers: &mut [usize]) {
            drive::contains_batch(lines, layout, hashes, answers, |line| fetch(line), |line, second| test(line, second, layout));
        }

        $(#[$features])?
        pub(in crate::kernel) fn insert_batch(lines: &mut [Line], layout: Layout, hashes: &[KeyHash], answers: &mut [usize]) {
            drive::insert_batch(lines, layout, hashes, answers, |line| fetch(line), |line, second| set(line, second, layout));
        }

        $(#[$features])?
        #[cfg(any(test, feature = "rayon"))]
        pub(in crate::kernel) fn set_places(lines: &mut [Line], base: usize, places: &[crate::kernel::Place], layout: Layout) {
            drive::set_places(lines, base, places, |line| fetch(line), |line, second| set(line, second, layout));
        }
    };
}
pub(super) use kernel;
