package waits

import (
	"fmt"
	"testing"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/trace"
)

// TestRequest: Request gives the waits of the first token and of the gaps after it, and the steps of any request; Batch
// gives the requests of a step. By time, a request has the steps of its prefill and all decode steps until its end.
func TestRequest(t *testing.T) {
	records := []bench.Record{request("a", -50, 11, 41, 111, 151), request("b", 2, 31, 41, 111), request("c", 105, 141, 151), request("later", 400, 500)}
	for _, c := range []struct {
		by, in string
		first  bool // the first token of a comes from a recorded step
	}{
		{ByID, "a 0 2 3 5; b 1 2 3 5; c 4 5; later", true},
		{ByTime, "a 2 3 5; b 1 2 3; c 4 5; later", false},
	} {
		tr := one()
		if c.by == ByTime {
			tr = nameless(tr)
		}
		j, err := Join(load(records...), []*Server{NewServer("", "", []*trace.Trace{tr})}, Options{Host: "here"})
		if err != nil || j.By != c.by {
			t.Fatalf("got error %v, join %+v, want requests by %s", err, j, c.by)
		}
		in := ""
		for i, r := range records {
			if i > 0 {
				in += "; "
			}
			in += r.ID
			for _, p := range j.Request(i).In {
				in += fmt.Sprint(" ", p.Step)
			}
		}
		if in != c.in {
			t.Errorf("by %s: got steps %q, want %q", c.by, in, c.in)
		}
		b := j.Request(1)
		if b.TTFT == nil || b.TTFT.Wait != wait(Wait{Queue: 10, QueueIdle: 2, Prefill: 18, Reply: 1}) || len(b.Gaps) != 2 {
			t.Errorf("by %s: request b: got %+v, want queue 10, prefill 18, reply 1 ms and 2 gaps", c.by, b)
		}
		if a := j.Request(0); (a.TTFT != nil) != c.first || len(a.Gaps) != 3 || a.Gaps[1].Wait != wait(Wait{Stall: 59, Paused: 59, Decode: 10, Reply: 1}) {
			t.Errorf("by %s: request a: got %+v, want TTFT %v and 3 gaps, the second with a stall of 59 ms", c.by, a, c.first)
		}
		batch := ""
		for _, i := range j.Batch(Place{0, 3}) {
			batch += " " + records[i].ID
		}
		if batch != " a b" {
			t.Errorf("by %s: got requests%s of step 3, want a b", c.by, batch)
		}
		if far := j.Request(3); far.TTFT != nil || len(far.Gaps)+len(far.In) != 0 {
			t.Errorf("request outside the window: got %+v, want no TTFT, gaps or steps", far)
		}
	}
}

// TestLanes: steps have times of the run, corrected for clock drift and the difference between hosts, and the start time
// in the trace.
func TestLanes(t *testing.T) {
	const hour = 3600 * int64(1e9)
	tr := one()
	for i := range tr.Spans {
		tr.Spans[i].Start += hour
	}
	runs := load(request("b", 2, 31), request("c", 105, 141, 151))
	runs[0].Run.StartWall -= 20 * ms // the run is 20 ms old
	for i := range runs[0].Records {
		r := &runs[0].Records[i]
		for _, at := range []*int64{&r.Sent, &r.First, &r.Done} {
			*at += 20 * ms
		}
		for k := range r.Chunks {
			r.Chunks[k].At += 20 * ms
		}
	}
	j, err := Join(runs, []*Server{NewServer("decode-0", "", []*trace.Trace{tr})}, Options{Host: "elsewhere"})
	if err != nil {
		t.Fatal(err)
	}
	lanes := j.Lanes()
	if len(lanes) != 1 || lanes[0].Server != "decode-0" || lanes[0].DP != -1 || len(lanes[0].Steps) != 6 {
		t.Fatalf("got lanes %+v, want one of decode-0 with 6 steps", lanes)
	}
	// The clocks are an hour and about 2 ms apart (TestClocks).
	s := lanes[0].Steps[1]
	if s.From != 30*ms || s.To != 48*ms || s.Start != start+hour+12*ms || s.Name != "step[EXTEND bs=1 toks=7]" || s.Kind != trace.Prefill {
		t.Errorf("got step %+v, want a prefill step of 30 to 48 ms", s)
	}
	if w := lanes[0].Windows; len(w) != 1 || w[0] != (bench.Span{From: 18 * ms, To: 218 * ms}) {
		t.Errorf("got windows %+v, want one of 18 to 218 ms", w)
	}
	// A clock that gains a second in a thousand.
	j.run.Drift, j.run.Duration = 1e6, 1e9
	for _, at := range []int64{0, 1, 999, 1e6 + 1, 7e8 + 13} {
		if got := j.at(j.wall(at)); got < at-1 || got > at+1 {
			t.Errorf("at(wall(%d)) = %d, want it within 1 ns", at, got)
		}
	}
}
