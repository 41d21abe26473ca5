#!/bin/sh
# Measures, on the CPU server, how often a load's report answers two questions: why is p99 TTFT high, and does the server
# keep up?
#
#   scripts/truth/loads.sh [-why 10] [-long 10] [-pace 20] [-tp 4] [-seed 1] [-keep DIR] [-v]
#
# First, loads of 15 s (-why) and 3 min (-long) at twice the capacity run with --profile and default flags. The answer
# is right if it was given at the first try: the recorded window holds requests of the slowest tenth, or requests that
# waited at least 0.9 times as long, and most of their time is queue of a server that is over its capacity. Second,
# loads of 60 s (-pace) at 0.5 to 0.9 and 1.1 to 2 times the capacity run without --profile; the verdict must be "keeps
# up" or "overload". As many as a tenth of these run at the capacity; their verdicts are printed, but not judged. The
# capacity is measured before each load.
#
# It exits with 1 if any answer is wrong. It needs a quiet machine: on a busy one, the capacity changes between
# measurement and load. The defaults take 90 minutes.
set -eu
cd "$(dirname "$0")/../.."
exec env CGO_ENABLED=0 go run ./scripts/truth/loads "$@"
