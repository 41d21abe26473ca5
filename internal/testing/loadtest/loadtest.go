// Package loadtest makes small benchmark runs, for tests of their display.
package loadtest

import (
	"errors"
	"io"
	"testing"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/trace"
)

const (
	ms    = int64(1_000_000)
	start = int64(1_763_750_000_000_000_000) // start of the run and of the trace, ns since 1970
)

// reply returns the record of a request that was sent at sent and received events with text at the given times, all in
// ms.
func reply(id string, sent int64, events ...int64) bench.Record {
	r := bench.Record{
		ID: id, Scheduled: sent * ms, Released: sent * ms, Sent: sent * ms, First: events[0] * ms, Last: events[len(events)-1] * ms, Done: events[len(events)-1] * ms,
		DPRank: -1, CachedTokens: -1, PromptLen: 7, TextLen: 7, OutputLen: len(events), AskedLen: len(events), Status: 200, OutputFrom: bench.FromServer,
	}
	r.Headers, r.FirstAny, r.Visible = r.First, r.First, r.First
	for _, e := range events {
		r.Chunks = append(r.Chunks, bench.Chunk{At: e * ms, Tokens: 1, Text: true})
	}
	return r
}

// Sample returns a load of four requests; steps were recorded from 0 to 200 ms:
//
//	a  sent at -, tokens at 11 41 111 151: in the decode steps
//	b  sent at 2, its prefill at 12 … 30
//	c  sent at 105, its prefill at 110 … 140
//	d  sent at 300, when nothing was recorded
func Sample() []bench.Record {
	failed := bench.Record{ID: "e", Scheduled: 310 * ms, Released: 310 * ms, Sent: 310 * ms, First: bench.Never, Last: bench.Never, Done: 320 * ms, Failure: bench.Refused, Error: "no\x1b[31m connection", DPRank: -1, CachedTokens: -1}
	records := []bench.Record{reply("a", 0, 11, 41, 111, 151), reply("b", 2, 31, 41, 111), reply("c", 105, 141, 151), reply("d", 300, 350, 400), failed}
	for i := range records {
		records[i].Index = i
	}
	return records
}

// Trace returns the trace of the server to which the load of Sample was sent.
func Trace() *trace.Trace {
	t := &trace.Trace{Source: trace.Source{Host: "here", Rank: trace.Rank{TP: 0, DP: -1, PP: -1, EP: -1}}, Tracks: make([]trace.Track, 3)}
	add := func(cat trace.Category, from, to int64, name string, track trace.TrackID, corr int64, ids string) {
		detail := int32(-1)
		if ids != "" {
			detail = int32(t.Strings.Intern([]byte(ids)))
		}
		t.Spans = append(t.Spans, trace.Span{Start: start + from*ms, Dur: (to - from) * ms, Cat: cat, Name: t.Strings.Intern([]byte(name)), Track: track, Corr: corr, Detail: detail})
	}
	add(trace.Window, 0, 200, "PyTorch Profiler (0)", 2, 0, "")
	for i, s := range []struct {
		from, to  int64
		name, ids string
	}{
		{0, 10, "step[DECODE bs=1]", "a"}, {12, 30, "step[EXTEND bs=1 toks=7]", "b"}, {30, 40, "step[DECODE bs=2]", "a,b"},
		{100, 110, "step[DECODE bs=2]", "a,b"}, {110, 140, "step[EXTEND bs=1 toks=9]", "c"}, {140, 150, "step[DECODE bs=3]", "a,c"},
	} {
		add(trace.UserAnnotation, s.from, s.to, s.name, 0, 0, s.ids)
		add(trace.Runtime, s.from, s.from+1, "cudaGraphLaunch", 0, int64(i+1), "")
		add(trace.Kernel, s.from, s.to, "kernel", 1, int64(i+1), "")
	}
	return t
}

// Keep stores records as a run. If traces is set, the run also has a trace and a profiling window from 90 to 210 ms.
func Keep(t testing.TB, root string, records []bench.Record, traces bool) *runs.Run {
	t.Helper()
	r, err := runs.Create(root, runs.About{Kind: "bench", Tool: "bench serving", Tags: []string{"first"}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	w, err := r.WriteRecords()
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		if err := w.Add(&records[i]); err != nil {
			t.Fatal(err)
		}
	}
	run := &bench.Run{Tool: "bench serving", Backend: "sglang", Model: "tiny", StartWall: start, Duration: 400 * ms}
	if traces {
		run.Profiled = []bench.Span{{From: 90 * ms, To: 210 * ms}}
		err = r.Write(runs.File{Path: "traces/1-TP-0.trace.json.gz", Kind: runs.KindTrace}, func(w io.Writer) error { return nil })
	}
	slo := bench.SLO{{Key: "ttft", Limit: 40 * ms}}
	err = errors.Join(err, w.Close(), r.WriteJSON(runs.File{Path: "run.json", Kind: runs.KindRun}, []*bench.Run{run}),
		r.WriteJSON(runs.File{Path: "summary.json", Kind: runs.KindSummary}, []*bench.Summary{bench.Summarize(records, run, bench.Options{SLO: slo})}),
		r.WriteJSON(runs.File{Path: "server-metrics.json", Kind: runs.KindMetrics}, []runs.Sample{
			{At: start + 100*ms, Values: map[string]float64{`sglang:num_running_reqs{dp_rank="0"}`: 2, `sglang:num_running_reqs{dp_rank="1"}`: 1, "sglang:num_queue_reqs": 4, "sglang:token_usage": 0.25}},
			{At: start + 200*ms, Values: map[string]float64{"process_Start_time_seconds": 1}},
		}), r.Finish(runs.Complete, nil))
	if err != nil {
		t.Fatal(err)
	}
	return r
}
