#!/bin/sh
# Measures the delay of serving while the traces of a profiling window are written and merged in the background. It
# times the steps of a decoding engine alternately without a window, during a window, and while its files are written.
#
#   scripts/bench/export.sh [-rounds 20] [-steps 200] [-batch 4] [-only NAME] [-stack=false]
set -eu
cd "$(dirname "$0")/../.."
exec env CGO_ENABLED=0 go run ./scripts/bench/export "$@"
