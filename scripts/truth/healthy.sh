#!/bin/sh
# Counts the healthy windows in which a rank is blamed, that is, called late with medium severity or more. The windows
# are made from real captures, with the times of hosts, devices and transfers in a step drawn for all ranks from one
# distribution. Directories of windows without late ranks can be added. At most 5 % may have such a finding.
#
#   scripts/truth/healthy.sh [-windows 1200] [-uneven] [-power 40 [-steps 12] [-sizes 0.1,0.2] [-v]] [-seed 1] [-only NAME] [-examples 3] [DIR...]
#
# In some windows the hosts are only loosely coupled: each is delayed at random in each step, and none waits for a
# device or for another host. 1200 windows are 100 of each capture.
#
# With -uneven it draws a tenth more windows from captures in which a rank was late by nature; with STEPSCOPE_DATA set,
# also from those in that folder. There any rank may be late in any step, which is an imbalance, and no rank is to
# blame.
#
# With -power it builds windows of at least -steps steps from the steps of real captures, with and without a rank that
# is delayed in each step, starting with one of the first, by its host, its device, more work or its links. A delay is
# found if the first finding that is not "info" has at least medium severity and names the rank and the cause; it is named
# if any finding names both. The last columns compare the predicted step without the cause with the step of the same
# window without the delay. -v shows the findings in windows in which the delay is not found.
#
# docs/metrics.md has the printed tables.
set -eu
cd "$(dirname "$0")/../.."
exec env CGO_ENABLED=0 go run ./scripts/truth/healthy "$@"
