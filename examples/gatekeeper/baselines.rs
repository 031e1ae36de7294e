//! How it is done without a gate: plain cache-aside, and a cache that remembers misses with SET-if-absent.

use crate::database::Database;
use crate::run::{Answer, Gauges, Service};
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

const POSITIVE_TTL: Duration = Duration::from_secs(300);
const NEGATIVE_TTL: Duration = Duration::from_secs(30);

/// A cache as most services have one: a map of names to what was found, and until when.
#[derive(Default)]
struct Cache(Mutex<HashMap<String, (Option<i64>, Instant)>>);

impl Cache {
    fn get(&self, name: &str) -> Option<Option<i64>> {
        let map = self.0.lock().expect("no panic under this lock");
        map.get(name).filter(|(_, until)| Instant::now() < *until).map(|(row, _)| *row)
    }

    fn set(&self, name: &str, row: Option<i64>, ttl: Duration) {
        self.0.lock().expect("no panic under this lock").insert(name.to_owned(), (row, Instant::now() + ttl));
    }

    fn set_if_absent(&self, name: &str, row: Option<i64>, ttl: Duration) {
        let mut map = self.0.lock().expect("no panic under this lock");
        let now = Instant::now();
        let held = map.get(name).is_some_and(|(_, until)| now < *until);
        if !held {
            map.insert(name.to_owned(), (row, now + ttl));
        }
    }

    fn delete(&self, name: &str) {
        self.0.lock().expect("no panic under this lock").remove(name);
    }

    fn bytes(&self) -> u64 {
        let map = self.0.lock().expect("no panic under this lock");
        let slot = size_of::<(String, (Option<i64>, Instant))>() + 1;
        (map.capacity() * slot + map.keys().map(String::len).sum::<usize>()) as u64
    }
}

/// Cache-aside as it is usually written: what was found is remembered, what was not is not.
pub(crate) struct CacheAside {
    database: Database,
    cache: Cache,
}

impl CacheAside {
    pub(crate) fn new(database: Database) -> Self {
        Self { database, cache: Cache::default() }
    }
}

impl Service for CacheAside {
    async fn get(&self, name: &str) -> Answer {
        if self.cache.get(name).is_some() {
            return Answer::Present;
        }
        match self.database.read(name).await {
            Ok(Some(row)) => {
                self.cache.set(name, Some(row), POSITIVE_TTL);
                Answer::Present
            }
            Ok(None) => Answer::AbsentSource, // and nothing learnt
            Err(_) => Answer::Unknown,
        }
    }

    async fn create(&self, name: &str, roll_back: bool) -> bool {
        !roll_back && self.database.insert(name).await.is_ok()
    }

    async fn rebuild(&self) -> Result<(), String> {
        Ok(())
    }

    fn gauges(&self) -> Gauges {
        Gauges { memory_bytes: self.cache.bytes(), ..Gauges::default() }
    }
}

/// Misses remembered too, and deleted by whoever creates: the textbook's advice. A reader that was slow between its SELECT and its SET undoes the
/// delete.
pub(crate) struct NaiveSetnx {
    database: Database,
    cache: Cache,
}

impl NaiveSetnx {
    pub(crate) fn new(database: Database) -> Self {
        Self { database, cache: Cache::default() }
    }
}

impl Service for NaiveSetnx {
    async fn get(&self, name: &str) -> Answer {
        match self.cache.get(name) {
            Some(Some(_)) => return Answer::Present,
            Some(None) => return Answer::AbsentCache,
            None => {}
        }
        match self.database.read(name).await {
            Ok(Some(row)) => {
                self.cache.set(name, Some(row), POSITIVE_TTL);
                Answer::Present
            }
            Ok(None) => {
                self.cache.set_if_absent(name, None, NEGATIVE_TTL);
                Answer::AbsentSource
            }
            Err(_) => Answer::Unknown,
        }
    }

    async fn create(&self, name: &str, roll_back: bool) -> bool {
        if roll_back || self.database.insert(name).await.is_err() {
            return false;
        }
        self.cache.delete(name);
        true
    }

    async fn rebuild(&self) -> Result<(), String> {
        Ok(())
    }

    fn gauges(&self) -> Gauges {
        Gauges { memory_bytes: self.cache.bytes(), ..Gauges::default() }
    }
}
