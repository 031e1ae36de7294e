//! Loom explores every interleaving, up to a bound of preemptions, of the races that the promise hangs on.
//!
//! begin against rebuild and swap; a token against a create; a distrust against a rebuild; a retirement against a rebuild, and against a create of
//! the same key. What is modelled is [`Core`] as it is; the filter is one atomic word, the database one lock, and an acknowledgement is a release
//! store that a reader acquires. Each model runs again with a rule switched off and must fail: a model that cannot fail proves nothing.
//!
//!     RUSTFLAGS="--cfg absentia_loom" LOOM_MAX_PREEMPTIONS=3 cargo test --release --lib loom_

use super::core::{Core, CoreConfig};
use super::coverage::{Coverage, Exclusivity};
use super::retire::Removed;
use crate::filter::{Insert, InsertError, InsertShared, Membership, RemoveShared};
use crate::key::{HasherFingerprint, KeyHash, KeyHasher};
use crate::loader::Fences;
use crate::sync::{AtomicBool, AtomicU64, Mutant, Mutex, Ordering, lock, set_mutant};
use crate::time::Clock;
use loom::thread;
use std::sync::Arc;
use std::time::Duration;

const KEY: KeyHash = KeyHash::from_parts(5, 5);

/// A filter of 64 keys that is never wrong: bit n is key n.
#[derive(Debug)]
struct Word(AtomicU64);

impl Membership for Word {
    fn contains_hash(&self, hash: KeyHash) -> bool {
        // ORDERING: Acquire pairs with the Release of the insert.
        self.0.load(Ordering::Acquire) & (1 << hash.first()) != 0
    }
    fn hasher_fingerprint(&self) -> HasherFingerprint {
        KeyHasher::xxh3(0).fingerprint()
    }
    fn capacity(&self) -> u64 {
        64
    }
    fn estimated_fpr(&self) -> f64 {
        0.0
    }
    fn memory_bytes(&self) -> u64 {
        8
    }
}

impl InsertShared for Word {
    fn insert_hash_shared(&self, hash: KeyHash) -> bool {
        // ORDERING: Release publishes, Acquire for the answer.
        self.0.fetch_or(1 << hash.first(), Ordering::AcqRel) & (1 << hash.first()) == 0
    }
}

impl Insert for Word {
    fn insert_hash(&mut self, hash: KeyHash) -> Result<(), InsertError> {
        self.insert_hash_shared(hash);
        Ok(())
    }
    fn freeze(self: Box<Self>) -> Arc<dyn Membership> {
        Arc::from(self as Box<dyn Membership>)
    }
}

fn word() -> Arc<dyn InsertShared> {
    Arc::new(Word(AtomicU64::new(0)))
}

#[derive(Clone, Copy)]
enum Order {
    SettleFirst,
    AcknowledgeFirst,
}

struct World {
    core: Core,
    /// Is the row committed?
    row: Mutex<bool>,
    /// Did the create's success reach its caller?
    acknowledged: AtomicBool,
}

impl World {
    /// A trusted gate over an empty table.
    fn new() -> loom::sync::Arc<Self> {
        let core = Core::new(CoreConfig {
            id: 7,
            hasher: KeyHasher::xxh3(0),
            coverage: Coverage::Exclusive(Exclusivity::asserted("a model").first_start()),
            clock: Clock::standard(),
            observer: None,
            stripes: 1,
            pending_shards: 1,
            max_transaction: Duration::from_secs(1),
            scan_lag: Duration::ZERO,
            fpr_limit: 1.0,
        })
        .unwrap();
        let world = loom::sync::Arc::new(Self { core, row: Mutex::new(false), acknowledged: AtomicBool::new(false) });
        world.rebuild();
        assert!(world.core.check(KEY).is_absent());
        world
    }

    /// R4 lets a service acknowledge while the fence is still up; most settle first.
    fn create(&self, order: Order) {
        self.core.begin(KEY);
        *lock(&self.row) = true;
        match order {
            Order::SettleFirst => {
                self.core.settle(KEY);
                self.acknowledge();
            }
            Order::AcknowledgeFirst => {
                self.acknowledge();
                self.core.settle(KEY);
            }
        }
    }

    fn acknowledge(&self) {
        // ORDERING: Release: the acknowledgement carries everything before it to whoever hears of it.
        self.acknowledged.store(true, Ordering::Release);
    }

