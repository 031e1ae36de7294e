#!/usr/bin/env bash
# The commands of README.md's section "Two commands" work as they stand there, and the example's figures keep its promise.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v python3 >/dev/null || { apt-get update -qq && apt-get install -y -qq python3 >/dev/null; }

# The lines of the first ```sh or ```console block after the heading; in a console block, those after a prompt.
commands=$(awk '
    /^#+ +Two commands/ { section = 1; next }
    section && /^#+ / && !block { exit }
    section && /^```(sh|console)[ \t]*$/ && !block { block = 1; console = /console/; next }
    block && /^```/ { exit }
    block && console { if (sub(/^\$ /, "")) print; next }
    block && NF && !/^#/ { print }
' README.md)
[ "$(grep -c '^cargo ' <<<"$commands")" -ge 2 ] || { printf 'readme: two commands were expected, found:\n%s\n' "$commands" >&2; exit 1; }

while IFS= read -r command; do
    printf 'readme: $ %s\n' "$command"
    bash -euo pipefail -c "$command" </dev/null
done <<<"$commands"

figures=$(mktemp)
trap 'rm -f "$figures"' EXIT
cargo run --quiet --release --example gatekeeper -- --json >"$figures" </dev/null
python3 - "$figures" <<'PYTHON'
import json, sys

with open(sys.argv[1], encoding="utf-8") as f:
    found = json.load(f)
runs = {run["mode"]: run for run in found["runs"]}

def claim(holds, text):
    if not holds:
        sys.exit("readme: not so: " + text + "\n" + json.dumps(found, indent=2))
    print("readme: " + text)

claim(len(found["runs"]) == 4 and set(runs) == {"cache_aside", "naive_setnx", "negative_cache", "gate"}, "four modes ran")
for mode, run in runs.items():
    claim(run["requests"] > 0, "{} answered {} requests".format(mode, run["requests"]))
    claim(0 < run["elapsed_s"] < 30, "{} took {:.1f} s, below 30".format(mode, run["elapsed_s"]))
for mode in ("negative_cache", "gate"):
    claim(runs[mode]["wrong_absent"] == 0, mode + " said no wrong no")
claim(runs["naive_setnx"]["wrong_absent"] > 0, "naive_setnx said {} wrong noes".format(runs["naive_setnx"]["wrong_absent"]))
gate, plain = runs["gate"]["source_not_found"], runs["cache_aside"]["source_not_found"]
claim(plain > 0 and gate <= 0.02 * plain, "the gate lets {} of {} fruitless reads through, at most 2 %".format(gate, plain))
PYTHON
