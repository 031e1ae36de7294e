#!/usr/bin/env bash
# Adds up the passed tests in what `cargo test` printed (standard input) and prints the sum.
#
# A test run that ran nothing is green to cargo. Each job that runs tests counts them with this and holds the sum against a least number.
set -euo pipefail

awk '/^test result: / { for (i = 2; i <= NF; i++) if ($i == "passed;") sum += $(i - 1) } END { print sum + 0 }'
