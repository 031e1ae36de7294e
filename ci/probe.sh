#!/usr/bin/env bash
# Runs clippy on a crate of one file: probe.sh NAME RUST_VERSION SOURCE [clippy flags...]. Its exit code is clippy's.
#
# A lint that is switched on by name but never fires looks just like clean code. The lint jobs show with this that theirs does fire.
set -euo pipefail
cd "$(dirname "$0")/.."

name=$1 rust_version=$2 source=$3
shift 3
target=${CARGO_TARGET_DIR:-$PWD/target}
folder=$target/probe/$name
mkdir -p "$folder/src"
# A workspace of its own, since the folder lies inside this repository.
cat >"$folder/Cargo.toml" <<TOML
[package]
name = "probe-$name"
version = "0.0.0"
edition = "2024"
rust-version = "$rust_version"

[workspace]
TOML
printf '%s\n' "$source" >"$folder/src/lib.rs"
cargo clippy --quiet --offline --manifest-path "$folder/Cargo.toml" --target-dir "$target/probe/target" -- "$@"
