package torch

import (
	"strings"
	"testing"
	"time"
)

// TestOneStage checks windows of SGLang 0.5.11 under a mixed load, which writes the files of only one stage, or prefill
// under decode's name: the window ends soon and reports the missing ranks with the reason.
func TestOneStage(t *testing.T) {
	for name, c := range map[string]struct {
		write func(f *fake, dir string)
		over  bool // before it is stopped
		miss  string
		notes []string
	}{
		"it reports that it is no longer recording": {
			func(f *fake, dir string) { f.write(dir, "9-TP-0-DECODE.trace.json.gz", "9-TP-1-DECODE.trace.json.gz") }, true,
			"TP00 prefill TP01 prefill", []string{"there will be no trace of prefill: the server says that it is no longer recording, so it had no prefill steps"},
		},
		"it was still open": {
			func(f *fake, dir string) { f.write(dir, "9-TP-0-EXTEND.trace.json.gz", "9-TP-1-EXTEND.trace.json.gz") }, false,
			"TP00 decode TP01 decode", []string{"the window of decode had not ended"},
		},
		"prefill under decode's name": {
			func(f *fake, dir string) {
				f.writeSteps(dir, "9-TP-0-DECODE.trace.json", "EXTEND")
				f.writeSteps(dir, "9-TP-1-DECODE.trace.json", "EXTEND")
			}, true,
			"TP00 decode TP01 decode", []string{"the server overwrote the decode steps with its prefill steps, as SGLang 0.5.11 does",
				"9-TP-0-DECODE.trace.json: its name says DECODE, but it holds 1 prefill", "9-TP-1-DECODE.trace.json: its name says DECODE"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, false, `{"tp_size":2,"version":"0.5.11"}`)
			f.begin = func(dir string) {
				c.write(f, dir)
				f.open = !c.over
			}
			o := patient(Options{})
			o.Stall = 100 * time.Millisecond // up to this point
			began := time.Now()
			res, err := run(t, Window{NumSteps: 5, ByStage: true}, o, f)
			if err != nil || time.Since(began) > 20*time.Second || f.isOpen() {
				t.Fatalf("%v, after %v, open %t", err, time.Since(began), f.isOpen())
			}
			r := res.Servers[0]
			if got := strings.Join(r.Missing, " "); got != c.miss || !res.Incomplete() || f.called() != "start stop" {
				t.Errorf("missing %q, want %q; calls %q", got, c.miss, f.called())
			}
			if len(r.Notes) != len(c.notes) {
				t.Fatalf("%q", r.Notes)
			}
			for i, want := range c.notes {
				if !strings.HasPrefix(r.Notes[i], want) {
					t.Errorf("%q, want %q", r.Notes[i], want)
				}
			}
		})
	}
}
