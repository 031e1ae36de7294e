#!/usr/bin/env bash
# Every bench runs once, its answers are right, and the false-positive rates are within their bounds; and benches/peers measures something. No times
# are looked at: a shared machine has none.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v python3 >/dev/null || { apt-get update -qq && apt-get install -y -qq python3 >/dev/null; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT

names=$(awk -F'"' '/^\[/ { inside = ($0 == "[[bench]]") } inside && /^name *=/ { print $2 }' Cargo.toml)
[ -n "$names" ] || { echo "bench: Cargo.toml names no benches" >&2; exit 1; }
CARGO_TERM_COLOR=never cargo bench --all-features -- --test 2>&1 | tee "$log" | { grep -v -e '^Testing ' -e '^Success' -e '^$' || true; }

# A target that cargo does not take for a bench, or whose features are off, is green too; and so is one with an argument that no id matches.
targets=0
for name in $names; do
    ran=$(awk -v target="benches/$name.rs" '/^ *Running / { inside = ($2 == target) } inside && /^Testing / { n++ } END { print n + 0 }' "$log")
    [ "$ran" -gt 0 ] || { echo "bench: $name did not run" >&2; exit 1; }
    echo "bench: $name ran $ran benches"
    targets=$((targets + 1))
done
# About half of what a machine without vector kernels has.
least=${ABSENTIA_LEAST_BENCHES:-180}
begun=$(grep -c '^Testing ' "$log" || true) passed=$(grep -cx 'Success' "$log" || true)
[ "$begun" -eq "$passed" ] || { echo "bench: $begun benches began, $passed ended well" >&2; exit 1; }
[ "$passed" -ge "$least" ] || { echo "bench: only $passed benches ran, at least $least were expected" >&2; exit 1; }
# The table of rates is printed after its assertions.
kinds="blocked two_lines atomic blocked-classical classic counting counting-two cuckoo atomic_cuckoo roomy_cuckoo rotating atomic_rotating"
for kind in $kinds; do
    # Fingerprints of 8 bits and then of 16: below 1e-2 false positives of that kind are too rare to be looked for here.
    rates="3e-1 1e-1 1e-2"
    [ "$kind" = roomy_cuckoo ] || rates="$rates 1e-3 1e-4"
    for p in $rates; do
        grep -q "^$kind  *$p " "$log" || { echo "bench: no false-positive rate of $kind at $p" >&2; exit 1; }
    done
done

peers=benches/peers/Cargo.toml
CARGO_TERM_COLOR=never cargo test --manifest-path "$peers" 2>&1 | tee "$log"
tests=$(ci/count-passed.sh <"$log")
[ "$tests" -ge "${ABSENTIA_LEAST_PEERS_TESTS:-20}" ] || { echo "bench: only $tests tests of benches/peers passed" >&2; exit 1; }
cargo run --quiet --release --manifest-path "$peers" -- --keys 2e4 --fpr 0.01 --rounds 1 --queries 2e4 --json >"$log" </dev/null
python3 - "$log" <<'PYTHON'
import json, sys

with open(sys.argv[1], encoding="utf-8") as f:
    found = json.load(f)

def claim(holds, text):
    if not holds:
        sys.exit("bench: peers: not so: " + text)
    print("bench: peers: " + text)

machine, rows = found["machine"], found["rows"]
claim(all(machine.get(field) for field in ("cpu", "threads", "date", "command")), "the machine is described")
claim(not machine["debug_build"], "it was an optimised build")
fields = ("filter", "keys", "p", "key_type", "op", "mode", "ns", "ratio", "bits_per_key", "fpr", "fpr_interval", "fpr_queries", "compare", "sizing")
claim(rows and all(field in row for row in rows for field in fields), "{} rows have all fields".format(len(rows)))
claim(all(row["keys"] == 20000 and row["p"] == 0.01 and row["ns"] > 0 for row in rows), "every row is of the run that was asked for")
claim({row["op"] for row in rows} == {"absent", "present", "insert"}, "questions and inserts were measured")
claim({row["mode"] for row in rows} == {"single", "batch"}, "one by one and in batches")
filters = {row["filter"] for row in rows}
ours = {name for name in filters if name.startswith("absentia")}
claim(len(ours) >= 12, "{} filters are ours".format(len(ours)))
for kind in ("blocked", "atomic", "classic", "cuckoo", "atomic cuckoo", "counting", "rotating"):
    claim(any(name.startswith("absentia " + kind) for name in ours), "one of ours is " + kind)
claim(len(filters - ours) >= 5, "{} are peers or floors".format(len(filters - ours)))
churn = [row for block in found["blocks"] for row in block["churn"]]
claim(len(churn) >= 8 and all(row["insert"] > 0 and row["remove"] > 0 for row in churn), "{} filters were filled and emptied".format(len(churn)))
full = [row for row in churn if row["filter"].startswith(("absentia cuckoo,", "cuckoofilter"))]
claim(len(full) >= 4 and all(abs(row["load"] - 0.95) < 0.01 for row in full), "{} of them to a load of 0.95".format(len(full)))
claim(len(found["blocks"]) == 1 and found["bars"], "{} bars of the design notes were looked at".format(len(found["bars"])))
PYTHON
echo "bench: $passed benches in $targets targets, $tests tests of benches/peers"
