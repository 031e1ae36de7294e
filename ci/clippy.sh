#!/usr/bin/env bash
# Clippy and the compiler have no warning, for the combinations of features that people build: none, the default, all, and each one alone.
set -euo pipefail
cd "$(dirname "$0")/.."

# A warning does fail the job.
if ci/probe.sh clippy 1.89 'pub fn empty(x: &[u8]) -> bool { x.len() == 0 }' -D warnings 2>/dev/null; then
    echo "clippy: a snippet with a warning passed" >&2
    exit 1
fi

features=$(awk '/^\[/ { inside = ($0 == "[features]") } inside && /^[a-z0-9_-]+ *=/ { sub(/ *=.*/, ""); print }' Cargo.toml | grep -vx default)
[ -n "$features" ] || { echo "clippy: Cargo.toml names no features" >&2; exit 1; }

checked=0
check() {
    echo "clippy: ${*:-default features}"
    cargo clippy --quiet --all-targets "$@" -- -D warnings
    checked=$((checked + 1))
}
check --no-default-features
check
check --all-features
for feature in $features; do
    check --no-default-features --features "$feature"
done
echo "clippy: benches/peers"
cargo clippy --quiet --all-targets --manifest-path benches/peers/Cargo.toml -- -D warnings
checked=$((checked + 1))
# What the model checker compiles is other code in places. Its flag would rebuild everything in the shared folder, so it has a folder of its own.
echo "clippy: --all-features under cfg(absentia_loom)"
export RUSTFLAGS="--cfg absentia_loom" CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}/loom"
cargo clippy --quiet --lib --profile test --all-features -- -D warnings
checked=$((checked + 1))
echo "clippy: $checked combinations have no warning"
