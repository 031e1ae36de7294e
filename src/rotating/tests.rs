//! What a filter that forgets must remember and must forget, against a list of who was inserted in which window.
//!
//! The filters here are made so large that a false positive is not expected: with the seeds as they are there is none, and equality with the model
//! can be asked for. The rate has a test of its own.

use super::*;
use crate::filter::CombineError;
use crate::kernel::Kernel;
use crate::key::{KeyHash, KeyHasher};
use crate::params::{Capacity, Fpr, ParamError};
use crate::time::Clock;
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// A key of its own for each window.
fn at(window: u64, id: u64) -> u64 {
    (window << 32) | id
}

fn builder(windows: u32) -> RotatingBuilder {
    RotatingBloom::builder().windows(windows).capacity(300).fpr(1e-8).hasher(KeyHasher::xxh3(17))
}

/// The window in which each key was last inserted.
#[derive(Default)]
struct Model {
    last: HashMap<u64, u64>,
    window: u64,
    windows: u64,
}

impl Model {
    fn age(&self, key: u64) -> Option<u32> {
        let age = self.window - self.last.get(&key)?;
        (age < self.windows).then_some(age as u32)
    }

    fn insert(&mut self, key: u64) -> bool {
        self.last.insert(key, self.window) != Some(self.window)
    }
}

#[derive(Clone, Debug)]
enum Step {
    Insert(u64),
    Batch(u64, u8),
    Rotate,
    /// By so many halves of a window.
    Wait(u64),
    Clear,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let wait = prop_oneof![8 => 0u64..5, 1 => 0u64..80, 1 => Just(1 << 26)];
    let step = prop_oneof![
        12 => (0u64..200).prop_map(Step::Insert),
        4 => (0u64..200, 0u8..70).prop_map(|(from, count)| Step::Batch(from, count)),
        6 => Just(Step::Rotate),
        3 => wait.prop_map(Step::Wait),
        1 => Just(Step::Clear),
    ];
    prop::collection::vec(step, 0..120)
}

/// One line a key at 1e-8 and with many windows, whose lines have few positions, would be gigabytes.
fn lines_for(windows: u32, two: bool) -> LinesPerKey {
    if two || windows > 8 { LinesPerKey::Two } else { LinesPerKey::One }
}

/// What both kinds do, so that one model tests both.
trait Filter {
    fn made(builder: RotatingBuilder) -> Self;
    fn put(&mut self, key: u64) -> bool;
    fn put_all(&mut self, keys: &[u64]) -> Vec<bool>;
    fn age_of(&self, key: u64) -> Option<u32>;
    fn has(&self, keys: &[u64]) -> Vec<bool>;
    fn turn(&mut self);
    fn forget(&mut self);
    fn number(&self) -> u64;
}

macro_rules! filter {
    ($kind:ident, $build:ident) => {
        impl Filter for $kind {
            fn made(builder: RotatingBuilder) -> Self {
                builder.$build().unwrap()
            }
            fn put(&mut self, key: u64) -> bool {
                self.insert(&key)
            }
            fn put_all(&mut self, keys: &[u64]) -> Vec<bool> {
                self.insert_batch(keys).into_iter().collect()
            }
            fn age_of(&self, key: u64) -> Option<u32> {
                assert_eq!(self.contains(&key), self.age(&key).is_some());
                self.age(&key)
            }
            fn has(&self, keys: &[u64]) -> Vec<bool> {
                self.contains_batch(keys).into_iter().collect()
            }
            fn turn(&mut self) {
                self.rotate();
            }
            fn forget(&mut self) {
                self.clear();
            }
            fn number(&self) -> u64 {
                self.window()
            }
        }
    };
}
filter!(RotatingBloom, build);
filter!(AtomicRotatingBloom, build_atomic);

