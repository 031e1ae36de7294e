//! `remove/filter/known/keys/kernel`, and the same for `remove_batch`. Ns a key.
//!
//! Keys that are there are taken out, each once, until the filter is empty; then it is filled while the clock stands still. Keys that are not there
//! are not removed here: a filter that is asked to may take out another key's entry, and nothing after that would be right.

use super::check::{self, Tally};
use super::keys::{BenchKey, Str20, Stream};
use super::kinds::{Case, Kind, Removes};
use super::ways::Way;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion};

pub(crate) fn of_kind<W: Way, F: Removes>(c: &mut Criterion, kind: &Kind<F>) {
    let mut group = c.benchmark_group(format!("{}/{}/known", W::REMOVE, kind.name));
    kind.cases::<W, u64>().iter().for_each(|case| known::<W, u64, F>(&mut group, case));
    kind.cases::<W, Str20>().iter().for_each(|case| known::<W, Str20, F>(&mut group, case));
    group.finish();
}

fn known<W: Way, K: BenchKey, F: Removes>(group: &mut BenchmarkGroup<'_, WallTime>, case: &Case<'_, F>) {
    let (mut filter, mut keys) = (None, Stream::<K>::new(0..case.keys));
    group.bench_function(case.id(), |b| {
        let filter = filter.get_or_insert_with(|| {
            let mut filter = case.full::<K>();
            check::removals::<W, F, K>(&mut filter, case.keys);
            filter
        });
        let refill = |filter: &mut F| {
            check::is_empty::<W, F, K>(filter, case.keys);
            filter.fill((0..case.keys).map(K::numbered));
        };
        b.iter_custom(|count| {
            let mut tally = Tally::default();
            let time = keys.timed(count, filter, refill, |filter, keys| tally.add(keys.len(), W::remove(filter, keys)));
            tally.is_all();
            time
        });
    });
}
