#!/bin/sh
# Measures how long serving is held up while the traces of a profiling window are
# written and merged beside it: the steps of a decoding engine, without a window,
# while one is recorded, and while its files are written, by turns.
#
#   scripts/bench/export.sh [-rounds 20] [-steps 200] [-batch 4] [-only NAME] [-stack=false]
set -eu
cd "$(dirname "$0")/../.."
exec env CGO_ENABLED=0 go run ./scripts/bench/export "$@"
