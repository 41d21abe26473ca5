#!/bin/sh
# Compares the predicted worth of findings with measured step times. First it replays the steps of captures without
# changes and measures their difference from the recording. Then the engine serves on the software GPU, and from the
# middle of a window on, one rank has more work, a slower device, a stalled host or a slower link. The step time that
# the finding predicts without the fault is compared with the steps before it. The median error may be at most 1.3 % for
# the first and 3 % for the second, and the 90th percentile of the first 5 %. A missing prediction counts as 100 %.
#
#   scripts/truth/whatif.sh [-scenarios 30] [-only NAME] [-keep DIR] [DIR...]
#
# Each DIR holds captures, one per directory. With STEPSCOPE_DATA set, the captures of that folder that testdata lacks
# are added. On a busy machine the ranks wait for cores, and the steps before the fault mean little.
set -eu
cd "$(dirname "$0")/../.."
exec env CGO_ENABLED=0 go run ./scripts/truth/whatif "$@"
