//! The measurement of one block: all filters of one number of keys, one rate and one kind of key, alive together.
//!
//! Every round visits every filter, each round beginning one further on, so that what else the machine does hits all alike. A round has questions of
//! its own, the same for all filters, so that no branch predictor and no cache meets a question twice. Timed passes are preceded by a short one:
//! the filter before has had the cache for itself.

use crate::block::{Block, MODES, Mode, Op, Row};
use crate::filter::{Candidate, Family, Filter};
use crate::keys::{ABSENT, BenchKey, keys_from, present_keys};
use crate::size::{Calibration, MANY_KEYS};
use crate::stats::Rate;
use crate::{churn, floor, machine, ours, peers};
use std::hint::black_box;
use std::time::Duration;

/// How to measure.
pub struct Plan {
    pub rounds: u32,
    pub queries: u64,
    /// A filter whose fill took longer is filled once only, or thrice where row 3 looks at its inserts.
    pub slow_fill: Duration,
    /// Lower-case parts of names; empty takes all.
    pub filters: Vec<String>,
}

impl Plan {
    /// Whether a peer or a floor of this name is to be measured.
    pub fn wants(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        self.filters.is_empty() || self.filters.iter().any(|part| name.contains(part))
    }
}

/// A filter under measurement.
struct Subject<K> {
    candidate: Candidate<K>,
    filter: Box<dyn Filter<K>>,
    /// ns a key by round.
    times: [[Vec<f64>; 2]; 3],
    slow: bool,
    fpr: Rate,
}

impl<K: BenchKey> Subject<K> {
    fn new(candidate: Candidate<K>) -> Self {
        let filter = (candidate.make)();
        Self { candidate, filter, times: Default::default(), slow: false, fpr: Rate::default() }
    }

    /// In how many rounds it is filled. Row 3 looks at inserts of ours and fastbloom's, so these have a median however slow they are.
    fn fills(&self) -> usize {
        match (self.slow, self.candidate.family) {
            (false, _) => usize::MAX,
            (true, Family::Blocked { .. } | Family::Fastbloom) => 3,
            (true, _) => 1,
        }
    }

    fn modes(&self) -> &'static [Mode] {
        if self.candidate.batches { &MODES } else { &MODES[..1] }
    }

    /// Fills empty ones, by each mode, often enough for as many inserts as there are questions. The last one stays.
    fn fill(&mut self, keys: &[K], plan: &Plan, sample: &[K]) -> Result<(), String> {
        let times = plan.queries.div_ceil(keys.len() as u64);
        for &mode in self.modes() {
            let mut taken = Duration::ZERO;
            for _ in 0..times {
                // The old one goes first: at 10^8 keys there need not be room for both.
                self.filter = Box::new(Nothing);
                self.filter = (self.candidate.make)();
                let start = machine::thread_time();
                match mode {
                    Mode::Single => self.filter.fill(black_box(keys))?,
                    Mode::Batch => self.filter.fill_batch(black_box(keys))?,
                }
                taken += machine::thread_time() - start;
            }
            self.times[Op::Insert as usize][mode as usize].push(taken.as_nanos() as f64 / (times * keys.len() as u64) as f64);
            self.slow |= taken > plan.slow_fill;
            self.check_present(self.filter.count(sample), sample.len())?;
        }
        Ok(())
    }

    fn ask(&mut self, op: Op, questions: &[K]) -> Result<(), String> {
        let mut first = None;
        for &mode in self.modes() {
            let pass = |questions: &[K]| match mode {
                Mode::Single => self.filter.count(black_box(questions)),
                Mode::Batch => self.filter.count_batch(black_box(questions)),
            };
            black_box(pass(&questions[..questions.len() / 16]));
            let start = machine::thread_time();
            let found = black_box(pass(questions));
            let taken = machine::thread_time() - start;
            self.times[op as usize][mode as usize].push(taken.as_nanos() as f64 / questions.len() as f64);
            if first.is_some_and(|first| first != found) {
                return Err(format!("{}: batches find {found} keys where single questions find {first:?}", self.candidate.name));
            }
            first = Some(found);
        }
        let found = first.expect("there is a mode");
        match op {
            Op::Absent => self.fpr.add(found as u64, questions.len() as u64),
            Op::Present => self.check_present(found, questions.len())?,
            Op::Insert => unreachable!("inserts are not questions"),
        }
        Ok(())
    }

    /// A filter that denies an inserted key is no filter; a floor is none anyway.
    fn check_present(&self, found: usize, asked: usize) -> Result<(), String> {
        if self.candidate.fills && found != asked {
            return Err(format!("{} DENIES INSERTED KEYS: {} of {asked}", self.candidate.name, asked - found));
        }
        Ok(())
    }

    fn row(self, keys: u64, rounds: u32) -> Row {
        let Candidate { name, family, compare, sizing, fills, .. } = self.candidate;
        Row {
            name,
            family,
            compare,
            sizing,
            bits_per_key: self.filter.bits() as f64 / keys as f64,
            fpr: fills.then_some(self.fpr),
            rounds,
            fills: self.times[Op::Insert as usize][0].len() as u32,
            times: self.times,
        }
    }
}

/// In the place of a filter while another is made.
struct Nothing;

impl<K> Filter<K> for Nothing {
    fn fill(&mut self, _: &[K]) -> Result<(), String> {
        Ok(())
    }

    fn count(&self, _: &[K]) -> usize {
        0
    }

    fn bits(&self) -> u64 {
        0
    }
}

