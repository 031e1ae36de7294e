//! Loom runs every interleaving, and every value that a relaxed load may see, of inserts into one line and into two.
//!
//! It fails where any changed word makes a key new, and where the deciding word is written before the others: both wrong schemes are in
//! [`mutants`], and their tests pass because they fail. It does not move a thread's writes past one another, so it passes with weaker orderings
//! too: those rest on the argument in `bits/once.rs` alone.
//!
//! `RUSTFLAGS="--cfg absentia_loom" cargo test --release --lib loom_`. Keys are given as masks, so that few words and the worst overlaps are
//! chosen and not hoped for.

use crate::bits::insert_once;
use crate::bits::{AtomicLine, WORDS, Words};
use loom::sync::Arc;
use loom::thread;

/// A line's part of a key, or two lines' parts.
type Mask = [u64; WORDS];

/// The line with these (word, bits) set.
fn mask<const N: usize>(words: [(usize, u64); N]) -> Mask {
    let mut mask = [0; WORDS];
    words.iter().for_each(|&(word, bits)| mask[word] |= bits);
    mask
}

fn holds<const L: usize>(lines: &[AtomicLine; L], key: &[Mask; L]) -> bool {
    let complete = |(line, mask): (&AtomicLine, &Mask)| (0..WORDS).all(|index| mask[index] == 0 || line.word(index) & mask[index] == mask[index]);
    lines.iter().zip(key).all(complete)
}

/// A way to insert a key that has a mask in each of `L` lines; true where it was new.
type Insert<const L: usize> = fn(&[AtomicLine; L], &[Mask; L]) -> bool;

/// The one of the filters.
fn insert<const L: usize>(lines: &[AtomicLine; L], key: &[Mask; L]) -> bool {
    insert_once(lines.iter().zip(*key))
}

/// Inserts the first key in this thread and each other in one of its own, on top of `before`, and returns who heard "new" when all have returned.
fn race_by<const L: usize, const N: usize>(insert: Insert<L>, before: [Mask; L], keys: [[Mask; L]; N]) -> [bool; N] {
    let lines = Arc::new(std::array::from_fn(|_| AtomicLine::empty()));
    insert(&lines, &before);
    let threads: Vec<_> = keys[1..]
        .iter()
        .map(|&key| {
            let lines = Arc::clone(&lines);
            thread::spawn(move || insert(&lines, &key))
        })
        .collect();
    let first = insert(&lines, &keys[0]);
    assert!(holds(&lines, &keys[0]), "an inserter does not find its own key");
    let mut new = threads.into_iter().map(|thread| thread.join().unwrap());
    let new = std::array::from_fn(|index| if index == 0 { first } else { new.next().unwrap() });
    keys.iter().for_each(|key| assert!(holds(&lines, key), "a key is gone after its insert returned"));
    new
}

/// The same for keys in one line.
fn race<const N: usize>(before: Mask, keys: [Mask; N]) -> [bool; N] {
    race_by(insert, [before], keys.map(|key| [key]))
}

fn new_to<const N: usize>(callers: [bool; N]) -> usize {
    callers.iter().filter(|&&new| new).count()
}

const NOTHING: Mask = [0; WORDS];

/// All interleavings with at most so many switches away from a thread that could go on. Where a test has a bound, the full search takes minutes or
/// hours; both wrong schemes fail at 2.
fn bounded(switches: usize, test: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(switches);
    model.check(test);
}

#[test]
fn loom_one_key_of_two_words_from_two_threads_is_new_once() {
    loom::model(|| {
        let key = mask([(0, 1), (3, 2)]);
        assert_eq!(new_to(race(NOTHING, [key, key])), 1);
    });
}

#[test]
fn loom_one_key_of_three_words_from_two_threads_is_new_once() {
    bounded(4, || {
        let key = mask([(0, 1), (3, 2), (5, 4)]);
        assert_eq!(new_to(race(NOTHING, [key, key])), 1);
    });
}

