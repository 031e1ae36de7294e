//! The bars that absentia has set itself, held against what was measured: (1) one question, (2) batches, (3) inserts and builds, (4) the rate,
//! (5) cuckoo filters, (6) windows, (7) counters.
//!
//! A ratio against a peer is the *hardest* one: of the rows at equal bits and at equal rate, and of absent and present keys where the bar does not
//! say which, the one in which ours does worst; of floors the fastest. Each is the middle one of the ratios of the rounds ([`Row::times`]). "Ours" is
//! the filter that absentia plans by itself for the rate, with the best kernel. fastbloom is judged with the hash that ours has; with its own it is
//! slower, and said beside.

use crate::block::{Block, Mode, Op, Parallel, Row, times};
use crate::filter::{Compare, Family};
use crate::size::MANY_KEYS;
use absentia::Capacity;
use absentia::cuckoo::sizing::{MAX_WIDTH, MIN_WIDTH, plan_width};

/// With so many keys a filter is in the second-level cache of most machines: at 10 bits a key 50 to 500 KB.
const L2_KEYS: std::ops::RangeInclusive<u64> = 40_000..=400_000;

/// A bar and how it was met.
#[derive(Clone, Debug)]
pub struct Bar {
    pub what: String,
    /// "≥ 3.5" or "≤ 1.3".
    pub bound: String,
    /// `None` where nothing was measured that could tell.
    pub measured: Option<f64>,
    pub met: Option<bool>,
    pub note: String,
}

enum Bound {
    AtLeast(f64),
    AtMost(f64),
}
use Bound::{AtLeast, AtMost};

fn bar(what: String, bound: Bound, measured: Option<f64>, note: String) -> Bar {
    let (bound, met) = match bound {
        AtLeast(least) => (format!("≥ {least}"), measured.map(|ratio| ratio >= least)),
        AtMost(most) => (format!("≤ {most}"), measured.map(|ratio| ratio <= most)),
    };
    Bar { what, bound, measured, met, note }
}

const LOOKUPS: [Op; 2] = [Op::Absent, Op::Present];

/// All bars of all blocks; a bar of a size that was not run has nothing measured.
pub fn bars(blocks: &[Block]) -> Vec<Bar> {
    blocks.iter().flat_map(of_block).chain(bits_of_fingerprints()).collect()
}

fn of_block(block: &Block) -> Vec<Bar> {
    let mut bars = Vec::new();
    if L2_KEYS.contains(&block.keys) {
        bars.extend(in_cache(block));
    }
    if block.keys >= MANY_KEYS {
        bars.extend(in_memory(block));
    }
    if block.keys >= *L2_KEYS.start() {
        bars.extend(forgetting(block));
    }
    bars.extend(block.rows.iter().filter(|row| matches!(row.family, Family::Blocked { .. })).map(|row| promise(block, row)));
    bars
}

fn in_cache(block: &Block) -> Vec<Bar> {
    let at = place(block, "L2");
    let own_hash = |op| own_hash_note(block, op, Mode::Single);
    let fastbloom = |op| times_ours(block, Family::Fastbloom, op, Mode::Single);
    let sbbf = |mode| ours_times(block, |row| row.family == Family::Sbbf && row.compare == Compare::Bits, Mode::Single, mode);
    let same_hash = |mode| {
        let ratio = ours_times(block, |row| row.family == Family::SbbfOurHash && row.compare == Compare::Bits, Mode::Single, mode);
        ratio.map_or_else(String::new, |ratio| format!("{ratio:.2} where both are given the 128-bit hash"))
    };
    vec![
        bar(format!("1 contains, fastbloom absent / ours{at}"), AtLeast(3.5), fastbloom(Op::Absent), own_hash(Op::Absent)),
        bar(format!("1 contains, fastbloom present / ours{at}"), AtLeast(2.0), fastbloom(Op::Present), own_hash(Op::Present)),
        bar(format!("1 contains, ours / sbbf at equal bits{at}"), AtMost(1.3), sbbf(Mode::Single), same_hash(Mode::Single)),
        bar(format!("1 contains_batch, ours / sbbf at equal bits{at}"), AtMost(1.1), sbbf(Mode::Batch), same_hash(Mode::Batch)),
    ]
}

