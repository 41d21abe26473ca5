package torch

import (
	"strings"
	"testing"
	"time"
)

// TestBound: each window ends by itself where the server takes a number of steps; where it does not, that is said before
// anything is recorded.
func TestBound(t *testing.T) {
	ms := int64(time.Millisecond)
	for _, c := range []struct {
		what   string
		kind   Kind
		w      Window
		steps  []stretch // of the server, before the window
		told   int
		beyond string // said beforehand; "": nothing
	}{
		{"so many steps", SGLang, Window{NumSteps: 7}, nil, 7, ""},
		{"a time, of a server that shows nothing", SGLang, Window{For: 2 * time.Second}, nil, 2000 + 100, ""},
		{"a time, of steps of 30 and 20 ms", SGLang, Window{For: 2 * time.Second}, []stretch{{took: 30 * ms}, {took: 20 * ms}}, 400 + 100, ""},
		{"a time, of stepscope serve", Stepscope, Window{For: time.Second}, nil, 10000 + 100, ""},
		{"no end", SGLang, Window{}, nil, 0, "a window without a number of steps has no end of its own"},
		{"vLLM counts no steps", VLLM, Window{NumSteps: 7}, nil, 7, "vLLM ends no window by itself"},
	} {
		l := &log{}
		m := &member{Target: Target{URL: "http://a:1"}, kind: c.kind, w: c.w, stretches: c.steps, o: &Options{Log: l.add}}
		if got := m.bound(); got != c.told {
			t.Errorf("%s: told %d steps, want %d", c.what, got, c.told)
		}
		m.sayUnbounded()
		want := ""
		if c.beyond != "" {
			want = "http://a:1: " + c.beyond + ": should stepscope be killed before it closes this one, end it with: stepscope profile stop --url http://a:1"
		}
		if got := strings.Join(l.lines, "\n"); got != want {
			t.Errorf("%s: said %q, want %q", c.what, got, want)
		}
	}
}
