#!/bin/sh
# Measures what the router adds: time to the first token, and how many stream events
# one core passes on, side by side with the same server asked directly. Linux only.
#
#   scripts/bench/route.sh [-rounds 10] [-streams 400,800,1200] [-- FLAGS OF stepscope route]
#
# Exit status: 0 both goals met, 1 one was missed, 2 it could not be measured.
set -eu
cd "$(dirname "$0")/../.."
mkdir -p .bench
CGO_ENABLED=0 go build -o .bench/stepscope ./cmd/stepscope
CGO_ENABLED=0 go build -o .bench/route ./scripts/bench/route
exec env -u GOGC -u GOMEMLIMIT -u GOMAXPROCS -u GODEBUG .bench/route -stepscope .bench/stepscope "$@"
