#!/bin/sh
# Measures the cost of the router: the added time to the first token, and the stream events per second that one core
# forwards, compared with direct requests to the same server. Linux only.
#
#   scripts/bench/route.sh [-rounds 10] [-streams 400,800,1200] [-- FLAGS OF stepscope route]
#
# Exit status: 0 both goals met, 1 a goal missed, 2 not measured.
set -eu
cd "$(dirname "$0")/../.."
mkdir -p .bench
CGO_ENABLED=0 go build -o .bench/stepscope ./cmd/stepscope
CGO_ENABLED=0 go build -o .bench/route ./scripts/bench/route
exec env -u GOGC -u GOMEMLIMIT -u GOMAXPROCS -u GODEBUG .bench/route -stepscope .bench/stepscope "$@"
