#!/usr/bin/env bash
# A short run of every fuzz target. Long runs are for people; this shows that each target builds, runs, and finds nothing at once.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${ABSENTIA_FUZZ_SECONDS:-60}
# The sanitizer and the coverage need a nightly compiler.
cargo +nightly --version >/dev/null 2>&1 || { echo "fuzz: no nightly toolchain is installed" >&2; exit 1; }
# The driver of the fuzzer is C++.
if ! command -v c++ >/dev/null; then
    apt-get update -qq && apt-get install -y -qq g++ >/dev/null
fi
cargo fuzz --version >/dev/null 2>&1 || cargo install cargo-fuzz --locked --quiet

unset RUSTFLAGS
target=${CARGO_TARGET_DIR:-$PWD/target}/fuzz
targets=$(cargo +nightly fuzz list)
[ -n "$targets" ] || { echo "fuzz: there is no target" >&2; exit 1; }
cargo +nightly fuzz build --target-dir "$target"

log=$(mktemp)
trap 'rm -f "$log"' EXIT
for name in $targets; do
    echo "fuzz: $name for $seconds s"
    if ! cargo +nightly fuzz run --target-dir "$target" "$name" -- "-max_total_time=$seconds" </dev/null >"$log" 2>&1; then
        tail -n 100 "$log" >&2
        echo "fuzz: $name failed" >&2
        exit 1
    fi
    runs=$(awk '/^Done [0-9]+ runs in / { print $2 }' "$log")
    [ "${runs:-0}" -gt 0 ] || { echo "fuzz: $name made no run" >&2; exit 1; }
    echo "fuzz: $name made $runs runs"
done
