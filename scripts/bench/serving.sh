#!/bin/sh
# Measures the same load with SGLang's own bench_serving and with stepscope bench
# serving, by turns, against one server: at a low load their figures must agree,
# at a high one ours must add less latency of the client's own.
#
#   PYTHON=~/venv/bin/python scripts/bench/serving.sh [--rounds 6] [--only low]
#
# PYTHON is one with sglang: internal/cli/testdata/sglang/README.md. Exit status: 0
# all goals met, 1 one was missed, 2 it could not be measured.
set -eu
cd "$(dirname "$0")/../.."
: "${PYTHON:?set it to a Python that has sglang, see internal/cli/testdata/sglang/README.md}"
mkdir -p .bench
if [ -z "${STEPSCOPE:-}" ]; then
	CGO_ENABLED=0 go build -o .bench/stepscope ./cmd/stepscope
	STEPSCOPE=.bench/stepscope
fi
exec python3 scripts/bench/serving.py --stepscope "$STEPSCOPE" --python "$PYTHON" "$@"
