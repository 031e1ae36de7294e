//! Stores: floods stay within their budget, and one that fails costs reads and nothing else.

use crate::support::*;
use absentia::*;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn entry(state: EntryState<String>) -> Entry<String> {
    Entry { state, token: Token::unusable(), read_began: Timestamp::default(), expires: Timestamp::default().plus(secs(60)) }
}

fn put(store: &MemoryStore<u64, String>, hasher: &KeyHasher, id: u64, state: EntryState<String>) -> Put {
    now(store.put(Hashed { key: &id, hash: hasher.hash(&id) }, entry(state), &|| true)).unwrap()
}

/// wpcom #217: random addresses, one entry each, and memory without bound.
#[test]
fn a_million_absent_keys_stay_within_their_budget_and_push_out_no_value() {
    let (negative, positive) = (1 << 20, 4 << 20);
    let store = MemoryStore::builder().negative_bytes(negative).positive_bytes(positive).shards(4).build();
    let hasher = KeyHasher::xxh3(7);
    (0..5_000).for_each(|id| assert_eq!(put(&store, &hasher, id, EntryState::Present(id.to_string())), Put::Stored));
    for id in 0..1_000_000 {
        put(&store, &hasher, id + (1 << 32), EntryState::Absent);
        if id % 50_000 == 0 {
            assert!(store.stats().negative_bytes <= negative);
        }
    }
    let stats = store.stats();
    assert!(stats.negative_bytes <= negative && stats.negative_bytes > negative / 2, "{stats:?}");
    assert!(stats.negative_entries > 1_000 && stats.negative_evictions > 900_000);
    assert_eq!((stats.positive_entries, stats.positive_evictions), (5_000, 0));
    for id in 0..5_000u64 {
        let found = now(store.get(Hashed { key: &id, hash: hasher.hash(&id) })).unwrap().unwrap();
        assert_eq!(found.state, EntryState::Present(id.to_string()));
    }
}

#[test]
fn a_flood_through_the_gate_stays_within_the_budget() {
    let store = MemoryStore::builder().negative_bytes(1 << 16).shards(2).build();
    let db = Db::<String>::new();
    (0..100).for_each(|id| db.insert(id, "row"));
    let cache = NegativeCache::builder(db.clone(), store.clone()).build().unwrap();
    let gate = ExistenceGate::builder(cache).coverage(only_creator()).build().unwrap();
    (0..100u64).for_each(|id| assert!(now(gate.lookup(&id)).is_present()));
    (1_000..50_000u64).for_each(|id| assert!(now(gate.lookup(&id)).is_absent()));
    assert!(store.stats().negative_bytes <= 1 << 16);
    let reads = db.reads();
    (0..100u64).for_each(|id| assert!(now(gate.lookup(&id)).is_present()));
    assert_eq!(db.reads(), reads, "every value is still there");
}

#[test]
fn a_store_without_room_means_reads_and_nothing_else() {
    let store = MemoryStore::builder().negative_bytes(0).positive_bytes(0).build();
    let (db, counters) = (Db::<String>::new(), Arc::new(Counters::new()));
    let cache = NegativeCache::builder(db.clone(), store.clone()).build().unwrap();
    let gate = ExistenceGate::builder(cache).coverage(only_creator()).observer(counters.clone()).build().unwrap();
    db.insert(1, "row");
    for _ in 0..3 {
        assert!(now(gate.lookup(&1)).is_present() && now(gate.lookup(&2)).is_absent());
    }
    assert_eq!((db.reads(), store.stats()), (6, MemoryStoreStats::default()));
    assert_eq!(counters.iter().find(|(name, _)| name.contains("not_admitted")).unwrap().1, 3, "absences only");
}

#[test]
fn a_value_too_large_for_its_budget_replaces_what_was_there_by_nothing() {
    let weigher = |_: &u64, value: &String| value.len();
    let store = MemoryStore::builder().positive_bytes(10_000).shards(1).weigher(weigher).build();
    let hasher = KeyHasher::xxh3(7);
    assert_eq!(put(&store, &hasher, 1, EntryState::Present("small".into())), Put::Stored);
    assert_eq!(put(&store, &hasher, 1, EntryState::Present("x".repeat(20_000))), Put::NoRoom);
    assert_eq!(store.stats(), MemoryStoreStats::default(), "an older row would be worse than none");
}

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    Unavailable,
    Undecodable,
    NewerVersion,
    HangsOnGet,
    HangsOnPut,
}

/// A store whose reads fail in one way, and that counts what is put.
#[derive(Clone)]
struct Faulty {
    fault: Arc<Mutex<Fault>>,
    puts: Arc<AtomicU64>,
    inner: MemoryStore<u64, String>,
}

