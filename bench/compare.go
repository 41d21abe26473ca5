package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/gate"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
)

// Comparison is the comparison of load B with load A, the base. Its JSON form is in docs/formats/bench.md.
type Comparison struct {
	Format int  `json:"format"` // 1
	A      Side `json:"a"`
	B      Side `json:"b"`
	// Verdict is the result in one sentence. It names the causes found in Captures if both runs have captures.
	Verdict string   `json:"verdict"`
	Causes  []string `json:"causes"`
	// Unlike lists the differences between the loads. Refused is true if the differences are too large for a verdict.
	// Mistimed lists the loads whose client was too busy to time requests accurately.
	Unlike   []Unlike `json:"unlike"`
	Mistimed []string `json:"mistimed"`
	Refused  bool     `json:"refused"`
	Rows     []Diff   `json:"rows"`
	// Regressions describes, for human readers, the rows that got worse by more than Limit.
	Regressions []string `json:"regressions"`
	Limit       float64  `json:"limit"`     // for all figures; 0: none given
	Limits      []string `json:"limits"`    // for individual figures
	Undecided   []string `json:"undecided"` // limits that cannot be decided from these loads
	Notes       []string `json:"notes"`
}

// Side describes one side of a comparison.
type Side struct {
	ID       string `json:"id"`
	Backend  string `json:"backend"`
	Model    string `json:"model"`
	Runs     int    `json:"runs"`
	Requests int    `json:"requests"`
	Failed   int    `json:"failed"`
	Batches  int    `json:"batches,omitempty"` // set for a benchmark of batches, which has no runs or requests
}

// Load is one side of a comparison: a load and, with --repeat, its repetitions.
type Load struct {
	ID   string
	Runs []Measured
}

// Measured is one run with its records.
type Measured struct {
	Run     *Run
	Records []Record
}

// Diff compares one figure of A with the same figure of B.
type Diff struct {
	Batch  string  `json:"batch,omitempty"` // sequences × prompt + output tokens of a batch: "8 × 1024 + 16"
	Metric string  `json:"metric"`          // ttft, tpot, longest_gap, e2e, failed, good, request_throughput, …
	Figure string  `json:"figure"`          // median, p99, mean
	Unit   Unit    `json:"unit"`
	Higher bool    `json:"higher_is_better"`
	A      float64 `json:"a"`
	B      float64 `json:"b"`
	NA     int     `json:"a_n"` // samples
	NB     int     `json:"b_n"`
	Per    string  `json:"per"`    // unit of sampling: "batch" (successive requests), "run", or "repeat" (of a Batch)
	Change float64 `json:"change"` // B/A − 1; for shares: B − A
	// Lo and Hi bound the 95 % confidence interval of Change, which contains Change; both are 0 if there is no interval.
	Lo float64 `json:"lo"`
	Hi float64 `json:"hi"`
	// P is the p-value of Mann-Whitney's test. PAdj is P adjusted over all tested rows (Benjamini and Hochberg). Both
	// are 1 if the row is a p99 sampled by batch: such a row has only an interval.
	P       float64 `json:"p"`
	PAdj    float64 `json:"p_adjusted"`
	Verdict string  `json:"verdict"`
}

// Verdicts of a Diff.
const (
	Better   = "better"
	Worse    = "worse"
	Same     = "same"      // the whole confidence interval lies within ±5 %
	NotClear = "not clear" // chance could explain the observed difference, or hide a real one
	TooFew   = "too few samples"
	Missing  = "only one side has it"

	NoInterval = "no interval" // only totals are known, not the values of single requests
	NotJudged  = "not judged"  // there is no verdict on the loads
)

// CompareOptions configure Compare.
type CompareOptions struct {
	Limits gate.Limits // how much worse each row may get; empty: no limit
	SLO    SLO         // if set, the share of requests that met it is compared as well
	Force  bool        // give a verdict even if the loads differ
}

const (
	significant = 0.05
	sameWithin  = 0.05
	// If each side has at least enoughRuns runs, each run is one sample. An effect common to all requests of one run
	// then cannot be mistaken for a difference between the sides.
	enoughRuns = 4
	// With fewer than enoughRuns runs, each batch of successive requests is one sample. Neighbouring requests wait in
	// the same queue, so treating each request as an independent sample would show differences that do not exist. The
	// figures of about twenty batches are nearly independent (Schmeiser, Operations Research 30(3), 1982).
	batches = 20
	// A 99th percentile needs batches of a hundred requests.
	tailBatches, tailBatch = 10, 100
)

