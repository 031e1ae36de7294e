//! What a gate or a cache cannot work with is refused by name when it is built, or when it is rebuilt, and never by a panic.

use crate::support::*;
use absentia::bloom::BloomFactory;
use absentia::*;
use std::time::Duration;

fn builder() -> GateBuilder<u64, String> {
    ExistenceGate::builder(TableLoader(Db::new())).coverage(only_creator()).fence_stripes(1024)
}

#[track_caller]
fn refused(builder: GateBuilder<u64, String>) -> BuildError {
    builder.build().map(|_| ()).unwrap_err()
}

#[test]
fn who_creates_keys_must_be_said() {
    let error = refused(ExistenceGate::builder(TableLoader(Db::<String>::new())));
    assert_eq!(error, BuildError::CoverageNotSaid);
    assert!(error.to_string().contains("who creates keys"));
}

#[test]
fn a_rate_that_is_no_rate_is_refused() {
    for p in [0.0, 1.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(matches!(refused(builder().fpr(p)), BuildError::Params(ParamError::FprOutOfRange { .. })), "{p}");
    }
    assert!(matches!(refused(builder().fpr(1e-300)), BuildError::Params(ParamError::FprTooSmall { .. })));
    assert!(builder().fpr(0.999).build().is_ok());
}

#[test]
fn numbers_out_of_range_are_refused_by_the_name_of_their_setter() {
    for (bad, setter) in [
        (builder().delta_share(0.0), "delta_share"),
        (builder().delta_share(f64::NAN), "delta_share"),
        (builder().delta_share(11.0), "delta_share"),
        (builder().growth(0.9), "growth"),
        (builder().growth(f64::NAN), "growth"),
        (builder().growth(f64::INFINITY), "growth"),
        (builder().fpr_limit(0.0), "fpr_limit"),
        (builder().fpr_limit(f64::NAN), "fpr_limit"),
        (builder().fpr_limit(1.5), "fpr_limit"),
        (builder().fence_stripes(0), "fence_stripes"),
        (builder().fence_stripes(usize::MAX), "fence_stripes"),
    ] {
        let error = refused(bad);
        assert!(matches!(error, BuildError::OutOfRange { name, .. } if name == setter), "{error}");
    }
    for (bad, setter) in
        [(builder().max_transaction(Duration::ZERO), "max_transaction"), (builder().lookup_timeout(Duration::ZERO), "lookup_timeout")]
    {
        assert_eq!(refused(bad), BuildError::ZeroDuration { name: setter });
    }
}

#[test]
fn a_lane_that_makes_no_sense_is_refused() {
    for bad in [
        LaneConfig { concurrency: 0, ..LaneConfig::default() },
        LaneConfig { rate: -1.0, ..LaneConfig::default() },
        LaneConfig { rate: f64::NAN, ..LaneConfig::default() },
        LaneConfig { burst: f64::INFINITY, ..LaneConfig::default() },
        LaneConfig { max_share: 0.0, ..LaneConfig::default() },
    ] {
        assert!(matches!(refused(builder().suspect_lane(bad)), BuildError::Lane { .. }), "{bad:?}");
    }
}

#[test]
fn the_longest_durations_are_as_good_as_none() {
    let (db, max) = (Db::<String>::new(), Duration::MAX);
    let gate = builder().max_transaction(max).scan_lag(max).lookup_timeout(max).build().unwrap();
    assert!(now(gate.lookup(&1)).is_absent());
    assert!(now(gate.rebuild_with(&db, RebuildOptions::default().allow_empty())).unwrap().trusted);
}

/// `timeout + timeout / 4` overflowed and panicked: "no limit" is a limit that people write as `Duration::MAX`.
#[test]
fn a_source_timeout_without_end_is_as_good_as_none() {
    let cache = NegativeCache::builder(Db::<String>::new(), MemoryStore::new()).source_timeout(Duration::MAX).build().unwrap();
    let gate = ExistenceGate::builder(cache).coverage(only_creator()).build().unwrap();
    assert!(now(gate.lookup(&1)).is_absent());
}

