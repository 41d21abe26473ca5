package explain_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/trace"
)

// byStage splits traces like a window by stage: the steps before one, without the last few on some ranks, and the
// others, recorded later.
func byStage(t *testing.T, whole []*trace.Trace, at int, later int64, lacks map[int]int) (joined []*trace.Trace) {
	t.Helper()
	for i, w := range whole {
		passes, _ := trace.Passes(w)
		launch := map[int64]int64{}
		for _, s := range w.Spans {
			if s.Cat.Launch() {
				launch[s.Corr] = s.Start
			}
		}
		part := func(from, to, later int64) *trace.Trace {
			p := *w
			p.Spans = nil
			for _, s := range w.Spans {
				when := s.Start
				if l, ok := launch[s.Corr]; ok && s.Cat.OnGPU() {
					when = l
				}
				if s.Cat != trace.Window && s.Cat != trace.GPUAnnotation && when >= from && when < to {
					s.Start += later
					p.Spans = append(p.Spans, s)
				}
			}
			return &p
		}
		j := trace.JoinStretches([]*trace.Trace{part(0, passes[at-lacks[i]].Start, 0), part(passes[at].Start, passes[len(passes)-1].End+1, later)})
		if j == nil {
			t.Fatal("JoinStretches returned nil")
		}
		joined = append(joined, j)
	}
	return joined
}

// work returns the part that must not differ: per step, the kernels of each rank and their time.
func work(r *result.Report) (out []string) {
	for _, s := range r.Steps {
		line := fmt.Sprint(s.Step, " ", s.Kind)
		for _, p := range s.Ranks {
			line += fmt.Sprintf(" | %d: %d kernels, compute %d, transfer and wait %d", p.Rank, p.Kernels, p.Time.Compute, p.Time.ExposedComm)
		}
		out = append(out, line)
	}
	return out
}

// TestStretches: two stages recorded at different times give one window with the same ranks and steps as a single
// recording, and the time between belongs to no step.
func TestStretches(t *testing.T) {
	whole := explaintest.Analyzed(t, explaintest.ReadDir(t, filepath.Join(explaintest.Traces, "compute_skew")))
	const second = 1_000_000_000
	for _, later := range []int64{0, second, 100 * second} {
		r := explaintest.Analyzed(t, byStage(t, explaintest.ReadDir(t, filepath.Join(explaintest.Traces, "compute_skew")), 2, later, nil))
		if got, want := work(r), work(whole); !slices.Equal(got[:len(got)-1], want[:len(want)-1]) { // the last is cut
			t.Errorf("%d s later: got\n%q\nwant\n%q", later/second, got, want)
		}
		if got, want := explaintest.Stragglers(r), "rank 2 work 7-13"; !slices.Contains(got, want) {
			t.Errorf("%d s later: got %q late, want %s among them", later/second, got, want)
		}
		for _, s := range r.Steps {
			for _, p := range s.Ranks {
				if p.Period > second || p.Time.Total > second {
					t.Errorf("%d s later: step %d takes %d ns on rank %d, its window %d ns, want less than 1 s", later/second, s.Step, p.Period, p.Rank, p.Time.Total)
				}
			}
		}
		for _, g := range r.Gaps {
			if g.Dur > second {
				t.Errorf("%d s later: got a gap of %d ns, want less than 1 s", later/second, g.Dur)
			}
		}
		if r.Path.NS > second || r.Source.RecordedNS > second || r.Source.SpanNS < later {
			t.Errorf("%d s later: got a critical path of %d ns, %d ns recorded of %d ns, want the time between the stages only in the last", later/second, r.Path.NS, r.Source.RecordedNS, r.Source.SpanNS)
		}
	}
}

// TestStretchesUneven: a step missing on a rank at the end of one stage does not shift steps of the next.
func TestStretchesUneven(t *testing.T) {
	whole := explaintest.Analyzed(t, explaintest.ReadDir(t, filepath.Join(explaintest.Traces, "compute_skew")))
	r := explaintest.Analyzed(t, byStage(t, explaintest.ReadDir(t, filepath.Join(explaintest.Traces, "compute_skew")), 2, 1_000_000_000, map[int]int{1: 1}))
	if len(r.Steps) != len(whole.Steps)-1 {
		t.Fatalf("got %d steps, want %d", len(r.Steps), len(whole.Steps)-1)
	}
	for i, s := range r.Steps {
		if want := whole.Steps[min(i+1, len(whole.Steps)-1)].Kind; i > 0 && (s.Kind != want || len(s.Ranks) != 4) {
			t.Errorf("step %d: got %s on %d ranks, want %s on 4", i, s.Kind, len(s.Ranks), want)
		}
	}
	if got, want := explaintest.Stragglers(r), "rank 2 work 6-12"; !slices.Contains(got, want) {
		t.Errorf("got %q late, want %s among them", got, want)
	}
	noted := 0
	for _, n := range r.Notes {
		if n.Text.Text == (trace.Note{Kind: trace.NoteUneven}).Text() {
			noted++
		}
	}
	if noted != 3 {
		t.Errorf("got notes of a lost step from %d ranks, want 3: %v", noted, r.Notes)
	}
}

// TestStretchesOfAServer: the files that a server wrote by stage, one for each rank and stage.
func TestStretchesOfAServer(t *testing.T) {
	r := explaintest.Analyzed(t, explaintest.ReadDir(t, filepath.Join("..", "..", "testdata", "windows", "by_stage")))
	kinds := map[string]int{}
	for _, s := range r.Steps {
		kinds[s.Kind]++
	}
	if got := fmt.Sprint(r.Source.Ranks, kinds, len(r.Source.Files)); got != "[TP00 TP01] map[decode:5 prefill:5] 4" {
		t.Errorf("got ranks, step kinds and files %s, want [TP00 TP01], 5 decode, 5 prefill, 4", got)
	}
	// 6.7 s and 0.9 s of 11.3 s.
	if s := r.Source; s.RecordedNS > 8_000_000_000 || s.SpanNS < 11_000_000_000 {
		t.Errorf("got %d ns recorded of %d ns, want at most 8 s of at least 11 s", s.RecordedNS, s.SpanNS)
	}
}
