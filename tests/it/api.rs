//! The shape of the API: what is Send and Sync, how keys are given, and what is never printed.

use crate::support::*;
use absentia::bloom::BloomFactory;
use absentia::*;
use std::fmt::Debug;
use std::sync::Arc;

fn everywhere<T: Send + Sync + 'static>() {}
fn sent<T: Send>(value: T) -> T {
    value
}

#[test]
fn public_types_go_to_any_thread() {
    everywhere::<ExistenceGate<u64, String>>();
    everywhere::<GateBuilder<u64, String>>();
    everywhere::<CreateGuard<u64, String>>();
    everywhere::<CreateManyGuard<u64, String>>();
    everywhere::<DeleteGuard<u64, String>>();
    everywhere::<(Removed, Retired, Kept)>();
    everywhere::<DistrustGuard<u64, String>>();
    everywhere::<Rebuilder<u64, String, Db>>();
    everywhere::<(RebuilderConfig, RebuildOptions, Rebuilt, RebuildError, BuildError, GateStatus, Trust, Resolution, Scanned)>();
    everywhere::<(Coverage, Exclusivity, LockError, Tombstones, Verdict, Reason, Proof, Lookup<String>, Cause, WriteError<std::io::Error>)>();
    everywhere::<(NegativeCache<Db, MemoryStore<u64, String>>, NegativeCacheBuilder<Db, MemoryStore<u64, String>>, CacheBuildError)>();
    everywhere::<(MemoryStore<u64, String>, MemoryStoreBuilder<u64, String>, MemoryStoreStats, Entry<String>, EntryState<String>, Put)>();
    everywhere::<(StoreError, TtlPolicy, PositiveTtl, NegativeTtl, Jitter, TtlError, Box<dyn DynStore<u64, String>>)>();
    everywhere::<(Clock, MockClock, Timestamp, Token, Counters, Event, Outcome, LoadResult, StoreResult, CallerId, LaneConfig)>();
    everywhere::<(Loaded<String>, Evidence, Origin, Join, Consistency, Hashed<'static, u64>, Arc<dyn DynLoader<u64, String>>)>();
    everywhere::<(KeyHasher, KeyHash, HasherFingerprint, HasherId, Capacity, Fpr, ParamError, BlockedBloom, AtomicBlockedBloom, BloomFactory)>();
    sent::<Option<LoadContext<'static>>>(None);
    sent::<Option<Permit<'static>>>(None);
    sent::<Option<KeySink<'static, u64>>>(None);
}

#[test]
fn futures_can_be_spawned() {
    let world = World::exclusive().rebuilt(0..10);
    let gate = &world.gate;
    drop(sent(gate.lookup(&1)));
    drop(sent(gate.lookup_for(CallerId::ANONYMOUS, &1)));
    drop(sent(gate.lookup_fresh(&1)));
    drop(sent(gate.rebuild(&world.db)));
    drop(sent(gate.resolve_unknown()));
    drop(sent(gate.invalidate(&1)));
    drop(sent(gate.create_with(&1, || async { Ok::<_, WriteError<std::io::Error>>(None) })));
    drop(sent(gate.update_with(&1, || async { Ok::<_, WriteError<std::io::Error>>(()) })));
    drop(sent(gate.delete_with(&1, || async { Ok::<_, WriteError<std::io::Error>>(()) })));
    drop(sent(gate.rename(&1, &2, || async { Ok::<_, WriteError<std::io::Error>>(()) })));
    drop(sent(Rebuilder::new(gate.clone(), world.db.clone(), RebuilderConfig::default()).run(|_| ())));
    drop(sent(Clock::standard().sleep(secs(1))));
}

struct Names;

impl Source for Names {
    type Key = String;
    type Value = usize;
    type Error = std::io::Error;
    async fn load(&self, name: &String) -> Result<Option<usize>, std::io::Error> {
        Ok(name.starts_with('a').then_some(name.len()))
    }
}

impl KeySource<String> for Names {
    type Error = std::io::Error;
    async fn scan(&self, sink: &mut KeySink<'_, String>) -> Result<Scanned, std::io::Error> {
        sink.push("anna");
        sink.push(&"arno".to_owned());
        Ok(Scanned { rows: 2 })
    }
}

#[test]
fn owned_keys_are_asked_for_by_what_they_borrow_as() {
    let gate = ExistenceGate::builder(NegativeCache::builder(Names, MemoryStore::new()).build().unwrap());
    let gate = gate.coverage(only_creator()).hasher(KeyHasher::xxh3(0x5EED)).build().unwrap();
    now(gate.rebuild(&Names)).unwrap();
    assert!(!gate.check("anna").is_absent() && !gate.check(&"anna".to_owned()).is_absent());
    assert!(gate.check("bert").is_absent());
    assert!(matches!(now(gate.lookup("arno")), Lookup::Present(4)));
    assert!(now(gate.lookup_fresh("bert")).is_absent() && now(gate.lookup_for(CallerId::of("10.0.0.1"), "bert")).is_absent());
    let created = now(gate.create_with("albert", async || Ok::<_, WriteError<std::io::Error>>(Some(6))));
    assert_eq!(created.unwrap(), Some(6));
    gate.begin_create("adam").committed(None);
    gate.begin_create_many(["alma", "agnes"]).committed();
    now(gate.invalidate("anna"));
    assert!(!gate.check("alma").is_absent());
    assert_eq!(gate.check_batch(&["anna".to_owned(), "bert".to_owned()]), [gate.check("anna"), gate.check("bert")]);
}

#[test]
fn a_batch_says_what_each_check_says() {
    let agree = |world: &World| {
        let ids: Vec<u64> = (0..1_000).map(|n| n * 7 % 1_500).collect();
        let one_by_one: Vec<_> = ids.iter().map(|id| world.gate.check(id)).collect();
        assert_eq!(world.gate.check_batch(&ids), one_by_one);
        assert!(world.gate.check_batch::<u64>(&[]).is_empty());
    };
    agree(&World::exclusive());
    let world = World::exclusive().rebuilt(0..300);
    (300..400).for_each(|id| world.create(id, "row"));
    agree(&world);
    let guard = world.gate.distrust();
    agree(&world);
    drop(guard);
    agree(&world);
    agree(&World::advisory(Tombstones::Off).rebuilt(0..300));
}

fn shown(value: &dyn Debug) -> String {
    format!("{value:?} {value:#?}").to_lowercase()
}

#[test]
fn the_secret_seed_is_never_printed() {
    const SEED: u64 = 0x0123_4567_89AB_CDEF;
    let hasher = KeyHasher::xxh3(SEED);
    let world = World::with(only_creator(), |b| b.hasher(hasher)).rebuilt(0..10);
    let unbuilt = ExistenceGate::builder(TableLoader(world.db.clone())).coverage(only_creator()).hasher(hasher);
    let guard = world.gate.begin_create(&77);
    let foreign = RebuildError::ForeignHasher { gate: hasher.fingerprint(), filter: KeyHasher::siphash([7; 16]).fingerprint() };
    let texts = [
        shown(&world.gate),
        shown(&world.gate.status()),
        shown(&unbuilt),
        shown(&hasher),
        shown(&hasher.fingerprint()),
        shown(&hasher.hash(&1u64)),
        shown(&guard),
        shown(&world.store),
        shown(&foreign),
        foreign.to_string(),
    ];
    let secrets = [format!("{SEED}"), format!("{SEED:x}"), format!("{:x}", SEED.swap_bytes()), format!("{:?}", SEED.to_le_bytes())];
    for text in &texts {
        assert!(secrets.iter().all(|secret| !text.contains(secret.as_str())), "{text}");
    }
    assert!(!shown(&KeyHasher::siphash([0xA7; 16])).contains("a7a7"));
    guard.aborted();
}

#[test]
fn unknown_has_no_way_to_become_none() {
    let world = World::exclusive();
    world.db.fail(true);
    assert!(world.lookup(1).into_result().is_err());
    let lookups: [Lookup<u8>; 3] = [Lookup::Present(1), Lookup::Absent(Proof::Source), Lookup::Unknown(Cause::ReplicaAbsence)];
    let questions = lookups.clone().map(|found| (found.is_present(), found.is_absent(), found.is_unknown()));
    assert_eq!(questions, [(true, false, false), (false, true, false), (false, false, true)]);
    assert_eq!(lookups.map(|found| found.into_result().ok()), [Some(Some(1)), Some(None), None]);
}

#[test]
fn an_error_of_the_source_arrives_whole() {
    let world = World::exclusive();
    world.db.fail(true);
    let Lookup::Unknown(cause) = world.lookup(1) else { panic!("not unknown") };
    let source = std::error::Error::source(&cause).expect("the source's own error");
    assert!(source.downcast_ref::<std::io::Error>().is_some_and(|error| error.to_string() == "connection refused"));
    assert!(!cause.is_shed() && Cause::Shed { retry_after: secs(1) }.is_shed());
}
