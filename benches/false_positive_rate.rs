//! Is the rate of false positives the one that was asked for, at every rate; and what becomes of it when more keys come than the filter was made for?
//!
//! Criterion counts false positives in a million questions here, not time, so that its report plots them: against the rate asked for in
//! `false_positive_rate/p`, against the keys over the capacity in `false_positive_rate/fill`. A table of the same numbers follows.
//!
//! **Bounds.** A filter is asked about Q strangers, so many that at least 1000 false positives are expected. Their number F has a mean of Q·r for
//! the predicted rate r, and a variance with two sources, the questions and the contents of this one filter (`rate/expected.rs`).
//!
//! - *Prediction*: |F − Q·r| ≤ 5.2 standard deviations (of rotating filters, where r is a bound, F may be less). A normal variable leaves that with chance 2e-7; allow 1e-6 a point for the skew of both
//!   sources, less than 1e-4 for the whole table.
//! - *Promise*: with `Sizing::Guaranteed` and no more keys than the capacity, "the rate is at most p" is not rejected at 0.1 %: F ≤ Q·p + 3.09
//!   deviations. As r is just below p, a false alarm has nearly that chance at each of the two dozen full filters. But keys and judged questions are
//!   fixed, however long criterion measures, and a pass stays a pass: it is the chance that a *change* of constants fails by bad luck.
//! - *Memory*: at most 1 % above the bits a key of the design notes, where they have a figure.

mod rate;
mod subject;

use criterion::{AxisScale, BenchmarkId, Criterion, PlotConfiguration, SamplingMode};
use rate::filter::Kind;
use rate::measurement::FalsePositives;
use rate::point::Point;
use std::time::Duration;

/// Keys that each filter is for: then a filter at 1e-6 is one of 5 MB, which has 10^5 lines and is asked in the third-level cache.
const CAPACITY: u64 = 1_000_000;

/// What a run under `--test` asks at most about a point. It leaves out those that need more, as all at 1e-5 and 1e-6 do.
const MOST_IN_TESTS: f64 = 3e7;

fn main() {
    let mut criterion = Criterion::default()
        .with_measurement(FalsePositives)
        .warm_up_time(Duration::from_millis(1))
        .sample_size(10)
        .nresamples(5000)
        .configure_from_args();
    let rates = [0.3, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6];
    let fills = [0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0];
    sweep(&mut criterion, "p", &rates.map(|p| (p, p, 1.0)));
    sweep(&mut criterion, "fill", &fills.map(|fill| (fill, 0.01, fill)));
    criterion.final_summary();
}

/// Points of every kind, each with the number it is plotted at, its rate, and its filling.
fn sweep(c: &mut Criterion<FalsePositives>, name: &str, points: &[(f64, f64, f64)]) {
    let mut group = c.benchmark_group(format!("false_positive_rate/{name}"));
    group.plot_config(PlotConfiguration::default().summary_scale(AxisScale::Logarithmic)).sampling_mode(SamplingMode::Flat);
    let mut rows = Vec::new();
    for (row, kind) in Kind::ALL.into_iter().enumerate() {
        for (column, &(x, p, fill)) in points.iter().enumerate() {
            if fill > kind.most() {
                continue;
            }
            // A stretch of numbers for each point.
            let place = (row * points.len() + column) as u64 + if name == "p" { 0 } else { 100 };
            let mut point = Point::new(kind, CAPACITY, p, fill, place << 40);
            if subject::is_test() && point.judged_questions() > MOST_IN_TESTS {
                continue;
            }
            // At 3 to 15 ns a question, about as long as it takes to have enough. More is asked afterwards where that was too short.
            group.measurement_time(Duration::from_secs_f64((point.judged_questions() * 5e-9).clamp(0.3, 5.0)));
            let id = if x < 0.1 { format!("{x:e}") } else { x.to_string() };
            group.bench_function(BenchmarkId::new(kind.name(), id), |b| {
                point.fill();
                b.iter_custom(|rounds| (0..rounds).map(|_| point.ask()).sum());
            });
            if point.judge() {
                rows.push(point.row());
            }
        }
    }
    group.finish();
    if !rows.is_empty() {
        println!("{}\n{}\n", Point::header(), rows.join("\n"));
    }
}
