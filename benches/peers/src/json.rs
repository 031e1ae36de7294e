//! The same for machines: a row for every filter, operation and mode.

use crate::bars::Bar;
use crate::block::{Block, MODES, Mode, OPS, Op, Row};
use crate::filter::{Compare, Sizing};
use crate::machine::Machine;
use crate::stats::median;
use serde_json::{Value, json};

/// Everything, as one object.
pub fn document(machine: &Machine, blocks: &[Block], bars: &[Bar]) -> Value {
    json!({
        "machine": {
            "cpu": machine.cpu, "threads": machine.threads, "caches": machine.caches, "huge_pages": machine.huge_pages,
            "date": machine.date, "command": machine.command, "debug_build": cfg!(debug_assertions),
        },
        "rows": blocks.iter().flat_map(|block| block.rows.iter().flat_map(|row| rows(block, row))).collect::<Vec<_>>(),
        "blocks": blocks.iter().map(|block| json!({
            "keys": block.keys, "p": block.p, "key_type": block.key_type, "noise": block.noise(), "waited": block.waited,
            "builds": block.parallel.iter().map(|build| json!({
                "what": build.what, "one_thread": median(&build.one), "two_threads": median(&build.two), "speedup": build.speedup(),
            })).collect::<Vec<_>>(),
            "churn": block.churn.iter().map(|churn| json!({
                "filter": churn.name, "keys": churn.keys, "bits_per_key": churn.bits_per_key, "load": churn.load, "refused": churn.refused,
                "insert": median(&churn.fill), "insert_batch": median(&churn.fill_batch), "remove": median(&churn.remove),
            })).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "bars": bars.iter().map(|bar| json!({
            "what": bar.what, "bound": bar.bound, "measured": bar.measured, "met": bar.met, "note": bar.note,
        })).collect::<Vec<_>>(),
    })
}

fn rows(block: &Block, row: &Row) -> Vec<Value> {
    let cells = OPS.iter().flat_map(|&op| MODES.iter().map(move |&mode| (op, mode)));
    cells.filter_map(|(op, mode)| Some(cell(block, row, op, mode, row.ns(op, mode)?))).collect()
}

fn cell(block: &Block, row: &Row, op: Op, mode: Mode, ns: f64) -> Value {
    let range = row.ns_range(op, mode);
    let interval = row.fpr.map(|rate| rate.interval());
    json!({
        "filter": row.name,
        "keys": block.keys,
        "p": block.p,
        "key_type": block.key_type,
        "op": match op { Op::Absent => "absent", Op::Present => "present", Op::Insert => "insert" },
        "mode": match mode { Mode::Single => "single", Mode::Batch => "batch" },
        "ns": ns,
        "ns_range": range.map(|(least, most)| [least, most]),
        "ratio": block.ratio(row, op, mode),
        "bits_per_key": row.bits_per_key,
        "fpr": row.fpr.map(|rate| rate.value()),
        "fpr_interval": interval.map(|(low, high)| [low, high]),
        "fpr_queries": row.fpr.map(|rate| rate.trials),
        "compare": match row.compare { Compare::Reference => "reference", Compare::Bits => "bits", Compare::Fpr => "fpr" },
        "sizing": match row.sizing {
            Sizing::OwnRule => "own rule",
            Sizing::Adjusted => "adjusted",
            Sizing::Nearest => "nearest",
            Sizing::Given => "given",
        },
        "fpr_off": block.rate_is_off(row),
        "rounds": if op == Op::Insert { row.fills } else { row.rounds },
    })
}
