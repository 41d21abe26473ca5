#!/bin/sh
# Counts how often and how soon the rules of stepscope watch find known faults in series of simulated servers, and how
# often they raise false alarms.
#
#   scripts/truth/watch.sh [-runs 20] [-minutes 60] [-only NAME] [-v]
#
# docs/metrics.md has the printed table.
set -eu
cd "$(dirname "$0")/../.."
exec env CGO_ENABLED=0 go run ./scripts/truth/watch "$@"
