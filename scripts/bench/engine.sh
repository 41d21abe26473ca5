#!/bin/sh
# Measures the engine on a Llama shape of 191 M parameters. It compares matrix products and prefill with the arithmetic
# of the machine, decode with its memory, a large batch with a single request, convolution and attention of images with
# products, and recorded steps with unrecorded ones. Prints for every goal whether it is met. Needs 3 GB.
#
#   scripts/bench/engine.sh [-time 4s] [-workers 2] [-only NAME]
set -eu
cd "$(dirname "$0")/../.."
exec env CGO_ENABLED=0 go run ./scripts/bench/engine "$@"
