#!/bin/sh
# Measures the CPU time and the memory of stepscope watch when it samples a server of many ranks once a second.
#
#   scripts/bench/watch.sh [-ranks 64] [-for 1m]
set -eu
cd "$(dirname "$0")/../.."
go build -o bin/stepscope ./cmd/stepscope
exec env CGO_ENABLED=0 go run ./scripts/bench/watch "$@"
