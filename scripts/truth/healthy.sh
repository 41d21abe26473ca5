#!/bin/sh
# Counts in how many healthy windows a rank is called late: windows made of real
# captures, with what hosts, devices and transfers take in a step drawn for all ranks
# from one distribution, and directories of windows in which nobody was late. At most
# 5 % may have such a finding. In as many again a rank's host pauses in each step,
# for 15 % of it: whoever finds nothing at all would find nothing wrong either.
#
#   scripts/truth/healthy.sh [-windows 1000] [-pause 0.15] [-seed 1] [-only NAME] [-uneven] [-examples 3] [DIR...]
#
# With -uneven it draws from captures in which a rank was late by nature, too: with
# STEPSCOPE_DATA set also from those of that folder.
set -eu
cd "$(dirname "$0")/../.."
exec env CGO_ENABLED=0 go run ./scripts/truth/healthy "$@"
