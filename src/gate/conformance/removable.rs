//! What a base must do from which a gate takes copies out: keep one for each insert.

use crate::filter::FilterFactory;
use crate::key::{KeyHash, KeyHasher};
use crate::negative::conformance;
use crate::params::{Capacity, Fpr};
use std::fmt::Debug;

const ROOM: &str = "a base takes as many keys as it was made for";
const FOUND: &str = "what was inserted is found, one by one and in batches";
const REMOVES: &str = "a base that can remove says so";
const COUNTED: &str = "a copy that was inserted can be taken out";
const COPIES: &str = "a key of which a copy stays is found, whatever was taken out for others";
const GONE: &str = "what was taken out is gone, for the most part";

#[track_caller]
fn demand(holds: bool, clause: &str, found: impl Debug) {
    conformance::demand("removable base", clause, holds, found);
}

/// Keys that it is tried with, and at what rate: enough for many pairs that share a fingerprint.
const KEYS: u64 = 20_000;
const FPR: f64 = 0.01;

/// Checks the bases of a factory against what [`ExistenceGate::retire_with`](crate::ExistenceGate::retire_with) relies on: a base that skips an insert
/// because it seems to be there already, or loses a key, makes a gate deny keys that exist.
///
/// It sees copies of equal fingerprints only if there are some: with 20,000 keys at a rate of 1 % there are hundreds.
///
/// # Panics
///
/// Where a clause does not hold; the message quotes it.
pub fn removable_base(factory: &impl FilterFactory) {
    let hasher = KeyHasher::xxh3(0x0C0D_E5ED);
    let hashes: Vec<KeyHash> = (0..KEYS).map(|key| hasher.hash(&key)).collect();
    let fpr = Fpr::new(FPR).expect("in range");
    let mut base = factory.base(Capacity::new(KEYS + 1), fpr, hasher.fingerprint()).expect("a base of ordinary size");
    // Both ways of inserting, and one key twice.
    let (ones, many) = hashes.split_at(hashes.len() / 2);
    let taken = ones.iter().chain(&ones[..1]).try_for_each(|hash| base.insert_hash(*hash)).and_then(|()| base.insert_hash_batch(many));
    demand(taken.is_ok(), ROOM, &taken);
    let base = base.freeze();
    let found = |hashes: &[KeyHash]| hashes.iter().all(|hash| base.contains_hash(*hash)) && base.contains_hash_batch(hashes).all();
    demand(found(&hashes), FOUND, format_args!("{KEYS} keys at a rate of {FPR}"));
    demand(base.remover().is_some(), REMOVES, format_args!("{KEYS} keys at a rate of {FPR}"));
    let Some(remover) = base.remover() else { return };
    for (n, hash) in ones.iter().enumerate() {
        demand(remover.remove_hash_shared(*hash), COUNTED, hash);
        if n.is_multiple_of(1_000) {
            demand(found(many) && found(&ones[n + 1..]) && found(&ones[..1]), COPIES, format_args!("{KEYS} keys at a rate of {FPR}"));
        }
    }
    demand(found(many) && found(&ones[..1]), COPIES, format_args!("{KEYS} keys at a rate of {FPR}"));
    demand(many.iter().chain(&ones[..1]).all(|hash| remover.remove_hash_shared(*hash)), COUNTED, format_args!("{KEYS} keys at a rate of {FPR}"));
    demand(hashes.iter().filter(|hash| base.contains_hash(**hash)).count() < hashes.len() / 2, GONE, format_args!("{KEYS} keys at a rate of {FPR}"));
}
