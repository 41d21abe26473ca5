package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
)

// The page of a benchmark shares style, plots and tables with the page of an analysis (html.go).

const (
	benchBins = 400   // number of bins of the plots over time
	benchDots = 4_000 // maximum number of individually shown requests
)

// BenchPage is the content of a run that both the page of the run and the viewer show.
type BenchPage struct {
	Title   string          `json:"title"`
	Verdict string          `json:"verdict"`
	Next    []string        `json:"next"`
	Head    []string        `json:"head"`
	Cards   []benchCard     `json:"cards"`
	Facts   []benchPageFact `json:"facts"`
	Tables  []pageTable     `json:"tables"`
	Plots   *benchData      `json:"plots"`
	Bin     string          `json:"bin"` // length of a bin of the plots over time
}

// benchPage is the data of the template.
type benchPage struct {
	assets
	*BenchPage
	Captures []Page
	Bare     string // reason why the run has no distributions; "": it has
}

// bare returns the reason why a run has no distributions.
func bare(b *Bench) string {
	switch {
	case b.Summary.Completed == 0:
		return "No request succeeded."
	case len(b.Run.Profiled) > 0:
		return "The captured window left too few untouched requests."
	}
	return "No latency was measured."
}

type benchCard struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	More  string `json:"more"`
}

type benchPageFact struct {
	Label    string `json:"label"`
	Text     string `json:"text"`
	Severity string `json:"severity"` // "warning" or ""
}

// benchSpread is a distribution of the page and its data.
type benchSpread struct {
	bench.Distribution
	Title string `json:"title"`
	Note  string `json:"note"`
	Limit int64  `json:"limit"` // the objective in ns; 0: none
}

// benchData is the data of the plots. A missing latency is -1. Failed requests have neither TTFT nor E2E.
type benchData struct {
	*bench.Timeline
	Steady    []bench.Span     `json:"steady"`
	Profiled  []bench.Span     `json:"profiled"`
	Index     []int            `json:"index"` // indices in the records of the individually shown requests
	At        []int64          `json:"at"`
	AtOnce    bool             `json:"at_once"` // all requests were sent at once, so a latency is plotted at its end
	TTFT      []int64          `json:"ttft"`
	E2E       []int64          `json:"e2e"`
	Touched   []benchTouch     `json:"touched"` // whether the captured window affected the request's latencies
	Limits    map[string]int64 `json:"limits"`
	Embedding bool             `json:"embedding"`
	Spreads   []benchSpread    `json:"spreads"`
}

// benchTouch is the set of latencies of a request that the captured window affected.
type benchTouch int

const (
	touchedTTFT benchTouch = 1 << iota
	touchedE2E
)

// Several reports whether a bin is at least one second long, so that its mean and its busiest second differ.
func (d *benchData) Several() bool { return d.Bin >= 1e9 }