    fn is_acknowledged(&self) -> bool {
        // ORDERING: Acquire, see `acknowledge`.
        self.acknowledged.load(Ordering::Acquire)
    }

    fn rebuild(&self) {
        let delta = word();
        let building = self.core.publish(&delta);
        self.core.copy_pending(&building);
        let mut base = Box::new(Word(AtomicU64::new(0)));
        let rows = *lock(&self.row);
        if rows {
            base.insert_hash(KEY).expect("room");
        }
        let (_, _trusted) = self.core.swap(&building, &base.freeze(), u64::from(rows));
    }

    fn promise(&self) {
        if self.is_acknowledged() {
            assert!(!self.core.check(KEY).is_absent(), "absent after the acknowledgement");
        }
    }
}

/// Runs `model` under loom with a rule switched off, or none.
fn explore(rule_off: Option<Mutant>, model: fn()) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(3));
    builder.check(move || {
        set_mutant(rule_off);
        model();
        set_mutant(None);
    });
}

fn begin_against_rebuild() {
    let world = World::new();
    let (creator, rebuilder) = (world.clone(), world.clone());
    let creator = thread::spawn(move || creator.create(Order::AcknowledgeFirst));
    let rebuilder = thread::spawn(move || rebuilder.rebuild());
    world.promise();
    creator.join().unwrap();
    world.promise();
    rebuilder.join().unwrap();
    world.promise();
    assert_eq!(world.core.pending.len(), 0);
}

#[test]
fn loom_begin_against_rebuild_and_swap_loses_no_key() {
    explore(None, begin_against_rebuild);
}

#[test]
#[should_panic(expected = "absent after the acknowledgement")]
fn loom_begin_against_rebuild_fails_when_pending_keys_are_not_copied() {
    explore(Some(Mutant::RebuildWithoutCopy), begin_against_rebuild);
}

#[test]
#[should_panic(expected = "absent after the acknowledgement")]
fn loom_begin_against_rebuild_fails_when_pending_is_registered_after_the_bits() {
    explore(Some(Mutant::PendingAfterBits), begin_against_rebuild);
}

fn token_against_create(order: Order) {
    let world = World::new();
    let store = loom::sync::Arc::new(Mutex::new(None));
    let creator = world.clone();
    let creator = thread::spawn(move || creator.create(order));
    let (loader, tombstones) = (world.clone(), store.clone());
    let loader = thread::spawn(move || {
        let token = loader.core.capture(KEY);
        let found = *lock(&loader.row);
        if !found && token.is_usable() && loader.core.still_valid(KEY, token) {
            *lock(&tombstones) = Some(token);
        }
    });
    let promise = || {
        if world.is_acknowledged()
            && let Some(token) = *lock(&store)
        {
            assert!(!world.core.still_valid(KEY, token), "a tombstone is served after the acknowledgement");
        }
    };
    promise();
    creator.join().unwrap();
    promise();
    loader.join().unwrap();
    promise();
}

#[test]
fn loom_a_token_dies_with_the_create_that_overtook_it() {
    explore(None, || token_against_create(Order::SettleFirst));
    explore(None, || token_against_create(Order::AcknowledgeFirst));
}

#[test]
#[should_panic(expected = "a tombstone is served after the acknowledgement")]
fn loom_a_token_fails_when_it_is_not_compared() {
    explore(Some(Mutant::TokenNotCompared), || token_against_create(Order::SettleFirst));
}

#[test]
#[should_panic(expected = "a tombstone is served after the acknowledgement")]
fn loom_a_token_fails_when_pending_is_ignored() {
    // Only where the acknowledgement comes first: a settlement moves the sequence number, and that kills the token too.
    explore(Some(Mutant::PendingIgnored), || token_against_create(Order::AcknowledgeFirst));
}

fn distrust_against_rebuild() {
    let world = World::new();
    let (importer, rebuilder) = (world.clone(), world.clone());
    // Writes unannounced, and acknowledges while its guard lives.
    let importer = thread::spawn(move || {
        importer.core.begin_distrust();
        *lock(&importer.row) = true;
        importer.acknowledge();
        importer.core.end_distrust();
    });
    let rebuilder = thread::spawn(move || rebuilder.rebuild());
    world.promise();
    importer.join().unwrap();
    world.promise();
    rebuilder.join().unwrap();
    world.promise();
}

