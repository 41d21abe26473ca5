#!/usr/bin/env bash
# Measures `stepscope view` on a large capture, on one ten times as long, and on captures of ten million events of 64 and
# of 512 ranks: the time of reading, to the first picture, of tile replies and of scripts per frame, and the memory of the
# server and of the page.
#
#   scripts/bench/view.sh [DIR]         DIR: rank files of one capture; default $STEPSCOPE_DATA/traces/large
#
# TIMES      length of the second capture relative to the first, default 10; 1: no second one
# RANKS      numbers of ranks of further captures, default "64 512"; "": none
#
# Needs Chromium. Exit status: 1 a goal missed, 2 not measured.
set -euo pipefail

fail() {
	echo "view.sh: $*" >&2
	exit 2
}

dir=${1:-${STEPSCOPE_DATA:+$STEPSCOPE_DATA/traces/large}}
[ -n "$dir" ] || fail "no traces: give a folder of rank files, or set STEPSCOPE_DATA to the folder that holds traces/large"
[ -d "$dir" ] || fail "$dir: no such folder; give one with the *-TP-<n>.trace.json.gz of one capture"
dir=$(cd "$dir" && pwd)
cd "$(dirname "$0")/../.."
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || fail "no chromium found; install it"

mkdir -p .bench
CGO_ENABLED=0 go build -o .bench/stepscope ./cmd/stepscope || fail "the binary does not build"
dirs=("$dir")
if [ "${TIMES:-10}" != 1 ]; then
	long=$(mktemp -d "$PWD/.bench/view.XXXXXX")
	trap 'rm -rf "$long"' EXIT
	go run ./scripts/bench/repeat -n "${TIMES:-10}" -o "$long" "$dir"/*.trace.json* || fail "the capture cannot be made longer"
	dirs+=("$long")
fi
# Copies of a real rank that differ, one of them late, made longer up to ten million events: a rank has 4,142 of them.
for ranks in ${RANKS-64 512}; do
	few=$(mktemp -d "$PWD/.bench/ranks.XXXXXX") many=$(mktemp -d "$PWD/.bench/ranks$ranks.XXXXXX")
	trap 'rm -rf "${long:-}" "$PWD"/.bench/ranks*.??????' EXIT
	go run ./scripts/bench/ranks -write "$few" -most "$ranks" || fail "the capture of $ranks ranks cannot be made"
	go run ./scripts/bench/repeat -n $((10000000 / ranks / 4142 + 1)) -o "$many" "$few"/*.gz || fail "the capture cannot be made longer"
	dirs+=("$many")
done
go test -timeout 60m -count=1 -v -run '^TestView$' ./scripts/bench/view -args -stepscope "$PWD/.bench/stepscope" "${dirs[@]}" |
	sed -E '/^ *(=== |--- PASS|ok |PASS$)/d'