fn follows_the_model<F: Filter>(windows: u32, lines: LinesPerKey, clocked: bool, steps: Vec<Step>) {
    let (clock, hand) = Clock::mock();
    let mut builder = builder(windows).lines_per_key(lines);
    if clocked {
        builder = builder.every(2 * SECOND).clock(clock);
    }
    let mut filter = F::made(builder);
    let mut model = Model { windows: u64::from(windows), ..Model::default() };
    let mut halves = 0u64;
    for step in steps {
        match step {
            Step::Insert(key) => assert_eq!(filter.put(key), model.insert(key), "{key}"),
            Step::Batch(from, count) => {
                let keys: Vec<_> = (from..from + u64::from(count)).collect();
                assert_eq!(filter.put_all(&keys), keys.iter().map(|&key| model.insert(key)).collect::<Vec<_>>());
            }
            Step::Rotate if !clocked => {
                filter.turn();
                model.window += 1;
            }
            Step::Wait(time) if clocked => {
                hand.advance(Duration::from_secs(time));
                halves += time;
                model.window = halves / 2;
            }
            Step::Rotate | Step::Wait(_) => {}
            Step::Clear => {
                filter.forget();
                model.last.clear();
            }
        }
        assert_eq!(filter.number(), model.window);
        for key in (0..270).step_by(7) {
            assert_eq!(filter.age_of(key), model.age(key), "{key} in window {}", model.window);
        }
    }
    let keys: Vec<_> = (0..270).collect();
    assert_eq!(filter.has(&keys), keys.iter().map(|&key| model.age(key).is_some()).collect::<Vec<_>>());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_plain_filter_remembers_and_forgets_as_the_list_does(windows in 1..=MAX_WINDOWS, two: bool, clocked: bool, steps in steps()) {
        follows_the_model::<RotatingBloom>(windows, lines_for(windows, two), clocked, steps);
    }

    #[test]
    fn an_atomic_filter_remembers_and_forgets_as_the_list_does(windows in 1..=MAX_WINDOWS, two: bool, clocked: bool, steps in steps()) {
        follows_the_model::<AtomicRotatingBloom>(windows, lines_for(windows, two), clocked, steps);
    }
}

#[test]
fn a_key_is_found_until_the_last_window_of_its_life_and_no_longer() {
    for windows in 1..=MAX_WINDOWS {
        // At every phase of the planes.
        for before in 0..u64::from(windows) + 2 {
            let (mut plain, shared) = (builder(windows).build().unwrap(), builder(windows).build_atomic().unwrap());
            for window in 0..before {
                plain.insert(&(1000 + window));
                shared.insert(&(1000 + window));
                plain.rotate();
                shared.rotate();
            }
            assert!(plain.insert(&7u64) && shared.insert(&7u64));
            for age in 0..windows {
                assert_eq!((plain.age(&7u64), shared.age(&7u64)), (Some(age), Some(age)), "{windows} windows, {before} before");
                plain.insert(&(2000 + age));
                shared.insert(&(2000 + age));
                plain.rotate();
                shared.rotate();
            }
            assert!(!plain.contains(&7u64) && !shared.contains(&7u64), "{windows} windows, {before} before");
            assert!(windows == 1 || plain.contains(&2001u64));
        }
    }
}

#[test]
fn an_insert_begins_a_life_anew() {
    let mut filter = builder(3).build().unwrap();
    for _ in 0..20 {
        assert!(filter.insert("again"));
        assert!(!filter.insert("again"));
        filter.rotate();
        assert_eq!(filter.age("again"), Some(1));
    }
    filter.rotate();
    assert_eq!(filter.age("again"), Some(2));
    filter.rotate();
    assert_eq!(filter.age("again"), None);
}

/// The clear of the plane of the new window is done by the rotation, where inserts had no time for it; and only of that plane.
#[test]
fn a_rotation_finishes_a_sweep_that_is_half_done() {
    for inserts in [0, 1, 5, 1000] {
        let builder = builder(2).capacity(2000);
        let (mut filter, shared) = (builder.clone().build().unwrap(), builder.build_atomic().unwrap());
        let mut half_done = 0;
        for window in 0..12u64 {
            for id in 0..inserts {
                assert!(filter.insert(&at(window, id)), "window {window} has bits of another");
                assert!(shared.insert(&at(window, id)), "window {window} has bits of another");
            }
            for id in 0..inserts {
                assert_eq!((filter.age(&at(window, id)), shared.age(&at(window, id))), (Some(0), Some(0)));
                if window > 0 {
                    assert_eq!((filter.age(&at(window - 1, id)), shared.age(&at(window - 1, id))), (Some(1), Some(1)));
                }
                if window > 1 {
                    assert_eq!((filter.age(&at(window - 2, id)), shared.age(&at(window - 2, id))), (None, None));
                }
            }
            half_done += u64::from(filter.has_to_sweep());
            filter.rotate();
            shared.rotate();
        }
        assert_eq!(half_done > 0, (1..1000).contains(&inserts), "{inserts} inserts");
    }
}

