//! Loom runs every interleaving, and every value that a relaxed load may see, of inserts into one line.
//!
//! It fails where any changed word makes a key new, and where the deciding word is written before the later words are read. It does not move a
//! thread's writes past one another, so it passes with weaker orderings too: those rest on the argument in `once.rs` alone.
//!
//! `RUSTFLAGS="--cfg absentia_loom" cargo test --release --lib loom_`. Keys are given as masks, so that few words and the worst overlaps are
//! chosen and not hoped for.

use super::once;
use crate::bits::{AtomicLine, WORDS, Words};
use loom::sync::Arc;
use loom::thread;

/// The line with these (word, bits) set.
fn mask<const N: usize>(words: [(usize, u64); N]) -> [u64; WORDS] {
    let mut mask = [0; WORDS];
    words.iter().for_each(|&(word, bits)| mask[word] |= bits);
    mask
}

fn holds(line: &AtomicLine, mask: &[u64; WORDS]) -> bool {
    (0..WORDS).all(|index| mask[index] == 0 || line.word(index) & mask[index] == mask[index])
}

/// Inserts the first key in this thread and each other in one of its own, on top of `before`, and returns who heard "new" when all have returned.
fn race<const N: usize>(before: [u64; WORDS], keys: [[u64; WORDS]; N]) -> [bool; N] {
    let line = Arc::new(AtomicLine::empty());
    once::insert(&line, &before);
    let threads: Vec<_> = keys[1..]
        .iter()
        .map(|&key| {
            let line = Arc::clone(&line);
            thread::spawn(move || once::insert(&line, &key))
        })
        .collect();
    let first = once::insert(&line, &keys[0]);
    assert!(holds(&line, &keys[0]), "an inserter does not find its own key");
    let mut new = threads.into_iter().map(|thread| thread.join().unwrap());
    let new = std::array::from_fn(|index| if index == 0 { first } else { new.next().unwrap() });
    keys.iter().for_each(|key| assert!(holds(&line, key), "a key is gone after its insert returned"));
    new
}

fn new_to<const N: usize>(callers: [bool; N]) -> usize {
    callers.iter().filter(|&&new| new).count()
}

const NOTHING: [u64; WORDS] = [0; WORDS];

/// All interleavings with at most so many switches away from a thread that could go on. Where a test has a bound, the full search takes minutes or
/// hours; both wrong schemes above fail at 2.
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

/// Another key can complete the greater word under the feet of two callers, which then decide by different words.
#[test]
fn loom_one_key_is_new_at_most_once_while_another_covers_its_last_word() {
    bounded(3, || {
        let key = mask([(0, 1), (1, 1)]);
        let new = race(NOTHING, [key, key, mask([(1, 1)])]);
        assert!(!(new[0] && new[1]), "both are new");
    });
}

#[test]
fn loom_two_keys_that_share_bits_are_both_found() {
    loom::model(|| {
        let new = race(NOTHING, [mask([(0, 0b011), (2, 0b01)]), mask([(0, 0b110), (2, 0b10)])]);
        // Each has a bit of its own in the last word, so neither can hide the other.
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

/// A reader that sees the flag raised after the insert finds the key, though both its reads of the line and the insert's writes may be relaxed.
#[test]
fn loom_who_learns_of_the_return_finds_the_key() {
    use loom::sync::atomic::{AtomicBool, Ordering};
    loom::model(|| {
        let shared = Arc::new((AtomicLine::empty(), AtomicBool::new(false)));
        let key = mask([(0, 1), (3, 2)]);
        let writer = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                once::insert(&shared.0, &key);
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
