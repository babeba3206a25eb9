#!/bin/bash
# Runs a fuzzer from the seeds that it makes itself: tests/fuzz.sh PATH-TO-FUZZER [-max_total_time=SECONDS | -runs=N | ...]. What it finds
# stays in the folder it was started in.
set -u
fuzzer=$1
shift
seeds=$(mktemp -d) || exit 1
trap 'rm -rf "$seeds"' EXIT
# Many wrong inputs end early; the few that do not are what is worth keeping, so that inputs stay short.
WEIR_FUZZ_SEEDS=$seeds "$fuzzer" -max_len=16384 -timeout=60 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0 "$@" "$seeds"
