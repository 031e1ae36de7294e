//! One run: the same traffic, the same creates and the same rebuild against one way of caching. The schedule is what makes the ways comparable.
//!
//! Eight clients send requests. Each time a certain number of them is through, a name is created: two impatient clients ask for it just before (their
//! reads are slow), the create commits, and right after its acknowledgement a reader asks for it, twice: at once, and when the slow reads have ended.
//! Whoever answers "absent" then is wrong. Some creates roll back. Half-way through, the filter is rebuilt.

use crate::baselines::{CacheAside, NaiveSetnx};
use crate::database::{Database, SLOW_PREFIX};
use crate::report::{Report, Run};
use crate::traffic::{self, Shares, Traffic};
use crate::{Gatekeeper, Options};
use absentia::Fpr;
use hdrhistogram::Histogram;
use indicatif::{ProgressBar, ProgressStyle};
use std::error::Error;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

/// What a service answered, and on what grounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Present,
    AbsentFilter,
    AbsentCache,
    AbsentSource,
    Unknown,
}

impl Answer {
    pub(crate) const ALL: [Self; 5] = [Self::Present, Self::AbsentFilter, Self::AbsentCache, Self::AbsentSource, Self::Unknown];

    fn is_absent(self) -> bool {
        matches!(self, Self::AbsentFilter | Self::AbsentCache | Self::AbsentSource)
    }
}

/// What a service knows about itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gauges {
    pub(crate) wrong_absences_noticed: u64,
    pub(crate) reads_timed_out: u64,
    pub(crate) filter_bytes: u64,
    pub(crate) memory_bytes: u64,
    pub(crate) estimated_fpr: Option<f64>,
}

pub(crate) trait Service: Send + Sync + 'static {
    fn get(&self, name: &str) -> impl Future<Output = Answer> + Send;
    /// True where the create was acknowledged.
    fn create(&self, name: &str, roll_back: bool) -> impl Future<Output = bool> + Send;
    fn rebuild(&self) -> impl Future<Output = Result<(), String>> + Send;
    fn gauges(&self) -> Gauges;
}

const CLIENTS: u64 = 8;
/// At most so many names are created in a run.
const CREATES: u64 = 150;
/// One create in so many rolls back.
const ROLLS_BACK: u64 = 10;

/// All four runs, one after the other.
pub(crate) fn all(options: &Options) -> Result<Report, Box<dyn Error>> {
    let existing = options.existing.as_deref().map_or_else(|| Ok(traffic::bundled_existing()), traffic::load_names)?;
    let requested = options.requested.as_deref().map_or_else(|| Ok(traffic::bundled_requested()), traffic::load_names)?;
    let shares = Shares { partner: options.partner, enumeration: options.enumeration, real_hits: options.hits };
    if shares.partner == 0 && shares.enumeration == 0 && shares.real_hits == 0 {
        return Err("--partner, --enumeration and --hits are all 0".into());
    }
    Fpr::new(options.fpr)?; // before three runs have been waited for
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    runtime.spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            stopped.store(true, Ordering::Relaxed);
        }
    });
    let folder = tempfile::tempdir()?;
    let mut report = Report::new(existing.len(), requested.len());
    for mode in ["cache_aside", "naive_setnx", "negative_cache", "gate"] {
        if stop.load(Ordering::Relaxed) {
            report.interrupted = true;
            break;
        }
        let database = Database::create(&folder.path().join(mode).with_extension("sqlite"), &existing)?;
        let traffic = Traffic::new(existing.clone(), requested.clone(), options.seed).with_shares(shares);
        let schedule = Schedule { mode, options, traffic, stop: &stop };
        let run = match mode {
            "cache_aside" => runtime.block_on(schedule.run(CacheAside::new(database.clone()), database)),
            "naive_setnx" => runtime.block_on(schedule.run(NaiveSetnx::new(database.clone()), database)),
            with => runtime.block_on(schedule.run(Gatekeeper::new(database.clone(), options, with == "gate")?, database)),
        }?;
        report.runs.push(run);
    }
    report.interrupted |= stop.load(Ordering::Relaxed);
    Ok(report)
}

struct Schedule<'a> {
    mode: &'static str,
    options: &'a Options,
    traffic: Traffic,
    stop: &'a Arc<AtomicBool>,
}

/// What the tasks of a run share.
struct Shared<S> {
    service: S,
    done: AtomicU64,
    wrong: AtomicU64,
    acknowledged: Mutex<Vec<String>>,
    stop: Arc<AtomicBool>,
}

type Latencies = [Histogram<u64>; Answer::ALL.len()];

fn latencies() -> Latencies {
    // From a nanosecond to a minute, to three digits.
    std::array::from_fn(|_| Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("these bounds are allowed"))
}

impl<S: Service> Shared<S> {
    /// Asks for a name that was acknowledged before: it exists.
    async fn ask_created(&self, name: &str) {
        if self.service.get(name).await.is_absent() {
            self.wrong.fetch_add(1, Ordering::Relaxed);
        }
    }

