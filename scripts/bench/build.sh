#!/bin/sh
# Measures the first build, with an empty cache but the modules at hand: how much of it is
# compiling the standard library, the program itself and what it imports of others.
#
#   scripts/bench/build.sh
#
# Exit status: 0 the goal is met, 1 it is missed, 2 it could not be measured.
set -eu
cd "$(dirname "$0")/../.."
mkdir -p .bench
CGO_ENABLED=0 go build -o .bench/buildbench ./scripts/bench/build
exec .bench/buildbench
