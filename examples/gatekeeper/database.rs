//! The database: a SQLite file in a temporary folder, read and written over a few connections, with the weather of a real one.
//!
//! What makes it realistic is in the last lines of `read`: some reads are slow *after* they have seen what they saw, which is where stale absences
//! come from, and a few fail. Both are decided by a hash of the read's number, so runs differ only by how their tasks were scheduled.

use rusqlite::{Connection, OptionalExtension as _};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// One read in so many is slow, and by how much.
const SLOW: (u64, Duration) = (400, Duration::from_millis(4));
/// One read in so many fails.
const FAILS: u64 = 1500;
/// A name that begins so is read slowly always: the schedule needs readers that overtake a create.
pub(crate) const SLOW_PREFIX: &str = "created-meanwhile-";

#[derive(Debug)]
pub(crate) enum DatabaseError {
    Sqlite(rusqlite::Error),
    /// The connection "died". Says nothing about whether the row exists.
    Lost,
    RolledBack,
}

impl fmt::Display for DatabaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(error) => write!(f, "sqlite: {error}"),
            Self::Lost => f.write_str("connection lost"),
            Self::RolledBack => f.write_str("rolled back"),
        }
    }
}

impl std::error::Error for DatabaseError {}

impl From<rusqlite::Error> for DatabaseError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// What the database was asked for, counted where it is asked.
#[derive(Default)]
pub(crate) struct Reads {
    pub(crate) found: AtomicU64,
    pub(crate) not_found: AtomicU64,
    pub(crate) failed: AtomicU64,
}

#[derive(Clone)]
pub(crate) struct Database {
    path: Arc<Path>,
    /// How many names it was created with.
    pub(crate) names: u64,
    idle: Arc<Mutex<Vec<Connection>>>,
    writer: Arc<Mutex<Connection>>,
    number: Arc<AtomicU64>,
    pub(crate) reads: Arc<Reads>,
}

impl Database {
    /// A new database at `path` that holds `names`.
    pub(crate) fn create(path: &Path, names: &[String]) -> Result<Self, DatabaseError> {
        let mut writer = Connection::open(path)?;
        writer.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);",
        )?;
        let load = writer.transaction()?;
        {
            let mut insert = load.prepare("INSERT OR IGNORE INTO names (name) VALUES (?1)")?;
            for name in names {
                insert.execute([name])?;
            }
        }
        load.commit()?;
        Ok(Self {
            path: path.into(),
            names: names.len() as u64,
            idle: Arc::default(),
            writer: Arc::new(Mutex::new(writer)),
            number: Arc::default(),
            reads: Arc::default(),
        })
    }

    pub(crate) fn lock_file(&self) -> PathBuf {
        self.path.with_extension("lock")
    }

    fn connection(&self) -> Result<Connection, DatabaseError> {
        let idle = self.idle.lock().expect("no panic under this lock").pop();
        match idle {
            Some(connection) => Ok(connection),
            None => Ok(Connection::open(&self.path)?),
        }
    }

    fn give_back(&self, connection: Connection) {
        self.idle.lock().expect("no panic under this lock").push(connection);
    }

    /// One row. SQLite answers in microseconds, so it is called where it is; a database across a network would be awaited here.
    pub(crate) async fn read(&self, name: &str) -> Result<Option<i64>, DatabaseError> {
        let connection = self.connection()?;
        let row = connection.prepare_cached("SELECT id FROM names WHERE name = ?1")?.query_row([name], |row| row.get(0)).optional();
        self.give_back(connection);
        let row: Option<i64> = row?;

        let weather = mix(self.number.fetch_add(1, Ordering::Relaxed));
        if weather.is_multiple_of(SLOW.0) || name.starts_with(SLOW_PREFIX) {
            tokio::time::sleep(SLOW.1).await; // the row was read; the answer is on its way
        }
        if (weather >> 32).is_multiple_of(FAILS) {
            self.reads.failed.fetch_add(1, Ordering::Relaxed);
            return Err(DatabaseError::Lost);
        }
        let count = if row.is_some() { &self.reads.found } else { &self.reads.not_found };
        count.fetch_add(1, Ordering::Relaxed);
        Ok(row)
    }

    /// Inserts and COMMITs a row, and gives its id.
    pub(crate) async fn insert(&self, name: &str) -> Result<i64, DatabaseError> {
        let writer = self.writer.lock().expect("no panic under this lock");
        writer.prepare_cached("INSERT INTO names (name) VALUES (?1)")?.execute([name])?;
        Ok(writer.last_insert_rowid())
    }

    /// Every name, in one snapshot: a single SELECT is one in SQLite.
    pub(crate) fn each_name(&self, mut each: impl FnMut(&str)) -> Result<u64, DatabaseError> {
        let connection = self.connection()?;
        let mut rows = 0;
        {
            let mut select = connection.prepare("SELECT name FROM names")?;
            let mut names = select.query([])?;
            while let Some(row) = names.next()? {
                each(
                    row.get_ref(0)?
                        .as_str()
                        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, error.into()))?,
                );
                rows += 1;
            }
        }
        self.give_back(connection);
        Ok(rows)
    }
}

/// The finaliser of SplitMix64: the weather of read number `n`.
fn mix(n: u64) -> u64 {
    let mut z = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
