// Package explain explains captures: pure functions from traces to findings.
//
// Analyze takes the ranks of one profiling window and says where the time
// goes, per rank and step kind, and which rank is late, since which step and
// why. Everything is computed in integer nanoseconds, and parts add up to
// totals exactly. Nothing here reads files or formats text.
package explain

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/trace"
)

// Options steer Analyze.
type Options struct {
	ID      string        // of the profiling window, for the report
	Missing []string      // ranks that are known to be absent
	Rules   *kernel.Rules // kernel classes; nil: the built-in table
}

// ErrNothing means that no trace has any GPU work, nor named steps or layers to
// tell host time by.
var ErrNothing = errors.New("nothing to analyse: the traces hold no GPU work and no named steps (was the window recorded with GPU activities, and was there traffic?)")

// analyzer holds what the parts of a report share.
type analyzer struct {
	names       *names
	ranks       []*rank
	domains     []*domain
	origin      int64          // ns since the epoch: Source.StartNS
	kinds       []string       // step kinds that occur, in order
	likes       []like         // of every step
	periods     map[like]int64 // median period of steps that are alike, see stepPeriod
	kindPeriods map[trace.StepKind]int64
	steps       int // number of steps in the capture's numbering
	kindOf      []trace.StepKind
	late        map[*domain][][]lateness
	gaps        []openGap
	marks       *markers // nil without layer-wise markers
	layerWork   *layerWork
	hostOnly    bool               // no GPU work was recorded: steps and layers are told by host time
	hostOps     map[string][]int64 // then: self time of CPU ops by step, filled on demand
	report      *Report
}

// Analyze explains the traces of one window, one trace per rank (and stage).
func Analyze(traces []*trace.Trace, opt Options) (*Report, error) {
	return Prepare(traces, opt.Rules).Analyze(opt)
}

// Analyze explains the window. It is the last thing to ask of it.
func (w *Window) Analyze(opt Options) (*Report, error) {
	a := &analyzer{names: w.names, ranks: w.ranks, report: &Report{Format: 1}}
	for _, r := range a.ranks {
		t := r.t
		for _, n := range t.Notes {
			if n.Source == "" {
				n.Source = t.Source.Path
			}
			a.report.Notes = append(a.report.Notes, noteOf(n))
		}
	}
	a.findMarkers()
	if err := a.anything(); err != nil {
		return nil, err
	}
	a.label()
	a.source(opt)
	a.match()
	a.span()
	a.number()
	a.times()
	a.late = map[*domain][][]lateness{}
	var findings []Finding
	for _, d := range a.domains {
		late := d.judge(a.steps)
		a.late[d] = late
		of := a.stragglers(d, late)
		findings = append(findings, of...)
		findings = append(findings, unexplained(a.slowTransfers(d), of)...)
		a.rankRows(d, late)
	}
	slices.SortFunc(a.report.Ranks, func(x, y RankRow) int { return cmp.Compare(x.Rank, y.Rank) })
	a.collectives()
	a.kernels()
	a.layers()
	a.cpu()
	a.memory()
	a.finish(findings)
	return a.report, nil
}

// anything looks whether there is something to explain: GPU work, or else the
// host time of steps and layers.
func (a *analyzer) anything() error {
	steps := 0
	for _, r := range a.ranks {
		if len(r.ops) > 0 {
			return nil
		}
		steps += r.cut + len(r.steps)
	}
	if steps == 0 {
		return ErrNothing
	}
	a.hostOnly = true
	for _, r := range a.ranks { // that GPU work is missing tells nothing of their ends
		r.steps, r.cut = r.steps[:len(r.steps)+r.cut], 0
	}
	return nil
}

// label names the ranks. Files that do not say their rank get their place in
// the world, or else their place in the list.
func (a *analyzer) label() {
	seen := map[string]int{}
	for _, r := range a.ranks {
		src := &r.t.Source
		r.label = src.Rank.String()
		if src.Rank == trace.NoRank {
			r.label = fmt.Sprintf("rank %d", r.index)
			if src.World.Known && src.World.Rank >= 0 {
				r.label = fmt.Sprintf("rank %d", src.World.Rank)
			}
		}
		if src.Stage != "" {
			r.label += " " + src.Stage
		}
		seen[r.label]++
	}
	for _, r := range a.ranks {
		if seen[r.label] > 1 {
			r.label += fmt.Sprintf(" (file %d)", r.index)
		}
	}
}

func (a *analyzer) source(opt Options) {
	s := &a.report.Source
	s.ID, s.Missing, s.Complete = opt.ID, opt.Missing, len(opt.Missing) == 0
	rules := map[string]bool{}
	for _, r := range a.ranks {
		src := &r.t.Source
		s.Files = append(s.Files, src.Path)
		s.Ranks = append(s.Ranks, r.label)
		s.Complete = s.Complete && src.Complete
		s.Events += src.Events
		if s.Device == "" {
			s.Device = src.Device
		}
		rule := r.rule
		if !rules[rule] {
			rules[rule] = true
			if s.StepRule != "" {
				s.StepRule += "; "
			}
			s.StepRule += rule
		}
	}
	slices.Sort(s.Files)
	s.Files = slices.Compact(s.Files)
}