#[test]
fn a_million_rotations_without_inserts_clear_nothing() {
    // 36 MB of lines: a pass takes milliseconds, and a million of them would take an hour or more.
    let mut filter = RotatingBloom::new(8, 2_000_000, 0.01).unwrap();
    filter.insert("once");
    let shared = AtomicRotatingBloom::new(8, 2_000_000, 0.01).unwrap();
    shared.insert("once");
    for _ in 0..1_000_000 {
        filter.rotate();
        shared.rotate();
    }
    assert_eq!((filter.window(), shared.window()), (1_000_000, 1_000_000));
    assert!(!filter.contains("once") && !shared.contains("once"));
}

#[test]
fn time_passes_in_questions_too() {
    let (clock, hand) = Clock::mock();
    let builder = builder(4).every(10 * SECOND).clock(clock);
    let (mut plain, shared) = (builder.clone().build().unwrap(), builder.build_atomic().unwrap());
    assert_eq!(plain.window_duration(), Some(10 * SECOND));
    hand.advance(9 * SECOND);
    plain.insert(&1u64);
    shared.insert(&1u64);
    let ages = |plain: &RotatingBloom, key: u64| {
        assert_eq!(plain.age(&key), shared.age(&key));
        assert_eq!(plain.contains_batch(&[key])[0], shared.contains(&key));
        plain.age(&key)
    };
    assert_eq!(ages(&plain, 1), Some(0));
    for age in 1..4 {
        // From one nanosecond into the window to its last.
        hand.advance(SECOND);
        assert_eq!(ages(&plain, 1), Some(age));
        hand.advance(9 * SECOND);
        assert_eq!(ages(&plain, 1), Some(age));
    }
    hand.advance(SECOND - Duration::from_nanos(1));
    assert_eq!(ages(&plain, 1), Some(3));
    hand.advance(Duration::from_nanos(1));
    assert_eq!(ages(&plain, 1), None);
    assert_eq!((plain.window(), shared.window()), (4, 4));
    // The next insert finds everything forgotten, and a clean plane.
    assert!(plain.insert(&1u64) && shared.insert(&1u64));
    assert_eq!(ages(&plain, 1), Some(0));
    // A rotation by hand begins the next window early.
    plain.rotate();
    shared.rotate();
    assert_eq!((ages(&plain, 1), plain.window(), shared.window()), (Some(1), 5, 5));
    hand.advance(10 * SECOND);
    assert_eq!((ages(&plain, 1), plain.window()), (Some(1), 5));
    // Centuries later.
    hand.advance(Duration::MAX);
    assert_eq!(ages(&plain, 1), None);
    assert!(plain.insert(&1u64) && shared.insert(&1u64));
    assert_eq!(ages(&plain, 1), Some(0));
}

/// No clock of this crate goes back; a number of a window that is smaller than one that was seen stands for it.
#[test]
fn a_clock_that_goes_back_shortens_no_life() {
    let shared = builder(3).build_atomic().unwrap();
    shared.pass_to(10);
    shared.insert(&1u64);
    for back in [9, 0, 10] {
        shared.pass_to(back);
        assert_eq!((shared.age(&1u64), shared.window()), (Some(0), 10));
    }
    shared.pass_to(12);
    assert_eq!(shared.age(&1u64), Some(2));
    shared.pass_to(u64::MAX);
    assert_eq!((shared.age(&1u64), shared.window()), (None, u64::MAX));
    shared.insert(&1u64);
    shared.rotate();
    assert_eq!((shared.age(&1u64), shared.window()), (Some(1), u64::MAX));

    let (clock, hand) = Clock::mock();
    hand.advance(100 * SECOND);
    let timer = timer::Timer::new(SECOND, clock).unwrap();
    hand.advance(5 * SECOND);
    assert_eq!(timer.window(), 5);
    // Before the beginning is the beginning.
    assert_eq!(timer.window_at(crate::time::Timestamp::default()), 0);
}

