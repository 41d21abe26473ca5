#!/bin/sh
# Counts how often and how soon the rules of stepscope watch find what goes wrong in series of servers that never ran,
# of which that is known, and how often they find something where nothing does.
#
#   scripts/truth/watch.sh [-runs 20] [-minutes 60] [-only NAME] [-v]
#
# docs/metrics.md has the table that it prints.
set -eu
cd "$(dirname "$0")/../.."
exec env CGO_ENABLED=0 go run ./scripts/truth/watch "$@"