#[test]
fn loom_one_key_from_three_threads_is_new_once() {
    bounded(2, || {
        let key = mask([(0, 1), (3, 2)]);
        assert_eq!(new_to(race(NOTHING, [key, key, key])), 1);
    });
}

/// The same word of both lines: the order of lines decides, and not that of words.
#[test]
fn loom_one_key_in_two_lines_from_two_threads_is_new_once() {
    bounded(4, || {
        let key = [mask([(3, 1)]), mask([(3, 2)])];
        assert_eq!(new_to(race_by(insert, [NOTHING; 2], [key, key])), 1);
    });
}

/// The later word of the first line comes before the earlier word of the second.
#[test]
fn loom_one_key_of_two_words_in_each_of_two_lines_is_new_once() {
    bounded(3, || {
        let key = [mask([(0, 1), (5, 4)]), mask([(0, 2), (3, 8)])];
        assert_eq!(new_to(race_by(insert, [NOTHING; 2], [key, key])), 1);
    });
}

#[test]
fn loom_one_key_in_two_lines_from_three_threads_is_new_once() {
    bounded(2, || {
        let key = [mask([(0, 1)]), mask([(0, 2)])];
        assert_eq!(new_to(race_by(insert, [NOTHING; 2], [key, key, key])), 1);
    });
}

/// Another key can complete the greater word under the feet of two callers, which then decide by different words.
#[test]
fn loom_one_key_is_new_at_most_once_while_another_covers_its_last_word() {
    bounded(3, || {
        let key = mask([(0, 1), (1, 1)]);
        let new = race(NOTHING, [key, key, mask([(1, 1)])]);
        assert!(!(new[0] && new[1]), "both are new");
    });
}

/// The same, and the word that is covered is in the second line, or in the first.
#[test]
fn loom_one_key_in_two_lines_is_new_at_most_once_while_another_covers_either() {
    for covered in [0, 1] {
        bounded(2, move || {
            let key = [mask([(0, 1)]), mask([(0, 1)])];
            let mut other = [NOTHING; 2];
            other[covered] = key[covered];
            let new = race_by(insert, [NOTHING; 2], [key, key, other]);
            assert!(!(new[0] && new[1]), "both are new");
        });
    }
}

#[test]
fn loom_two_keys_that_share_bits_are_both_found() {
    loom::model(|| {
        let new = race(NOTHING, [mask([(0, 0b011), (2, 0b01)]), mask([(0, 0b110), (2, 0b10)])]);
        // Each has a bit of its own in the last word, so neither can hide the other.
        assert_eq!(new, [true, true]);
    });
}

/// They share a whole line, and differ in the other.
#[test]
fn loom_two_keys_that_share_a_line_are_both_found() {
    bounded(4, || {
        let shared = mask([(2, 0b11)]);
        let new = race_by(insert, [NOTHING; 2], [[shared, mask([(0, 0b01)])], [shared, mask([(0, 0b10)])]]);
        assert_eq!(new, [true, true]);
    });
}

#[test]
fn loom_a_key_that_is_there_is_new_to_nobody() {
    loom::model(|| {
        let key = mask([(0, 1), (3, 2)]);
        assert_eq!(race(key, [key, mask([(3, 2)])]), [false, false]);
    });
}

/// A reader that sees the flag raised after the insert finds the key, though both its reads of the lines and the insert's writes may be relaxed.
fn told_is_found<const L: usize>(key: [Mask; L]) {
    use loom::sync::atomic::{AtomicBool, Ordering};
    bounded(4, move || {
        let shared = Arc::new((std::array::from_fn(|_| AtomicLine::empty()), AtomicBool::new(false)));
        let writer = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                insert(&shared.0, &key);
                // ORDERING: Release; how the reader learns of the return.
                shared.1.store(true, Ordering::Release);
            })
        };
        // ORDERING: Acquire, likewise.
        let told = shared.1.load(Ordering::Acquire);
        assert!(!told || holds(&shared.0, &key));
        writer.join().unwrap();
        assert!(holds(&shared.0, &key));
    });
}

#[test]
fn loom_who_learns_of_the_return_finds_the_key() {
    told_is_found([mask([(0, 1), (3, 2)])]);
}

