//! The gatekeeper: a service with a real database is asked for ids, most of which do not exist, while ids are created and the filter is rebuilt.
//!
//! This file is the tutorial: all that a service has to write to put an existence gate in front of its database. Beside it stand the ways people do
//! it without one (`baselines.rs`), the traffic (`traffic.rs`), the schedule of one run (`run.rs`) and the table at the end (`report.rs`).
//!
//!     cargo run --release --example gatekeeper
//!     cargo run --release --example gatekeeper -- --help

mod baselines;
mod database;
mod report;
mod run;
mod traffic;

use absentia::{
    Abort, Counters, Coverage, Exclusivity, ExistenceGate, KeySink, KeySource, LoadResult, Lookup, MemoryStore, NegativeCache, Proof, Scanned,
    Source, WriteError,
};
use clap::Parser;
use database::{Database, DatabaseError};
use run::{Answer, Gauges, Service};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// 1. Teach absentia to read one row. The error has no path into any cache.
impl Source for Database {
    type Key = String;
    type Value = i64;
    type Error = DatabaseError;

    async fn load(&self, name: &String) -> Result<Option<i64>, DatabaseError> {
        self.read(name).await // SELECT id FROM names WHERE name = ?
    }
}

/// 2. Teach it to scan all keys, in one snapshot that is opened here and not before.
struct AllNames(Database);

impl KeySource<String> for AllNames {
    type Error = DatabaseError;

    async fn scan(&self, sink: &mut KeySink<'_, String>) -> Result<Scanned, DatabaseError> {
        let rows = self.0.each_name(|name| sink.push(name))?; // SELECT name FROM names
        Ok(Scanned { rows })
    }
}

/// 3. Put the gate in front. Only this process creates names, and it announces each one: so the filter's "no" is an answer.
struct Gatekeeper {
    gate: ExistenceGate<String, i64>,
    store: MemoryStore<String, i64>,
    counters: Arc<Counters>,
    database: Database,
    with_filter: bool,
}

impl Gatekeeper {
    fn new(database: Database, options: &Options, with_filter: bool) -> Result<Self, Box<dyn std::error::Error>> {
        let (store, counters) = (MemoryStore::new(), Arc::new(Counters::new()));
        let cache = NegativeCache::builder(database.clone(), store.clone()).build()?;
        let only_us = Exclusivity::file_lock(database.lock_file())?.first_start(); // the database is a minute old: nobody was here before
        let gate = ExistenceGate::builder(cache).coverage(Coverage::Exclusive(only_us)).fpr(options.fpr).expected_keys(database.names);
        let gate = gate.observer(counters.clone()).build()?;
        Ok(Self { gate, store, counters, database, with_filter })
    }
}

impl Service for Gatekeeper {
    /// 4. Ask. Three outcomes, and the third one is not a 404.
    async fn get(&self, name: &str) -> Answer {
        match self.gate.lookup(name).await {
            Lookup::Present(_) => Answer::Present,                          // 200
            Lookup::Absent(Proof::Filter { .. }) => Answer::AbsentFilter,   // 404, and the database never heard of it
            Lookup::Absent(Proof::Tombstone { .. }) => Answer::AbsentCache, // 404
            Lookup::Absent(_) => Answer::AbsentSource,                      // 404
            Lookup::Unknown(_) => Answer::Unknown,                          // 503
        }
    }

    /// 5. Create through the gate. An error after COMMIT was sent proves nothing, and `?` treats it so; `Abort` says: rolled back for certain.
    async fn create(&self, name: &str, roll_back: bool) -> bool {
        let created = self.gate.create_with(name, || async {
            if roll_back {
                return Err(Abort(DatabaseError::RolledBack));
            }
            Ok(Some(self.database.insert(name).await?))
        });
        created.await.map_err(WriteError::into_inner).is_ok()
    }

    /// 6. Rebuild now and then (a `Rebuilder` does it on a schedule). Readers do not wait.
    async fn rebuild(&self) -> Result<(), String> {
        if self.with_filter {
            self.gate.rebuild(&AllNames(self.database.clone())).await.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// 7. Watch it.
    fn gauges(&self) -> Gauges {
        let (status, stats) = (self.gate.status(), self.store.stats());
        Gauges {
            wrong_absences_noticed: self.counters.wrong_absent(),
            reads_timed_out: self.counters.source_loads(LoadResult::Timeout),
            filter_bytes: status.filter_bytes,
            memory_bytes: status.filter_bytes + status.fence_bytes + (stats.positive_bytes + stats.negative_bytes) as u64,
            estimated_fpr: (self.with_filter && status.generation.is_some()).then_some(status.estimated_fpr),
        }
    }
}

/// A service with a real database is asked for ids, most of which do not exist. Four ways of caching, side by side.
#[derive(Parser, Clone, Debug)]
struct Options {
    /// Requests per run.
    #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1..))]
    requests: u64,
    /// The names that exist, one a line, plain or .gz (default: 23,268 names of one package registry).
    #[arg(long)]
    existing: Option<PathBuf>,
    /// The names that are asked for, likewise (default: 24,000 names of another).
    #[arg(long)]
    requested: Option<PathBuf>,
    /// Seed of the traffic.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Weight of requests for names of the other registry.
    #[arg(long, default_value_t = 70)]
    partner: u32,
    /// Weight of requests for made-up ids, one after the other.
    #[arg(long, default_value_t = 15)]
    enumeration: u32,
    /// Weight of requests for names that exist.
    #[arg(long, default_value_t = 15)]
    hits: u32,
    /// False-positive rate of the filter.
    #[arg(long, default_value_t = 0.01)]
    fpr: f64,
    /// Print one JSON object instead of the table.
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    let options = Options::parse(); // exits with 2 on bad use
    match run::all(&options) {
        Ok(report) => {
            let text = if options.json { report.json() } else { report.table() };
            match writeln!(std::io::stdout(), "{text}") {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("gatekeeper: standard output: {error}");
                    ExitCode::FAILURE
                }
            }
        }
        Err(error) => {
            eprintln!("gatekeeper: {error}");
            ExitCode::from(2)
        }
    }
}