impl Store<u64, String> for Faulty {
    async fn get(&self, key: Hashed<'_, u64>) -> Result<Option<Entry<String>>, StoreError> {
        let fault = *self.fault.lock().unwrap();
        match fault {
            Fault::Unavailable => Err(StoreError::Unavailable("connection refused".into())),
            Fault::Undecodable => Err(StoreError::Undecodable { reason: "bad magic".into() }),
            Fault::NewerVersion => Err(StoreError::NewerVersion { version: 9 }),
            Fault::HangsOnGet => std::future::pending().await,
            Fault::None | Fault::HangsOnPut => self.inner.get(key).await,
        }
    }
    async fn put(&self, key: Hashed<'_, u64>, entry: Entry<String>, still_valid: &(dyn Fn() -> bool + Sync)) -> Result<Put, StoreError> {
        self.puts.fetch_add(1, SeqCst);
        let fault = *self.fault.lock().unwrap();
        match fault {
            Fault::Unavailable => Err(StoreError::Unavailable("connection refused".into())),
            Fault::HangsOnPut => std::future::pending().await,
            _ => self.inner.put(key, entry, still_valid).await,
        }
    }
    async fn remove(&self, key: Hashed<'_, u64>) -> Result<(), StoreError> {
        let fault = *self.fault.lock().unwrap();
        if fault == Fault::Unavailable { Err(StoreError::Unavailable("connection refused".into())) } else { self.inner.remove(key).await }
    }
}

struct Scene {
    db: Db,
    store: Faulty,
    gate: Gate,
    hand: MockClock,
    counters: Arc<Counters>,
}

fn faulty(fault: Fault) -> Scene {
    let store = Faulty { fault: Arc::new(Mutex::new(fault)), puts: Arc::default(), inner: MemoryStore::new() };
    let (db, counters, (clock, hand)) = (Db::new(), Arc::new(Counters::new()), Clock::mock());
    let cache = NegativeCache::builder(db.clone(), store.clone()).build().unwrap();
    let gate = ExistenceGate::builder(cache).coverage(only_creator()).clock(clock).observer(counters.clone()).build().unwrap();
    db.insert(1, "row");
    Scene { db, store, gate, hand, counters }
}

impl Scene {
    #[track_caller]
    fn answers(&self, rounds: u64) {
        for _ in 0..rounds {
            is_present(&now(self.gate.lookup(&1)), "row");
            assert!(now(self.gate.lookup(&2)).is_absent());
        }
    }

    fn decode_errors(&self) -> u64 {
        self.counters.iter().find(|(name, _)| *name == "gate_decode_errors_total").unwrap().1
    }
}

#[test]
fn a_store_that_is_down_costs_reads_and_no_answer() {
    let scene = faulty(Fault::Unavailable);
    scene.answers(3);
    assert_eq!((scene.db.reads(), scene.store.puts.load(SeqCst)), (6, 0), "what cannot be read is not written to either");
    now(create(&scene.gate, &scene.db, 2, "created meanwhile", Some("created meanwhile"))).unwrap();
    is_present(&now(scene.gate.lookup(&2)), "created meanwhile");
    *scene.store.fault.lock().unwrap() = Fault::None;
    is_present(&now(scene.gate.lookup(&2)), "created meanwhile");
}

#[test]
fn a_store_that_could_not_forget_serves_no_tombstone_all_the_same() {
    let scene = faulty(Fault::None);
    assert!(now(scene.gate.lookup(&2)).is_absent());
    *scene.store.fault.lock().unwrap() = Fault::Unavailable;
    now(create(&scene.gate, &scene.db, 2, "created", None)).unwrap();
    *scene.store.fault.lock().unwrap() = Fault::None;
    is_present(&now(scene.gate.lookup(&2)), "created");
}

#[test]
fn an_undecodable_entry_is_counted_and_replaced() {
    let scene = faulty(Fault::Undecodable);
    scene.answers(1);
    assert_eq!((scene.db.reads(), scene.decode_errors(), scene.store.puts.load(SeqCst)), (2, 2, 2));
    *scene.store.fault.lock().unwrap() = Fault::None;
    scene.answers(1);
    assert_eq!(scene.db.reads(), 2, "what replaced it is served");
}

#[test]
fn an_entry_of_a_newer_version_is_left_in_place() {
    let scene = faulty(Fault::NewerVersion);
    scene.answers(2);
    assert_eq!((scene.db.reads(), scene.decode_errors(), scene.store.puts.load(SeqCst)), (4, 0, 0));
}

