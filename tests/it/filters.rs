//! Filters of somebody else's making, behind the gate: the ones that break their contract are found before they serve.

use crate::support::*;
use absentia::bloom::BloomFactory;
use absentia::filter::{FilterFactory, Insert, InsertError, InsertShared, Membership};
use absentia::*;
use bitvec::vec::BitVec;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Lie {
    None,
    /// Says that it is for another hasher.
    ForeignBase,
    ForeignDelta,
    /// Loses one key in ten.
    Forgets,
    /// Is there for the self-test, in a batch of one, but not for many.
    BatchDiffers,
}

#[derive(Debug)]
struct Factory(Lie);

#[derive(Debug)]
struct Base(Box<dyn Insert>, Lie, u64);

#[derive(Debug)]
struct Frozen(Arc<dyn Membership>, Lie);

fn foreign() -> HasherFingerprint {
    KeyHasher::xxh3(0xBAD).fingerprint()
}

impl FilterFactory for Factory {
    fn base(&self, capacity: Capacity, fpr: Fpr, hasher: HasherFingerprint) -> Result<Box<dyn Insert>, ParamError> {
        let hasher = if self.0 == Lie::ForeignBase { foreign() } else { hasher };
        Ok(Box::new(Base(BloomFactory::new().base(capacity, fpr, hasher)?, self.0, 0)))
    }

    fn delta(&self, capacity: Capacity, fpr: Fpr, hasher: HasherFingerprint) -> Result<Arc<dyn InsertShared>, ParamError> {
        BloomFactory::new().delta(capacity, fpr, if self.0 == Lie::ForeignDelta { foreign() } else { hasher })
    }
}

macro_rules! membership {
    ($kind:ident) => {
        impl Membership for $kind {
            fn contains_hash(&self, hash: KeyHash) -> bool {
                self.0.contains_hash(hash)
            }
            fn contains_hash_batch(&self, hashes: &[KeyHash]) -> BitVec {
                let mut claimed = self.0.contains_hash_batch(hashes);
                if self.1 == Lie::BatchDiffers {
                    claimed.fill(false);
                }
                claimed
            }
            fn hasher_fingerprint(&self) -> HasherFingerprint {
                self.0.hasher_fingerprint()
            }
            fn capacity(&self) -> u64 {
                self.0.capacity()
            }
            fn estimated_fpr(&self) -> f64 {
                self.0.estimated_fpr()
            }
            fn memory_bytes(&self) -> u64 {
                self.0.memory_bytes()
            }
        }
    };
}
membership!(Base);
membership!(Frozen);

impl Insert for Base {
    fn insert_hash(&mut self, hash: KeyHash) -> Result<(), InsertError> {
        self.2 += 1;
        if self.1 == Lie::Forgets && self.2.is_multiple_of(10) { Ok(()) } else { self.0.insert_hash(hash) }
    }
    fn freeze(self: Box<Self>) -> Arc<dyn Membership> {
        Arc::new(Frozen(self.0.freeze(), self.1))
    }
}

fn world(lie: Lie) -> World {
    let world = World::with(only_creator(), |b| b.filters(Factory(lie)).expected_keys(1_000));
    (0..1_000).for_each(|id| world.db.insert(id, "row"));
    world
}

#[test]
fn any_kind_that_keeps_its_contract_serves() {
    let world = world(Lie::None);
    assert!(world.rebuild().unwrap().trusted);
    assert!((0..1_000).all(|id| !world.gate.check(&id).is_absent()) && world.gate.check(&u64::MAX).is_absent());
}

#[test]
fn a_filter_for_another_hasher_is_refused() {
    for lie in [Lie::ForeignBase, Lie::ForeignDelta] {
        let world = world(lie);
        let error = world.rebuild().unwrap_err();
        let RebuildError::ForeignHasher { gate, filter } = error else { panic!("{error}") };
        assert_eq!((gate, filter), (world.gate.hasher().fingerprint(), foreign()));
        assert!(!world.gate.status().rebuilding && !world.gate.is_trusted());
    }
}

#[test]
fn a_filter_that_loses_keys_fails_its_self_test() {
    let world = world(Lie::Forgets);
    assert!(matches!(world.rebuild(), Err(RebuildError::SelfTest)));
    assert_eq!(world.gate.check(&1), Verdict::Possible(Reason::Loading));
}

#[test]
fn a_filter_whose_batch_form_loses_keys_fails_its_self_test() {
    let world = world(Lie::BatchDiffers);
    if world.rebuild().is_ok() {
        assert!(!world.gate.check_batch(&[1u64])[0].is_absent(), "a key that exists is proven absent");
    }
}
