//! The tables for people.

use crate::block::{Block, MODES, Mode, OPS, Op, Row};
use crate::filter::{Compare, Sizing};

/// Above these a machine was not quiet. Guesses.
const NOISY: f64 = 1.15;
const CROWDED: f64 = 0.02;

/// One block as a table: each time with its ratio to the best of ours at the same.
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
    text.push_str(&noise(block));
    if block.rows.iter().any(once) {
        text.push_str("* filled once, not in every round: a fill is slow\n");
    }
    text
}

/// How far the figures can be trusted.
fn noise(block: &Block) -> String {
    let (noise, waited) = (block.noise(), block.waited.unwrap_or(0.0));
    let verdict = if noise > NOISY || waited > CROWDED { ": NOT A QUIET MACHINE, measure again" } else { "" };
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
    match block.ours(op, mode) {
        Some(ours) => format!("{ns:.2}{star} ×{:.2}", ns / ours),
        None => format!("{ns:.2}{star}"),
    }
}
