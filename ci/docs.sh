#!/usr/bin/env bash
# The documentation builds without a warning (broken links are warnings), with all features and with none, and its examples run.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-$PWD/target}
index=$target/doc/absentia/index.html
for features in --no-default-features --all-features; do
    echo "docs: $features"
    # Gone first, so that its being there afterwards proves that this run wrote it.
    rm -rf "$target/doc/absentia"
    RUSTDOCFLAGS="-D warnings" cargo doc --quiet --no-deps "$features"
    [ -s "$index" ] || { echo "docs: $index was not written" >&2; exit 1; }
done

least=${ABSENTIA_LEAST_DOC_TESTS:-5}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
CARGO_TERM_COLOR=never cargo test --doc --all-features 2>&1 | tee "$log"
passed=$(ci/count-passed.sh <"$log")
[ "$passed" -ge "$least" ] || { echo "docs: only $passed doc tests ran, at least $least were expected" >&2; exit 1; }
echo "docs: $passed doc tests passed"
