#!/usr/bin/env bash
# The tests run on what this job is named after: target.sh [ENDIANNESS-WIDTH [flags of cargo test...]], for example
# `target.sh little-32 --target i686-unknown-linux-gnu`. Without a name it asks the compiler for the host's.
set -euo pipefail
cd "$(dirname "$0")/.."

host() { rustc --print cfg | awk -F'"' -v name="$1" '$1 == name "=" { print $2 }'; }
expected=${1:-$(host target_endian)-$(host target_pointer_width)}
[ $# -eq 0 ] || shift

log=$(mktemp)
trap 'rm -f "$log"' EXIT
ABSENTIA_EXPECT_TARGET=$expected CARGO_TERM_COLOR=never cargo test --test target "$@" 2>&1 | tee "$log"
[ "$(ci/count-passed.sh <"$log")" -eq 1 ] || { echo "target: the test did not run" >&2; exit 1; }

# The same binary goes red under another name, so the variable reached it.
if ABSENTIA_EXPECT_TARGET=middle-48 cargo test --quiet --test target "$@" >/dev/null 2>&1; then
    echo "target: the test passes under a wrong name too" >&2
    exit 1
fi
echo "target: the tests ran on $expected"