/// Measures a block over these inserted keys.
pub fn block<K: BenchKey>(keys: &[K], p: f64, plan: &Plan, progress: &dyn Fn(&str)) -> Result<Block, String> {
    let n = keys.len() as u64;
    let before = machine::run_and_wait();
    progress("sizing peers");
    let mut subjects: Vec<Subject<K>> = candidates(n, p, plan)?.into_iter().map(Subject::new).collect();
    let count = subjects.len();

    let sample = present_keys(n, plan.queries.min(100_000), u64::MAX);
    for round in 0..plan.rounds as usize {
        for which in (0..count).map(|i| (i + round) % count) {
            let subject = &mut subjects[which];
            if subject.candidate.fills && round < subject.fills() {
                progress(&format!("round {} of inserts, {}", round + 1, subject.candidate.name));
                subject.fill(keys, plan, &sample)?;
            }
        }
    }
    for round in 0..plan.rounds as usize {
        progress(&format!("round {} of lookups", round + 1));
        let absent: Vec<K> = keys_from(ABSENT + round as u64 * plan.queries, plan.queries);
        let present: Vec<K> = present_keys(n, plan.queries, round as u64);
        for (op, questions) in [(Op::Absent, &absent), (Op::Present, &present)] {
            for which in (0..count).map(|i| (i + round) % count) {
                subjects[which].ask(op, questions)?;
            }
        }
    }
    let waited = before.zip(machine::run_and_wait()).map(|((ran, waited), (ran_then, waited_then))| {
        let (ran, waited) = (ran_then - ran, waited_then - waited);
        waited as f64 / (ran + waited).max(1) as f64
    });
    let rows = subjects.into_iter().map(|subject| subject.row(n, plan.rounds)).collect();
    progress("builds on two threads");
    let parallel = ours::parallel_builds(p, keys, plan.rounds)?;
    progress("fills and removals");
    // As for fills of the table: three rounds of what takes long say enough.
    let churn = churn::churn(keys, p, if n < MANY_KEYS { plan.rounds } else { plan.rounds.min(3) }, &|name| plan.wants(name))?;
    Ok(Block { keys: n, p, key_type: K::NAME, rows, lines: ours::planned_lines(p), parallel, churn, waited })
}

/// Ours always, since everything is compared with it; of the others those that are wanted.
fn candidates<K: BenchKey>(n: u64, p: f64, plan: &Plan) -> Result<Vec<Candidate<K>>, String> {
    let our_bits = ours::reference::<K>(n, p).bits();
    let calibration = Calibration::new(n, p, |keys| ours::reference(keys, p))?;
    let mut all = ours::candidates(n, p);
    all.extend(floor::candidates(our_bits).into_iter().filter(|floor| plan.wants(&floor.name)));
    all.extend(peers::candidates(n, p, our_bits, &calibration, &|name| plan.wants(name))?);
    Ok(all)
}

/// The names that a plan may choose from.
pub fn names<K: BenchKey>() -> Vec<String> {
    let mut names = peers::names::<K>();
    names.extend(ours::candidates::<K>(1, 0.01).into_iter().map(|candidate| candidate.name));
    names.extend(floor::names());
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{Compare, Sizing};
    use crate::keys::Str20;

    fn plan(filters: &[&str]) -> Plan {
        let filters = filters.iter().map(ToString::to_string).collect();
        Plan { rounds: 2, queries: 20_000, slow_fill: Duration::from_secs(60), filters }
    }

    fn measured<K: BenchKey>(filters: &[&str]) -> Block {
        block::<K>(&keys_from(0, 20_000), 0.01, &plan(filters), &|_| ()).unwrap()
    }

    #[test]
    fn every_filter_keeps_its_keys_and_has_a_rate() {
        for block in [measured::<u64>(&[]), measured::<Str20>(&[])] {
            assert!(block.rows.len() >= 22, "{}", block.rows.len());
            for row in &block.rows {
                assert!(row.ns(Op::Absent, Mode::Single).is_some_and(|ns| ns > 0.0), "{row:?}");
                assert!(row.fpr.is_none_or(|rate| rate.trials == 40_000 && rate.value() < 0.05), "{row:?}");
                assert!((6.0..60.0).contains(&row.bits_per_key), "{row:?}");
            }
        }
    }

    #[test]
    fn peers_are_sized_as_their_rows_say() {
        let block = measured::<u64>(&["fastbloom, xxh3", "sbbf"]);
        let ours = &block.rows[0];
        let rate = |row: &Row| row.fpr.unwrap().value();
        let peers: Vec<&Row> = block.rows.iter().filter(|row| row.compare != Compare::Reference).collect();
        assert_eq!(peers.len(), 6);
        for peer in peers {
            match peer.compare {
                Compare::Bits => assert!((peer.bits_per_key / ours.bits_per_key - 1.0).abs() < 0.01, "{peer:?}"),
                // 400 false positives are a standard deviation of 5 % on either side, and the sizing has its 3 %.
                _ => assert!((rate(peer) / rate(ours) - 1.0).abs() < 0.35, "{peer:?}"),
            }
        }
    }

    #[test]
    fn a_filter_that_denies_its_keys_ends_the_run() {
        let liar = || Candidate::<u64>::peer("liar", Family::Other, Compare::Fpr, Sizing::Nearest, || Box::new(Nothing));
        let error = Subject::new(liar()).fill(&[1, 2], &plan(&[]), &[1]).unwrap_err();
        assert_eq!(error, "liar DENIES INSERTED KEYS: 1 of 1");
        assert!(Subject::new(liar()).ask(Op::Present, &[1; 100]).is_err());
        assert!(Subject::new(liar()).ask(Op::Absent, &[1; 100]).is_ok());
    }
}