fn in_memory(block: &Block) -> Vec<Bar> {
    let at = place(block, "DRAM");
    let worst = |family| {
        let ratios = LOOKUPS.iter().filter_map(|&op| times_ours(block, family, op, Mode::Batch));
        ratios.min_by(f64::total_cmp)
    };
    let is_sbbf = |row: &Row| row.family == Family::Sbbf && row.compare == Compare::Bits;
    let insert = times_ours(block, Family::Fastbloom, Op::Insert, Mode::Batch);
    let mut bars = vec![bar(
        format!("1 contains, ours / sbbf at equal bits{at}"),
        AtMost(1.0),
        ours_times(block, is_sbbf, Mode::Single, Mode::Single),
        String::new(),
    )];
    // Each of ours is held against the floor of as many lines.
    for lines in [1, 2] {
        let has = |family| block.rows.iter().any(|row| row.family == family);
        if block.p >= 1e-3 && has(Family::Blocked { lines }) {
            let ratio = against_floor(block, lines);
            bars.push(bar(format!("2 contains_batch, ours / grouped floor, lines: {lines}{at}"), AtMost(1.2), ratio, String::new()));
        }
    }
    bars.push(bar(
        format!("2 contains_batch, fastbloom / ours{at}"),
        AtLeast(4.0),
        worst(Family::Fastbloom),
        own_hash_note(block, Op::Absent, Mode::Batch),
    ));
    bars.push(bar(format!("2 contains_batch, sbbf / ours{at}"), AtLeast(2.0), worst(Family::Sbbf), String::new()));
    bars.push(bar(format!("3 insert_batch, fastbloom / ours{at}"), AtLeast(3.0), insert, own_hash_note(block, Op::Insert, Mode::Batch)));
    let note = match (block.parallel.is_empty(), block.crowded()) {
        (true, _) => "there is no second core",
        (_, true) => "others were at work on the cores",
        _ => "",
    };
    let build = |which: usize| block.parallel.get(which).filter(|_| !block.crowded()).and_then(Parallel::speedup);
    bars.push(bar(format!("3 build_from / build_par on two cores{at}"), AtLeast(1.6), build(0), note.to_string()));
    bars.push(bar(format!("3 extend / par_extend on two cores{at}"), AtLeast(1.6), build(1), note.to_string()));
    bars
}

/// The rows of the filters that forget. `cuckoofilter` is judged twice: with its own hash, as its users have it, and where both have XXH3, which is
/// harder.
fn forgetting(block: &Block) -> Vec<Bar> {
    let cached = L2_KEYS.contains(&block.keys);
    let at = place(block, if cached { "L2" } else { "beyond" });
    let row = |family| block.rows.iter().find(|row| row.family == family);
    // The hardest of absent and present.
    let over = |theirs: Family, ours: Family, mode: Mode| {
        let (theirs, ours) = (row(theirs)?, row(ours)?);
        LOOKUPS.iter().filter_map(|&op| theirs.times(Mode::Single, ours, op, mode)).min_by(f64::total_cmp)
    };
    let under = |ours: Family, theirs: Family, mode: Mode| {
        let (ours, theirs) = (row(ours)?, row(theirs)?);
        LOOKUPS.iter().filter_map(|&op| ours.times(mode, theirs, op, mode)).max_by(f64::total_cmp)
    };
    let of_rate = if row(Family::Cuckoo).is_some() { Family::Cuckoo } else { Family::CuckooEight };
    let churn = |family| block.churn.iter().find(|churn| churn.family == family);
    let mut bars = Vec::new();
    for (peer, hash) in [(Family::CuckooPeerOwnHash, "its own hash"), (Family::CuckooPeer, "both XXH3")] {
        let both = |theirs: Option<f64>, ours: Option<f64>| {
            theirs.zip(ours).map_or_else(String::new, |(theirs, ours)| format!("{theirs:.1} and {ours:.1} ns"))
        };
        for (mode, what, least) in [(Mode::Single, "contains", if cached { 2.5 } else { 4.0 }), (Mode::Batch, "contains_batch", 4.0)] {
            let note =
                LOOKUPS.map(|op| both(row(peer).and_then(|row| row.ns(op, Mode::Single)), row(Family::CuckooEight).and_then(|row| row.ns(op, mode))));
            let note = if note[0].is_empty() { String::new() } else { format!("absent {}, present {}", note[0], note[1]) };
            bars.push(bar(
                format!("5 {what}, cuckoofilter with {hash} / cuckoo of 8 bits{at}"),
                AtLeast(least),
                over(peer, Family::CuckooEight, mode),
                note,
            ));
        }
        let (theirs, ours) = (churn(peer), churn(Family::CuckooEight));
        let ratio = |of: fn(&crate::block::Churn) -> &[f64]| {
            let (theirs, ours) = (of(theirs?), of(ours?));
            times(theirs, ours).map(|ratio| (ratio, both(crate::stats::median(theirs), crate::stats::median(ours))))
        };
        for (what, least, of) in [("insert to a load of 0.95", 3.0, ratio(|churn| &churn.fill)), ("remove", 2.0, ratio(|churn| &churn.remove))] {
            let (measured, note) = of.map_or((None, String::new()), |(ratio, note)| (Some(ratio), note));
            bars.push(bar(format!("5 {what}, cuckoofilter with {hash} / cuckoo of 8 bits{at}"), AtLeast(least), measured, note));
        }
    }
    let qfilter = over(Family::Quotient, of_rate, Mode::Single);
    bars.push(bar(format!("5 contains, qfilter / cuckoo{at}"), AtLeast(2.0), qfilter, String::new()));
    if !cached {
        let floors = block.rows.iter().filter(|row| row.family == Family::Floor { lines: 1 });
        let ratios = floors
            .filter_map(|floor| LOOKUPS.iter().filter_map(|&op| row(of_rate)?.times(Mode::Batch, floor, op, Mode::Batch)).max_by(f64::total_cmp));
        bars.push(bar(format!("5 contains_batch, cuckoo / grouped floor{at}"), AtMost(2.4), ratios.max_by(f64::total_cmp), String::new()));
    }
    for lines in [1, 2] {
        let ratio = under(Family::Rotating { lines }, Family::AsLargeAsRotating { lines }, Mode::Single);
        bars.push(bar(format!("6 contains, rotating of 8 windows / blocked of its memory, lines: {lines}{at}"), AtMost(1.5), ratio, String::new()));
    }
    let counting = under(Family::Counting, Family::Blocked { lines: 1 }, Mode::Single);
    bars.push(bar(format!("7 contains, counting / blocked{at}"), AtMost(2.0), counting, "of four times the memory".to_string()));
    bars
}

