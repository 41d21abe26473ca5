#!/bin/sh
# Measures the engine on a Llama shape of 191 M parameters: matrix products and
# prefill beside the arithmetic of the machine, decode beside its memory, a large
# batch beside a single request, convolution and attention of pictures beside
# products, recorded steps beside steps that are not. Says
# for every goal whether it is met; needs 3 GB.
#
#   scripts/bench/engine.sh [-time 4s] [-workers 2] [-only NAME]
set -eu
cd "$(dirname "$0")/../.."
exec env CGO_ENABLED=0 go run ./scripts/bench/engine "$@"
