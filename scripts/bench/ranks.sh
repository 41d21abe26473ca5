#!/bin/sh
# Measures an analysis at scale: ranks are copies of real ones, not alike, of which one is
# late. A task summarises eight of them (CPU time of the median one, memory at the peak), as
# each of "stepscope analyze --on slurm" does; the join reads all summaries and explains;
# one machine reads all files and says the same, byte for byte.
#
#   scripts/bench/ranks.sh [-each 8] [-most 512] [-capture testdata/traces/graphs]
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CGO_ENABLED=0
go build -o "$work/stepscope" ./cmd/stepscope
go run ./scripts/bench/ranks -stepscope "$work/stepscope" "$@"
