//! The scenarios: settings, and mixes of actors.
//!
//! Within a scenario each seed draws anew how many keys and fences there are, how slow and how faulty the source is, how restless the scheduler,
//! which rows exist at the start and which keys the filter claims.

use super::actors::{Gate, clock, linger, network, reader, rebuilder, resolver};
use super::copies::Copies;
use super::ports::{Database, Probed, Scan, Shelf};
use super::rng::Rng;
use super::sched::{Part, drive, with};
use super::world::{MAX_TRANSACTION, Write};
use super::writers::{creator, deleter, importer, outsider};
use crate::gate::{Coverage, Exclusivity, ExistenceGate, RebuildOptions, Tombstones};
use crate::key::KeyHasher;
use crate::loader::{LaneConfig, Observer};
use crate::negative::{Jitter, NegativeCache, NegativeTtl, PositiveTtl, TtlPolicy};
use crate::sync::{AtomicBool, Ordering};
use crate::time::Clock;
use std::sync::Arc;
use std::time::Duration;

/// The hasher's.
pub(super) const SEED: u64 = 0x5EED;
/// How far behind a lagging scan may be.
const LAG: Duration = Duration::from_secs(15);
/// How long a tombstone is kept.
const NEGATIVE_TTL: Duration = Duration::from_secs(20);
/// How old a tombstone may be under [`Cover::AdvisoryBounded`].
pub(super) const BOUND: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cover {
    Exclusive,
    /// A predecessor's transactions may be open when the gate is built.
    Successor,
    /// The lock is lost at some moment, and then others create.
    LockLost,
    AdvisoryOff,
    AdvisoryBounded,
}

/// A mix of actors. The numbers are casts, except where said otherwise.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) cover: Cover,
    pub(super) readers: usize,
    pub(super) creators: usize,
    pub(super) deleters: usize,
    pub(super) rebuilders: usize,
    pub(super) importers: usize,
    pub(super) outsiders: usize,
    /// Who lets time pass.
    pub(super) clocks: usize,
    /// One key, and actors that are set aside for long more often.
    pub(super) stalls: bool,
    /// Percent of writes whose outcome the client does not learn.
    pub(super) unknown: u64,
    /// Percent of the store's answers that are errors.
    pub(super) store_faults: u64,
    pub(super) lag: Duration,
    /// The scan's snapshot is opened before `rebuild` is called.
    pub(super) early_cursor: bool,
    /// The base can remove, and deletes retire.
    pub(super) retires: bool,
}

impl Scenario {
    /// `begin_delete` cannot wait for a store to forget.
    pub(super) fn rows_may_be_stale(&self) -> bool {
        self.store_faults > 0 || self.retires
    }
}

const MIXED: Scenario = Scenario {
    name: "mixed",
    cover: Cover::Exclusive,
    readers: 3,
    creators: 2,
    deleters: 1,
    rebuilders: 1,
    importers: 0,
    outsiders: 0,
    clocks: 1,
    stalls: false,
    unknown: 15,
    store_faults: 0,
    lag: Duration::ZERO,
    early_cursor: false,
    retires: false,
};

