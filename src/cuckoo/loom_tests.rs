//! [`AtomicCuckoo`](super::AtomicCuckoo) under the interleavings of few threads: the smallest cases of the proof in `slots.rs`, and the order that it
//! forbids, which must fail.
//!
//! Two buckets, so that every key has both, and one fingerprint: all keys are copies of each other, which is where removals may harm.

use super::*;
use crate::key::{KeyHash, KeyHasher};
use loom::thread;
use std::sync::Arc;

/// In which bucket an insert will lie is decided by who is there: the emptier one, the home bucket where they are equal.
fn in_bucket(bucket: u64) -> KeyHash {
    KeyHash::from_parts(bucket << 63, 77)
}

/// Every interleaving with up to three switches that no thread asked for. Without a bound the larger models take hours; the order that fails is found
/// with two.
fn model(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(run);
}

fn two_buckets(width: u32) -> AtomicCuckoo {
    let filter = AtomicCuckoo::builder().capacity(8).fingerprint_bits(width).hasher(KeyHasher::xxh3(1)).build_atomic().unwrap();
    assert_eq!(filter.slots(), 8);
    filter
}

/// X lies in the bucket that readers look into last. Y comes into the first one, and goes again: whoever removes it must not take the copy of X,
/// which a reader that has passed the first bucket is about to find.
fn reader_of_x_while_y_comes_and_goes(width: u32, remove: fn(&AtomicCuckoo, KeyHash) -> bool) {
    model(move || {
        let filter = Arc::new(two_buckets(width));
        filter.insert_hash(in_bucket(1)).unwrap();
        let writer = {
            let filter = Arc::clone(&filter);
            thread::spawn(move || {
                filter.insert_hash(in_bucket(0)).unwrap();
                assert!(remove(&filter, in_bucket(0)));
            })
        };
        assert!(filter.contains_hash(in_bucket(1)), "a key that is there was missed");
        writer.join().unwrap();
        assert!(filter.contains_hash(in_bucket(1)) && filter.len() == 1);
    });
}

#[test]
fn loom_cuckoo_a_reader_finds_what_stays() {
    for width in [8, 16, 32] {
        reader_of_x_while_y_comes_and_goes(width, |filter, hash| filter.remove_hash(hash));
    }
}

#[test]
#[should_panic(expected = "a key that is there was missed")]
fn loom_cuckoo_removals_in_the_other_order_are_seen_to_fail() {
    reader_of_x_while_y_comes_and_goes(16, |filter, hash| filter.remove_backwards(hash));
}

/// Two removals at once each take one of three copies, in whichever bucket they lie, and the third is found throughout.
#[test]
fn loom_cuckoo_removals_at_once_take_a_copy_each() {
    for width in [16, 32] {
        model(move || {
            let filter = Arc::new(two_buckets(width));
            (0..3).for_each(|n| filter.insert_hash(in_bucket(n % 2)).unwrap());
            let removals: Vec<_> = (0..2)
                .map(|_| {
                    let filter = Arc::clone(&filter);
                    thread::spawn(move || assert!(filter.remove_hash(in_bucket(0))))
                })
                .collect();
            assert!(filter.contains_hash(in_bucket(1)));
            removals.into_iter().for_each(|removal| removal.join().unwrap());
            assert!(filter.count_hash(in_bucket(0)) == 1 && filter.len() == 1);
        });
    }
}

/// Inserts at once into one word lose nothing, and whoever returns has its copy there.
#[test]
fn loom_cuckoo_inserts_at_once_are_all_there() {
    for width in [8, 16] {
        model(move || {
            let filter = Arc::new(two_buckets(width));
            let insert = {
                let filter = Arc::clone(&filter);
                thread::spawn(move || {
                    filter.insert_hash(in_bucket(0)).unwrap();
                    assert!(filter.contains_hash(in_bucket(0)));
                })
            };
            filter.insert_hash(in_bucket(0)).unwrap();
            assert!(filter.contains_hash(in_bucket(0)));
            insert.join().unwrap();
            assert_eq!(filter.count_hash(in_bucket(0)), 2);
        });
    }
}

/// A writer that removes what another thread has inserted and told of, while a second pair of copies is about.
#[test]
fn loom_cuckoo_a_key_handed_on_is_found_by_its_remover() {
    model(|| {
        let filter = Arc::new(two_buckets(16));
        filter.insert_hash(in_bucket(1)).unwrap();
        let other = {
            let filter = Arc::clone(&filter);
            thread::spawn(move || {
                filter.insert_hash(in_bucket(0)).unwrap();
                assert!(filter.remove_hash(in_bucket(0)));
            })
        };
        filter.insert_hash(in_bucket(1)).unwrap();
        assert!(filter.remove_hash(in_bucket(1)), "an own key was not found");
        other.join().unwrap();
        assert!(filter.contains_hash(in_bucket(1)) && filter.len() == 1);
    });
}