#[test]
fn numbers_that_make_no_filter_are_refused_by_name() {
    let refused = |builder: RotatingBuilder| {
        let error = builder.clone().build().unwrap_err();
        // NaN is not equal to itself.
        assert_eq!(builder.build_atomic().unwrap_err().to_string(), error.to_string());
        error
    };
    for requested in [0, MAX_WINDOWS + 1, u32::MAX] {
        assert_eq!(refused(builder(requested)), ParamError::Windows { requested, largest: MAX_WINDOWS });
    }
    assert_eq!(refused(RotatingBuilder::new()), ParamError::Windows { requested: 0, largest: MAX_WINDOWS });
    assert_eq!(refused(RotatingBuilder::new().windows(3)), ParamError::NoCapacity);
    for p in [0.0, 1.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(refused(builder(3).fpr(p)), ParamError::FprOutOfRange { .. }));
    }
    assert!(matches!(refused(builder(3).fpr(1e-9)), ParamError::FprTooSmall { .. }));
    assert_eq!(refused(builder(3).every(Duration::ZERO)), ParamError::ZeroDuration);
    assert!(matches!(refused(builder(3).capacity(u64::MAX)), ParamError::TooLarge { .. }));
    let needed = builder(3).build().unwrap().memory_bytes();
    assert_eq!(refused(builder(3).memory_limit(needed - 1)), ParamError::TooLarge { needed, limit: needed - 1 });
    assert!(builder(3).memory_limit(needed).build().is_ok());
    assert_eq!(ParamError::Windows { requested: 40, largest: 31 }.to_string(), "windows: asked for 40, must be 1 to 31");

    for windows in 1..=MAX_WINDOWS {
        for capacity in [0, 1, 2, 3] {
            for p in [0.9, 0.01, 1e-8] {
                let mut filter = builder(windows).capacity(capacity).fpr(p).build().unwrap();
                assert!(filter.predicted_fpr() <= p, "{windows} {capacity} {p}");
                for id in 0..capacity {
                    filter.insert(&id);
                    assert_eq!(filter.age(&id), Some(0));
                }
                for _ in 0..windows {
                    assert!(filter.contains(&0u64) || capacity == 0);
                    filter.rotate();
                }
                assert!((0..10u64).all(|id| !filter.contains(&id)));
            }
        }
    }
    assert!(RotatingBuilder::new().windows(2).capacity(10).every(Duration::MAX).build().is_ok());
}

/// A plan of any size is a plan, and keeps the rate.
#[test]
fn plans_keep_their_rate_from_nothing_to_everything() {
    for windows in 1..=MAX_WINDOWS {
        for p in [0.9, 0.1, 0.01, 1e-4, 1e-8] {
            for capacity in [0, 1, 10, 1000, 1_000_000, 1 << 40, 1 << 50, u64::MAX] {
                let fpr = Fpr::new(p).unwrap();
                let of = |lines| plan(windows, Capacity::new(capacity), fpr, lines).unwrap();
                let (auto, one, two) = (of(LinesPerKey::Auto), of(LinesPerKey::One), of(LinesPerKey::Two));
                assert!(one.predicted_fpr <= p || one.lines == u64::MAX, "{one:?}");
                assert!(two.predicted_fpr <= p || two.lines == u64::MAX, "{two:?}");
                assert_eq!(auto.lines, one.lines.min(two.lines));
                assert!(two.lines.is_multiple_of(2) || two.lines == u64::MAX);
                assert_eq!((one.lines_per_key, two.lines_per_key, two.k % 2), (1, 2, 0));
            }
        }
    }
}

