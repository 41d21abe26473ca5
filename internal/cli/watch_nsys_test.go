package cli

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/watch"
)

// TestWatchNsys: a window of a real Nsight Systems, of a server without a GPU: what the report shows is told, what it
// cannot show is not guessed, and it is found again as the run's capture.
func TestWatchNsys(t *testing.T) {
	realNsys(t)
	dir := t.TempDir()
	_, log := program(t, "nsys", "run", "--run-dir", dir, "--start-later", "--trace=nvtx", "--", "stepscope", "serve", "--model-path", "builtin:llama-tiny",
		"--enable-layerwise-nvtx-marker", "--disable-cuda-graph", "--dp-size", "2", "--enable-metrics", "--port", "0", "--max-total-tokens", "8192")
	url := awaits(t, log, `Listening on (http://\S+)`)
	awaits(t, log, `pid of the program (\d+)`)
	load := newRankLoad(url)
	defer load.end()
	load.add(0, 2)
	load.add(1, 2)
	watching, out := program(t, "watch", "--url", url, "--every", "200ms", "--rules", always(t), "--nsys", "last", "--nsys-time", "1s", "--max-captures", "1", "--run-dir", dir, "--json")
	awaits(t, out, `"kind":"(verdict|failed)"`)
	watching.Process.Signal(os.Interrupt)
	if status := ends(t, watching); status != exitInterrupted {
		t.Errorf("status %d", status)
	}
	events := eventsOf(t, dir)
	i := slices.IndexFunc(events, func(e watch.Event) bool { return e.Kind == watch.KindVerdict })
	if i < 0 {
		t.Fatalf("no verdict: %+v", events)
	}
	if v := events[i].Verdict; len(v.Problems) > 0 || v.Cause == result.CauseHost || v.Cause == result.CauseDevice || strings.Contains(strings.Join(v.Evidence, "\n"), "kernels") {
		t.Errorf("%+v", v)
	}
	if n := len(glob(t, dir, "*", "traces", "capture-1", "*.nsys-rep")); n != 1 {
		t.Errorf("%d reports", n)
	}
	if status, text, errs := run(t, t.Context(), "analyze", "last", "--run-dir", dir); status != exitOK && status != exitIncomplete || !strings.HasPrefix(text, "watch on capture-1 at ") || !strings.Contains(text, "no GPU work was recorded") {
		t.Errorf("status %d:\n%s%s", status, errs, text)
	}
}
