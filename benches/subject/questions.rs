//! `contains/filter/absent|present/keys/kernel`, and the same for `contains_batch`. Ns a key.

use super::check::Tally;
use super::keys::{BenchKey, STRANGERS, Str20, Stream};
use super::kinds::{Kind, Subject};
use super::ways::Way;
use criterion::{Bencher, Criterion};
use std::cell::LazyCell;
use std::time::Duration;

pub(crate) fn of_kind<W: Way, F: Subject>(c: &mut Criterion, kind: &Kind<F>) {
    let (integers, strings) = (kind.cases::<W, u64>(), kind.cases::<W, Str20>());
    // Filled when the first bench asks for it, if any is chosen, and for both outcomes.
    let integers: Vec<_> = integers.iter().map(|case| (case, LazyCell::new(|| case.full::<u64>()))).collect();
    let strings: Vec<_> = strings.iter().map(|case| (case, LazyCell::new(|| case.full::<Str20>()))).collect();

    let mut group = c.benchmark_group(format!("{}/{}/absent", W::CONTAINS, kind.name));
    let mut strangers = Stream::<u64>::new(STRANGERS);
    for (case, filter) in &integers {
        group.bench_function(case.id(), |b| absent::<W, _>(b, &**filter, &mut strangers));
    }
    let mut strangers = Stream::<Str20>::new(STRANGERS);
    for (case, filter) in &strings {
        group.bench_function(case.id(), |b| absent::<W, _>(b, &**filter, &mut strangers));
    }
    group.finish();

    let mut group = c.benchmark_group(format!("{}/{}/present", W::CONTAINS, kind.name));
    for (case, filter) in &integers {
        let mut inserted = Stream::<u64>::new(0..case.keys);
        group.bench_function(case.id(), |b| present::<W, _>(b, &**filter, &mut inserted));
    }
    for (case, filter) in &strings {
        let mut inserted = Stream::<Str20>::new(0..case.keys);
        group.bench_function(case.id(), |b| present::<W, _>(b, &**filter, &mut inserted));
    }
    group.finish();
}

fn absent<W: Way, K: BenchKey>(b: &mut Bencher<'_>, filter: &impl Subject, strangers: &mut Stream<K>) {
    b.iter_custom(|count| {
        let (time, tally) = ask::<W, K>(filter, strangers, count);
        tally.is_as_predicted(filter);
        time
    });
}

fn present<W: Way, K: BenchKey>(b: &mut Bencher<'_>, filter: &impl Subject, inserted: &mut Stream<K>) {
    b.iter_custom(|count| {
        let (time, tally) = ask::<W, K>(filter, inserted, count);
        tally.is_all();
        time
    });
}

fn ask<W: Way, K: BenchKey>(filter: &impl Subject, keys: &mut Stream<K>, count: u64) -> (Duration, Tally) {
    let mut tally = Tally::default();
    let time = keys.timed(count, &mut tally, |_| (), |tally, keys| tally.add(keys.len(), W::contains(filter, keys)));
    (time, tally)
}