#[test]
fn a_source_timeout_of_zero_is_refused() {
    let cache = NegativeCache::builder(Db::<String>::new(), MemoryStore::new()).source_timeout(Duration::ZERO);
    assert_eq!(cache.build().unwrap_err(), CacheBuildError::ZeroTimeout { name: "source_timeout" });
}

/// nexus #489 and mlcache: a lifetime of 0 or −1 that means "for ever". wpcom #217: absences without expiry, and memory without bound.
#[test]
fn no_lifetime_means_for_ever() {
    for bad in [Duration::ZERO, Duration::from_micros(999), Duration::MAX] {
        assert!(NegativeTtl::new(bad).is_err() && PositiveTtl::new(bad).is_err());
    }
    let (positive, negative) = (PositiveTtl::new(secs(60)).unwrap(), NegativeTtl::new(secs(25)).unwrap());
    assert!(TtlPolicy::new(positive, negative, Jitter::new(0.0).unwrap()).is_ok());
    assert!(matches!(TtlPolicy::new(positive, negative, Jitter::default()), Err(TtlError::NegativeTooLong { .. })), "31.25 s of 60");
    for bad in [-0.1, 1.1, f64::NAN] {
        assert!(Jitter::new(bad).is_err());
    }
}

#[test]
fn a_filter_for_more_keys_than_can_be_is_an_error_before_it_is_an_allocation() {
    let gate = builder().expected_keys(u64::MAX).growth(100.0).delta_share(10.0).build().unwrap();
    let error = now(gate.rebuild(&Db::<String>::new())).unwrap_err();
    assert!(matches!(error, RebuildError::Params(ParamError::TooLarge { .. })), "{error}");
    assert!(now(gate.lookup(&1)).is_absent(), "it goes on without a filter, by asking the loader");
}

#[test]
fn a_filter_over_the_memory_limit_leaves_the_one_that_serves() {
    let world = World::with(only_creator(), |b| b.filters(BloomFactory::new().memory_limit(1 << 13))).rebuilt(0..10);
    (10..100_000).for_each(|id| world.create(id, "row"));
    let before = world.gate.status();
    let error = world.rebuild().unwrap_err();
    assert!(matches!(error, RebuildError::Params(ParamError::TooLarge { limit: 8192, .. })), "{error}");
    let after = world.gate.status();
    assert_eq!((after.generation, after.rebuilding, after.trust), (before.generation, false, Trust::Trusted));
    assert!((0..100_000).all(|id| !world.gate.check(&id).is_absent()));
}

#[test]
fn a_shrink_that_is_no_number_allows_none() {
    let world = World::exclusive().rebuilt(0..10);
    world.db.delete(9);
    let strict = RebuildOptions::default().max_shrink(f64::NAN);
    assert!(matches!(now(world.gate.rebuild_with(&world.db, strict)), Err(RebuildError::Shrunken { before: 10, now: 9 })));
}

#[test]
fn more_creates_than_can_be_announced_distrust_the_gate() {
    let world = World::with(only_creator(), |b| b.announce_limit(3)).rebuilt(0..10);
    let few = world.gate.begin_create_many(&[20, 21, 22]);
    assert!(!few.is_distrust() && world.gate.is_trusted());
    few.aborted();
    let many = world.gate.begin_create_many(&[20, 21, 22, 23]);
    assert!(many.is_distrust() && !world.gate.is_trusted());
    assert_eq!(world.gate.status().pending_writes, 0);
    many.committed();
    assert!(!world.gate.is_trusted(), "only a rebuild restores trust");
    assert!(world.rebuild().unwrap().trusted);
    assert!(World::with(only_creator(), |b| b.announce_limit(0)).gate.begin_create_many(&[1]).is_distrust());
}
