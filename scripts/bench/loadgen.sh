#!/bin/sh
# Measures the load generator: the number of streams that one core times accurately, compared with a client of the shape
# of SGLang's bench_serving if PYTHON is set.
#
#   PYTHON=~/venv/bin/python scripts/bench/loadgen.sh [-tries 3] [-only together]
#
# PYTHON needs aiohttp. Exit status: 0 all goals met, 1 a goal missed, 2 not measured.
set -eu
cd "$(dirname "$0")/../.."
mkdir -p .bench
CGO_ENABLED=0 go build -o .bench/loadgen ./scripts/bench/loadgen
exec env -u GOGC -u GOMEMLIMIT -u GOMAXPROCS -u GODEBUG .bench/loadgen ${PYTHON:+-python "$PYTHON"} "$@"
