//! Loom runs every order of steps, and every value that a load may see, of an insert against rotations that clear and use again the plane that it
//! writes to.
//!
//! Two properties are asked for, which are the promise of `atomic.rs` in words that a model can check. (1) A key whose insert reports window w is
//! found as long as w + G is not published. (2) The reported window is not too old: who has rotated to x and then sees that no plane has the key,
//! will hear of a window from x on, or of one that is forgotten by x. The scheme without a second look at the window has (1) and not (2); its test
//! passes because it fails.

use super::AtomicRotatingBloom;
use super::shape::Shape;
use super::sizing::RotatingPlan;
use crate::kernel::Kernel;
use crate::key::{KeyHash, KeyHasher};
use loom::sync::Arc;
use loom::thread;

type Filter = AtomicRotatingBloom<()>;

/// A way to insert: new or not, and the window.
type Insert = fn(&Filter, KeyHash) -> (bool, u64);

/// Two windows, three planes, one line, so that all keys and all clearing meet in the same words.
fn filter(k: u32) -> Filter {
    let plan = RotatingPlan { windows: 2, lines: 1, lines_per_key: 1, k, predicted_fpr: 0.01 };
    let hasher = KeyHasher::xxh3(1).fingerprint();
    let shape = Shape { capacity: 1, fpr: 0.01, plan, layout: plan.layout(), kernel: Kernel::PORTABLE, hasher };
    Filter::with_shape(shape, u64::MAX, None, ()).unwrap()
}

const KEY: KeyHash = KeyHash::from_parts(0, 0x0123_4567_89ab_cdef);
const OTHER: KeyHash = KeyHash::from_parts(0, 0x9e37_79b9_7f4a_7c15);

/// An insert in this thread, `rotations` in another, each followed by an insert of another key, so that planes are taken in turn and all must be
/// cleared.
fn race(k: u32, switches: usize, rotations: u64, insert: Insert) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(switches);
    model.max_branches = 100_000;
    model.check(move || {
        let filter = Arc::new(filter(k));
        // Every plane has been used, and the next one is to be cleared.
        for _ in 0..2 {
            filter.insert_hash(OTHER);
            filter.rotate();
        }
        filter.insert_hash(OTHER);
        let rotator = {
            let filter = Arc::clone(&filter);
            thread::spawn(move || {
                let mut not_there = Vec::new();
                for window in 3..3 + rotations {
                    filter.rotate();
                    if !filter.anywhere(KEY) {
                        not_there.push(window);
                    }
                    filter.insert_hash(OTHER);
                    assert_eq!(filter.age_hash(OTHER), Some(0), "a key that was just inserted is gone");
                }
                not_there
            })
        };
        let (_, window) = insert(&filter, KEY);
        for seen in rotator.join().unwrap() {
            assert!(window >= seen || seen >= window + 2, "the key went to a window that had passed");
        }
        let now = filter.window();
        assert_eq!(now, 2 + rotations);
        assert!(now >= window + 2 || filter.contains_hash(KEY), "a key is lost before its time");
        filter.rotate();
        assert!(now + 1 >= window + 2 || filter.contains_hash(KEY), "a key is lost before its time");
    });
}

#[test]
fn loom_rotating_a_key_goes_to_a_window_that_is_current() {
    race(1, 5, 1, Filter::insert_seen);
}

#[test]
fn loom_rotating_a_key_of_two_positions_survives_clearing() {
    race(2, 2, 2, Filter::insert_seen);
}

/// The plane of the window that the insert read is cleared and becomes another window's while the insert sleeps.
#[test]
fn loom_rotating_a_plane_is_used_again_under_a_sleeping_insert() {
    race(1, 3, 3, Filter::insert_seen);
}

#[test]
#[should_panic(expected = "a window that had passed")]
fn loom_rotating_without_a_second_look_the_window_has_passed() {
    race(1, 2, 1, Filter::insert_unchecked);
}

/// Two inserts of one key: one of them may hear "new", unless they went to different windows.
#[test]
fn loom_rotating_a_key_is_new_once_in_a_window() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.max_branches = 100_000;
    model.check(|| {
        let filter = Arc::new(filter(2));
        let other = {
            let filter = Arc::clone(&filter);
            thread::spawn(move || filter.insert_seen(KEY))
        };
        let rotator = {
            let filter = Arc::clone(&filter);
            thread::spawn(move || filter.rotate())
        };
        let ours = filter.insert_seen(KEY);
        let theirs = other.join().unwrap();
        rotator.join().unwrap();
        assert!(ours.0 || theirs.0, "new to nobody");
        assert!(!(ours.0 && theirs.0) || ours.1 != theirs.1, "new to both");
        assert!(filter.contains_hash(KEY));
    });
}
