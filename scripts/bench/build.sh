#!/bin/sh
# Measures the first build, with an empty cache but downloaded modules: the time to compile the standard library, the
# program itself and third-party packages. Measures also the size of the static binary.
#
#   scripts/bench/build.sh
#
# Exit status: 0 goal met, 1 goal missed, 2 not measured.
set -eu
cd "$(dirname "$0")/../.."
mkdir -p .bench
CGO_ENABLED=0 go build -o .bench/buildbench ./scripts/bench/build
exec .bench/buildbench
