//! `insert/filter/new|known/keys/kernel`, and the same for `insert_batch`. Ns a key. `known` only where that is something else than `new`.
//!
//! New keys come until the filter is full, and then it is emptied while the clock stands still. A filter of 1e8 keys does not get full in the time
//! that a bench takes.

use super::check::{self, Tally};
use super::keys::{BenchKey, Str20, Stream};
use super::kinds::{Case, Kind, Subject};
use super::ways::Way;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion};

pub(crate) fn of_kind<W: Way, F: Subject>(c: &mut Criterion, kind: &Kind<F>) {
    let mut group = c.benchmark_group(format!("{}/{}/new", W::INSERT, kind.name));
    kind.cases::<W, u64>().iter().for_each(|case| new::<W, u64, F>(&mut group, case));
    kind.cases::<W, Str20>().iter().for_each(|case| new::<W, Str20, F>(&mut group, case));
    group.finish();

    if !F::KNOWN {
        return;
    }
    let mut group = c.benchmark_group(format!("{}/{}/known", W::INSERT, kind.name));
    kind.cases::<W, u64>().iter().for_each(|case| known::<W, u64, F>(&mut group, case));
    kind.cases::<W, Str20>().iter().for_each(|case| known::<W, Str20, F>(&mut group, case));
    group.finish();
}

fn new<W: Way, K: BenchKey, F: Subject>(group: &mut BenchmarkGroup<'_, WallTime>, case: &Case<'_, F>) {
    let (mut filter, mut keys) = (None, Stream::<K>::new(0..case.keys));
    group.bench_function(case.id(), |b| {
        let filter = filter.get_or_insert_with(|| {
            let mut filter = case.empty();
            check::inserts::<W, F, K>(&mut filter, case.keys);
            filter
        });
        b.iter_custom(|count| {
            let mut tally = Tally::default();
            let time = keys.timed(count, filter, F::clear, |filter, keys| tally.add(keys.len(), keys.len() - W::insert(filter, keys)));
            tally.is_at_most_predicted(filter);
            time
        });
    });
}

fn known<W: Way, K: BenchKey, F: Subject>(group: &mut BenchmarkGroup<'_, WallTime>, case: &Case<'_, F>) {
    let (mut filter, mut keys) = (None, Stream::<K>::new(0..case.keys));
    group.bench_function(case.id(), |b| {
        let filter = filter.get_or_insert_with(|| case.full::<K>());
        b.iter_custom(|count| {
            let mut tally = Tally::default();
            let time = keys.timed(count, filter, |_| (), |filter, keys| tally.add(keys.len(), W::insert(filter, keys)));
            tally.is_none();
            time
        });
    });
}