    async fn client(self: Arc<Self>, mut traffic: Traffic, requests: u64) -> Latencies {
        let mut latencies = latencies();
        for n in 0..requests {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            if n % 512 == 511 {
                let name = self.acknowledged.lock().expect("no panic under this lock").last().cloned();
                if let Some(name) = name {
                    self.ask_created(&name).await;
                }
            }
            let request = traffic.next_request();
            let began = Instant::now();
            let answer = self.service.get(&request.key).await;
            let took = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX).max(1);
            latencies[answer as usize].saturating_record(took);
            self.done.fetch_add(1, Ordering::Relaxed);
            if n % 64 == 63 {
                tokio::task::yield_now().await; // answers from memory never wait, and others want a turn
            }
        }
        latencies
    }

    /// Creates name number `n` between readers that are too early and one that comes right after the acknowledgement.
    async fn create(self: Arc<Self>, n: u64) -> bool {
        let name = format!("{SLOW_PREFIX}{n}");
        let early: Vec<_> = (0..2)
            .map(|_| {
                let (shared, name) = (Arc::clone(&self), name.clone());
                tokio::spawn(async move { shared.service.get(&name).await })
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(1)).await;
        let acknowledged = self.service.create(&name, n % ROLLS_BACK == ROLLS_BACK - 1).await;
        if acknowledged {
            self.acknowledged.lock().expect("no panic under this lock").push(name.clone());
            self.ask_created(&name).await;
        }
        for reader in early {
            let _ = reader.await;
        }
        if acknowledged {
            self.ask_created(&name).await;
        }
        acknowledged
    }

    async fn creator(self: Arc<Self>, requests: u64) -> u64 {
        let creates = CREATES.min(requests);
        let mut acknowledged = 0;
        for n in 0..creates {
            while self.done.load(Ordering::Relaxed) < requests * n / creates {
                if self.stop.load(Ordering::Relaxed) {
                    return acknowledged;
                }
                tokio::time::sleep(Duration::from_micros(200)).await;
            }
            acknowledged += u64::from(Arc::clone(&self).create(n).await);
        }
        acknowledged
    }

    /// Half-way through, from a thread that may block: the scan of a SQLite table does.
    async fn rebuilder(self: Arc<Self>, requests: u64) -> Result<Duration, String> {
        while self.done.load(Ordering::Relaxed) < requests / 2 && !self.stop.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
        rebuild(self).await
    }
}

async fn rebuild<S: Service>(shared: Arc<Shared<S>>) -> Result<Duration, String> {
    let handle = Handle::current();
    let rebuilt = tokio::task::spawn_blocking(move || {
        let began = Instant::now();
        handle.block_on(shared.service.rebuild()).map(|()| began.elapsed())
    });
    rebuilt.await.map_err(|error| error.to_string())?
}

impl Schedule<'_> {
    async fn run<S: Service>(self, service: S, database: Database) -> Result<Run, Box<dyn Error>> {
        let requests = self.options.requests;
        let shared = Arc::new(Shared {
            service,
            done: AtomicU64::new(0),
            wrong: AtomicU64::new(0),
            acknowledged: Mutex::default(),
            stop: Arc::clone(self.stop),
        });
        rebuild(Arc::clone(&shared)).await?;
        let bar = progress(self.mode, requests);
        let began = Instant::now();
        let clients: Vec<_> = (0..CLIENTS)
            .map(|n| {
                let share = requests / CLIENTS + u64::from(n < requests % CLIENTS);
                tokio::spawn(Arc::clone(&shared).client(self.traffic.for_client(n), share))
            })
            .collect();
        let creator = tokio::spawn(Arc::clone(&shared).creator(requests));
        let rebuilder = tokio::spawn(Arc::clone(&shared).rebuilder(requests));
        while !creator.is_finished() || !clients.iter().all(tokio::task::JoinHandle::is_finished) {
            bar.set_position(shared.done.load(Ordering::Relaxed));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let mut all = latencies();
        for client in clients {
            for (sum, one) in all.iter_mut().zip(client.await?) {
                sum.add(one)?;
            }
        }
        let elapsed = began.elapsed();
        let (created, rebuild) = (creator.await?, rebuilder.await??);
        bar.finish_and_clear();
        let reads = &database.reads;
        Ok(Run {
            mode: self.mode,
            requests: shared.done.load(Ordering::Relaxed),
            latencies: all,
            found: reads.found.load(Ordering::Relaxed),
            not_found: reads.not_found.load(Ordering::Relaxed),
            failed: reads.failed.load(Ordering::Relaxed),
            wrong_absent: shared.wrong.load(Ordering::Relaxed),
            created,
            gauges: shared.service.gauges(),
            rebuild,
            elapsed,
        })
    }
}

/// A bar on the terminal; nothing where there is none.
fn progress(mode: &'static str, requests: u64) -> ProgressBar {
    let bar = ProgressBar::new(requests);
    let style = ProgressStyle::with_template("{prefix:>15} {wide_bar} {pos}/{len} {per_sec} {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_prefix(mode);
    bar
}
