//! The tables for people.

use crate::block::{Block, MODES, Mode, OPS, Op, Row};
use crate::filter::{Compare, Sizing};
use crate::stats::median;

/// Above this a machine was not quiet. A guess.
const NOISY: f64 = 1.15;

/// One block as a table: each time with its ratio to ours at the same. Times are medians, and ratios medians of the ratios of rounds.
pub fn table(block: &Block) -> String {
    let mut text = format!("{:e} keys of type {}, p = {}; ns a key ×(ratio to ours)\n", block.keys as f64, block.key_type, block.p);
    let width = block.rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    text.push_str(&format!("{:width$}  {:8}", "filter", "equal"));
    for op in OPS {
        for mode in MODES {
            text.push_str(&format!("  {:>15}", heading(op, mode)));
        }
    }
    text.push_str("   bits/key  measured FPR [95 % interval]\n");
    for row in &block.rows {
        text.push_str(&format!("{:width$}  {:8}", row.name, equal(block, row)));
        for op in OPS {
            for mode in MODES {
                text.push_str(&format!("  {:>15}", cell(block, row, op, mode)));
            }
        }
        let fpr = row.fpr.map_or("-".to_string(), |rate| {
            let (low, high) = rate.interval();
            format!("{:.3e} [{low:.3e}, {high:.3e}]", rate.value())
        });
        text.push_str(&format!("   {:>8.2}  {fpr}\n", row.bits_per_key));
    }
    for build in &block.parallel {
        let (one, two) = (median(&build.one).unwrap_or(0.0), median(&build.two).unwrap_or(0.0));
        let times = build.speedup().unwrap_or(0.0);
        text.push_str(&format!("{}: {one:.2} ns a key on one thread, {two:.2} on two: {times:.2} times as fast\n", build.what));
    }
    text.push_str(&churn(block));
    text.push_str(&noise(block));
    if block.rows.iter().any(once) {
        text.push_str("* filled once, not in every round: a fill is slow\n");
    }
    text
}

/// The filters that were filled and emptied.
fn churn(block: &Block) -> String {
    let Some(first) = block.churn.first() else { return String::new() };
    let mut text = format!("filled to a load of 0.95 and emptied, {} keys; ns a key\n", first.keys);
    let width = block.churn.iter().map(|churn| churn.name.len()).max().unwrap_or(0);
    text.push_str(&format!(
        "{:width$}  {:>9}  {:>13}  {:>9}  {:>9}  {:>8}  {:>7}\n",
        "filter", "insert", "insert, batch", "remove", "bits/key", "load", "refused"
    ));
    for churn in &block.churn {
        let ns = |times| median(times).map_or("-".to_string(), |ns| format!("{ns:.2}"));
        let [fill, batch, remove] = [&churn.fill, &churn.fill_batch, &churn.remove].map(|times| ns(times));
        let load = churn.load.map_or("-".to_string(), |load| format!("{load:.4}"));
        let (name, bits, refused) = (&churn.name, churn.bits_per_key, churn.refused);
        text.push_str(&format!("{name:width$}  {fill:>9}  {batch:>13}  {remove:>9}  {bits:>9.2}  {load:>8}  {refused:>7}\n"));
    }
    text
}

/// How far the figures can be trusted.
fn noise(block: &Block) -> String {
    let noise = block.noise();
    let verdict = match (noise > NOISY, block.crowded()) {
        (true, _) => ": NOT A QUIET MACHINE, measure again",
        (false, true) => ": caches were shared, and builds on two threads tell nothing",
        (false, false) => "",
    };
    let waited = block.waited.map_or(String::new(), |waited| format!(", and {:.1} % of the time was spent waiting for a core", 100.0 * waited));
    format!("noise: medians are typically {noise:.2} times the fastest round{waited}{verdict}\n")
}

/// In which respect a row equals ours. "fpr~" is as near as the crate can come, "fpr OFF" a search that went wrong.
fn equal(block: &Block, row: &Row) -> &'static str {
    match (row.compare, row.sizing) {
        (Compare::Reference, _) => "",
        (Compare::Bits, _) => "bits",
        (Compare::Fpr, Sizing::Nearest) => "fpr~",
        (Compare::Fpr, _) if block.rate_is_off(row) => "fpr OFF",
        (Compare::Fpr, _) => "fpr",
    }
}

fn heading(op: Op, mode: Mode) -> &'static str {
    match (op, mode) {
        (Op::Absent, Mode::Single) => "absent",
        (Op::Absent, Mode::Batch) => "absent, batch",
        (Op::Present, Mode::Single) => "present",
        (Op::Present, Mode::Batch) => "present, batch",
        (Op::Insert, Mode::Single) => "insert",
        (Op::Insert, Mode::Batch) => "insert, batch",
    }
}

fn once(row: &Row) -> bool {
    row.fills == 1 && row.rounds > 1
}

fn cell(block: &Block, row: &Row, op: Op, mode: Mode) -> String {
    let Some(ns) = row.ns(op, mode) else { return "-".to_string() };
    let star = if op == Op::Insert && once(row) { "*" } else { "" };
    match block.ratio(row, op, mode) {
        Some(ratio) => format!("{ns:.2}{star} ×{ratio:.2}"),
        None => format!("{ns:.2}{star}"),
    }
}
