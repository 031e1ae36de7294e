#!/usr/bin/env bash
# The loom models: every order of steps that the memory model allows, up to a number of preemptions.
set -euo pipefail
cd "$(dirname "$0")/.."

# Three preemptions are what the authors of the checker recommend as enough to find most bugs; each one more multiplies the time.
export LOOM_MAX_PREEMPTIONS=${LOOM_MAX_PREEMPTIONS:-3}
# Flags of their own would rebuild everything in the shared folder. The cfg must come from here and nowhere else.
export RUSTFLAGS="--cfg absentia_loom"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}/loom"

log=$(mktemp)
trap 'rm -f "$log"' EXIT
CARGO_TERM_COLOR=never cargo test --release --lib --all-features loom_ 2>&1 | tee "$log"
passed=$(ci/count-passed.sh <"$log")
# The models exist only under the cfg, so none of them means that it did not arrive.
[ "$passed" -gt 0 ] || { echo "loom: no model ran" >&2; exit 1; }
echo "loom: $passed models hold with up to $LOOM_MAX_PREEMPTIONS preemptions"