/// Eight windows of as many keys as the capacity, all different, and a million strangers. At the predicted rate the standard deviation of their
/// number is 100 (at 1e-2) or 32 (at 1e-3); the bounds are five of them above, and below what equality of the windows' questions takes off, which is
/// some percent.
#[test]
fn all_windows_together_keep_the_rate() {
    for (windows, p, lines) in [(8, 1e-2, LinesPerKey::One), (8, 1e-2, LinesPerKey::Two), (3, 1e-3, LinesPerKey::Two), (20, 1e-2, LinesPerKey::Two)] {
        let capacity = 20_000;
        let mut filter = builder(windows).capacity(capacity).fpr(p).lines_per_key(lines).build().unwrap();
        for window in 0..u64::from(windows) + 3 {
            if window > 0 {
                filter.rotate();
            }
            filter.extend((0..capacity).map(|id| at(window, id)));
        }
        let strangers: Vec<_> = (0..1_000_000u64).map(|id| at(1 << 28, id)).collect();
        let claimed = filter.contains_batch(&strangers).count_ones() as f64;
        let expected = filter.predicted_fpr() * 1e6;
        assert!(filter.predicted_fpr() > 0.97 * p && filter.predicted_fpr() <= p);
        assert!(claimed < expected + 5.0 * expected.sqrt() && claimed > 0.85 * expected, "{windows} {p}: {claimed} of {expected}");
        let estimated = filter.estimated_fpr() * 1e6;
        assert!((estimated / expected - 1.0).abs() < 0.05, "estimated {estimated}, expected {expected}");
        assert!(!filter.is_saturated());
        let len = filter.estimated_len() as f64 / (f64::from(windows) * capacity as f64);
        assert!((len - 1.0).abs() < 0.03, "{len}");
        let one = filter.estimated_len_of(windows - 1) as f64 / capacity as f64;
        assert!((one - 1.0).abs() < 0.05, "{one}");
        assert_eq!(filter.estimated_len_of(windows), 0);
        // Three times too many in one window.
        filter.extend((0..8 * capacity).map(|id| at(1 << 29, id)));
        assert!(filter.is_saturated());
    }
}

