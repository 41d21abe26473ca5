package report

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// This file reports on prefill-decode disaggregation: the two sides of a system, the transfers between the sides, and
// the side that limits the system.

const pdTitle = "Prefill-decode disaggregation"

// PDText writes pd for a terminal.
func PDText(w io.Writer, pd *result.PD, o Options) error {
	b := bufio.NewWriter(w)
	t := textWriter{b: b, width: o.width(), p: paint(o.Color), all: true}
	t.line(t.p.bold(pdTitle))
	t.findings(&result.Report{Findings: pd.Findings})
	for _, s := range pdSections(pd, o.rows()) {
		t.table(s)
	}
	return b.Flush()
}

// PDMarkdown writes pd as Markdown.
func PDMarkdown(w io.Writer, pd *result.PD, o Options) error {
	b := bufio.NewWriter(w)
	write := lines(b)
	write("## ", pdTitle, "\n")
	for i := range pd.Findings {
		markdownFinding(write, &pd.Findings[i], true)
	}
	for _, s := range pdSections(pd, o.rows()) {
		markdownTable(write, s, false)
	}
	return b.Flush()
}

// PDHTML writes pd as one self-contained page. others are the pages of the individual servers.
func PDHTML(w io.Writer, pd *result.PD, others []Page) error {
	clean := Plain(pd)
	r := &result.Report{Findings: clean.Findings}
	p := page{R: r, Title: pdTitle, Others: others}
	for _, side := range []struct {
		role string
		s    *result.PDSide
	}{{"prefill", &clean.Prefill}, {"decode", &clean.Decode}} {
		p.Head = append(p.Head, plural(len(side.s.Servers), side.role+" server"), plural(side.s.Steps, "step"))
	}
	for _, t := range pdSections(clean, pageRows) {
		p.Tables = append(p.Tables, pageTableOf(t, pageLimits))
	}
	p.find(r)
	p.assets.take("page", "page/page.css")
	text, err := execute("page.html", &p, &p.Data, newPageData(r, pageLimits))
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

func pdSections(pd *result.PD, limit int) (out []*table) {
	for _, t := range []*table{pdSidesTable(pd), pdQueuesTable(pd), pdTransferTable(pd), notesTable(&result.Report{Notes: pd.Notes}, limit)} {
		if len(t.rows) > 0 {
			t.prune()
			out = append(out, t)
		}
	}
	return out
}

// eachServer calls f with each server. If a side has several servers, it first calls f with the whole side.
func eachServer(pd *result.PD, f func(role string, s *result.PDServer)) {
	for _, side := range []struct {
		role string
		s    *result.PDSide
	}{{"prefill", &pd.Prefill}, {"decode", &pd.Decode}} {
		if n := len(side.s.Servers); n > 1 {
			all := result.PDServer{
				Name: "all " + strconv.Itoa(n), Steps: side.s.Steps, Stepping: side.s.Stepping, Busy: side.s.Busy, TokensPerS: side.s.TokensPerS, Queue: side.s.Queue,
			}
			f(side.role, &all)
		}
		for i := range side.s.Servers {
			f(side.role, &side.s.Servers[i])
		}
	}
}

func pdSidesTable(pd *result.PD) *table {
	t := &table{
		id: "pd-sides", title: "The two sides",
		lead: "Each server over its own window. In steps: share of time with a forward step running; GPU busy: share with kernels running. Tokens: prompt tokens on prefill servers, generated ones on decode servers.",
		cols: []column{
			{name: "side"}, {name: "server"}, {name: "ranks", right: true, drop: 4}, {name: "steps", right: true}, {name: "window", right: true},
			{name: "in steps", right: true}, {name: "GPU busy", right: true}, {name: "per step", right: true, drop: 1, help: "median, to the next step's start"},
			{name: "batch", right: true, help: "requests per step, mean"}, {name: "most", right: true, drop: 2, help: "requests in a step"}, {name: "tokens/s", right: true},
			{name: "other steps", right: true, page: true, help: "of the other side's kind"},
		},
	}
	eachServer(pd, func(role string, s *result.PDServer) {
		t.rows = append(t.rows, []cell{
			textCell(role), textCell(s.Name), cellIf(s.Ranks > 0, countCell(s.Ranks)), countCell(s.Steps), cellIf(s.WindowNS > 0, durCell(s.WindowNS)),
			shareCell(s.Stepping), shareCell(s.Busy), cellIf(s.Period > 0, durCell(s.Period)),
			rateCell(s.Batch), cellIf(s.BatchMax > 0, countCell(s.BatchMax)), rateCell(s.TokensPerS), cellIf(s.Ranks > 0, countCell(s.OtherSteps)),
		})
	})
	return t
}

func pdQueuesTable(pd *result.PD) *table {
	t := &table{
		id: "pd-queues", title: "Waiting requests",
		lead: "Mean numbers of requests over the samples of /v1/loads in the recorded time. Place: KV memory and a slot among the running requests of a decode server; prefill starts when a request has one.",
		cols: []column{
			{name: "side"}, {name: "server"}, {name: "samples", right: true, drop: 1}, {name: "running", right: true}, {name: "at most", right: true, drop: 2, help: "maximum of running requests"},
			{name: "for a batch", right: true}, {name: "for a place", right: true}, {name: "in transfer", right: true}, {name: "KV used", right: true, help: "maximum, of the fullest rank"},
		},
	}
	if pd.Prefill.Queue.Samples+pd.Decode.Queue.Samples == 0 {
		return t
	}
	count := func(v float64) cell { return cell{text: strconv.FormatFloat(finite(v), 'f', 1, 64), num: finite(v)} }
	eachServer(pd, func(role string, s *result.PDServer) {
		q := &s.Queue
		known := func(c cell) cell { return cellIf(q.Samples > 0, c) }
		place, moving := q.Bootstrap, q.Inflight
		if role == "decode" {
			place, moving = q.Prealloc+q.Retracted, q.Transfer
		}
		t.rows = append(t.rows, []cell{
			textCell(role), textCell(s.Name), known(countCell(q.Samples)), cellIf(role == "decode" || q.Running > 0, known(count(q.Running))), cellIf(q.MostRunning > 0, countCell(q.MostRunning)),
			known(count(q.Waiting)), known(count(place)), known(count(moving)), known(shareCell(q.KVUsage)),
		})
	})
	return t
}

func pdTransferTable(pd *result.PD) *table {
	t := &table{id: "pd-transfer", title: "KV transfer", cols: []column{{name: ""}, {name: "", right: true}, {name: "", flex: true, wrap: true, min: 30}}}
	x := &pd.Transfer
	if x.Seen == 0 {
		return t
	}
	row := func(name, value, more string) {
		t.rows = append(t.rows, []cell{textCell(name), textCell(value), textCell(more)})
	}
	with := "the two sides matched by " + x.By
	if x.By == "" {
		with = "recorded on one side only"
	}
	row("requests", metric.Count(x.Whole), fmt.Sprintf("complete, of %s seen; %s", metric.Count(x.Seen), with))
	if x.Whole > 0 {
		row("KV cache", metric.Bytes(x.Bytes), fmt.Sprintf("in %s; %s per request", copiesText(x.Copies), metric.Bytes(x.Bytes/int64(x.Whole))))
		row("rate", metric.Rate(x.GBs*1e9), "while copies run")
	}
	row("sending", share(x.Sending), "of the prefill servers' time")
	for _, s := range []struct {
		name string
		v    *result.Spread
		help string
	}{
		{"first to last byte", &x.Took, "as layers are computed"},
		{"exposed", &x.Exposed, "from a request's last prefill kernel to the arrival of its last byte"},
		{"joined", &x.Joined, "from there to its first decode step"},
	} {
		if s.v.N > 0 {
			row(s.name, metric.Duration(s.v.Median), fmt.Sprintf("median of %s, p99 %s, longest %s: %s", metric.Count(s.v.N), metric.Duration(s.v.P99), metric.Duration(s.v.Max), s.help))
		}
	}
	row("clocks", "", Words(x.Clocks))
	return t
}

func copiesText(n int) string {
	if n == 1 {
		return "1 copy"
	}
	return metric.Count(n) + " copies"
}