/// Bits a key over the bits of a fingerprint: the greatest of all widths, and not measured but planned. Powers of two, and one more than one.
fn bits_of_fingerprints() -> impl Iterator<Item = Bar> {
    [1 << 16, 10_000_000, 10_000_001, (1 << 23) + 1].into_iter().map(|keys: u64| {
        let bits = |width| 8.0 * plan_width(Capacity::new(keys), width).memory_bytes() as f64 / keys as f64 / f64::from(width);
        let most = (MIN_WIDTH..=MAX_WIDTH).map(bits).max_by(f64::total_cmp);
        bar(format!("5 bits a key over bits of a fingerprint, {keys} keys"), AtMost(1.06), most, "the greatest of all widths".to_string())
    })
}

/// The least ratio of a peer's single call to ours, over its rows.
fn times_ours(block: &Block, family: Family, op: Op, mode: Mode) -> Option<f64> {
    let ours = block.ours()?;
    let rows = block.rows.iter().filter(|row| row.family == family);
    rows.filter_map(|row| row.times(Mode::Single, ours, op, mode)).min_by(f64::total_cmp)
}

/// The greatest ratio of ours to the peers that `wanted` accepts, over both kinds of lookup.
fn ours_times(block: &Block, wanted: impl Fn(&Row) -> bool, theirs: Mode, mode: Mode) -> Option<f64> {
    let ours = block.ours()?;
    let rows = block.rows.iter().filter(|row| wanted(row));
    let ratios = rows.flat_map(|row| LOOKUPS.iter().filter_map(move |&op| ours.times(mode, row, op, theirs)));
    ratios.max_by(f64::total_cmp)
}

/// Ours of so many lines against the floors of as many, both in batches; the fastest floor counts.
fn against_floor(block: &Block, lines: u8) -> Option<f64> {
    let ours = block.rows.iter().find(|row| row.family == Family::Blocked { lines })?;
    let floors = block.rows.iter().filter(|row| row.family == Family::Floor { lines });
    let ratios = floors.flat_map(|floor| LOOKUPS.iter().filter_map(|&op| ours.times(Mode::Batch, floor, op, Mode::Batch)));
    ratios.max_by(f64::total_cmp)
}