#[test]
fn loom_a_rebuild_during_a_distrust_does_not_restore_trust() {
    explore(None, distrust_against_rebuild);
}

#[test]
#[should_panic(expected = "absent after the acknowledgement")]
fn loom_a_rebuild_during_a_distrust_fails_when_distrust_is_one_shot() {
    explore(Some(Mutant::OneShotDistrust), distrust_against_rebuild);
}

/// A base that cannot tell its keys apart: it counts copies.
#[derive(Debug)]
struct Copies(AtomicU64);

impl Membership for Copies {
    fn contains_hash(&self, _: KeyHash) -> bool {
        // ORDERING: Acquire, as `Word` has it.
        self.0.load(Ordering::Acquire) > 0
    }
    fn hasher_fingerprint(&self) -> HasherFingerprint {
        KeyHasher::xxh3(0).fingerprint()
    }
    fn capacity(&self) -> u64 {
        64
    }
    fn estimated_fpr(&self) -> f64 {
        0.0
    }
    fn memory_bytes(&self) -> u64 {
        8
    }
    fn remover(&self) -> Option<&dyn RemoveShared> {
        Some(self)
    }
}

impl RemoveShared for Copies {
    fn remove_hash_shared(&self, _: KeyHash) -> bool {
        // ORDERING: AcqRel, as `Word` has it.
        self.0.fetch_sub(1, Ordering::AcqRel) > 0
    }
}

/// A key that shares its fingerprint with `KEY`, and whose row is always there.
const TWIN: KeyHash = KeyHash::from_parts(6, 6);

impl World {
    /// A trusted gate over a table with both keys.
    fn of_twins() -> loom::sync::Arc<Self> {
        let world = Self::new();
        *lock(&world.row) = true;
        world.rebuild_with_twin();
        world
    }

    fn rebuild_with_twin(&self) {
        let delta = word();
        let building = self.core.publish(&delta);
        self.core.copy_pending(&building);
        let copies = 1 + u64::from(*lock(&self.row));
        let base: Arc<dyn Membership> = Arc::new(Copies(AtomicU64::new(copies)));
        let (_, _trusted) = self.core.swap(&building, &base, copies);
    }

    fn delete_and_retire(&self) {
        self.core.begin_write(KEY);
        let doomed = self.core.doom(KEY);
        let removed = if std::mem::take(&mut *lock(&self.row)) { Removed::LastRow } else { Removed::Other };
        let _ = self.core.retire(KEY, doomed, removed);
        self.core.settle(KEY);
    }

    fn twin_is_there(&self) {
        assert!(!self.core.check(TWIN).is_absent(), "another key was retired");
    }
}

fn retire_against_rebuild() {
    let world = World::of_twins();
    let (deleter, rebuilder) = (world.clone(), world.clone());
    let deleter = thread::spawn(move || deleter.delete_and_retire());
    let rebuilder = thread::spawn(move || rebuilder.rebuild_with_twin());
    world.twin_is_there();
    deleter.join().unwrap();
    world.twin_is_there();
    rebuilder.join().unwrap();
    world.twin_is_there();
}

#[test]
fn loom_retiring_against_a_rebuild_takes_no_other_key() {
    explore(None, retire_against_rebuild);
}

#[test]
#[should_panic(expected = "another key was retired")]
fn loom_retiring_fails_when_the_generation_is_loaded_anew() {
    explore(Some(Mutant::RetireReloads), retire_against_rebuild);
}

/// The key is created again while its delete retires it. An insert that finds the row still there gives up.
#[test]
fn loom_retiring_against_a_create_loses_neither_key() {
    explore(None, || {
        let world = World::of_twins();
        let (deleter, creator) = (world.clone(), world.clone());
        let deleter = thread::spawn(move || deleter.delete_and_retire());
        let creator = thread::spawn(move || {
            creator.core.begin(KEY);
            let created = !std::mem::replace(&mut *lock(&creator.row), true);
            creator.core.settle(KEY);
            if created {
                creator.acknowledge();
            }
        });
        world.promise();
        world.twin_is_there();
        creator.join().unwrap();
        world.promise();
        deleter.join().unwrap();
        world.promise();
        world.twin_is_there();
    });
}
