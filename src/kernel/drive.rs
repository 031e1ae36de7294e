//! The loops around the three functions of a kernel, written once: over the lines of a key, and over the keys of a batch.
//!
//! A kernel calls these from functions of its instruction set and hands its own functions in as closures, which belong to that instruction set too;
//! as everything here is inlined there, the loops are compiled for it. That is why all of it must stay `#[inline(always)]`.
//!
//! **Batches.** While a group of keys is tested, the lines of the next group are on their way: up to 128 cache misses at once, and none waited for.
//!
//! **No early exit.** The test of the second line does not wait for that of the first: their misses overlap, and there is no branch that a good
//! filter would make unpredictable.

use super::layout::{Layout, turned};
use crate::bits::{Line, Words, index_in};
use crate::key::KeyHash;

/// How many places ahead of the one that is set a line is asked for.
#[cfg(any(test, feature = "rayon"))]
const AHEAD: usize = 32;

#[inline(always)]
pub(super) fn contains<L: Words>(lines: &[L], layout: Layout, hash: KeyHash, test: impl Fn(&L, u64) -> bool) -> bool {
    if !layout.halves {
        return test(&lines[index_in(lines, hash.first())], hash.second());
    }
    let ((front, back), hash2) = (layout.parts(lines), turned(hash));
    let (first, second) = (&front[index_in(front, hash.first())], &back[index_in(back, hash2.first())]);
    test(first, hash.second()) & test(second, hash2.second())
}

#[inline(always)]
pub(super) fn insert(lines: &mut [Line], layout: Layout, hash: KeyHash, set: impl Fn(&mut Line, u64) -> bool) -> bool {
    if !layout.halves {
        let place = index_in(lines, hash.first());
        return set(&mut lines[place], hash.second());
    }
    let ((front, back), hash2) = (layout.parts_mut(lines), turned(hash));
    let (first, second) = (index_in(front, hash.first()), index_in(back, hash2.first()));
    set(&mut front[first], hash.second()) | set(&mut back[second], hash2.second())
}

/// Keys that are asked for, and then tested, at a time.
const STEP: usize = 8;

/// How many steps ahead of the one that is tested lines are asked for.
const DEPTH: usize = 4;

/// Step by step, and some steps ahead: `ask` gives the places of a key and starts the loads of its lines, `answer` looks at them.
#[inline(always)]
fn batch<S, const LINES: usize>(
    state: &mut S,
    hashes: &[KeyHash],
    answers: &mut [usize],
    ask: impl Fn(&S, KeyHash) -> [usize; LINES],
    answer: impl Fn(&mut S, [usize; LINES], KeyHash) -> bool,
) {
    const WORD: usize = usize::BITS as usize;
    let mut ring = [[[0; LINES]; STEP]; DEPTH];
    let ask_all = |state: &S, places: &mut [[usize; LINES]; STEP], step: &[KeyHash]| match <&[KeyHash; STEP]>::try_from(step) {
        // Of a known length, which the compiler unrolls.
        Ok(step) => *places = step.map(|hash| ask(state, hash)),
        Err(_) => places.iter_mut().zip(step).for_each(|(place, &hash)| *place = ask(state, hash)),
    };
    let mut coming = hashes.chunks(STEP);
    ring.iter_mut().zip(coming.by_ref()).for_each(|(places, step)| ask_all(state, places, step));
    let mut number = 0;
    for (group, bits) in hashes.chunks(WORD).zip(answers) {
        *bits = 0;
        for (index, step) in group.chunks(STEP).enumerate() {
            let slot = &mut ring[number % DEPTH];
            number += 1;
            let places = *slot;
            if let Some(step) = coming.next() {
                ask_all(state, slot, step);
            }
            let mut some = 0;
            match <&[KeyHash; STEP]>::try_from(step) {
                Ok(step) => (0..STEP).for_each(|bit| some |= usize::from(answer(state, places[bit], step[bit])) << bit),
                Err(_) => step.iter().enumerate().for_each(|(bit, &hash)| some |= usize::from(answer(state, places[bit], hash)) << bit),
            }
            *bits |= some << (STEP * index);
        }
    }
}

