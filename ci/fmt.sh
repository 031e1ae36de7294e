#!/usr/bin/env bash
# Every Rust file is formatted as rustfmt.toml says, in this crate and in the crates beside it (fuzz, benches).
set -euo pipefail
cd "$(dirname "$0")/.."

# The check can fail, and it reads rustfmt.toml: at rustfmt's own width of 100 the second file would be broken. Files, since rustfmt is green about
# whatever it reads from its standard input.
probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT
echo 'fn  main( ){}' >"$probe/bad.rs"
if rustfmt --check --edition 2024 "$probe/bad.rs" >/dev/null 2>&1; then
    echo "fmt: rustfmt --check accepted an unformatted line" >&2
    exit 1
fi
echo 'pub const NUMBERS: [u64; 12] = [1000000000, 2000000000, 3000000000, 4000000000, 5000000000, 6, 7, 8, 9, 10, 11, 12];' >"$probe/wide.rs"
rustfmt --check --edition 2024 --config-path rustfmt.toml "$probe/wide.rs"
if rustfmt --check --edition 2024 "$probe/wide.rs" >/dev/null 2>&1; then
    echo "fmt: rustfmt.toml makes no difference" >&2
    exit 1
fi

cargo fmt --check
checked=1
for manifest in fuzz/Cargo.toml benches/*/Cargo.toml; do
    [ -f "$manifest" ] || continue
    cargo fmt --check --manifest-path "$manifest"
    checked=$((checked + 1))
done
echo "fmt: $checked crates are formatted"