// span says when the capture begins and how long it is, on the clock of all.
func (a *analyzer) span() {
	first, last := int64(1<<63-1), int64(-1<<63)
	add := func(r *rank, start, end int64) {
		first, last = min(first, r.wall(start)), max(last, r.wall(end))
	}
	for _, r := range a.ranks {
		for i := range r.ops {
			add(r, r.ops[i].start, r.ops[i].end)
		}
		for i := range r.steps {
			add(r, r.steps[i].start, r.steps[i].end)
		}
	}
	a.origin = first
	a.report.Source.StartNS, a.report.Source.SpanNS = first, last-first
}

func (a *analyzer) note(severity, text string, count int64) {
	a.report.Notes = append(a.report.Notes, Note{Severity: severity, Text: text, Count: count})
}

// number settles the capture's numbering of steps and their kinds.
func (a *analyzer) number() {
	for _, r := range a.ranks {
		a.steps = max(a.steps, r.first+len(r.steps))
	}
	a.kindOf = make([]trace.StepKind, a.steps)
	lengths := map[trace.StepKind][]int64{}
	present := map[trace.StepKind]bool{}
	for n := range a.kindOf {
		a.kindOf[n] = trace.IdleStep
	}
	for _, r := range a.ranks {
		for i := range r.steps {
			// With data-parallel attention ranks do different things in one
			// step: it is of the kind that takes longest.
			k := r.steps[i].info.Kind
			if slices.Index(heaviest, k) < slices.Index(heaviest, a.kindOf[i+r.first]) {
				a.kindOf[i+r.first] = k
			}
			present[k] = true
		}
	}
	for _, r := range a.ranks {
		for i := range r.steps {
			k := a.kindOf[i+r.first]
			if i+r.first == 0 && len(r.steps) > 1 {
				continue // the profilers' start is in it
			}
			lengths[k] = append(lengths[k], r.period(i))
		}
	}
	a.likes = make([]like, a.steps)
	byLike := map[like][]int64{}
	for n := range a.likes {
		a.likes[n].kind = a.kindOf[n]
	}
	for _, r := range a.ranks {
		for i := range r.steps {
			n := i + r.first
			if st := &r.steps[i].info; st.Kind == a.kindOf[n] {
				a.likes[n] = like{st.Kind, bits.Len(uint(max(st.Batch, 0))), bits.Len(uint(max(st.Tokens, 0)))}
			}
		}
	}
	for _, r := range a.ranks {
		for i := range r.steps {
			n := i + r.first
			if n > 0 || len(r.steps) == 1 {
				byLike[a.likes[n]] = append(byLike[a.likes[n]], r.period(i))
			}
		}
	}
	for _, r := range a.ranks {
		if len(r.steps) > 1 {
			if k := a.kindOf[0]; r.first == 0 && a.only(k, 0) {
				lengths[k] = append(lengths[k], r.period(0))
			}
		}
	}
	a.periods = map[like]int64{}
	for k, p := range byLike {
		a.periods[k] = int64(metric.MedianInPlace(p))
	}
	a.kindPeriods = map[trace.StepKind]int64{}
	for k := range present {
		if len(lengths[k]) > 0 {
			a.kindPeriods[k] = int64(metric.MedianInPlace(lengths[k]))
		}
		a.kinds = append(a.kinds, k.String())
	}
	slices.Sort(a.kinds)
}

// heaviest orders kinds by the work that a step of them has.
var heaviest = []trace.StepKind{trace.Mixed, trace.Prefill, trace.Denoising, trace.Decode, trace.OtherStep, trace.IdleStep}

// only tells whether no step but n is of a kind.
func (a *analyzer) only(k trace.StepKind, n int) bool {
	for i, other := range a.kindOf {
		if i != n && other == k {
			return false
		}
	}
	return true
}

// period is the time from a step's start to the next one's, on the host; for
// the last step its own length, or until its last op ends if that is later.
func (r *rank) period(i int) int64 {
	if i+1 < len(r.steps) {
		return r.steps[i+1].start - r.steps[i].start
	}
	end := r.steps[i].end
	if n := len(r.ops); n > 0 {
		end = max(end, r.ops[n-1].end)
	}
	return end - r.steps[i].start
}

// like is what steps have in common whose lengths compare: the kind, and the
// powers of two of their batch size and new tokens.
type like struct {
	kind          trace.StepKind
	batch, tokens int
}

// stepPeriod is the median period of steps like step n, ns.
func (a *analyzer) stepPeriod(n int) int64 {
	if p, ok := a.periods[a.likes[n]]; ok {
		return p
	}
	return a.kindPeriods[a.kindOf[n]]
}
