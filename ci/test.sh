#!/usr/bin/env bash
# The tests pass with the default features, with all, with none, and with parallel builds alone, and so many of them really ran.
set -euo pipefail
cd "$(dirname "$0")/.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# run LEAST flags...: the least numbers are about half of what there is, so that a new module's tests are not needed to pass, but a lost file is seen.
run() {
    local least=$1 passed
    shift
    echo "test: cargo test $*"
    CARGO_TERM_COLOR=never cargo test "$@" 2>&1 | tee "$log"
    passed=$(ci/count-passed.sh <"$log")
    [ "$passed" -ge "$least" ] || { echo "test: only $passed tests passed with '$*', at least $least were expected" >&2; exit 1; }
    echo "test: $passed passed with '${*:-default features}'"
}
run "${ABSENTIA_LEAST_TESTS_NONE:-140}" --no-default-features
# The filters' parallel builds do without the gate.
run "${ABSENTIA_LEAST_TESTS_RAYON:-140}" --no-default-features --features rayon
run "${ABSENTIA_LEAST_TESTS:-290}"
run "${ABSENTIA_LEAST_TESTS_ALL:-300}" --all-features
