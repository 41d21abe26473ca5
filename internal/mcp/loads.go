package mcp

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/waits"
	"github.com/stepscope/stepscope/internal/runs"
)

type requestsIn struct {
	ofRun
	Slowest int    `json:"slowest,omitempty" jsonschema:"number of requests, default 10, at most 50"`
	By      string `json:"by,omitempty" jsonschema:"ttft (default), tpot, gap, e2e"`
}

// silent discards messages.
func silent() *progress.Console { return &progress.Console{W: io.Discard} }

// requests shows the percentiles of a load and its slowest requests.
func (s *Server) requests(ctx context.Context, in requestsIn) (reply, error) {
	path, err := s.roots.find(in.Run)
	if err != nil {
		return nil, err
	}
	run, err := runs.Named(s.roots.runs, path)
	switch {
	case err != nil:
		return nil, err
	case !run.Loaded():
		return nil, fmt.Errorf("%s has no requests of a load: list_runs with kind bench shows the runs that have", clean(in.Run))
	}
	load, err := run.Load(silent())
	if err != nil {
		return nil, err
	}
	figures := map[string]func(r *bench.Record) (int64, bool){
		"": (*bench.Record).TTFT, "ttft": (*bench.Record).TTFT, "gap": (*bench.Record).LongestGap, "e2e": (*bench.Record).E2E,
		"tpot": func(r *bench.Record) (int64, bool) { v, ok := r.TPOT(); return int64(v), ok },
	}
	by, ok := figures[in.By]
	if !ok {
		return nil, fmt.Errorf("by %q: give ttft, tpot, gap or e2e", clean(in.By))
	}
	out := &answer{}
	var causes *waits.Result
	if len(run.Traces()) > 0 {
		if a, err := s.analyse(ctx, in.Run); err == nil {
			causes = a.Requests
		} else {
			out.line("why requests waited is unknown: %s", clean(err.Error()))
		}
	}
	at := len(load.Runs) - 1
	if causes != nil {
		at = causes.Run
	}
	m := load.Runs[at]
	sum := bench.Summarize(m.Records, m.Run, bench.Options{})
	out.line("%s: run %d of %d, %d of %d requests completed in %s, %s requests/s, %s output tokens/s", clean(run.ID()), at+1, len(load.Runs), sum.Completed, sum.Requests,
		metric.Duration(sum.Duration), metric.Three(sum.RequestRate), metric.Three(sum.OutputRate))
	out.line("figure | n | median | p90 | p99 | max")
	for _, f := range []struct {
		name string
		of   *bench.Stats
	}{{"TTFT", &sum.TTFT}, {"TPOT", &sum.TPOT}, {"gap between events", &sum.ChunkGap}, {"E2E", &sum.E2E}} {
		out.line("%s | %d | %s | %s | %s | %s", f.name, f.of.N, metric.Duration(f.of.Median), metric.Duration(f.of.P90), metric.Duration(f.of.P99), metric.Duration(f.of.Max))
	}
	if text := report.SlowCauses(causes); text != "" {
		out.line("%s", safeLine(text))
	}
	waited := map[string]*waits.Case{}
	if causes != nil {
		for i := range causes.TTFT.Cases {
			c := &causes.TTFT.Cases[i]
			waited[c.Request] = c
		}
	}
	records := slices.DeleteFunc(slices.Clone(m.Records), func(r bench.Record) bool { _, ok := by(&r); return !ok || !r.OK() })
	sorts.Stable(records, func(a, b bench.Record) int {
		x, _ := by(&a)
		y, _ := by(&b)
		return cmp.Compare(y, x)
	})
	out.line("")
	out.rows("request | sent | TTFT | TPOT | longest gap | E2E | input | output | its first token waited for", len(records), limited(in.Slowest, 10, 50), "raise slowest", func(i int) string {
		r := &records[i]
		cells := []string{clean(cmp.Or(r.ID, fmt.Sprintf("#%d", r.Index))), metric.Duration(r.Sent)}
		for _, name := range []string{"ttft", "tpot", "gap", "e2e"} {
			v, ok := figures[name](r)
			cells = append(cells, known(ok, metric.Duration(v)))
		}
		parts := ""
		if c := waited[r.ID]; c != nil {
			parts = partsOf(&c.Wait)
		}
		return strings.Join(append(cells, fmt.Sprint(r.PromptLen), fmt.Sprint(r.OutputLen), parts), " | ")
	})
	return out, nil
}

// known returns text, or "?" for an unknown figure.
func known(ok bool, text string) string {
	if !ok {
		return "?"
	}
	return text
}

// partsOf lists the largest parts of a wait.
func partsOf(w *waits.Wait) string {
	parts := report.WaitParts(w)
	sorts.Stable(parts, func(a, b report.WaitPart) int { return cmp.Compare(b.NS, a.NS) })
	var out []string
	for _, p := range parts[:min(3, len(parts))] {
		out = append(out, p.Name+" "+metric.Duration(p.NS))
	}
	return strings.Join(out, ", ")
}

type listIn struct {
	Kind  string `json:"kind,omitempty" jsonschema:"bench, profile, generate, demo"`
	Tag   string `json:"tag,omitempty"`
	Limit int    `json:"limit,omitempty" jsonschema:"default 20, at most 50"`
}

// listRuns lists the runs, newest first.
func (s *Server) listRuns(_ context.Context, in listIn) (reply, error) {
	if s.roots.runs == "" {
		return nil, fmt.Errorf("this server has no directory of runs: give a path below %s", strings.Join(s.roots.dirs, ", "))
	}
	list, err := runs.List(s.roots.runs)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(r runs.Entry) bool {
		return in.Kind != "" && r.Kind != in.Kind || in.Tag != "" && !slices.Contains(r.Tags, in.Tag)
	})
	rows := (&runs.Listing{Runs: list}).Rows()
	out := &answer{}
	out.fact("runs", len(list))
	out.rows("id | what | when | model | status | traces | key figures", len(list), limited(in.Limit, 20, 50), "narrow by kind or tag, or raise limit", func(i int) string {
		r := &rows[i]
		return strings.Join([]string{clean(r.ID), clean(r.What), r.Created.UTC().Format("2006-01-02 15:04:05Z"), clean(r.Model), clean(r.Status), fmt.Sprint(list[i].Traces), clean(r.Numbers)}, " | ")
	})
	return out, nil
}
