package engine

import (
	"testing"

	"github.com/stepscope/stepscope/internal/reference/engine/sched"
)

func TestLogPrefix(t *testing.T) {
	for want, z := range map[string]Sizes{
		"":             {TP: 1},
		" TP0":         {TP: 4},
		" DP3 TP0 EP0": {TP: 2, DP: 4, EP: 2},
		" PP0":         {PP: 2},
	} {
		if got := z.LogPrefix(3); got != want {
			t.Errorf("%+v: %q, want %q", z, got, want)
		}
	}
}

func TestBatchTokens(t *testing.T) {
	for _, tt := range []struct {
		opt  sched.Options
		want int
	}{
		{sched.Options{ChunkedPrefill: 2048}, 2048},
		{sched.Options{ChunkedPrefill: 2048, MaxPrefill: 1000}, 1000},
		{sched.Options{ChunkedPrefill: 16, MaxRunning: 100}, 100},
		{sched.Options{ChunkedPrefill: -1}, 40000},
		{sched.Options{ChunkedPrefill: -1, MaxPrefill: 50000}, 50000},
	} {
		if got := BatchTokens(tt.opt, 40000); got != tt.want {
			t.Errorf("%+v: %d, want %d", tt.opt, got, tt.want)
		}
	}
}

func TestKVBlocks(t *testing.T) {
	const mib = 1 << 20
	if n, err := KVBlocks(1000*mib, 300*mib, 2*mib, 0.8); n != 250 || err != nil {
		t.Errorf("%d, %v; want 250", n, err)
	}
	if _, err := KVBlocks(1000*mib, 800*mib, 2*mib, 0.8); err == nil {
		t.Error("blocks where there is no room")
	}
}
