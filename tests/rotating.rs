//! What a filter that forgets costs beside a ring of filters, one a window, that are asked one after another.

use absentia::bloom::Sizing;
use absentia::rotating::{LinesPerKey, plan};
use absentia::{Capacity, Fpr};

/// Bits for each key of each window: a rotating filter in one line a key and in two, and a ring of blocked filters of the rate p/G each.
#[test]
fn bits_for_each_key_of_each_window() {
    let n = Capacity::new(1_000_000);
    let mut table = String::new();
    for (windows, p) in [2, 4, 8, 15, 16].into_iter().flat_map(|windows| [1e-2, 1e-3, 1e-4].map(|p| (windows, p))) {
        let of = |lines| plan(windows, n, Fpr::new(p).unwrap(), lines).unwrap().bits_per_key(n);
        let (one, two) = (of(LinesPerKey::One), of(LinesPerKey::Two));
        let ring = Sizing::Guaranteed.plan(n, Fpr::new(p / f64::from(windows)).unwrap());
        let ring = ring.lines as f64 * 512.0 / 1e6;
        table += &format!("{windows:2} {p:.0e} | {one:6.1} {two:6.1} | {ring:5.1}\n");
    }
    assert_eq!(table, TABLE, "\n{table}");
}

const TABLE: &str = " \
2 1e-2 |   19.1   17.3 |  11.5
 2 1e-3 |   31.4   25.7 |  17.4
 2 1e-4 |   48.4   35.2 |  21.4
 4 1e-2 |   21.8   17.7 |  13.2
 4 1e-3 |   38.2   26.2 |  17.7
 4 1e-4 |   64.7   36.5 |  23.1
 8 1e-2 |   27.2   18.2 |  15.0
 8 1e-3 |   54.0   27.5 |  19.3
 8 1e-4 |  107.7   39.8 |  24.7
15 1e-2 |   45.1   21.3 |  16.6
15 1e-3 |  114.0   34.1 |  20.8
15 1e-4 |  313.6   53.4 |  26.3
16 1e-2 |   76.7   29.2 |  16.8
16 1e-3 |  235.1   49.3 |  20.9
16 1e-4 |  822.3   82.5 |  26.4
";