/// One bit a hash into `answers`, which has a word for every `usize::BITS` of them, the last one for what is left. `fetch` starts the load of a line
/// and does not wait for it.
#[inline(always)]
pub(super) fn contains_batch<L: Words>(
    mut lines: &[L],
    layout: Layout,
    hashes: &[KeyHash],
    answers: &mut [usize],
    fetch: impl Fn(&L),
    test: impl Fn(&L, u64) -> bool,
) {
    if !layout.halves {
        let ask = |lines: &&[L], hash: KeyHash| {
            let place = index_in(lines, hash.first());
            fetch(&lines[place]);
            [place]
        };
        return batch(&mut lines, hashes, answers, ask, |lines, [place], hash| test(&lines[place], hash.second()));
    }
    let ask = |(front, back): &(&[L], &[L]), hash: KeyHash| {
        let places = [index_in(front, hash.first()), index_in(back, turned(hash).first())];
        fetch(&front[places[0]]);
        fetch(&back[places[1]]);
        places
    };
    batch(&mut layout.parts(lines), hashes, answers, ask, |(front, back), [first, second], hash| {
        test(&front[first], hash.second()) & test(&back[second], turned(hash).second())
    });
}

/// The same for inserts, one key after another: two keys may share a line, and a hash that comes twice is new once.
#[inline(always)]
pub(super) fn insert_batch(
    mut lines: &mut [Line],
    layout: Layout,
    hashes: &[KeyHash],
    answers: &mut [usize],
    fetch: impl Fn(&Line),
    set: impl Fn(&mut Line, u64) -> bool,
) {
    if !layout.halves {
        let ask = |lines: &&mut [Line], hash: KeyHash| {
            let place = index_in(lines, hash.first());
            fetch(&lines[place]);
            [place]
        };
        return batch(&mut lines, hashes, answers, ask, |lines, [place], hash| set(&mut lines[place], hash.second()));
    }
    let ask = |(front, back): &(&mut [Line], &mut [Line]), hash: KeyHash| {
        let places = [index_in(front, hash.first()), index_in(back, turned(hash).first())];
        fetch(&front[places[0]]);
        fetch(&back[places[1]]);
        places
    };
    batch(&mut layout.parts_mut(lines), hashes, answers, ask, |(front, back), [first, second], hash| {
        set(&mut front[first], hash.second()) | set(&mut back[second], turned(hash).second())
    });
}

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
    places.iter().take(AHEAD).for_each(|place| fetch(&lines[place.line - base]));
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
            drive::contains(lines, layout, hash, |line, second| test(line, second, layout.k))
        }

        $(#[$features])?
        pub(in crate::kernel) fn insert(lines: &mut [Line], layout: Layout, hash: KeyHash) -> bool {
            drive::insert(lines, layout, hash, |line, second| set(line, second, layout.k))
        }

        $(#[$features])?
        pub(in crate::kernel) fn contains_batch<L: Words>(lines: &[L], layout: Layout, hashes: &[KeyHash], answers: &mut [usize]) {
            drive::contains_batch(lines, layout, hashes, answers, |line| fetch(line), |line, second| test(line, second, layout.k));
        }

        $(#[$features])?
        pub(in crate::kernel) fn insert_batch(lines: &mut [Line], layout: Layout, hashes: &[KeyHash], answers: &mut [usize]) {
            drive::insert_batch(lines, layout, hashes, answers, |line| fetch(line), |line, second| set(line, second, layout.k));
        }

        $(#[$features])?
        #[cfg(any(test, feature = "rayon"))]
        pub(in crate::kernel) fn set_places(lines: &mut [Line], base: usize, places: &[crate::kernel::Place], k: u32) {
            drive::set_places(lines, base, places, |line| fetch(line), |line, second| set(line, second, k));
        }
    };
}
pub(super) use kernel;