pub(super) const SCENARIOS: &[Scenario] = &[
    MIXED,
    Scenario { name: "hot key", rebuilders: 0, readers: 4, deleters: 2, ..MIXED },
    Scenario { name: "rebuilds", readers: 2, creators: 3, deleters: 0, ..MIXED },
    Scenario { name: "unknown outcomes", unknown: 70, ..MIXED },
    Scenario { name: "import", importers: 2, creators: 1, deleters: 0, ..MIXED },
    Scenario { name: "over age", readers: 4, creators: 1, rebuilders: 0, clocks: 2, stalls: true, ..MIXED },
    Scenario { name: "failing store", store_faults: 20, ..MIXED },
    Scenario { name: "lagging scan", lag: LAG, ..MIXED },
    Scenario { name: "lagging import", lag: LAG, importers: 2, creators: 0, deleters: 0, ..MIXED },
    Scenario { name: "successor", cover: Cover::Successor, readers: 4, creators: 1, deleters: 0, ..MIXED },
    Scenario { name: "lagging successor", cover: Cover::Successor, lag: LAG, ..MIXED },
    Scenario { name: "lock lost", cover: Cover::LockLost, readers: 4, creators: 1, outsiders: 2, ..MIXED },
    Scenario { name: "advisory", cover: Cover::AdvisoryOff, readers: 4, outsiders: 2, creators: 0, rebuilders: 0, ..MIXED },
    Scenario { name: "advisory, bounded", cover: Cover::AdvisoryBounded, outsiders: 1, ..MIXED },
    Scenario { name: "retire", creators: 1, deleters: 2, retires: true, ..MIXED },
    Scenario { name: "retire, import", importers: 1, creators: 1, deleters: 2, retires: true, ..MIXED },
    Scenario { name: "retire, advisory", cover: Cover::AdvisoryOff, outsiders: 1, creators: 1, retires: true, ..MIXED },
];

pub(super) fn scenario(name: &str) -> Scenario {
    let found = SCENARIOS.iter().find(|scenario| scenario.name == name);
    *found.unwrap_or_else(|| panic!("no scenario is called {name}"))
}

/// The real thing. `held` is the lock of [`Cover::LockLost`].
pub(super) fn build(scenario: &Scenario, rng: &mut Rng, clock: Clock, held: &Arc<AtomicBool>, observer: Arc<dyn Observer>) -> Gate {
    let ttl = TtlPolicy::new(
        PositiveTtl::new(5 * NEGATIVE_TTL).expect("in range"),
        NegativeTtl::new(NEGATIVE_TTL).expect("in range"),
        Jitter::new(0.25).expect("in range"),
    );
    let cache = NegativeCache::builder(Database, Shelf::new(scenario.store_faults)).ttl(ttl.expect("they fit together"));
    // Half the runs have reads that may take longer than a transaction.
    let (source_timeout, lookup_timeout) = rng.of(&[(5, 10), (50, 100)]);
    // A store that times out fails, and then an old row may remain in it.
    let store_timeout = Duration::from_millis(if scenario.store_faults > 0 { 250 } else { 1_000_000 });
    let cache = cache.source_timeout(Duration::from_secs(source_timeout)).store_timeout(store_timeout).build().expect("time-outs");
    let held = Arc::clone(held);
    let coverage = match scenario.cover {
        Cover::Exclusive => Coverage::Exclusive(Exclusivity::asserted("the cast is complete").first_start()),
        Cover::Successor => Coverage::Exclusive(Exclusivity::asserted("the cast is complete")),
        // ORDERING: one thread.
        Cover::LockLost => Coverage::Exclusive(Exclusivity::own_lock(move || held.load(Ordering::Relaxed)).first_start()),
        Cover::AdvisoryOff => Coverage::Advisory { tombstones: Tombstones::Off },
        Cover::AdvisoryBounded => Coverage::Advisory { tombstones: Tombstones::Bounded(NegativeTtl::new(BOUND).expect("in range")) },
    };
    let lane = if rng.percent(20) { LaneConfig { concurrency: 1, ..LaneConfig::default() } } else { LaneConfig::default() };
    let gate = ExistenceGate::builder(Probed(cache)).coverage(coverage).hasher(KeyHasher::xxh3(SEED)).clock(clock);
    let gate = gate.observer(observer).fpr(1e-4).expected_keys(rng.of(&[0, 16])).suspect_lane(lane);
    let gate = gate
        .fence_stripes(rng.of(&[1, 2, 4]))
        .max_transaction(MAX_TRANSACTION)
        .lookup_timeout(Duration::from_secs(lookup_timeout))
        .scan_lag(scenario.lag);
    let gate = if scenario.retires { gate.filters(Copies) } else { gate };
    gate.announce_limit(rng.of(&[1, 10])).build().expect("a gate")
}

