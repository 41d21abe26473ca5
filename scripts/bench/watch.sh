#!/bin/sh
# Measures what stepscope watch takes of a core, and of memory, when it follows a server of many ranks once a second.
#
#   scripts/bench/watch.sh [-ranks 64] [-for 1m]
set -eu
cd "$(dirname "$0")/../.."
go build -o bin/stepscope ./cmd/stepscope
exec env CGO_ENABLED=0 go run ./scripts/bench/watch "$@"
