//! What does it cost to size a filter? A gate does it at every rebuild, a caller who tries capacities more often.
//!
//! Ids are `sizing/rule/what/keys`, where what is the rate or the memory that is asked for.

mod subject;

use absentia::bloom::Sizing;
use absentia::bloom::sizing::{LinePlan, LinesPerKey, classical, line_fpr, plan_memory};
use absentia::{Capacity, Fpr};
use criterion::{BenchmarkId, Criterion};
use std::hint::black_box;

const RATES: [f64; 6] = [0.3, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8];
const SIZES: [u64; 2] = [1_000, 10_000_000];

fn main() {
    subject::run(&[
        |c| of_rates(c, "guaranteed", |keys, fpr| Sizing::Guaranteed.plan(keys, fpr)),
        |c| of_rates(c, "guaranteed-one-line", |keys, fpr| Sizing::Guaranteed.plan_lines(keys, fpr, LinesPerKey::One)),
        textbook,
        of_memory,
        rate_of_a_line,
    ]);
}

fn rate(p: f64) -> Fpr {
    Fpr::new(p).expect("a rate")
}

fn of_rates(c: &mut Criterion, rule: &str, plan: fn(Capacity, Fpr) -> LinePlan) {
    let mut group = c.benchmark_group(format!("sizing/{rule}"));
    for p in RATES {
        for keys in SIZES {
            let (capacity, fpr) = (Capacity::new(keys), rate(p));
            assert!(plan(capacity, fpr).predicted_fpr <= p, "a guaranteed rate is at most the one asked for");
            group.bench_function(BenchmarkId::new(format!("{p:e}"), subject::short(keys)), |b| b.iter(|| plan(black_box(capacity), black_box(fpr))));
        }
    }
    group.finish();
}

fn textbook(c: &mut Criterion) {
    let mut group = c.benchmark_group("sizing/textbook");
    for p in RATES {
        let (capacity, fpr) = (Capacity::new(10_000_000), rate(p));
        let bits = 1e7 * -p.ln() / 2f64.ln().powi(2);
        assert!((classical(capacity, fpr).bits as f64 - bits).abs() <= 1.0, "m = n·ln(1/p)/(ln 2)²");
        group.bench_function(BenchmarkId::new(format!("{p:e}"), "1e7"), |b| b.iter(|| classical(black_box(capacity), black_box(fpr))));
    }
    group.finish();
}

fn of_memory(c: &mut Criterion) {
    let mut group = c.benchmark_group("sizing/memory");
    for (name, bytes) in [("256KiB", 256 << 10), ("16MiB", 16 << 20)] {
        let plan = |keys| plan_memory(black_box(bytes), black_box(keys), LinesPerKey::Auto).expect("many lines");
        assert!(plan(Capacity::new(10_000_000)).lines * 64 <= bytes, "a plan takes no more than is given");
        group.bench_function(BenchmarkId::new(name, "1e7"), |b| b.iter(|| plan(Capacity::new(10_000_000))));
    }
    group.finish();
}

/// The sum that all the others search over.
fn rate_of_a_line(c: &mut Criterion) {
    let mut group = c.benchmark_group("sizing/line_fpr");
    for k in [1, 6, 16] {
        assert!((0.0..1.0).contains(&line_fpr(10_000_000, 200_000, k)));
        group.bench_function(BenchmarkId::new(format!("k{k}"), "1e7"), |b| b.iter(|| line_fpr(black_box(10_000_000), black_box(200_000), k)));
    }
    group.finish();
}
