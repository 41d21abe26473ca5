package judge_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/trace"
)

// clocked returns samples of GPUs 0, 1, ... at the given clocks: five a second around a window, with noise.
func clocked(from, to int64, noise int, mhz ...float64) (out []trace.GPUState) {
	random := rand.New(rand.NewPCG(1, 2))
	for at := from - 3e9; at < to+3e9; at += 2e8 {
		for i, sm := range mhz {
			s := trace.GPUState{At: at, GPU: i, SM: sm + float64(random.IntN(2*noise+1)-noise), Busy: 1, Reasons: []string{}}
			if sm < 1900 {
				s.Reasons = []string{"power cap"}
			}
			out = append(out, s)
		}
	}
	return out
}

// TestGPUClocks: a finding of a late device states how its clock compares, and never blames a clock that was not lower.
func TestGPUClocks(t *testing.T) {
	late := explaintest.Retimed(t, "graphs", explaintest.Slowed(1.65, 4, 1))
	bare, err := explain.Analyze(late, explain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	from := bare.Source.StartNS
	to := from + bare.Source.SpanNS
	usual := func(noise int, mhz ...float64) []trace.GPUState { return clocked(from, to, noise, mhz...) }
	edit := func(states []trace.GPUState, change func(s *trace.GPUState)) []trace.GPUState {
		for i := range states {
			change(&states[i])
		}
		return states
	}
	visible := func(n int, host string, uuids ...string) func(i int, s *trace.Source) {
		return func(i int, s *trace.Source) {
			if s.Visible, s.Host = n, host; uuids != nil {
				s.UUID = uuids[i]
			}
		}
	}
	const lower = "1,200 MHz against 1,980 on the other ranks, power cap"
	for _, c := range []struct {
		name   string
		states []trace.GPUState
		source func(i int, s *trace.Source)
		says   string // part of a sentence of the evidence; "": no sentence about clocks
		clock  bool   // the clock is the reason
	}{
		{"a power cap", usual(0, 1980, 1200, 1980, 1980), visible(4, ""), lower, true},
		{"noise", usual(15, 1980, 1200, 1980, 1980), visible(4, ""), "on the other ranks, power cap", true},
		{"equal clocks", usual(15, 1980, 1980, 1980, 1980), visible(4, ""), "the clock is not the reason", false},
		{"all with a power cap", usual(15, 1200, 1200, 1200, 1200), visible(4, ""), "the clock is not the reason", false},
		{"clocks that vary", edit(usual(0, 1980, 1800, 1980, 1980), func(s *trace.GPUState) {
			if s.At/2e8%3 == 0 {
				s.SM = 1980
			}
		}), visible(4, ""), "SM clocks vary too much", false},
		{"lower only before the window", edit(usual(0, 1980, 1980, 1980, 1980), func(s *trace.GPUState) {
			if s.GPU == 1 && s.At < from-8e8 {
				s.SM = 1200
			}
		}), visible(4, ""), "the clock is not the reason", false},
		{"lower only while idle", edit(usual(0, 1980, 1980, 1980, 1980), func(s *trace.GPUState) {
			if s.GPU == 1 && s.At/2e8%2 == 0 {
				s.SM, s.Busy = 345, 0
			}
		}), visible(4, ""), "the clock is not the reason", false},
		{"once a second", slices.DeleteFunc(usual(0, 1980, 1200, 1980, 1980), func(s trace.GPUState) bool { return (s.At-from)/2e8%5 != 0 }), visible(4, ""), lower, true},
		{"too few", slices.DeleteFunc(usual(0, 1980, 1200, 1980, 1980), func(s trace.GPUState) bool { return s.At < from || s.At > from+3e8 }), visible(4, ""), "too few samples", false},
		{"another time", clocked(from-1e12, to-1e12, 0, 1980, 1200, 1980, 1980), visible(4, ""), "too few samples", false},
		{"more GPUs than the server sees", usual(0, 1980, 1200, 1980, 1980, 1980, 1980, 1980, 1980), visible(4, ""), "not known which GPU it used; of those sampled, GPU 1 ran at 1,200 MHz against 1,980, power cap", false},
		{"more GPUs, equal clocks", usual(0, 1980, 1980, 1980, 1980, 1980, 1980, 1980, 1980), visible(4, ""), "not known which GPU it used; none of those", false},
		{"devices in another order", usual(0, 1200, 1980, 1980, 1980), visible(4, ""), "not known which GPU it used; of those sampled, GPU 0 ran at 1,200 MHz", false},
		{"a UUID", edit(usual(0, 1980, 1980, 1980, 1980, 1200, 1980), func(s *trace.GPUState) { s.UUID = "GPU-" + string(rune('a'+s.GPU)) }), visible(4, "", "b", "e", "c", "d"), lower, true},
		{"a UUID, its twin", edit(usual(0, 1980, 1200, 1980, 1980, 1980), func(s *trace.GPUState) { s.UUID = "GPU-" + string(rune('a'+s.GPU)) }), visible(4, "", "a", "e", "c", "d"), "the clock is not the reason", false},
		{"its host", edit(usual(0, 1980, 1200, 1980, 1980), func(s *trace.GPUState) { s.Host = "node1.example" }), visible(4, "node1"), lower, true},
		{"another host", edit(usual(0, 1980, 1200, 1980, 1980), func(s *trace.GPUState) { s.Host = "node2" }), visible(4, "node1"), "the clock of its GPU is not known: the GPUs of node2 were sampled, and its trace does not show that it ran there", false},
		{"a container", edit(usual(0, 1980, 1200, 1980, 1980), func(s *trace.GPUState) { s.Host, s.Unsure = "node2", true }), visible(4, "4f2a"), "the clock of its GPU is not known: the GPUs of node2 were sampled", false},
		{"another address, no host", edit(usual(0, 1980, 1200, 1980, 1980), func(s *trace.GPUState) { s.Host, s.Unsure = "node2", true }), visible(4, ""), "the clock of its GPU is not known: the GPUs of node2 were sampled", false},
		{"another address, its host", edit(usual(0, 1980, 1200, 1980, 1980), func(s *trace.GPUState) { s.Host, s.Unsure = "node2", true }), visible(4, "node2"), lower, true},
		{"a UUID, in a container", edit(usual(0, 1980, 1200, 1980, 1980), func(s *trace.GPUState) { s.UUID, s.Host = "GPU-"+string(rune('a'+s.GPU)), "node2" }), visible(4, "4f2a", "a", "b", "c", "d"), lower, true},
		{"no samples", nil, visible(4, ""), "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			ts := retime.Copy(late)
			for i := range ts {
				c.source(i, &ts[i].Source)
			}
			r, err := explain.Analyze(ts, explain.Options{GPUs: c.states})
			if err != nil {
				t.Fatal(err)
			}
			explaintest.CheckSentences(t, r)
			found := explaintest.Stragglers(r, result.CauseDevice)
			if len(found) != 1 {
				t.Fatalf("got %d late devices, want 1", len(found))
			}
			var f *result.Finding
			for i := range r.Findings {
				if r.Findings[i].Cause == result.CauseDevice && r.Findings[i].Kind == result.Straggler {
					f = &r.Findings[i]
				}
			}
			var says []string
			for _, e := range f.Evidence {
				if strings.HasPrefix(e.Text.Key, "clock_") {
					says = append(says, report.Words(e.Text))
				}
			}
			if got := strings.Join(says, "; "); c.says == "" && got != "" || !strings.Contains(got, c.says) || len(says) > 1 {
				t.Errorf("got evidence %q, want %q", got, c.says)
			}
			title := report.Words(f.Title)
			if blamed := f.Reason == result.ReasonClock; blamed != c.clock || strings.Contains(title, "MHz") != c.clock || strings.Contains(report.Words(f.Next[0]), "-rgc") != c.clock {
				t.Errorf("got reason %q, title %q, advice %q, want a clock: %v", f.Reason, title, report.Words(f.Next[0]), c.clock)
			}
		})
	}
}
