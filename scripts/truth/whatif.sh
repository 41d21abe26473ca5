#!/bin/sh
# Holds what a finding is said to be worth against what steps really take without it.
# First the steps of captures are run again with nothing changed: by how much they then
# differ from what was recorded. Then the engine serves on the software GPU, and from
# the middle of a window on a rank has more work, a slower device, a stalled host or a
# slower link: what the finding says a step would take without that is set against what
# the steps took before. At most 1.3 % and 3 % off at the median, 5 % at the 90th
# percentile of the first; where nothing is said counts as 100 % off.
#
#   scripts/truth/whatif.sh [-scenarios 30] [-only NAME] [-keep DIR] [DIR...]
#
# Each DIR holds captures, a directory each; with STEPSCOPE_DATA set also those of that
# folder that testdata lacks. On a machine that others keep busy the ranks wait for
# cores, and what steps took before says little.
set -eu
cd "$(dirname "$0")/../.."
exec env CGO_ENABLED=0 go run ./scripts/truth/whatif "$@"
