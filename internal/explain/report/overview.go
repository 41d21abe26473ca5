package report

import (
	"slices"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// Overview is the start page of a report in the viewer. It contains the findings in words, their positions in the
// timeline as numbers, and the data of the plots over steps. Texts contain no control characters. Times are nanoseconds
// since Source.StartNS.
type Overview struct {
	Title    string            `json:"title"`
	Verdict  string            `json:"verdict"`
	Caveat   string            `json:"caveat"`   // gaps of the capture; "" if the capture is complete
	NoFault  bool              `json:"no_fault"` // the caveat comes before the verdict
	Head     []string          `json:"head"`     // description of the capture
	Findings []OverviewFinding `json:"findings"`
	Says     []string          `json:"says"` // detectable lateness, significance, profiler overhead
	Times    []OverviewTime    `json:"times"`
	Parts    []string          `json:"parts"` // names of OverviewTime.Parts
	Colours  []OverviewColour  `json:"colours"`
	Chart    *pageData         `json:"chart"` // data of the plots
	LeftOut  []string          `json:"left_out"`
}

// OverviewFinding is a finding with its position in the timeline.
type OverviewFinding struct {
	ID       string          `json:"id"`
	Severity string          `json:"severity"`
	Cost     string          `json:"cost"`
	Title    string          `json:"title"`
	Cause    string          `json:"cause"`
	Passing  bool            `json:"passing"`
	Steps    string          `json:"steps"` // steps in words; "" if the finding is not about steps
	Ranks    []int           `json:"ranks"`
	Evidence []OverviewProof `json:"evidence"`
	Next     []string        `json:"next"`
	Guide    string          `json:"guide"`
	At       *Place          `json:"at"`      // null if the finding has no position in time
	Measure  string          `json:"measure"` // measure of ranks and steps that shows the finding: work, host or wait
	WhatIf   []string        `json:"what_if"` // settings of whatif that remove the cause; see result.Finding.Settings
}

// OverviewProof is a piece of evidence. Name is the full name of the kernel, op or frame, or "" if the evidence is not
// about one.
type OverviewProof struct {
	Text  string `json:"text"`
	Short string `json:"short"` // the name as shown after the text
	Name  string `json:"name"`
	// Kernel reports whether Name is the name of a kernel.
	Kernel bool   `json:"kernel"`
	At     *Place `json:"at"` // null: same position as the finding
}

// Place is a step on a rank, with the time range around it. The viewer replaces the interval by that of a span.
type Place struct {
	Step  int   `json:"step"`
	Rank  int   `json:"rank"`
	From  int64 `json:"t0"`
	To    int64 `json:"t1"`
	Start int64 `json:"start_ns"` // the interval itself, without margins
	End   int64 `json:"end_ns"`
	Span  int32 `json:"span"` // index of the span in the rank's trace; -1: unknown
}

// OverviewTime is the breakdown of the time of the steps of one rank and one kind.
type OverviewTime struct {
	Rank  int     `json:"rank"` // -1: all ranks
	Kind  string  `json:"kind"` // "all": every kind
	Steps int     `json:"steps"`
	Per   int64   `json:"per_step_ns"`
	Total int64   `json:"total_ns"`
	Parts []int64 `json:"parts"` // ns; the parts sum up to Total
}

// NewOverview returns the overview of r. r must have been returned by Plain.
func NewOverview(r *result.Report) *Overview {
	o := Digest(r)
	o.Chart, o.LeftOut = newPageData(r, pageLimits), []string{}
	o.times(r)
	o.Colours = o.colours(r)
	p := page{}
	p.left(r, o.Chart)
	o.LeftOut = append(o.LeftOut, p.LeftOut...)
	return o
}

// Digest returns the sentences of an overview: all but the times and the plots.
func Digest(r *result.Report) *Overview {
	o := &Overview{
		Title: "Capture", Verdict: answer(r), Caveat: caveat(r), NoFault: r.NoFault, Head: headline(r), Findings: []OverviewFinding{},
		Says: []string{}, Times: []OverviewTime{}, Colours: []OverviewColour{},
	}
	if r.Source.ID != "" {
		o.Title = columns.Clean(r.Source.ID)
	}
	for _, text := range limitsOf(r) {
		o.Says = append(o.Says, capital(text))
	}
	for i := range r.Findings {
		o.Findings = append(o.Findings, NewOverviewFinding(r, &r.Findings[i]))
	}
	return o
}

// NewOverviewFinding returns a finding of r in words.
func NewOverviewFinding(r *result.Report, f *result.Finding) OverviewFinding {
	out := OverviewFinding{
		ID: f.ID, Severity: f.Severity, Cost: worth(f), Title: capital(columns.Clean(Words(f.Title))), Cause: columns.Clean(f.Cause), Passing: f.Passing,
		Steps: stepsOf(f), Ranks: append([]int{}, f.Ranks...), Evidence: []OverviewProof{}, Next: []string{}, Guide: columns.Clean(f.Guide), WhatIf: append([]string{}, f.Settings()...),
		Measure: f.Measure(),
	}
	rank := 0
	if len(f.Ranks) > 0 {
		rank = f.Ranks[0]
	}
	first := f.FirstStep
	if len(f.Steps) > 0 {
		first = f.Steps[0]
	}
	out.At = placeOf(r, first, rank)
	if f.At.Known() && f.FirstStep == f.LastStep { // of several steps, the first is shown
		out.At = newPlace(first, f.At.Rank, f.At.Start, f.At.End)
	}
	known := f.At.Known()
	for _, e := range proofs(f) {
		p := OverviewProof{Name: columns.Clean(Words(e.Name)), Kernel: isKernel(r, Words(e.Name))}
		p.Text, p.Short = proof(&e)
		if g := gapOf(r, &e); g != nil {
			p.At = newPlace(g.Step, g.Rank, g.Start, g.Start+g.Dur)
			if !known { // the first gap shows a finding about the whole capture
				known, out.At = true, newPlace(g.Step, g.Rank, g.Start, g.Start+g.Dur)
			}
		} else if e.Step >= 0 && e.Step != first {
			p.At = placeOf(r, e.Step, rank)
		}
		out.Evidence = append(out.Evidence, p)
	}
	for _, n := range f.Next {
		out.Next = append(out.Next, capital(columns.Clean(Words(n))))
	}
	return out
}

// newPlace returns an interval with margins of a tenth of its length.
func newPlace(step, rank int, from, to int64) *Place {
	margin := (to - from) / 10
	return &Place{Step: step, Rank: rank, From: from - margin, To: to + margin, Start: from, End: to, Span: -1}
}

// isKernel reports whether a name is the name of a kernel.
func isKernel(r *result.Report, name string) bool {
	return slices.ContainsFunc(r.Kernels, func(k result.KernelRow) bool { return k.Name == name })
}

// placeOf returns the position of a step on a rank, with a margin of a tenth of its length. It returns nil if the rank
// has no such step.
func placeOf(r *result.Report, step, rank int) *Place {
	at := slices.IndexFunc(r.Steps, func(s result.Step) bool { return s.Step == step })
	if at < 0 || len(r.Steps[at].Ranks) == 0 {
		return nil
	}
	// The ranks run a step at about the same time, with the hosts ahead of the GPUs. Independent replicas may run a
	// step of the same number at any other time, so their ranks are left out.
	ranks := r.Steps[at].Ranks
	own := ranks[max(slices.IndexFunc(ranks, func(sr result.StepRank) bool { return sr.Rank == rank }), 0)]
	from, to := own.Start, own.Start+own.Period
	for _, sr := range ranks {
		if sr.Start <= own.Start+2*own.Period && sr.Start+sr.Period >= own.Start-own.Period {
			from, to = min(from, sr.Start), max(to, sr.Start+sr.Period)
		}
	}
	return newPlace(step, rank, from, to)
}

// times fills in one row for all ranks and one row for each rank, with idle time split by cause.
func (o *Overview) times(r *result.Report) {
	o.Parts = append([]string{}, timeSegments[:len(timeSegments)-1]...)
	for _, p := range idleParts(&result.Idle{}) {
		o.Parts = append(o.Parts, p.name)
	}
	for i := range r.Times {
		t := &r.Times[i]
		p := split(&t.Time)
		row := OverviewTime{
			Rank: slices.Index(r.Source.Ranks, t.Rank), Kind: columns.Clean(t.Kind), Steps: t.Steps, Per: perStep(r, t), Total: t.Total,
			Parts: []int64{p.compute, p.transfer, p.wait, p.unrecorded, p.copy},
		}
		for _, idle := range idleParts(&t.IdleBy) {
			row.Parts = append(row.Parts, idle.ns)
		}
		o.Times = append(o.Times, row)
	}
}
