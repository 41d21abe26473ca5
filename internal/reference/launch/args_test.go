package launch_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/reference/launch"
)

// TestArgsOutOfRange checks that arguments beyond the machine's limits, and nonsense, are refused with the flag's name
// before they use memory.
func TestArgsOutOfRange(t *testing.T) {
	for want, change := range map[string]func(*launch.ModelArgs){
		"--max-queued-requests 0: give 1 or more":                    func(a *launch.ModelArgs) { a.MaxQueuedRequests = 0 },
		"--chunked-prefill-size -2: give -1 or more":                 func(a *launch.ModelArgs) { a.ChunkedPrefill = -2 },
		"--dp-size 4611686018427387904":                              func(a *launch.ModelArgs) { a.TP, a.DP = 4, 1<<62 },
		"give at most 1024 ranks in all":                             func(a *launch.ModelArgs) { a.DP, a.PP = 512, 4 },
		"--device-cores 1000000: give at most 1024":                  func(a *launch.ModelArgs) { a.Cores = 1e6 },
		"--schedule-conservativeness +Inf":                           func(a *launch.ModelArgs) { a.Conservativeness = math.Inf(1) },
		"--mem-fraction-static NaN":                                  func(a *launch.ModelArgs) { a.MemFraction = math.NaN() },
		"--max-total-tokens 9223372036854775807: besides weights of": func(a *launch.ModelArgs) { a.MaxTotalTokens = math.MaxInt },
	} {
		if e, err := launch.Load(t.Context(), args(change), launch.Options{}); err == nil {
			e.Close()
			t.Errorf("accepted, want %q", want)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestArgsWithoutLimit checks that very large limits cost no memory: the cache bounds the number of running requests.
func TestArgsWithoutLimit(t *testing.T) {
	e, url := serveHTTP(t, func(a *launch.ModelArgs) {
		a.MaxRunningRequests, a.MaxQueuedRequests, a.MaxPrefillTokens, a.ChunkedPrefill = math.MaxInt, math.MaxInt, math.MaxInt, -1
		a.GraphBS, a.GraphMaxBS = nil, math.MaxInt
	})
	if got := e.Info(); got.MaxRunningRequests != got.TokenCapacity/64 {
		t.Errorf("%d requests may run in a cache of %d tokens", got.MaxRunningRequests, got.TokenCapacity)
	}
	if status, text := post(t, url+"/generate", `{"text":"hello"}`); status != 200 {
		t.Errorf("%d: %s", status, text)
	}
}

// TestGCPercent checks that garbage stays small beside a large cache: see Engine.GCPercent.
func TestGCPercent(t *testing.T) {
	for tokens, want := range map[int]int{2048: 100, 256 << 10: 24} { // 8 MiB and 1 GiB of KV cache, 7 MiB of weights
		if got := load(t, func(a *launch.ModelArgs) { a.MaxTotalTokens = tokens }).GCPercent(); got != want {
			t.Errorf("%d%% for a cache of %d tokens, want %d%%", got, tokens, want)
		}
	}
}
