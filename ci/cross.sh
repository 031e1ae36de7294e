#!/usr/bin/env bash
# The tests of the filters and of the gate pass on other processors: cross.sh [aarch64|s390x|i686 ...], all three without a name.
#
# aarch64 has a kernel of its own, s390x is big-endian, i686 has 32 bits. Not a part of .ci/run: it fetches a compiler and emulates, some 20 minutes and 3 GB of disk in all. It needs an
# x86-64 machine with cargo, a C compiler, apt and Debian's keyring (Debian 12 or later, or a relative), but no root, and it installs nothing: a
# compiler with the three standard libraries (from Debian 13), linkers and an emulator (from Debian 12) are unpacked into a folder of their own,
# ABSENTIA_CROSS_DIR, and stay there for the next time.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || set -- aarch64 s390x i686
folder=${ABSENTIA_CROSS_DIR:-${CARGO_TARGET_DIR:-$PWD/target}/cross-tools}
case $folder in /*) ;; *) folder=$PWD/$folder ;; esac
mirror=${ABSENTIA_CROSS_MIRROR:-http://deb.debian.org/debian}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

fail() { echo "cross: $*" >&2; exit 1; }
# Debian's name of an architecture.
debian() { case $1 in aarch64) echo arm64 ;; i686) echo i386 ;; s390x) echo s390x ;; *) fail "unknown processor $1" ;; esac; }
for cpu; do debian "$cpu" >/dev/null; done

# unpack SUITE INTO packages...: with an apt that knows this one suite, holds nothing for installed, and leaves the machine's own alone.
unpack() {
    local apt=$folder/apt-$1 into=$2
    mkdir -p "$apt"/{lists,archives}/partial "$apt/debs" "$into"
    : >"$apt/status"
    echo "deb [arch=amd64,arm64,s390x,i386 signed-by=$keyring] $mirror $1 main" >"$apt/sources.list"
    cat >"$apt/apt.conf" <<CONF
Dir::Etc::sourcelist "$apt/sources.list"; Dir::Etc::sourceparts "/dev/null"; Dir::Etc::preferencesparts "/dev/null";
Dir::State::lists "$apt/lists"; Dir::State::status "$apt/status"; Dir::Cache "$apt";
APT::Architecture "amd64"; APT::Architectures { "amd64"; "arm64"; "s390x"; "i386"; };
Acquire::Languages "none"; Acquire::Retries "3"; APT::Sandbox::User ""; APT::Update::Error-Mode "any";
CONF
    shift 2
    export APT_CONFIG=$apt/apt.conf
    apt-get update -qq || fail "Debian's lists cannot be had from $mirror (ABSENTIA_CROSS_MIRROR names another mirror)"
    # What they need, too, in this machine's architecture (names of others have a colon): apt knows the versions in these names. Of another architecture
    # only the package itself, and of the package rustc-web as well, since that asks for a C compiler. The linkers take the machine's libc.
    local all=("$@") name
    for name; do
        case $name in *:* | rustc-web) continue ;; esac
        mapfile -t -O "${#all[@]}" all < <(
            apt-cache depends --recurse --no-{recommends,suggests,conflicts,breaks,replaces,enhances} "$name" | grep -x '[a-z0-9.+-]*' || true
        )
    done
    [ "$into" = "$folder/compiler" ] || mapfile -t all < <(printf '%s\n' "${all[@]}" | grep -vx libc6)
    mapfile -t all < <(printf '%s\n' "${all[@]}" | sort -u)
    (cd "$apt/debs" && apt-get download -qq "${all[@]}") || fail "not all packages can be had from $mirror: ${all[*]}"
    unset APT_CONFIG
    for name in "$apt"/debs/*.deb; do dpkg-deb -x "$name" "$into"; done
    rm -rf "$apt"
}

compiler=$folder/compiler/usr linkers=$folder/linkers/usr
if [ ! -e "$folder/complete" ]; then
    [ "$(uname -m)" = x86_64 ] || fail "the compiler that is fetched runs on x86-64"
    for command in apt-get apt-cache dpkg-deb; do
        command -v "$command" >/dev/null || fail "$command is not installed: this job needs a Debian, or a relative of it"
    done
    [ -e "$keyring" ] || fail "$keyring is missing: install debian-archive-keyring"
    echo "cross: fetching a compiler, linkers and an emulator into $folder"
    rm -rf "$folder/compiler" "$folder/linkers"
    std=() gcc=()
    for cpu in aarch64 s390x i686; do
        arch=$(debian "$cpu")
        std+=("libstd-rust-web-dev:$arch")
        gcc+=("gcc-12-$cpu-linux-gnu" "libc6-dev-$arch-cross")
    done
    unpack trixie "$folder/compiler" rustc-web libstd-rust-web-dev "${std[@]}"
    unpack bookworm "$folder/linkers" qemu-user-static "${gcc[@]}"

    # The compiler runs on the libraries it was built with, the linkers on the machine's libc.
    printf '#!/bin/sh\nexec %q --library-path %q --argv0 %q %q --sysroot %q "$@"\n' \
        "$compiler/lib64/ld-linux-x86-64.so.2" "$compiler/lib/x86_64-linux-gnu" "$compiler/bin/rustc" "$compiler/bin/rustc" "$compiler" >"$folder/rustc"
    for cpu in aarch64 s390x i686; do
        for tool in gcc-12 ar; do
            printf '#!/bin/sh\nLD_LIBRARY_PATH=%q exec %q "$@"\n' "$linkers/lib/x86_64-linux-gnu" "$linkers/bin/$cpu-linux-gnu-$tool" >"$folder/$cpu-$tool"
        done
    done
    chmod +x "$folder"/{rustc,*-gcc-12,*-ar}
    touch "$folder/complete"
fi

unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS
export CARGO_TERM_COLOR=never CARGO_INCREMENTAL=0 RUSTC=$folder/rustc CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}/cross
for cpu; do
    lower=${cpu}_unknown_linux_gnu upper=${cpu^^}_UNKNOWN_LINUX_GNU
    emulator=$linkers/bin/qemu-$([ "$cpu" = i686 ] && echo i386 || echo "$cpu")-static
    export "CC_$lower=$folder/$cpu-gcc-12" "AR_$lower=$folder/$cpu-ar" "CARGO_TARGET_${upper}_LINKER=$folder/$cpu-gcc-12"
    # Static: the emulator would look for libraries in the machine's own folders. The C library's linker warns that some of it wants to be dynamic.
    export "CARGO_TARGET_${upper}_RUSTFLAGS=-C target-feature=+crt-static -A linker_messages" "CARGO_TARGET_${upper}_RUNNER=$emulator"
done
"$RUSTC" --version || fail "the compiler in $folder does not run: remove the folder, so that it is fetched again"

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# run LEAST flags...: as in test.sh.
run() {
    local least=$1 passed
    shift
    echo "cross: cargo test $*"
    cargo test "$@" 2>&1 | tee "$log"
    passed=$(ci/count-passed.sh <"$log")
    [ "$passed" -ge "$least" ] || fail "only $passed tests passed with '$*', at least $least were expected"
    echo "cross: $passed passed with '$*'"
}

for cpu; do
    target=(--target "$cpu-unknown-linux-gnu")
    filters=("${target[@]}" --no-default-features --features rayon)
    case $cpu in aarch64) kind=little-64 ;; s390x) kind=big-64 ;; i686) kind=little-32 ;; esac
    ci/target.sh "$kind" "${filters[@]}"
    # What little-64 leaves open: the kernel that only this processor has.
    cargo test "${filters[@]}" --lib -- --nocapture every_kernel_of_this_machine 2>&1 | tee "$log"
    kernels=portable
    [ "$cpu" != aarch64 ] || kernels="portable neon"
    grep -q "kernels tested: $kernels\$" "$log" || fail "the kernels of $cpu are '$kernels', and others were tested"

    run "${ABSENTIA_LEAST_TESTS_FILTERS:-50}" "${filters[@]}" --lib --test filters
    # Without the simulation: it is long under an emulator, and its coroutines do not know every processor.
    run "${ABSENTIA_LEAST_TESTS_GATE:-60}" "${target[@]}" --lib -- --skip sim::
    echo "cross: the tests passed on $cpu"
done
