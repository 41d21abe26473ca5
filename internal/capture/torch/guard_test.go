package torch

import "testing"

// TestGuard checks that a window on vLLM ends after its steps while its owner is busy elsewhere, and is not stopped
// twice.
func TestGuard(t *testing.T) {
	dir := t.TempDir()
	f := newVLLM(t, dir)
	f.end = func(string) { f.write(dir, "dp0_pp0_tp0_dcp0_ep0_rank0.1800000000000000001.pt.trace.json.gz") }
	s, err := Start(t.Context(), []Target{{URL: f.url}}, Window{OutputDir: dir, NumSteps: 4}, quick(Options{Timeout: 1 << 40}))
	if err != nil {
		t.Fatal(err)
	}
	s.Guard(t.Context()) // returns when the window is closed
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	res, err := s.Collect(t.Context(), t.TempDir())
	if err != nil || len(res.Servers[0].Traces) != 1 || f.called() != "start stop" {
		t.Errorf("%v, calls %s, %+v", err, f.called(), res)
	}
}