fn own_hash_note(block: &Block, op: Op, mode: Mode) -> String {
    let ratio = times_ours(block, Family::FastbloomOwnHash, op, mode);
    ratio.map_or(String::new(), |ratio| format!("{ratio:.2} with its own hash"))
}

/// Row 4: the rate is not rejected at 0.1 %, at the bits that this layout needs and 1 %.
fn promise(block: &Block, row: &Row) -> Bar {
    let rate = row.fpr.unwrap_or_default();
    let expected = rate.trials as f64 * block.p;
    let excess = rate.excess(block.p);
    let bits = row.bits_per_key / crate::size::classical_bits_per_key(block.p);
    // Above the textbook: one line, and two from 3e-4 down. From the research before the first line of code, a little low.
    let table = [(1e-2, 1.032), (1e-3, 1.077), (1e-4, 1.032), (1e-5, 1.051), (1e-6, 1.077)];
    // Two lines where one is planned save bits, and one where two are planned takes more: that row has no place in the table.
    let planned = row.family == (Family::Blocked { lines: block.lines });
    let most = table.iter().filter(|_| planned).find(|(p, _)| (p / block.p - 1.0).abs() < 1e-9).map(|(_, most)| most + 0.01);
    let fits = most.is_none_or(|most| bits <= most);
    let measured = (expected >= 1000.0).then_some(excess);
    let limit = most.map_or("not in the table".to_string(), |most| format!("{}, at most {most:.3}", if fits { "met" } else { "MISSED" }));
    let too_few = if measured.is_none() { format!("; only {expected:.0} false positives expected") } else { String::new() };
    let note = format!("in standard deviations; bits {bits:.3} of the textbook's ({limit}){too_few}");
    let mut bar = bar(format!("4 measured rate over p, {}{}", row.name, place(block, "")), AtMost(3.09), measured, note);
    bar.met = bar.met.map(|met| met && fits);
    bar
}

fn place(block: &Block, size: &str) -> String {
    let size = if size.is_empty() { String::new() } else { format!("{size}, ") };
    format!(" ({size}{:e} {} keys, p = {})", block.keys as f64, block.key_type, block.p)
}