// BenchHTML writes a run as one self-contained page.
func BenchHTML(w io.Writer, b *Bench) error {
	p := benchPage{BenchPage: NewBenchPage(b), Captures: b.Captures, Bare: bare(b)}
	p.assets.take("bench", "page/page.css", "benchpage/bench.css")
	text, err := execute("bench.html", &p, &p.Data, p.Plots)
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

// NewBenchPage returns the content of the page of a run.
func NewBenchPage(b *Bench) *BenchPage {
	p := &BenchPage{Title: "Benchmark", Head: benchHead(b), Cards: benchCards(b), Facts: []benchPageFact{}, Tables: []pageTable{}}
	if m := columns.Clean(b.Run.Model); m != "" {
		p.Title = "Benchmark of " + m
	}
	for _, f := range benchFacts(b) {
		p.Facts = append(p.Facts, benchPageFact{f.label, f.text, f.severity})
	}
	p.Verdict, p.Next = benchAnswer(b)
	p.Next = append([]string{}, p.Next...)
	d, dots := newBenchData(b)
	if dots < b.Summary.Requests {
		p.Facts = append(p.Facts, benchPageFact{Label: "left out", Text: fmt.Sprintf("the latency plot shows %s of %s requests, including the slowest and all failed ones",
			metric.Count(dots), metric.Count(b.Summary.Requests))})
	}
	p.Plots, p.Bin = d, metric.Duration(d.Bin)
	for _, t := range benchTables(b) {
		if len(t.rows) > 0 {
			p.Tables = append(p.Tables, benchPageTable(t))
		}
	}
	return p
}

func benchHead(b *Bench) []string {
	run := b.Run
	rate := run.RateText()
	switch rate {
	case "inf":
		rate = "all requests at once"
	case "trace":
		rate = "at the times of a trace"
	default:
		rate += " requests/s"
	}
	if run.MaxConcurrency > 0 {
		rate += fmt.Sprintf(", at most %d at a time", run.MaxConcurrency)
	}
	var out []string
	for _, s := range []string{run.Backend, run.URL, run.Dataset, plural(b.Summary.Requests, "request"), rate, metric.Duration(run.Duration)} {
		if s != "" {
			out = append(out, columns.Clean(s))
		}
	}
	return out
}

// benchCards returns the main figures.
func benchCards(b *Bench) []benchCard {
	s := b.Summary
	latency := func(name string, x *bench.Stats) benchCard {
		switch {
		case s.Lacks(strings.ToLower(name)), s.Lacks("client_queue") && x == &s.Gate:
			return benchCard{name, none, "too few outside the profiling window"}
		case x.N == 0:
			return benchCard{name, none, "no samples"}
		}
		more := "median; p99 " + metric.Duration(x.P99)
		if f := &s.FirstEvent; x == &s.TTFT && f.N > 0 && f.P99 < early*x.P99 {
			more += "; first event p99 " + metric.Duration(f.P99)
		}
		return benchCard{name, metric.Duration(x.Median), more}
	}
	rate := func(v float64) string {
		if s.Lacks(bench.Rates) {
			return none
		}
		return three(v) + "/s"
	}
	cards := []benchCard{{"Requests", rate(s.RequestRate), fmt.Sprintf("%s of %s succeeded", metric.Count(s.Completed), metric.Count(s.Requests))}}
	if !s.Embedding {
		cards = append(cards, benchCard{"Output tokens", rate(s.OutputRate), metric.Count(s.OutputTokens) + " in all"})
	} else {
		cards = append(cards, benchCard{"Input tokens", rate(s.InputRate), metric.Count(s.InputTokens) + " in all"})
	}
	if g := s.Goodput; g != nil && !g.Measured() {
		cards = append(cards, benchCard{"Goodput", none, "not measured"})
	} else if g != nil {
		cards = append(cards, benchCard{"Goodput", three(g.Rate) + "/s", share(g.Share) + " met " + g.SLO.String() + " ms"})
	}
	if !s.Embedding {
		cards = append(cards, latency("TTFT", &s.TTFT), latency("TPOT", &s.TPOT), latency("ITL", &s.ITL))
	}
	cards = append(cards, latency("E2E", &s.E2E))
	if s.Gate.N > 0 && s.Gate.Max > 0 {
		cards = append(cards, latency("Client queue", &s.Gate))
	}
	return cards
}

func newBenchData(b *Bench) (*benchData, int) {
	d := &benchData{
		Timeline: bench.NewTimeline(b.Records, b.Run, benchBins), Steady: []bench.Span{}, Profiled: append([]bench.Span{}, b.Run.Profiled...),
		Index: []int{}, At: []int64{}, TTFT: []int64{}, E2E: []int64{}, Touched: []benchTouch{}, Limits: map[string]int64{}, Embedding: b.Summary.Embedding, Spreads: []benchSpread{},
	}
	if w := b.Summary.Steady; w != nil {
		d.Steady = append(d.Steady, w.Span)
	}
	for _, o := range b.Summary.Objectives() {
		d.Limits[o.Key] = o.Limit
	}
	for _, i := range benchPick(b.Records) {
		r := &b.Records[i]
		at, first, last, touched := r.Sent, bench.Never, bench.Never, benchTouch(0)
		if at == bench.Never {
			at = r.Released
		}
		if r.OK() {
			if v, ok := r.TTFT(); ok {
				first = v
				if b.Run.Overlaps(r.Sent, r.First) {
					touched |= touchedTTFT
				}
			}
			if v, ok := r.E2E(); ok {
				last = v
				if b.Run.Overlaps(r.Sent, r.Done) {
					touched |= touchedE2E
				}
			}
		}
		d.Index, d.At, d.TTFT, d.E2E, d.Touched = append(d.Index, i), append(d.At, at), append(d.TTFT, first), append(d.E2E, last), append(d.Touched, touched)
	}
	// If all requests were sent within a twentieth of the plot, their dots cannot be distinguished.
	if n := int64(len(d.Running)); len(d.At) > 1 && n > 0 {
		d.AtOnce = 20*(slices.Max(d.At)-slices.Min(d.At)) < d.Bin*n
	}
	titles := map[string]string{"ttft": "TTFT, of requests", "itl": "ITL, of all gaps", "tpot": "TPOT, of requests", "e2e": "E2E, of requests"}
	for _, s := range bench.Distributions(b.Records, b.Run) {
		if b.Summary.Lacks(s.Name) {
			continue
		}
		limit := d.Limits[s.Name]
		if s.Name == "itl" {
			limit = 0 // this objective applies to the longest gap of a request, not to each gap
		}
		d.Spreads = append(d.Spreads, benchSpread{Distribution: s, Title: titles[s.Name], Note: plural(int(s.N), "value"), Limit: limit})
	}
	return d, len(d.At)
}

// benchPick returns the indices of the requests that are shown individually: failed requests, slow requests, and an
// even selection of the remaining requests.
func benchPick(records []bench.Record) []int {
	all := seq(len(records))
	if len(all) <= benchDots {
		return all
	}
	all, _ = ranked(all, 0, "", func(i *int) float64 {
		if !records[*i].OK() {
			return math.Inf(1)
		}
		v, _ := records[*i].E2E()
		return float64(v)
	})
	out := all[: benchDots/4 : benchDots/4]
	rest := all[benchDots/4:]
	slices.Sort(rest)
	for k := range benchDots - len(out) {
		out = append(out, rest[k*len(rest)/(benchDots-benchDots/4)])
	}
	return out
}

func benchPageTable(t *table) pageTable {
	out := pageTable{ID: t.id, Title: t.title, Rows: []pageRow{}}
	for _, c := range t.cols {
		out.Cols = append(out.Cols, pageColumn{Name: c.name, Right: c.right})
	}
	for _, row := range t.rows {
		cells := make([]pageCell, len(row))
		for i, c := range row {
			cells[i] = pageCell{Text: c.text, Right: t.cols[i].right}
			cells[i].wrap(!t.cols[i].right)
			if t.cols[i].right && c.num != 0 {
				cells[i].Num = fmt.Sprintf("%.6g", c.num)
			}
		}
		out.Rows = append(out.Rows, pageRow{Cells: cells})
	}
	return out
}
