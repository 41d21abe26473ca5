#!/bin/sh
# Counts the healthy windows in which a rank is blamed, that is, called late with medium severity or more. The windows
# are made from real captures, with the times of hosts, devices and transfers in a step drawn for all ranks from one
# distribution. Directories of windows without late ranks can be added. At most 5 % may have such a finding.
#
#   scripts/truth/healthy.sh [-windows 1000] [-uneven] [-power 200] [-seed 1] [-only NAME] [-examples 3] [DIR...]
#
# With -uneven it draws a tenth more windows from captures in which a rank was late by nature; with STEPSCOPE_DATA set,
# also from those in that folder. There any rank may be late in any step, which is an imbalance, and no rank is to
# blame.
#
# With -power it delays one rank of healthy windows in each step, starting with one of the first, by its host, its
# device, more work or its links, and by 2 to 40 % of a step. It counts how often that rank is found and which cause is
# named (from 10 % on; a row is the true cause). This is the counter-check: an analysis without any findings would blame
# no rank.
#
# docs/metrics.md has the printed tables.
set -eu
cd "$(dirname "$0")/../.."
exec env CGO_ENABLED=0 go run ./scripts/truth/healthy "$@"
