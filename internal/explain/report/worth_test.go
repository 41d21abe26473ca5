package report

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
)

// TestWorth: the worth of a finding has three forms, and the cost is only an upper bound.
func TestWorth(t *testing.T) {
	const ms = 1_000_000
	predicted := func(steps int, without, low, high int64) result.Worth {
		return result.Worth{Known: true, Steps: steps, Step: 10 * ms, Without: without, Low: low, High: high}
	}
	with := func(w result.Worth, change func(w *result.Worth)) result.Worth { change(&w); return w }
	for _, c := range []struct {
		name  string
		worth result.Worth
		cost  int64
		last  int // last step of the finding, which begins in step 3
		want  string
	}{
		{"predicted", predicted(12, 8*ms, 7*ms, 9*ms), 3 * ms, 9, "worth 2.00 ms a step"},
		{"perhaps zero", predicted(12, 9*ms, 7*ms, 10*ms), 3 * ms, 9, "worth: none shown"},
		{"few steps", predicted(4, 8*ms, 7*ms, 10*ms), 5 * ms, 9, "worth up to 3.00 ms a step"},
		{"few steps, zero", predicted(4, 10*ms, 10*ms, 10*ms), 5 * ms, 9, "worth: none shown"},
		{"bound", with(predicted(12, 2*ms, 2*ms, 2*ms), func(w *result.Worth) { w.AtMost = true }), 9 * ms, 9, "worth up to 8.00 ms a step"},
		{"bound of zero", with(predicted(12, 10*ms, 10*ms, 10*ms), func(w *result.Worth) { w.AtMost = true }), 9 * ms, 9, "worth: none shown"},
		{"hidden", with(predicted(12, 10*ms, 10*ms, 10*ms), func(w *result.Worth) { w.Hidden = true }), 3 * ms, 9, "worth up to 3.00 ms a step"},
		{"no prediction", result.Worth{}, 3 * ms, 9, "worth up to 3.00 ms a step"},
		{"one step", result.Worth{}, 3 * ms, 3, "worth up to 3.00 ms"},
		{"no cost", result.Worth{}, 0, 9, ""},
	} {
		f := result.Finding{Worth: c.worth, CostNSPerStep: c.cost, FirstStep: 3, LastStep: c.last}
		if got := worth(&f); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestCaveatFirst: what is missing from a capture comes before the verdict that nothing costs much, and after the
// verdict on a fault.
func TestCaveatFirst(t *testing.T) {
	for _, first := range []bool{true, false} {
		r := straggler()
		r.NoFault = first
		for name, write := range map[string]func(io.Writer) error{
			"text":     func(w io.Writer) error { return Text(w, r, Options{Width: 200}) },
			"Markdown": func(w io.Writer) error { return Markdown(w, r, Options{}) },
			"page":     func(w io.Writer) error { return HTML(w, r) },
		} {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			caveat, verdict := strings.Index(b.String(), "no file of TP04"), strings.Index(b.String(), "TP02 does extra work")
			if caveat < 0 || verdict < 0 || caveat < verdict != first {
				t.Errorf("%s, no fault %t: the caveat is at %d and the verdict at %d", name, first, caveat, verdict)
			}
		}
	}
}
