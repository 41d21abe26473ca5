#!/bin/sh
# Compares the summaries of `nsys stats` with those of `stepscope nsys stats`, and measures the memory for a long
# export: see scripts/bench/README.md.
#
#   scripts/bench/nsys.sh EXPORT.sqlite [TIMES [LONG_TIMES]]
set -eu
cd "$(dirname "$0")/../.."
export CGO_ENABLED=0
mkdir -p .bench bin
go build -o bin/stepscope ./cmd/stepscope
go build -o .bench/nsysbench ./scripts/bench/nsys
exec .bench/nsysbench "${1:?EXPORT.sqlite}" "${2:-100}" "${3:-650}"
