#!/bin/sh
# Counts in how many healthy windows a rank is blamed, that is called late with
# medium severity or more: windows made of real captures, with what hosts, devices and transfers take in a step drawn for all ranks
# from one distribution, and directories of windows in which nobody was late. At most
# 5 % may have such a finding.
#
#   scripts/truth/healthy.sh [-windows 1000] [-uneven] [-power 200] [-seed 1] [-only NAME] [-examples 3] [DIR...]
#
# With -uneven it draws a tenth more from captures in which a rank was late by nature,
# with STEPSCOPE_DATA set also from those of that folder: there any rank may be late in
# any step, which is an imbalance, and no rank is to blame.
#
# With -power one rank of healthy windows is delayed in each step from one of the first
# on, by its host, its device, more work or its links, and by 2 to 40 % of a step: how
# often that rank is found, and which cause is named (from 10 % on; a row is what was
# done). Whoever finds nothing at all would find nothing wrong either.
#
# docs/metrics.md has the tables that it prints.
set -eu
cd "$(dirname "$0")/../.."
exec env CGO_ENABLED=0 go run ./scripts/truth/healthy "$@"
