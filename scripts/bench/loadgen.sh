#!/bin/sh
# Measures the load generator: how many streams one core times honestly, beside a
# client of the shape of SGLang's bench_serving where there is a Python for it.
#
#   PYTHON=~/venv/bin/python scripts/bench/loadgen.sh [-tries 3] [-only together]
#
# PYTHON needs aiohttp. Exit status: 0 all goals met, 1 one was missed, 2 it could
# not be measured.
set -eu
cd "$(dirname "$0")/../.."
mkdir -p .bench
CGO_ENABLED=0 go build -o .bench/loadgen ./scripts/bench/loadgen
exec env -u GOGC -u GOMEMLIMIT -u GOMAXPROCS -u GODEBUG .bench/loadgen ${PYTHON:+-python "$PYTHON"} "$@"