/// For people.
pub fn summary(bars: &[Bar]) -> String {
    let mut text = "The bars; each ratio is the hardest of its rows, and the middle one of its rounds\n".to_string();
    for bar in bars {
        let verdict = match bar.met {
            Some(true) => "met",
            Some(false) => "MISSED",
            None => "not measured",
        };
        let measured = bar.measured.map_or("-".to_string(), |ratio| format!("{ratio:.2}"));
        let note = if bar.note.is_empty() { String::new() } else { format!("  ({})", bar.note) };
        text.push_str(&format!("  {verdict:12} {measured:>7}  {:6}  {}{note}\n", bar.bound, bar.what));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Churn;
    use crate::stats::Rate;

    /// Ours takes 4 ns, in batches 2; fastbloom with our hash 12 and 16, with its own 20; sbbf 3.
    fn block(keys: u64, rate: Rate) -> Block {
        let rows = vec![
            Row::invented("ours, plain", Family::OtherOfOurs, Compare::Reference, 1.0, rate),
            Row::invented("ours", Family::Blocked { lines: 1 }, Compare::Reference, 4.0, rate),
            Row::invented("ours, two lines", Family::Blocked { lines: 2 }, Compare::Reference, 6.0, rate),
            Row::invented("floor", Family::Floor { lines: 1 }, Compare::Reference, 3.6, rate),
            Row::invented("floor, huge pages", Family::Floor { lines: 1 }, Compare::Reference, 3.2, rate),
            Row::invented("floor", Family::Floor { lines: 2 }, Compare::Reference, 6.0, rate),
            Row::invented("fastbloom", Family::Fastbloom, Compare::Bits, 12.0, rate),
            Row::invented("fastbloom", Family::Fastbloom, Compare::Fpr, 16.0, rate),
            Row::invented("fastbloom", Family::FastbloomOwnHash, Compare::Fpr, 20.0, rate),
            Row::invented("sbbf", Family::Sbbf, Compare::Bits, 3.0, rate),
        ];
        let parallel = vec![Parallel { what: "build", one: vec![2.0, 6.0, 3.0], two: vec![1.0, 2.0, 2.0] }];
        Block { keys, p: 0.01, key_type: "u64", rows, lines: 1, parallel, churn: Vec::new(), waited: None }
    }

    fn found(bars: &[Bar], part: &str) -> (Option<f64>, Option<bool>) {
        let bar = bars.iter().find(|bar| bar.what.contains(part)).expect(part);
        (bar.measured.map(|ratio| (ratio * 1000.0).round() / 1000.0), bar.met)
    }

    #[test]
    fn ratios_are_the_hardest_and_ours_the_planned_one() {
        let bars = bars(&[block(100_000, Rate { hits: 9_900, trials: 1_000_000 })]);
        assert_eq!(found(&bars, "fastbloom absent"), (Some(3.0), Some(false)));
        assert_eq!(found(&bars, "fastbloom present"), (Some(3.0), Some(true)));
        assert_eq!(found(&bars, "1 contains, ours / sbbf"), (Some(1.333), Some(false)));
        assert_eq!(found(&bars, "1 contains_batch, ours / sbbf"), (Some(0.667), Some(true)));
        assert!(bars[0].note.contains("5.00 with its own hash"), "{}", bars[0].note);
    }

    #[test]
    fn bars_of_large_filters_are_of_batches() {
        let bars = bars(&[block(100_000_000, Rate { hits: 9_900, trials: 1_000_000 })]);
        assert_eq!(found(&bars, "grouped floor, lines: 1"), (Some(1.25), Some(false)));
        assert_eq!(found(&bars, "grouped floor, lines: 2"), (Some(1.0), Some(true)));
        assert_eq!(found(&bars, "contains_batch, fastbloom"), (Some(6.0), Some(true)));
        assert_eq!(found(&bars, "contains_batch, sbbf"), (Some(1.5), Some(false)));
        assert_eq!(found(&bars, "insert_batch"), (Some(6.0), Some(true)));
        assert_eq!(found(&bars, "build_par"), (Some(2.0), Some(true)));
        assert_eq!(found(&bars, "par_extend"), (None, None));
    }

    #[test]
    fn cuckoo_filters_are_judged_by_the_hardest_and_by_either_hash() {
        let mut block = block(100_000, Rate::default());
        let (reference, nearest) = (Compare::Reference, Compare::Fpr);
        block.rows.push(Row::invented("ours", Family::CuckooEight, reference, 8.0, Rate::default()));
        block.rows.push(Row::invented("theirs", Family::CuckooPeer, nearest, 16.0, Rate::default()));
        block.rows.push(Row::invented("theirs, own", Family::CuckooPeerOwnHash, nearest, 24.0, Rate::default()));
        block.rows.push(Row::invented("qfilter", Family::Quotient, nearest, 20.0, Rate::default()));
        // Twice as slow when absent keys are asked for.
        block.rows.iter_mut().find(|row| row.name == "theirs, own").unwrap().times[Op::Absent as usize][0] = vec![48.0];
        block.churn = [(Family::CuckooEight, 20.0), (Family::CuckooPeer, 50.0), (Family::CuckooPeerOwnHash, 80.0)]
            .map(|(family, ns)| Churn { fill: vec![ns, 2.0 * ns], remove: vec![ns / 2.0], ..Churn::new("", family, 1) })
            .into();
        let bars = bars(&[block]);
        assert_eq!(found(&bars, "5 contains, cuckoofilter with its own"), (Some(3.0), Some(true)));
        assert_eq!(found(&bars, "5 contains, cuckoofilter with both"), (Some(2.0), Some(false)));
        assert_eq!(found(&bars, "5 contains_batch, cuckoofilter with both"), (Some(4.0), Some(true)));
        assert_eq!(found(&bars, "5 insert to a load of 0.95, cuckoofilter with its own"), (Some(4.0), Some(true)));
        assert_eq!(found(&bars, "5 insert to a load of 0.95, cuckoofilter with both"), (Some(2.5), Some(false)));
        assert_eq!(found(&bars, "5 remove, cuckoofilter with both"), (Some(2.5), Some(true)));
        // There is no row for the rate, which is then one of 8 bits.
        assert_eq!(found(&bars, "5 contains, qfilter"), (Some(2.5), Some(true)));
        assert_eq!(found(&bars, "10000001 keys").1, Some(true));
    }

    #[test]
    fn a_rate_is_judged_where_it_can_be() {
        let met = |hits, trials| found(&bars(&[block(1_000_000, Rate { hits, trials })]), "measured rate").1;
        assert_eq!(met(10_300, 1_000_000), Some(true));
        assert_eq!(met(10_400, 1_000_000), Some(false));
        assert_eq!(met(500, 50_000), None);
    }
}