/// Some rows exist, of which everybody knows; some keys once existed, so the filter claims them. Mostly the gate has been rebuilt.
pub(super) fn setting(gate: &Gate, scenario: &Scenario) -> Vec<Part> {
    let (gate, cover, retires) = (gate.clone(), scenario.cover, scenario.retires);
    let set = move || {
        let keys = with(|run| run.check.keys()).end - 1;
        // Keys that are claimed so are in the delta, and then nothing is retired.
        let claims = if retires { [0, 0, 20] } else { [10, 50, 100] };
        let (existing, claimed) = with(|run| (run.rng.of(&[10, 40]), run.rng.of(&claims)));
        for key in 0..keys {
            with(|run| {
                if run.rng.percent(existing) {
                    let value = run.world.fresh_value();
                    let tx = run.open(vec![(key, Write::Insert(value))], true);
                    run.commit(tx);
                    run.ack(key, value);
                    if retires {
                        // What was there from the start may be denied too, once a copy is taken wrongly.
                        let duty = run.duty_begins(key);
                        run.check.duty_opened(duty, tx);
                        run.check.duty_settling(duty, run.now);
                    }
                } else if cover == Cover::Successor && run.rng.percent(50) {
                    let value = run.world.fresh_value();
                    run.open_foreign(vec![(key, Write::Insert(value))]);
                }
            });
        }
        if cover == Cover::Successor {
            // Shortly before nothing of the predecessor can be open any more.
            with(|run| {
                let by = run.rng.of(&[Duration::ZERO, MAX_TRANSACTION - Duration::from_secs(5), MAX_TRANSACTION - Duration::from_millis(1)]);
                run.advance(by);
            });
        } else if with(|run| run.rng.percent(85)) {
            let scan = Scan::default();
            drive(gate.rebuild_with(&scan, RebuildOptions::default().allow_empty()), None).expect("patient").expect("a rebuild");
        }
        for key in 0..keys {
            if with(|run| run.rng.percent(claimed)) {
                gate.begin_create(&key).aborted();
            }
        }
    };
    vec![("setting", Box::new(set))]
}

pub(super) fn cast(gate: &Gate, scenario: &Scenario, held: &Arc<AtomicBool>) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut add = |names: &[&'static str], count: usize, act: fn(&Gate, Scenario)| {
        for name in &names[..count] {
            let (gate, scenario) = (gate.clone(), *scenario);
            parts.push((*name, Box::new(move || act(&gate, scenario))));
        }
    };
    add(&["reader 1", "reader 2", "reader 3", "reader 4"], scenario.readers, |gate, _| reader(gate, 8));
    add(&["creator 1", "creator 2", "creator 3"], scenario.creators, |gate, scenario| creator(gate, 3, scenario.unknown));
    add(&["deleter 1", "deleter 2"], scenario.deleters, |gate, scenario| deleter(gate, 4, scenario.unknown, scenario.retires));
    add(&["rebuilder"], scenario.rebuilders, |gate, scenario| rebuilder(gate, 4, &scenario));
    add(&["importer 1", "importer 2"], scenario.importers, |gate, _| importer(gate, 2));
    add(&["resolver"], 1, |gate, _| resolver(gate, 3));
    add(&["network"], 1, |_, _| network(6));
    add(&["clock 1", "clock 2", "clock 3"], scenario.clocks, |_, _| clock(5));
    let (lock, loses) = (Arc::clone(held), scenario.cover == Cover::LockLost);
    for name in &["outsider 1", "outsider 2"][..scenario.outsiders] {
        let lock = Arc::clone(&lock);
        let act = move || {
            if loses {
                linger(200);
                with(|run| run.event("the lock is lost", None));
                // ORDERING: one thread.
                lock.store(false, Ordering::Relaxed);
            }
            outsider(3);
        };
        parts.push((name, Box::new(act)));
    }
    parts
}