#[test]
fn loom_who_learns_of_the_return_finds_both_lines_of_the_key() {
    told_is_found([mask([(0, 1)]), mask([(3, 2)])]);
}

/// Two ways to insert that are wrong, and the proof that the models notice: a model that cannot fail says nothing.
mod mutants {
    use super::{Insert, Mask, NOTHING, bounded, mask, new_to, race_by};
    use crate::bits::{AtomicLine, WORDS};
    use crate::sync::{AtomicU64, Ordering};

    /// An access that no two threads may exchange without a difference; see `step` in `bits/once.rs`.
    fn step(line: &AtomicLine) {
        // ORDERING: Relaxed; it is there to be counted.
        line.0[WORDS - 1].fetch_or(0, Ordering::Relaxed);
    }

    /// Every word of the key, with its bits and its line.
    fn words<'a, const L: usize>(lines: &'a [AtomicLine; L], key: &'a [Mask; L]) -> impl Iterator<Item = (&'a AtomicLine, &'a AtomicU64, u64)> {
        let of_line = |(line, mask): (&'a AtomicLine, &'a Mask)| line.0.iter().zip(*mask).map(move |(word, bits)| (line, word, bits));
        lines.iter().zip(key).flat_map(of_line).filter(|&(_, _, bits)| bits != 0)
    }

    /// New where any word changed: two callers are each the first in another word.
    fn any_word_decides<const L: usize>(lines: &[AtomicLine; L], key: &[Mask; L]) -> bool {
        let mut new = false;
        for (line, word, bits) in words(lines, key) {
            step(line);
            // ORDERING: the strongest that there is; it does not help.
            new |= word.fetch_or(bits, Ordering::SeqCst) & bits != bits;
        }
        new
    }

    /// New where the last of the words that were found incomplete changed, as it should be; but that word is written first.
    fn the_deciding_word_comes_first<const L: usize>(lines: &[AtomicLine; L], key: &[Mask; L]) -> bool {
        let incomplete: Vec<_> = words(lines, key)
            .filter(|&(line, word, bits)| {
                step(line);
                // ORDERING: as in the right one.
                word.load(Ordering::Acquire) & bits != bits
            })
            .collect();
        let mut backwards = incomplete.into_iter().rev();
        let new = backwards.next().is_some_and(|(line, word, bits)| {
            step(line);
            // ORDERING: the strongest that there is; it does not help.
            word.fetch_or(bits, Ordering::SeqCst) & bits != bits
        });
        backwards.for_each(|(line, word, bits)| {
            step(line);
            // ORDERING: likewise.
            word.fetch_or(bits, Ordering::SeqCst);
        });
        new
    }

    /// What holds for the right insert: a key from two threads is new to at most one.
    fn at_most_one_is_new<const L: usize>(insert: Insert<L>, key: [Mask; L]) {
        bounded(2, move || assert!(new_to(race_by(insert, [NOTHING; L], [key, key])) < 2, "both are new"));
    }

    #[test]
    #[should_panic(expected = "both are new")]
    fn loom_sees_that_not_any_word_may_decide() {
        at_most_one_is_new(any_word_decides, [mask([(0, 1), (3, 2)])]);
    }

    #[test]
    #[should_panic(expected = "both are new")]
    fn loom_sees_that_not_any_word_of_two_lines_may_decide() {
        at_most_one_is_new(any_word_decides, [mask([(3, 1)]), mask([(3, 2)])]);
    }

    #[test]
    #[should_panic(expected = "both are new")]
    fn loom_sees_that_the_deciding_word_must_come_last() {
        at_most_one_is_new(the_deciding_word_comes_first, [mask([(0, 1), (3, 2)])]);
    }

    #[test]
    #[should_panic(expected = "both are new")]
    fn loom_sees_that_the_deciding_word_of_two_lines_must_come_last() {
        at_most_one_is_new(the_deciding_word_comes_first, [mask([(3, 1)]), mask([(3, 2)])]);
    }
}