#[test]
fn an_entry_of_a_newer_version_is_left_in_place_by_fresh_lookups_too() {
    let scene = faulty(Fault::NewerVersion);
    is_present(&now(scene.gate.lookup_fresh(&1)), "row");
    assert_eq!(scene.store.puts.load(SeqCst), 0);
}

/// A weight that says "do not store" used to overflow the sum.
#[test]
fn a_value_of_infinite_weight_is_not_stored_and_a_key_may_be_weighed() {
    let hasher = KeyHasher::xxh3(1);
    let store = MemoryStore::<u64, String>::builder().weigher(|_, _| usize::MAX).build();
    assert_eq!(put(&store, &hasher, 1, EntryState::Present("row".to_owned())), Put::NoRoom);
    let store = MemoryStore::<u64, String>::builder().negative_bytes(1 << 20).key_weigher(|_| 100_000).build();
    for id in 0..1000 {
        put(&store, &hasher, id, EntryState::Absent);
    }
    let stats = store.stats();
    assert!(stats.negative_entries <= 10 && stats.negative_bytes <= 1 << 20, "{stats:?}");
}

/// Sixty-four shards of a small budget used to have no room for anything.
#[test]
fn a_small_budget_still_stores_something() {
    let hasher = KeyHasher::xxh3(1);
    let store = MemoryStore::<u64, String>::builder().negative_bytes(4096).build();
    for id in 0..100 {
        put(&store, &hasher, id, EntryState::Absent);
    }
    assert!(store.stats().negative_entries >= 10, "{:?}", store.stats());
}

/// Every gate used to begin at the same epoch with the same fences, so that the entries of a gate that is gone were good for its successor.
#[test]
fn what_one_gate_remembered_means_nothing_to_another_over_the_same_store() {
    let (db, store, hasher) = (Db::<String>::new(), MemoryStore::new(), KeyHasher::xxh3(3));
    let gate = || {
        let cache = NegativeCache::builder(db.clone(), store.clone()).build().unwrap();
        ExistenceGate::builder(cache).coverage(only_creator()).hasher(hasher).build().unwrap()
    };
    let first = gate();
    assert!((0..2).all(|_| now(first.lookup(&5)).is_absent()));
    db.insert(6, "before");
    is_present(&now(first.lookup(&6)), "before");
    drop(first);
    db.insert(5, "written while no gate lived");
    db.insert(6, "after");
    let second = gate();
    now(second.rebuild(&db)).unwrap();
    is_present(&now(second.lookup(&5)), "written while no gate lived");
    is_present(&now(second.lookup(&6)), "after");
}

/// "Store is down? The source is read": also where down means that nothing comes back.
#[test]
fn a_store_that_hangs_costs_time_and_no_answer() {
    for fault in [Fault::HangsOnGet, Fault::HangsOnPut] {
        let scene = faulty(fault);
        let mut lookup = Task::begun(scene.gate.lookup(&1));
        let found = (0..9).find_map(|_| {
            scene.hand.advance(Duration::from_secs(1));
            lookup.poll()
        });
        is_present(&found.expect("nine seconds for a store that does not answer"), "row");
    }
}

/// A store that is right, and waits before it does anything.
struct Remote(MemoryStore<u64, String>);

impl Store<u64, String> for Remote {
    async fn get(&self, key: Hashed<'_, u64>) -> Result<Option<Entry<String>>, StoreError> {
        yield_now().await;
        self.0.get(key).await
    }
    async fn put(&self, key: Hashed<'_, u64>, entry: Entry<String>, still_valid: &(dyn Fn() -> bool + Sync)) -> Result<Put, StoreError> {
        yield_now().await;
        self.0.put(key, entry, still_valid).await
    }
    async fn remove(&self, key: Hashed<'_, u64>) -> Result<(), StoreError> {
        yield_now().await;
        self.0.remove(key).await
    }
}

/// `begin_create` cannot wait, and its docs say that over such a store the old row may stay; `create_with` waits.
#[test]
fn an_upsert_over_a_remote_store_serves_no_row_from_before_it() {
    let db = Db::<String>::new();
    let cache = NegativeCache::builder(db.clone(), Remote(MemoryStore::new())).build().unwrap();
    let gate = ExistenceGate::builder(cache).coverage(only_creator()).build().unwrap();
    db.insert(1, "old");
    is_present(&now(gate.lookup(&1)), "old");
    let created = now(gate.create_with(&1, async || {
        db.insert(1, "new");
        Ok::<_, WriteError<io::Error>>(Some("new".to_owned()))
    }));
    assert!(created.is_ok());
    is_present(&now(gate.lookup(&1)), "new");
}
