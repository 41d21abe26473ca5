package torch

import (
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/api"
)

// TestFewPrefills checks when a window has too few prefill steps: fewer than half of those asked for, if it did not end
// with the decode servers.
func TestFewPrefills(t *testing.T) {
	for _, c := range []struct {
		role     string
		recorded int
		cut      string
		want     bool
	}{{api.Prefill, 9, "", true}, {api.Prefill, 10, "", false}, {api.Prefill, 1, "its window ended", false}, {api.Decode, 1, "", false}} {
		s := &Steps{Asked: 20, Fewest: &c.recorded}
		if got := s.few(&member{Target: Target{Role: c.role}, cut: c.cut}); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestEndPrefills checks that the window of a prefill server ends with that of the decode server.
func TestEndPrefills(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		steps int // prefill steps of the recording
		few   bool
	}{{"enough", 6, false}, {"as many as ran", 2, false}} {
		prefill, decode := newFake(t, false, `{"version":"0.5.23","tp_size":1}`), newFake(t, false, `{"version":"0.5.23","tp_size":1}`)
		var steps []string
		for range c.steps {
			steps = append(steps, "EXTEND")
		}
		decode.begin = func(dir string) { decode.write(dir, "1-TP-0.trace.json.gz") }
		prefill.end = func(dir string) { prefill.writeSteps(dir, "1-TP-0.trace.json", steps...) }
		s, err := Start(t.Context(), []Target{{URL: prefill.url, Role: api.Prefill}, {URL: decode.url, Role: api.Decode}},
			Window{OutputDir: t.TempDir(), NumSteps: 20}, patient(Options{LoadFollows: true}))
		if err != nil {
			t.Fatal(err)
		}
		s.EndPrefills(0)
		s.Guard(t.Context()) // returns when both are closed
		res, err := s.Collect(t.Context(), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		r := &res.Servers[0]
		if prefill.called() != "start stop" || r.Steps == nil || !strings.Contains(r.Steps.Why, "ended with those of the decode servers") || r.Steps.Few != c.few || res.Incomplete() != c.few {
			t.Errorf("%s: calls %s, steps %+v, incomplete %v", c.name, prefill.called(), r.Steps, res.Incomplete())
		}
	}
}
