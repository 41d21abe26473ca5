#!/bin/sh
# Measures the same load alternately with SGLang's own bench_serving and with stepscope bench serving, against one
# server. At a low load their figures must agree; at a high load stepscope's client must add less latency of its own.
#
#   PYTHON=~/venv/bin/python scripts/bench/serving.sh [--rounds 6] [--only low]
#
# PYTHON needs sglang: see internal/cli/testdata/sglang/README.md. Exit status: 0 all goals met, 1 a goal missed, 2 not
# measured.
set -eu
cd "$(dirname "$0")/../.."
: "${PYTHON:?set it to a Python that has sglang, see internal/cli/testdata/sglang/README.md}"
mkdir -p .bench
if [ -z "${STEPSCOPE:-}" ]; then
	CGO_ENABLED=0 go build -o .bench/stepscope ./cmd/stepscope
	STEPSCOPE=.bench/stepscope
fi
exec python3 scripts/bench/serving.py --stepscope "$STEPSCOPE" --python "$PYTHON" "$@"
