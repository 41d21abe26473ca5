package bench

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// server simulates a server that prefers prefills, with a limited batch. Times are in s.
type server struct {
	step, perRequest, perToken float64 // time of a step; of a request in a decode step; of a prompt token
	batch, output, prompt      int
}

// serve returns the records of requests that arrive at the given times, and their ends in order.
func (v server) serve(at []float64, r *rand.Rand) []Record {
	type request struct{ prompt, left int }
	out, reqs := make([]Record, len(at)), make([]request, len(at))
	for i := range at {
		reqs[i] = request{int(float64(v.prompt) * (0.5 + r.Float64())), 1 + r.IntN(2*v.output)}
		ns := int64(at[i] * 1e9)
		out[i] = Record{Index: i, Scheduled: ns, Released: ns, Sent: ns, First: Never, OutputLen: reqs[i].left, OutputFrom: FromServer}
	}
	var now float64
	var waiting, batch []int
	next := 0
	token := func(i int) bool {
		out[i].Chunks = append(out[i].Chunks, Chunk{At: int64(now * 1e9), Tokens: 1, Text: true})
		out[i].Last, out[i].Done = int64(now*1e9), int64(now*1e9)
		if out[i].First == Never {
			out[i].First = out[i].Last
		}
		reqs[i].left--
		return reqs[i].left > 0
	}
	for next < len(at) || len(waiting)+len(batch) > 0 {
		for ; next < len(at) && at[next] <= now; next++ {
			waiting = append(waiting, next)
		}
		switch {
		case len(waiting)+len(batch) == 0:
			now = at[next]
		case len(waiting) > 0 && len(batch) < v.batch:
			i := waiting[0]
			waiting = waiting[1:]
			now += v.step + v.perToken*float64(reqs[i].prompt)
			if token(i) {
				batch = append(batch, i)
			}
		default:
			now += v.step + v.perRequest*float64(len(batch))
			batch = slices.DeleteFunc(batch, func(i int) bool { return !token(i) })
		}
	}
	return out
}

// capacity returns the rate at which the server completes requests while others wait.
func (v server) capacity() float64 {
	var ends []int64
	for _, r := range v.serve(make([]float64, 1000), rand.New(rand.NewPCG(1, 1))) {
		ends = append(ends, r.Done)
	}
	slices.Sort(ends)
	return 700 / float64(ends[850]-ends[150]) * 1e9
}

// TestPace: a server keeps up at 0.5 to 0.9 of its capacity, and not at 1.1 to 2 times its capacity. Loads of 10 s, in
// which the server fills and drains for half of the time, may also get the verdict between the two.
func TestPace(t *testing.T) {
	for name, v := range map[string]server{
		"small batch": {0.010, 0.0003, 3e-6, 16, 64, 256},
		"large batch": {0.012, 0.0002, 8e-6, 64, 50, 512},
		"prefills":    {0.003, 0.0008, 40e-6, 48, 32, 256},
	} {
		capacity := v.capacity()
		for _, seconds := range []float64{10, 60} {
			between := 0
			for i := range 20 {
				times := []float64{0.5, 0.6, 0.7, 0.8, 0.9, 1.1, 1.25, 1.5, 1.75, 2}[i%10]
				r := rand.New(rand.NewPCG(uint64(i), 2))
				rate := times * capacity
				at := make([]float64, int(rate*seconds))
				for k := 1; k < len(at); k++ {
					at[k] = at[k-1] + r.ExpFloat64()/rate
				}
				for k := range at { // the load has exactly this rate
					at[k] *= float64(len(at)-1) / rate / at[len(at)-1]
				}
				var ok []*Record
				records := v.serve(at, r)
				for k := range records {
					ok = append(ok, &records[k])
				}
				p := pace(records, ok, &Run{Rate: rate}, nil)
				if p == nil {
					t.Fatalf("%s, %v s at %v: no verdict", name, seconds, times)
				}
				switch want := map[bool]string{true: KeepsUp, false: Overload}[times < 1]; {
				case p.Verdict == AtLimit && seconds < 60:
					between++
				case p.Verdict != want:
					t.Errorf("%s, %v s at %v of %.1f/s: %+v", name, seconds, times, capacity, *p)
				}
				if p.Verdict == Overload && (p.Sustained < 0.7*capacity || p.Sustained > 1.2*capacity) {
					t.Errorf("%s, %v s at %v of %.1f/s: sustains %.1f/s", name, seconds, times, capacity, p.Sustained)
				}
			}
			if between > 2 {
				t.Errorf("%s, %v s: %d of 20 servers are at their limit", name, seconds, between)
			}
		}
	}
}