type half struct {
	load      Load
	summaries []*Summary
	all       [][]*Record // records of each run, by send time
	ok        [][]*Record // successful records of each run
	touched   []overlap   // touched time of each run
}

// Compare compares b with a, metric by metric.
func Compare(a, b Load, o CompareOptions) *Comparison {
	ha, hb := newHalf(a, o), newHalf(b, o)
	c := newComparison(ha.side(), hb.side(), o)
	perRun := len(a.Runs) >= enoughRuns && len(b.Runs) >= enoughRuns
	for _, l := range latencies {
		if d := compareMedian(l.name, l.of, ha, hb, perRun); d.NA+d.NB > 0 {
			c.Rows = append(c.Rows, d, compareTail(l.name, l.of, ha, hb, perRun))
		}
	}
	c.Rows = append(c.Rows, compareShare("failed", false, func(r *Record) bool { return r == nil }, ha, hb, perRun))
	if len(o.SLO) > 0 {
		c.Rows = append(c.Rows, compareShare("good", true, func(r *Record) bool { return r != nil && o.SLO.Meets(r) }, ha, hb, perRun))
	}
	for _, f := range rates {
		if d := compareRate(f, ha, hb); d.NA+d.NB > 0 {
			c.Rows = append(c.Rows, d)
		}
	}
	c.Unlike = append(c.Unlike, unlikeLoads(ha, hb)...)
	for _, h := range []*half{ha, hb} {
		if slices.ContainsFunc(h.summaries, func(s *Summary) bool { return s.Health.Verdict == "invalid" }) && !slices.Contains(c.Mistimed, h.load.ID) {
			c.Mistimed = append(c.Mistimed, h.load.ID)
		}
	}
	c.refuse(o.Force)
	c.judge(o.Limits)
	c.notes(ha, hb, perRun)
	return c
}

func newComparison(a, b Side, o CompareOptions) *Comparison {
	c := &Comparison{
		Format: 1, A: a, B: b, Rows: []Diff{}, Limit: o.Limits.Any(), Causes: []string{}, Unlike: []Unlike{}, Mistimed: []string{}, Regressions: []string{},
		Limits: []string{}, Undecided: []string{}, Notes: []string{},
	}
	for _, l := range o.Limits.Named() {
		c.Limits = append(c.Limits, l.String())
	}
	return c
}

func newHalf(l Load, o CompareOptions) *half {
	h := &half{load: l}
	for _, m := range l.Runs {
		s := Summarize(m.Records, m.Run, Options{SLO: o.SLO})
		var t overlap
		if s.Window != nil { // if the profiling window touched no request, nothing is excluded
			t = s.Window.Spans
		}
		all := make([]*Record, len(m.Records))
		for i := range m.Records {
			all[i] = &m.Records[i]
		}
		ok, _ := successes(m.Records, s.Embedding)
		bySending := func(a, b *Record) int { return cmp.Compare(a.Sent, b.Sent) }
		sorts.Stable(all, bySending)
		sorts.Stable(ok, bySending)
		h.summaries, h.all, h.ok, h.touched = append(h.summaries, s), append(h.all, all), append(h.ok, ok), append(h.touched, t)
	}
	return h
}

func (h *half) side() Side {
	s := Side{ID: h.load.ID, Runs: len(h.load.Runs)}
	for i, m := range h.load.Runs {
		s.Backend, s.Model = m.Run.Backend, m.Run.Model
		s.Requests += h.summaries[i].Requests
		s.Failed += h.summaries[i].Requests - h.summaries[i].Completed
	}
	return s
}

