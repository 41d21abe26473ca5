#!/bin/sh
# Measures the kernels of internal/reference/engine/tensor on one core. For each rate it prints the limit of this
# machine (multiply-adds on registers alone, or reading memory as a stream) and the fraction of it that the kernel
# reaches.
#
#   scripts/bench/kernels.sh [-time 4s] [-only LEVEL]
set -eu
cd "$(dirname "$0")/../.."
exec env CGO_ENABLED=0 go run ./scripts/bench/engine -kernels "$@"
