#!/bin/sh
# Measures the transfer of keys and values between two workers and compares it with a plain TCP copy: see README.md.
set -eu
cd "$(dirname "$0")/../.."
exec env CGO_ENABLED=0 go test ./internal/reference/engine/kvtransfer -run '^$' -bench Transfer -benchtime 43x -args "$@"