// judge sets the verdicts and collects the regressions.
func (c *Comparison) judge(limits gate.Limits) {
	var p []float64
	var tested []*Diff
	for i := range c.Rows {
		d := &c.Rows[i]
		d.PAdj = d.P
		if d.Verdict == "" && d.tested() {
			p, tested = append(p, d.P), append(tested, d)
		}
	}
	for i, q := range metric.AdjustFDR(p) {
		tested[i].PAdj = q
	}
	for i := range c.Rows {
		d := &c.Rows[i]
		d.Verdict = cmp.Or(d.Verdict, d.verdict())
		limit := gate.Limit{By: c.Limit, Falls: d.Higher}
		switch {
		case c.Refused && slices.Contains([]string{Better, Worse, Same, NotClear}, d.Verdict):
			d.Verdict = NotJudged
		case c.Limit <= 0 || c.Refused:
		case d.Verdict == Worse && d.beyond(limit):
			c.Regressions = append(c.Regressions, d.String())
		case d.Verdict == TooFew && d.Batch != "" && limit.Broken(d.Change): // a batch is often measured only once; limits still apply to it
			c.Regressions = append(c.Regressions, d.String()+untested)
		}
	}
	if !c.Refused {
		for _, l := range limits.Named() {
			c.hold(l)
		}
	}
	c.Verdict = c.verdict()
}

// beyond reports whether the whole interval of the change lies beyond a limit.
func (d *Diff) beyond(l gate.Limit) bool {
	if l.Falls {
		return l.Broken(d.Hi)
	}
	return l.Broken(d.Lo)
}

// String describes the change, as in "median of ttft: +12.0 %".
func (d *Diff) String() string {
	name := strings.ReplaceAll(d.Metric, "_", " ")
	if d.Figure != "mean" && d.Batch == "" { // all figures of batches are medians
		name = d.Figure + " of " + name
	}
	if d.Batch != "" {
		name = d.Batch + ": " + name
	}
	if d.Unit == Share {
		name += " requests"
	}
	return name + ": " + d.Changed()
}

// tested reports whether P comes from a test. The 99th percentiles of batches have only a confidence interval.
func (d *Diff) tested() bool { return d.Figure != "p99" || d.Per == per(true) }

func (d *Diff) verdict() string {
	differs := d.PAdj <= significant
	switch {
	case !d.tested():
		differs = d.Lo > 0 || d.Hi < 0
	default:
		differs = differs && (d.Lo > 0 || d.Hi < 0)
	}
	switch {
	case differs && d.Change > 0 == d.Higher:
		return Better
	case differs:
		return Worse
	case d.Unit == Share && d.A == d.B, d.Unit != Share && d.Lo > -sameWithin && d.Hi < sameWithin:
		return Same
	}
	return NotClear
}

// lacks returns the compared figures for which too little of a run lies outside its profiling window.
func (c *Comparison) lacks(s *Summary) (out []string) {
	if s.Window == nil {
		return nil
	}
	for _, name := range s.Window.Lacks {
		if name == Rates || name == Good || slices.ContainsFunc(c.Rows, func(d Diff) bool { return d.Metric == name }) {
			out = append(out, name)
		}
	}
	return out
}

func (c *Comparison) notes(a, b *half, perRun bool) {
	for _, side := range []struct {
		name string
		half *half
	}{{"A", a}, {"B", b}} {
		if slices.ContainsFunc(side.half.touched, func(t overlap) bool { return len(t) > 0 }) {
			c.Notes = append(c.Notes, side.name+" was profiled while it was measured: everything its window affected is left out")
		}
		for i, s := range side.half.summaries {
			if lacks := c.lacks(s); len(lacks) > 0 {
				c.Notes = append(c.Notes, fmt.Sprintf("%s, run %d: without its window, less than half was left of %s", side.name, i+1, strings.Join(lacks, ", ")))
			}
		}
	}
	for _, h := range []*half{a, b} {
		for _, verdict := range []string{"invalid", "suspect"} {
			n := 0
			for _, s := range h.summaries {
				if s.Health.Verdict == verdict {
					n++
				}
			}
			if n > 0 {
				c.Notes = append(c.Notes, fmt.Sprintf("%s: the client's own timing is %s in %d of %d runs", h.load.ID, verdict, n, len(h.summaries)))
			}
		}
	}
	if !perRun {
		c.Notes = append(c.Notes, fmt.Sprintf("samples are batches of requests within these runs, which do not show how much two runs of one build differ; --repeat %d on both sides makes the runs the samples", enoughRuns))
	}
}
