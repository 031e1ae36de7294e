#!/usr/bin/env bash
# The code uses nothing of the standard library that is newer than the rust-version in Cargo.toml.
#
# What this is not: a build with that version. Only one toolchain is assumed to be here, so the job asks clippy, which knows since when each function
# is stable, and asks cargo what the dependencies declare. A new syntax, or a change inside a function, would go unseen.
set -euo pipefail
cd "$(dirname "$0")/.."

msrv=$(awk -F'"' '/^rust-version *=/ { print $2; exit }' Cargo.toml)
installed=$(rustc --version | awk '{ print $2 }' | sed 's/-.*//')
[ -n "$msrv" ] || { echo "msrv: Cargo.toml has no rust-version" >&2; exit 1; }
older() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }
older "$msrv" "$installed" || { echo "msrv: rust-version is $msrv, but $installed is installed" >&2; exit 1; }

# Duration::from_mins is stable since 1.91. When the rust-version gets there, put a newer function here.
newer_since=1.91 newer='pub fn minute() -> std::time::Duration { std::time::Duration::from_mins(1) }'
lint=(-A clippy::all -D clippy::incompatible_msrv)
if older "$newer_since" "$msrv"; then
    echo "msrv: the probe's function is as old as the rust-version, it proves nothing; take a newer one" >&2
    exit 1
fi
if older "$newer_since" "$installed"; then
    if ci/probe.sh msrv "$msrv" "$newer" "${lint[@]}" 2>/dev/null; then
        echo "msrv: a function of $newer_since was not noticed" >&2
        exit 1
    fi
    # It is the version that the lint minds, not the snippet.
    ci/probe.sh msrv "$newer_since" "$newer" "${lint[@]}"
fi

for features in --no-default-features --all-features; do
    cargo clippy --quiet --lib "$features" -- "${lint[@]}"
done

# Users build the dependencies too, all but those of tests.
cargo metadata --quiet --format-version 1 --all-features | python3 -c '
import json, sys

def version(text):
    return ([int(part) for part in text.split(".")] + [0, 0])[:3]

msrv, meta = sys.argv[1], json.load(sys.stdin)
packages = {package["id"]: package for package in meta["packages"]}
nodes = {node["id"]: node for node in meta["resolve"]["nodes"]}
seen, todo = set(), [meta["resolve"]["root"]]
while todo:
    at = todo.pop()
    if at not in seen:
        seen.add(at)
        todo += [d["pkg"] for d in nodes[at]["deps"] if any(kind["kind"] != "dev" for kind in d["dep_kinds"])]
newer = [packages[i] for i in seen if version(packages[i]["rust_version"] or "1.0") > version(msrv)]
for package in newer:
    print("msrv: {name} {version} needs {rust_version}".format(**package), file=sys.stderr)
sys.exit(1 if newer or len(seen) < 2 else 0)
' "$msrv"
echo "msrv: nothing newer than $msrv is used, as far as clippy $installed and the declarations of the dependencies tell"
