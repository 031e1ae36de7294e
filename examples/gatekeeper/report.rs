//! What the runs came to: a table for people, one JSON object for programs.

use crate::run::{Answer, Gauges};
use hdrhistogram::Histogram;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::Duration;

pub(crate) struct Run {
    pub(crate) mode: &'static str,
    pub(crate) requests: u64,
    pub(crate) latencies: [Histogram<u64>; Answer::ALL.len()],
    pub(crate) found: u64,
    pub(crate) not_found: u64,
    pub(crate) failed: u64,
    pub(crate) wrong_absent: u64,
    pub(crate) created: u64,
    pub(crate) gauges: Gauges,
    pub(crate) rebuild: Duration,
    pub(crate) elapsed: Duration,
}

impl Run {
    fn answers(&self, answer: Answer) -> u64 {
        self.latencies[answer as usize].len()
    }

    fn source_reads(&self) -> u64 {
        self.found + self.not_found + self.failed
    }

    /// Requests that did not become a read of the database.
    fn avoided(&self) -> u64 {
        self.requests.saturating_sub(self.source_reads())
    }

    fn json(&self) -> Value {
        let latency: serde_json::Map<_, _> = Answer::ALL
            .iter()
            .filter(|answer| self.answers(**answer) > 0)
            .map(|answer| {
                let histogram = &self.latencies[*answer as usize];
                (name(*answer).to_owned(), json!({"p50": histogram.value_at_quantile(0.5), "p99": histogram.value_at_quantile(0.99)}))
            })
            .collect();
        let mut run = json!({
            "mode": self.mode,
            "requests": self.requests,
            "source_reads": self.source_reads(),
            "source_found": self.found,
            "source_not_found": self.not_found,
            "source_failed": self.failed,
            "source_reads_avoided": self.avoided(),
            "wrong_absent": self.wrong_absent,
            "wrong_absent_noticed": self.gauges.wrong_absences_noticed,
            "reads_timed_out": self.gauges.reads_timed_out,
            "created": self.created,
            "latency_ns": latency,
            "memory_bytes": self.gauges.memory_bytes,
            "filter_bytes": self.gauges.filter_bytes,
            "estimated_fpr": self.gauges.estimated_fpr,
            "rebuild_ms": self.rebuild.as_secs_f64() * 1e3,
            "elapsed_s": self.elapsed.as_secs_f64(),
        });
        for answer in Answer::ALL {
            run[name(answer)] = self.answers(answer).into();
        }
        run
    }
}

const fn name(answer: Answer) -> &'static str {
    match answer {
        Answer::Present => "present",
        Answer::AbsentFilter => "absent_filter",
        Answer::AbsentCache => "absent_tombstone",
        Answer::AbsentSource => "absent_source",
        Answer::Unknown => "unknown",
    }
}

const fn label(answer: Answer) -> &'static str {
    match answer {
        Answer::Present => "present",
        Answer::AbsentFilter => "absent, by filter",
        Answer::AbsentCache => "absent, remembered",
        Answer::AbsentSource => "absent, by source",
        Answer::Unknown => "unknown",
    }
}

pub(crate) struct Report {
    existing: usize,
    requested: usize,
    pub(crate) runs: Vec<Run>,
    pub(crate) interrupted: bool,
}

impl Report {
    pub(crate) fn new(existing: usize, requested: usize) -> Self {
        Self { existing, requested, runs: Vec::new(), interrupted: false }
    }

    pub(crate) fn json(&self) -> String {
        let runs: Vec<_> = self.runs.iter().map(Run::json).collect();
        json!({"existing": self.existing, "requested": self.requested, "interrupted": self.interrupted, "runs": runs}).to_string()
    }

    pub(crate) fn table(&self) -> String {
        let mut text = format!(
            "{} names exist; clients ask for {} names of another registry, for made-up ids, and for names that exist.\n\n",
            count(self.existing as u64),
            count(self.requested as u64)
        );
        if self.interrupted {
            text.push_str("Interrupted: this is the table so far.\n\n");
        }
        let mut row = |label: &str, cell: &dyn Fn(&Run) -> String| {
            let _ = write!(text, "{label:<28}");
            for run in &self.runs {
                let _ = write!(text, "{:>20}", cell(run));
            }
            text.push('\n');
        };
        row("", &|run| run.mode.to_owned());
        row("requests", &|run| count(run.requests));
        for answer in Answer::ALL {
            row(&format!("  {}", label(answer)), &|run| count(run.answers(answer)));
        }
        row("database reads", &|run| count(run.source_reads()));
        row("  found", &|run| count(run.found));
        row("  found nothing", &|run| count(run.not_found));
        row("  failed", &|run| count(run.failed));
        row("reads avoided", &|run| format!("{:.1} %", 100.0 * run.avoided() as f64 / run.requests.max(1) as f64));
        for answer in Answer::ALL {
            row(&format!("p50 / p99 {}", label(answer)), &|run| {
                let histogram = &run.latencies[answer as usize];
                if histogram.is_empty() {
                    return "-".to_owned();
                }
                format!("{} / {}", time(histogram.value_at_quantile(0.5)), time(histogram.value_at_quantile(0.99)))
            });
        }
        row("memory: cache, filter, fences", &|run| bytes(run.gauges.memory_bytes));
        row("  of it the filter", &|run| bytes(run.gauges.filter_bytes));
        row("estimated false positives", &|run| run.gauges.estimated_fpr.map_or("-".to_owned(), |p| format!("{:.2} %", 100.0 * p)));
        row("rebuild", &|run| if run.gauges.filter_bytes == 0 { "-".to_owned() } else { format!("{:.1?}", run.rebuild) });
        row("names created", &|run| count(run.created));
        row("WRONG ABSENCES", &|run| count(run.wrong_absent));
        text.push_str(
            "\ncache_aside remembers what it finds. naive_setnx also remembers what it does not find, by SET-if-absent, and deletes that on create.\n\
             negative_cache is this crate's without a filter, gate is with one. Some reads are slow and a few fail, on purpose: those are the unknowns.\n\
             A wrong absence is an \"absent\" for a name whose create had been acknowledged. Database reads include those of the readers that check it.\n",
        );
        text
    }
}

fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn time(nanos: u64) -> String {
    match nanos {
        0..1_000 => format!("{nanos} ns"),
        1_000..1_000_000 => format!("{:.1} µs", nanos as f64 / 1e3),
        _ => format!("{:.1} ms", nanos as f64 / 1e6),
    }
}

fn bytes(n: u64) -> String {
    match n {
        0 => "-".to_owned(),
        1..1_048_576 => format!("{:.0} KiB", n as f64 / 1024.0),
        _ => format!("{:.1} MiB", n as f64 / 1_048_576.0),
    }
}
