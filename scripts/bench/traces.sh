#!/bin/sh
# Compares `stepscope trace merge` and `stepscope analyze` with a merger in plain Python on one capture.
#
#   scripts/bench/traces.sh [DIR]       DIR: rank files of one capture; default $STEPSCOPE_DATA/traces/large
#
# PYTHON     interpreter of the peer and of the harness; default python3
# STEPSCOPE  binary to measure; default: build this tree
#
# Exit status: 1 a goal missed or a wrong output, 2 not measured.
set -eu

python=${PYTHON:-python3}

fail() {
	echo "traces.sh: $*" >&2
	exit 2
}

if [ $# -gt 1 ]; then
	fail "give at most one folder: scripts/bench/traces.sh [DIR]"
elif [ $# -eq 1 ]; then
	dir=$1
elif [ -n "${STEPSCOPE_DATA:-}" ]; then
	dir=$STEPSCOPE_DATA/traces/large
else
	fail "no traces: give a folder of rank files, or set STEPSCOPE_DATA to the folder that holds traces/large"
fi
[ -d "$dir" ] || fail "$dir: no such folder; give one with the *-TP-<n>.trace.json.gz of one capture"
dir=$(cd "$dir" && pwd)
if [ -n "${STEPSCOPE:-}" ]; then
	[ -x "$STEPSCOPE" ] || fail "$STEPSCOPE: not a program; set STEPSCOPE to a built binary, or unset it to build one"
	STEPSCOPE=$(cd "$(dirname "$STEPSCOPE")" && pwd)/$(basename "$STEPSCOPE")
fi
cd "$(dirname "$0")/../.."

command -v "$python" >/dev/null || fail "$python: not found; install Python 3.11 or later, or set PYTHON"
mkdir -p .bench
if [ -z "${STEPSCOPE:-}" ]; then
	STEPSCOPE=.bench/stepscope
	CGO_ENABLED=0 go build -o "$STEPSCOPE" ./cmd/stepscope || fail "the binary does not build"
fi
CGO_ENABLED=0 go build -o .bench/repeat ./scripts/bench/repeat || fail "scripts/bench/repeat does not build"

exec "$python" -B scripts/bench/traces.py --stepscope "$STEPSCOPE" --repeat .bench/repeat --work .bench "$dir"
