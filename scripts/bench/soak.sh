#!/bin/sh
# Runs 512 clients of all kinds against a real server with real ranks for two minutes, with a large KV cache and then
# with one that is too small. Checks the outcome of the requests and that nothing of them is left over. See
# internal/reference/launch/load_test.go.
#
#   scripts/bench/soak.sh [DURATION [-race]]
set -eu
cd "$(dirname "$0")/../.."
STEPSCOPE_SOAK=${1:-2m}
export STEPSCOPE_SOAK
shift $(($# > 0))
case " $* " in *" -race "*) # needs a C compiler
	CGO_ENABLED=1
	export CGO_ENABLED
	;;
esac
exec go test -count=1 -timeout 0 -run '^TestLoad$' -v "$@" ./internal/reference/launch
