package diffusion

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/engine"
	"github.com/stepscope/stepscope/internal/reference/engine/device"
)

// recorded returns the denoising steps in each rank's trace of a span.
func recorded(t *testing.T, p *Pipeline, s *Span) (steps [][]string) {
	t.Helper()
	dir := t.TempDir()
	paths, notes, err := p.WriteSpan(s, func(r engine.Rank) string { return filepath.Join(dir, fmt.Sprintf("x-TP-%d.trace.json.gz", r.TP)) })
	if err != nil || len(notes) > 0 {
		t.Fatal(err, notes)
	}
	for _, path := range paths {
		names, _ := spans(readTrace(t, path), `denoising_step_\d+_t.*`)
		for i := range names {
			names[i] = names[i][:len("denoising_step_0")]
		}
		steps = append(steps, names)
	}
	return steps
}

func numbered(of ...int) (out []string) {
	for _, i := range of {
		out = append(out, fmt.Sprintf("denoising_step_%d", i))
	}
	return out
}

// TestSpans checks that a window over several jobs has the same steps on all ranks, whenever it was opened and closed.
func TestSpans(t *testing.T) {
	for _, tp := range []int{1, 2} {
		p, q := tiny(t, tp, nil)
		q.Steps = 3
		q.Width, q.Height = 32, 32
		record := device.RecordOptions{CPU: true, GPU: true}
		generate := func(step func(done, of int)) {
			t.Helper()
			if _, err := p.Generate(context.Background(), &Job{Request: q, Step: step}); err != nil {
				t.Fatal(err)
			}
		}
		check := func(what string, s *Span, want ...int) {
			t.Helper()
			<-s.Done()
			got := recorded(t, p, s)
			if len(want) == 0 {
				if len(got) != 0 {
					t.Errorf("TP %d, %s: %v; want nothing", tp, what, got)
				}
				return
			}
			if len(got) != tp {
				t.Fatalf("TP %d, %s: %d traces", tp, what, len(got))
			}
			for rank := range got {
				if !slices.Equal(got[rank], numbered(want...)) {
					t.Errorf("TP %d, %s, rank %d: %v; want %v", tp, what, rank, got[rank], want)
				}
			}
		}
		open := func(steps int) *Span {
			t.Helper()
			s := &Span{Steps: steps, Record: record}
			if err := p.Open(s); err != nil {
				t.Fatal(err)
			}
			return s
		}
		shut := func(s *Span) {
			t.Helper()
			if err := p.Shut(s); err != nil {
				t.Fatal(err)
			}
		}

		s := open(0)
		generate(nil)
		generate(nil)
		shut(s)
		generate(nil)
		check("two jobs", s, 0, 1, 2, 0, 1, 2)

		s = open(4)
		if err := p.Open(&Span{}); !errors.Is(err, api.ErrProfileRunning) {
			t.Error(err)
		}
		if _, err := p.Generate(context.Background(), &Job{Request: q, Profile: &Profile{Steps: 1, Dir: t.TempDir()}}); !errors.Is(err, api.ErrProfileRunning) {
			t.Error(err)
		}
		generate(nil)
		generate(nil)
		check("four steps", s, 0, 1, 2, 0)

		s = open(0)
		shut(s)
		check("none", s)

		var mid *Span
		generate(func(done, _ int) {
			if done == 1 {
				mid = open(0)
			}
		})
		shut(mid)
		<-mid.Done()
		got := recorded(t, p, mid)
		if len(got) != tp || len(got[0]) == 0 || len(got[0]) > 2 || !slices.Equal(got[0], got[tp-1]) || got[0][len(got[0])-1] != "denoising_step_2" {
			t.Errorf("TP %d, opened within a job: %v", tp, got)
		}
	}
}

// TestSpanThenProfile checks that a job with a profile of its own is recorded completely even if a span ended just
// before.
func TestSpanThenProfile(t *testing.T) {
	p, q := tiny(t, 2, nil)
	s := &Span{Record: device.RecordOptions{CPU: true}}
	if err := p.Open(s); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Generate(context.Background(), &Job{Request: q}); err != nil {
		t.Fatal(err)
	}
	p.spans.mu.Lock()
	p.spans.wanted = nil // as Shut does before it waits for its turn
	p.spans.mu.Unlock()
	res, err := p.Generate(context.Background(), &Job{Request: q, ID: "x", Profile: &Profile{AllStages: true, Dir: t.TempDir(), Record: s.Record}})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range res.Traces {
		if names, _ := spans(readTrace(t, path), "STAGE .*"); len(names) != 6 {
			t.Errorf("%s has %v", path, names)
		}
	}
	if err := p.Shut(s); err != nil {
		t.Error(err)
	}
	if got := recorded(t, p, s); len(res.Traces) != 2 || len(got) != 2 || len(got[0]) != q.Steps {
		t.Errorf("%d traces; the span has %v", len(res.Traces), got)
	}
}

// TestNotRecorded checks that lost records and a recorder that does not start are reported, for a job's profile and for
// a span.
func TestNotRecorded(t *testing.T) {
	p, q := tiny(t, 2, nil)
	dir := t.TempDir()
	path := func(r engine.Rank) string { return filepath.Join(dir, fmt.Sprint(r.TP)) }
	span := func(record device.RecordOptions) (notes []string, err error) {
		t.Helper()
		s := &Span{Record: record}
		if err := p.Open(s); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Generate(context.Background(), &Job{Request: q}); err != nil {
			t.Fatal(err)
		}
		if err := p.Shut(s); err != nil {
			t.Fatal(err)
		}
		_, notes, err = p.WriteSpan(s, path)
		return notes, err
	}
	lost := regexp.MustCompile(`^rank 0: \d+ records did not fit; record fewer steps rank 1: \d+ records`)
	small := device.RecordOptions{CPU: true, GPU: true, MaxBytes: 1}
	if notes, err := span(small); err != nil || !lost.MatchString(strings.Join(notes, " ")) {
		t.Errorf("span: %q, %v", notes, err)
	}
	res, err := p.Generate(context.Background(), &Job{Request: q, ID: "x", Profile: &Profile{Steps: All, Dir: dir, Record: small}})
	if err != nil || !lost.MatchString(strings.Join(res.Notes, " ")) {
		t.Errorf("job: %q, %v", res.Notes, err)
	}

	taken := p.team.Ranks()[1].Recorder
	if err := taken.StartRecording(device.RecordOptions{CPU: true}); err != nil {
		t.Fatal(err)
	}
	for _, profile := range []Profile{{Steps: 2}, {AllStages: true}} {
		profile.Dir, profile.Record = dir, device.RecordOptions{CPU: true}
		res, err := p.Generate(context.Background(), &Job{Request: q, ID: "x", Profile: &profile})
		if err == nil || !strings.Contains(err.Error(), "record on rank 1: ") || len(res.Traces) != 1 || res.Picture == nil {
			t.Errorf("%+v: %v", profile, err)
		}
	}
	if _, err := span(device.RecordOptions{CPU: true}); err == nil || !strings.Contains(err.Error(), "record on rank 1: ") {
		t.Errorf("span: %v", err)
	}
}