#[test]
fn every_kernel_makes_the_same_filter() {
    for (windows, lines) in [(1, LinesPerKey::One), (8, LinesPerKey::Two), (8, LinesPerKey::One), (31, LinesPerKey::Two)] {
        let make = |kernel| {
            let mut filter = builder(windows).capacity(3000).fpr(0.05).lines_per_key(lines).kernel(kernel).build().unwrap();
            for window in 0..40u64 {
                filter.extend((0..500).map(|id| at(window, id)));
                filter.rotate();
            }
            filter
        };
        let portable = make(Kernel::PORTABLE);
        for kernel in Kernel::available() {
            let filter = make(kernel);
            assert!(filter == portable, "{kernel}");
            assert_eq!(filter.kernel_name(), kernel.name());
            for id in 0..20_000u64 {
                assert_eq!(filter.age(&at(id / 500 + 20, id % 1000)), portable.age(&at(id / 500 + 20, id % 1000)), "{kernel}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever planes the windows of each have.
    #[test]
    fn a_union_is_the_filter_of_both_histories(windows in 1..=8u32, history in prop::collection::vec((0usize..6, 0usize..6), 0..20)) {
        let [mut left, mut right, mut both] = [(); 3].map(|()| builder(windows).build().unwrap());
        for (window, (ours, theirs)) in history.iter().enumerate() {
            let keys = |side: usize, count: usize| (0..count).map(move |id| ((window << 16) | (side << 8) | id) as u64);
            left.extend(keys(0, *ours));
            right.extend(keys(1, *theirs));
            both.extend(keys(0, *ours).chain(keys(1, *theirs)));
            [&mut left, &mut right, &mut both].into_iter().for_each(RotatingBloom::rotate);
        }
        left.union_with(&right).unwrap();
        prop_assert!(left == both);
        // And goes on as that one does.
        for window in 0..u64::from(windows) + 2 {
            left.insert(&window);
            both.insert(&window);
            [&mut left, &mut both].into_iter().for_each(RotatingBloom::rotate);
            prop_assert!(left == both);
        }
    }
}

#[test]
fn filters_that_differ_do_not_unite() {
    let mut ours = builder(3).build().unwrap();
    let mut error = |theirs: RotatingBuilder| ours.union_with(&theirs.build().unwrap()).unwrap_err();
    assert!(matches!(error(builder(3).hasher(KeyHasher::xxh3(1))), CombineError::Hasher { .. }));
    assert_eq!(error(builder(4)), CombineError::Windows { ours: 3, theirs: 4 });
    assert!(matches!(error(builder(3).capacity(9000)), CombineError::Bits { .. }));
    assert_eq!(error(builder(3).every(SECOND)), CombineError::Clocked);
    let mut later = builder(3).build().unwrap();
    later.rotate();
    assert_eq!(ours.union_with(&later), Err(CombineError::Window { ours: 0, theirs: 1 }));
    assert!(ours != later && ours == ours.clone());
}

/// With 31 windows and all of them passed there is nothing to lay out, at a place that a word does not have: an overflow where those are checked.
#[test]
fn thirty_one_windows_that_have_all_passed_are_none() {
    let (clock, time) = Clock::mock();
    let mut filter = RotatingBloom::every(SECOND).windows(31).capacity(1000).clock(clock).build().unwrap();
    for window in 0..64 {
        filter.insert(&window);
        assert!(filter.contains(&window));
        let asked = filter.clone();
        time.advance(SECOND * 31);
        assert!(!asked.contains(&window) && asked.age(&window).is_none());
    }
}

#[test]
fn what_a_filter_says_of_itself() {
    let mut filter = RotatingBloom::new(8, 1000, 0.01).unwrap();
    filter.insert("secret-key");
    let shown = format!("{filter:?}");
    assert!(shown.starts_with("RotatingBloom { windows: 8, window: 0, capacity: 1000,"), "{shown}");
    assert!(format!("{:?}", AtomicRotatingBloom::new(8, 1000, 0.01).unwrap()).starts_with("AtomicRotatingBloom { windows: 8"));
    assert_eq!((filter.bits(), filter.memory_bytes()), (filter.lines() * 512, filter.lines() * 64));
    assert!((filter.bits_per_key() - filter.bits() as f64 / 8000.0).abs() < 1e-9);
    assert!(filter.contains_hash(filter.hasher().hash("secret-key")));
    let bare = builder(2).build_for(KeyHasher::xxh3(17).fingerprint()).unwrap();
    assert!(!bare.contains_hash(KeyHash::from_parts(1, 2)));
    let shared = builder(2).build_atomic_for(KeyHasher::xxh3(17).fingerprint()).unwrap();
    assert!(shared.insert_hash(KeyHash::from_parts(1, 2)) && !shared.insert_hash(KeyHash::from_parts(1, 2)));
    fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<RotatingBloom>();
    is_send_and_sync::<AtomicRotatingBloom>();
}

/// A key that is inserted while windows pass is found at once by its inserter, unless G windows have passed since before the insert.
#[test]
fn no_key_is_lost_while_windows_pass() {
    for windows in [2, 3, 8] {
        // Few lines and many windows: a plane is used again all the time, and sweeps are cut in half by rotations.
        let filter = builder(windows).capacity(400).fpr(0.01).build_atomic().unwrap();
        let (stop, inserted) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for writer in 0..3u64 {
                let (filter, stop, inserted) = (&filter, &stop, &inserted);
                scope.spawn(move || {
                    for key in (writer << 40..).step_by(128) {
                        let before = filter.window();
                        filter.insert(&key);
                        let found = filter.contains(&key);
                        let after = filter.window();
                        assert!(found || after >= before + u64::from(windows), "{key} was lost between windows {before} and {after}");
                        if key % 8192 == 0 {
                            let batch: Vec<_> = (key..key + 100).collect();
                            let before = filter.window();
                            filter.insert_batch(&batch);
                            let found = filter.contains_batch(&batch).all();
                            assert!(found || filter.window() >= before + u64::from(windows));
                        }
                        inserted.fetch_add(1, Ordering::Relaxed);
                        if stop.load(Ordering::Relaxed) {
                            break;
                        }
                    }
                });
            }
            scope.spawn(|| {
                // From none to a hundred inserts a window.
                for window in 0..1000u64 {
                    let until = inserted.load(Ordering::Relaxed) + window % 100;
                    while inserted.load(Ordering::Relaxed) < until {
                        std::thread::yield_now();
                    }
                    filter.rotate();
                }
                stop.store(true, Ordering::Relaxed);
            });
        });
        assert_eq!(filter.window(), 1000);
    }
}

/// Callers of one key in one window: at most one hears "new".
#[test]
fn a_key_is_new_to_one_caller() {
    let filter = builder(4).build_atomic().unwrap();
    for key in 0..300u64 {
        let news: usize = std::thread::scope(|scope| {
            let callers: Vec<_> = (0..3).map(|_| scope.spawn(|| usize::from(filter.insert(&key)))).collect();
            callers.into_iter().map(|caller| caller.join().unwrap()).sum()
        });
        assert_eq!(news, 1);
        if key % 50 == 0 {
            filter.rotate();
        }
    }
}
