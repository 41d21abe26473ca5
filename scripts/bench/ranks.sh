#!/bin/sh
# Measures an analysis at scale. The ranks are copies of real ones that differ, one of them late. A task summarises
# eight of them, as each task of "stepscope analyze --on slurm" does (CPU time of the median task, peak memory). The
# join reads all summaries and explains them. One machine reads all files and must print the same, byte for byte.
#
#   scripts/bench/ranks.sh [-each 8] [-most 512] [-capture testdata/traces/graphs]
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CGO_ENABLED=0
go build -o "$work/stepscope" ./cmd/stepscope
go run ./scripts/bench/ranks -stepscope "$work/stepscope" "$@"