// TestPaceOfBurst: no request has completed when most are in flight. The rate of completions is still positive.
func TestPaceOfBurst(t *testing.T) {
	var records []Record
	for i := range int64(1000) {
		at := int64(0)
		if i >= 400 {
			at = (i - 400) * 100_000 * ms / 600
		}
		done := max((i+1)*50*ms, at) + 1000*ms
		records = append(records, Record{Index: int(i), Scheduled: at, Released: at, Sent: at, First: done, Last: done, Done: done, OutputLen: 1, Chunks: []Chunk{{At: done, Tokens: 1, Text: true}}})
	}
	p := Summarize(records, &Run{Traced: true, Duration: 101_000 * ms}, Options{}).Pace
	if p == nil || p.Sustained < 0 || p.Verdict == Overload && (p.Sustained < 5 || p.Sustained > 40) {
		t.Errorf("%+v", p)
	}
}

// TestPaceOfRecorded: a server that has 87 requests in flight after 8 s is overloaded, although it caught up
// later.
func TestPaceOfRecorded(t *testing.T) {
	text, err := os.ReadFile("testdata/overload.json")
	if err != nil {
		t.Fatal(err)
	}
	var records []Record
	if err := json.Unmarshal(text, &records); err != nil {
		t.Fatal(err)
	}
	s := Summarize(records, &Run{Rate: 12, Duration: 17_489_688_763}, Options{})
	if f := s.Firsts; f.Slow == nil || f.Slow.Event > 0.5*float64(f.Slow.TTFT) {
		t.Errorf("the slowest first texts followed events without text, got %+v", f.Slow)
	}
	p := s.Pace
	if p == nil || p.Verdict != Overload || p.Most < 80 || p.Sustained < 2 || p.Sustained > 8 {
		t.Errorf("%+v", p)
	}
	for i := range records { // the same load on a server that answers within 100 ms
		r := &records[i]
		r.First, r.Last, r.Done = r.Sent+20*ms, r.Sent+90*ms, r.Sent+100*ms
	}
	if p := Summarize(records, &Run{Rate: 12, Duration: 17_489_688_763}, Options{}).Pace; p == nil || p.Verdict != KeepsUp {
		t.Errorf("%+v", p)
	}
	for name, change := range map[string]func(r *Record){"all due at once": func(r *Record) { r.Scheduled = 0 }, "a tenth failed": func(r *Record) {
		if r.Index%10 == 0 {
			r.Failure = "http_429"
		}
	}} {
		changed := slices.Clone(records)
		for i := range changed {
			change(&changed[i])
		}
		if p := Summarize(changed, &Run{Rate: 12, Traced: true, Duration: 17_489_688_763}, Options{}).Pace; p != nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if p := Summarize(records, &Run{Duration: 17_489_688_763}, Options{}).Pace; p != nil {
		t.Errorf("all at once: %+v", p)
	}
}

// TestPaceTouched: windows do not hide an overload, and a queue that they may have caused shows none.
func TestPaceTouched(t *testing.T) {
	v := server{0.012, 0.0002, 8e-6, 64, 50, 512}
	const second = int64(1e9)
	for _, c := range []struct {
		times   float64 // of the capacity
		windows []Span
		stops   bool // the server stands still in the windows
		want    string
	}{
		{0.7, []Span{{second, 2 * second}}, false, KeepsUp},
		{2, []Span{{second, second * 3 / 2}, {8 * second, second * 17 / 2}, {20 * second, second * 41 / 2}}, false, Overload},
		{1.15, []Span{{second, 12 * second}}, false, Overload},
		{0.7, []Span{{5 * second, 13 * second}}, true, ""},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		rate := c.times * v.capacity()
		at := make([]float64, int(rate*20))
		for k := 1; k < len(at); k++ {
			at[k] = at[k-1] + 1/rate
		}
		records := v.serve(at, r)
		if w := c.windows[0]; c.stops {
			later := func(at *int64) {
				if *at > w.From {
					*at += w.To - w.From
				}
			}
			for k := range records {
				later(&records[k].First)
				later(&records[k].Last)
				later(&records[k].Done)
				for i := range records[k].Chunks {
					later(&records[k].Chunks[i].At)
				}
			}
		}
		var ok []*Record
		for k := range records {
			ok = append(ok, &records[k])
		}
		got := ""
		run := &Run{Rate: rate, Profiled: c.windows}
		if p := pace(records, ok, run, run.overlap()); p != nil {
			got = p.Verdict
		}
		if got != c.want {
			t.Errorf("%v times the capacity, windows %v: got %q, want %q", c.times, c.windows, got, c.want)
		}
	}
}

// TestPaceCauses: queues that are not the server's, and times that are not known.
func TestPaceCauses(t *testing.T) {
	const second = int64(1e9)
	load := func(n int, at func(i int) (scheduled, released, done int64), length func(i int) int) (records []Record) {
		for i := range n {
			r := Record{Index: i, OutputLen: length(i), First: Never}
			r.Scheduled, r.Released, r.Done = at(i)
			r.Sent = r.Released
			records = append(records, r)
		}
		return records
	}
	same := func(int) int { return 20 }
	refused := func(records []Record, from int, why Failure) []Record { // every other request
		for i := from; i < len(records); i += 2 {
			records[i].Failure, records[i].Done = why, records[i].Sent
		}
		return records
	}
	ended := func(records []Record, at int64) []Record {
		for i := range records {
			if r := &records[i]; r.Done > at {
				r.Done, r.Failure = at, Interrupted
			}
		}
		return records
	}
	for _, c := range []struct {
		name    string
		run     Run
		records []Record
		want    string // "": no verdict
	}{
		{"the client's limit of 4 in flight", Run{Rate: 10, MaxConcurrency: 4}, load(200, func(i int) (int64, int64, int64) {
			due := int64(i) * second / 10
			sent := max(due, int64(i/4)*second)
			return due, sent, sent + second
		}, same), ClientLimit},
		{"no limit", Run{Rate: 10}, load(200, func(i int) (int64, int64, int64) {
			due := int64(i) * second / 10
			return due, due, due + second
		}, same), KeepsUp},
		{"lengths differ, and no times of tokens", Run{Rate: 2}, load(60, func(i int) (int64, int64, int64) {
			due := int64(i) * second / 2
			return due, due, due + int64(1+i*17)*second/50
		}, func(i int) int { return 1 + i*17 }), ""},
		{"a burst that does not queue", Run{Traced: true}, load(200, func(i int) (int64, int64, int64) {
			due := int64(i) * second * 3 / 10
			if i >= 120 {
				due = 120*second*3/10 + int64(i-120)*second/100
			}
			return due, due, due + second
		}, same), KeepsUp},
		{"replies of 20 s, ended with the load", Run{Rate: 10}, ended(load(600, func(i int) (int64, int64, int64) {
			due := int64(i) * second / 10
			return due, due, due + 20*second
		}, same), 60*second), KeepsUp},
		{"replies of 50 s, ended with the load", Run{Rate: 10}, ended(load(600, func(i int) (int64, int64, int64) {
			due := int64(i) * second / 10
			return due, due, due + 50*second
		}, same), 60*second), ""},
		{"1.3 times the capacity, ended with the load", Run{Rate: 20}, ended(load(1200, func(i int) (int64, int64, int64) {
			due := int64(i) * second / 20
			return due, due, due + 2*second + int64(i)*second*3/200
		}, same), 60*second), Overload},
		{"twice the capacity, ended with the load", Run{Rate: 10}, ended(load(300, func(i int) (int64, int64, int64) {
			due := int64(i) * second / 10
			return due, due, due + second + int64(i)*second/10
		}, same), 30*second), Overload},
		{"a high limit in the client, and a queue in the server", Run{Rate: 20, MaxConcurrency: 256}, load(1200, func(i int) (int64, int64, int64) {
			due, done := int64(i)*second/20, 6*second+int64(i)*second/10 // the server completes 10/s
			return due, max(due, done-256*second/10), done
		}, same), Overload},
		{"twice the capacity, and a queue of at most 50", Run{Rate: 20}, refused(load(1200, func(i int) (int64, int64, int64) {
			due := int64(i) * second / 20
			return due, due, due + second + min(int64(i)*second/20, 5*second)
		}, same), 200, "http_503"), Overload},
		{"a limit of the rate", Run{Rate: 20}, refused(load(1200, func(i int) (int64, int64, int64) {
			due := int64(i) * second / 20
			return due, due, due + second
		}, same), 0, "http_429"), ""},
		{"twice the capacity, but other failures", Run{Rate: 20}, refused(load(1200, func(i int) (int64, int64, int64) {
			due := int64(i) * second / 20
			return due, due, due + second + min(int64(i)*second/20, 5*second)
		}, same), 200, "http_500"), ""},
	} {
		var ok []*Record
		for i := range c.records {
			if c.records[i].OK() {
				ok = append(ok, &c.records[i])
			}
		}
		p := pace(c.records, ok, &c.run, nil)
		if got := p; got == nil && c.want != "" || got != nil && got.Verdict != c.want {
			t.Errorf("%s: %+v, want %q", c.name, p, c.want)
		}
	}
}
