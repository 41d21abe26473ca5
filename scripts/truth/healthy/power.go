package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/trace"
)

// bases are the captures from whose steps windows with a delayed rank are built.
var bases = []source{
	{name: "graphs", last: -1},
	{name: "graph_work", last: 5},
	{name: "sglang_plain", last: -1},
	{name: "balanced", last: -1},
}

// causes lists the methods of delaying one rank.
var causes = []struct {
	name  string
	how   string
	delay func(m *retime.Model, rank, step int, ns int64)
}{
	{result.CauseHost, "its launching thread stands still at the beginning of the step", func(m *retime.Model, rank, step int, ns int64) { m.Pause(rank, step, ns) }},
	{result.CauseDevice, "all of its kernels of the step take longer, in proportion", func(m *retime.Model, rank, step int, ns int64) {
		ops := computing(m, rank, step)
		var all int64
		for _, o := range ops {
			all += o.Dur
		}
		for _, o := range ops {
			o.Dur += int64(float64(ns) * float64(o.Dur) / float64(all))
		}
	}},
	{result.CauseWork, "four kernels more in the middle of the step", func(m *retime.Model, rank, step int, ns int64) {
		ops := computing(m, rank, step)
		at := ops[len(ops)/2]
		for range 4 {
			at = m.Add(at, at.Name)
			at.Dur = ns / 4
		}
	}},
	{result.CauseCommunication, "it leaves each collective of the step later", func(m *retime.Model, rank, step int, ns int64) {
		var meets []*retime.Op
		for _, o := range m.Ops {
			if o.Rank == rank && o.Step == step && o.Meet != nil {
				meets = append(meets, o)
			}
		}
		for _, o := range meets {
			m.Leave(o, ns/int64(len(meets)))
		}
	}},
}

// computing returns the kernels of a rank in a step, without communication and copies.
func computing(m *retime.Model, rank, step int) (out []*retime.Op) {
	for _, o := range m.Ops {
		if o.Rank == rank && o.Step == step && o.Meet == nil && o.Class != kernel.Comm && o.Class != kernel.Copy {
			out = append(out, o)
		}
	}
	return out
}

// verdict is the verdict of an analysis on a window with a delayed rank.
type verdict struct {
	said  string // "" if the first finding that is not "info" is right; otherwise what is said instead
	named bool   // whether any finding names the rank and the cause
	known bool   // whether this finding has a worth
	off   float64
}

// showPower builds windows from the steps of each base, with and without a delayed rank, and shows how often the
// analysis blames a rank without a cause, how often it finds the delayed rank and its cause, and by how much the
// predicted step without the cause differs from the step of the same window without the delay.
func showPower(windows, steps int, sizes []float64, only string, seed uint64) error {
	w := &rows{}
	w.row("base", "ranks", "steps", "cause", "size", "windows", "found (95 %)", "named (95 %)", "otherwise", "worth off, median", "p90")
	for _, s := range there(bases, only) {
		ts, err := s.read()
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		b := &base{source: s, pool: retime.New(ts), long: retime.Lengthen(ts, steps)}
		if err := b.show(w, windows, sizes, seed); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	w.print()
	return nil
}

// base is a capture from whose steps windows are built.
type base struct {
	source
	pool *retime.Model
	long []*trace.Trace
}

// window builds a window with a delayed rank. Without a cause, it returns the same window without the delay.
func (b *base) window(seed, n uint64, size float64, cause string) (ts []*trace.Trace, rank, first int, err error) {
	random := rand.New(rand.NewPCG(seed, n))
	m := retime.New(b.long)
	m.ResampleFrom(b.pool, random)
	rank, first = random.IntN(len(b.long)), 1+random.IntN(max(1, m.Steps/4))
	ns := int64(size * float64(m.Period()))
	for _, c := range causes {
		for step := first; step < m.Steps && c.name == cause; step++ {
			c.delay(m, rank, step, ns)
		}
	}
	ts, err = m.Run()
	return ts, rank, first, err
}

// show adds the rows of a base.
func (b *base) show(w *rows, windows int, sizes []float64, seed uint64) error {
	steps, blamed := 0, 0
	var said []string
	healthy := make([]*result.Report, windows)
	for n := range healthy {
		ts, _, _, err := b.window(seed, uint64(n), 0, "")
		if err != nil {
			return err
		}
		if healthy[n], err = explain.Analyze(ts, explain.Options{}); err != nil {
			return err
		}
		steps = len(healthy[n].Steps)
		if f := first(healthy[n]); f != nil && blames(f) && f.Severity != "low" {
			blamed++
			said = append(said, f.Severity+" "+f.Cause)
		}
	}
	row := func(cause, size, share, named string, said []string, off ...string) {
		cells := []string{b.name, fmt.Sprint(len(b.long)), fmt.Sprint(steps), cause, size, fmt.Sprint(windows), share, named, counted(said)}
		w.row(append(cells, off...)...)
	}
	row("none", "", "blamed in "+wilson(blamed, windows), "", said, "", "")
	for _, c := range causes {
		for _, size := range sizes {
			found, named, said, off := 0, 0, []string(nil), []float64(nil)
			for n := range windows {
				v, err := b.try(seed, uint64(n), size, c.name, healthy[n])
				if err != nil {
					return err
				}
				if v.named {
					named++
				}
				if v.known {
					off = append(off, v.off)
				}
				if v.said == "" {
					found++
				} else {
					said = append(said, v.said)
				}
			}
			slices.Sort(off)
			half, most := "", ""
			if len(off) > 0 {
				half, most = percent(metric.Quantile(off, 0.5)), percent(metric.Quantile(off, 0.9))
			}
			row(c.name, percent(size), wilson(found, windows), wilson(named, windows), said, half, most)
		}
	}
	return nil
}

// try analyses a window with a delayed rank. healthy is the report on the same window without the delay.
func (b *base) try(seed, n uint64, size float64, cause string, healthy *result.Report) (v verdict, err error) {
	ts, rank, from, err := b.window(seed, n, size, cause)
	if err != nil {
		return v, err
	}
	r, err := explain.Analyze(ts, explain.Options{})
	if err != nil {
		return v, err
	}
	v.named = slices.ContainsFunc(r.Findings, func(f result.Finding) bool {
		return blames(&f) && f.Cause == cause && slices.Equal(f.Ranks, []int{rank})
	})
	f := first(r)
	switch {
	case f == nil || !blames(f) && f.Kind != result.Straggler:
		v.said = "nothing"
		if r.Chance.HeldBack > 0 {
			v.said = "held back"
		}
	case !blames(f):
		v.said = "imbalance"
	case !slices.Equal(f.Ranks, []int{rank}):
		v.said = "another rank"
	case f.Cause != cause:
		v.said = f.Cause
	case f.Severity != "high" && f.Severity != "medium":
		v.said = f.Severity
	}
	if *verbose && v.said != "" {
		fmt.Printf("%s, window %d, %s from step %d on TP%02d: %s\n", b.name, n, cause, from, rank, v.said)
		for i := range r.Findings {
			f := &r.Findings[i]
			fmt.Printf("    %s, p %.2g, %s (%s)\n", f.Severity, f.P, report.Words(f.Title), report.Words(f.Worth.Says))
		}
		fmt.Printf("    %s\n", report.Words(r.Chance.Tests))
		fmt.Printf("    %+v\n", r.Source.Clocks)
	}
	if v.said == "" && f.Worth.Sure() {
		was := length(healthy, f.Worth.Kind, from)
		v.known, v.off = true, math.Abs(float64(f.Worth.Without)-was)/was
	}
	return v, nil
}

// first returns the first finding that is not "info", or nil.
func first(r *result.Report) *result.Finding {
	i := slices.IndexFunc(r.Findings, func(f result.Finding) bool { return f.Severity != "info" })
	if i < 0 {
		return nil
	}
	return &r.Findings[i]
}

// length returns the median length of the steps of a kind from a step on, in ns.
func length(r *result.Report, kind string, from int) float64 {
	var all []int64
	for _, s := range r.Steps {
		if s.Kind != kind || s.Step < from {
			continue
		}
		var periods []int64
		for _, x := range s.Ranks {
			periods = append(periods, x.Period)
		}
		all = append(all, int64(metric.Median(periods)))
	}
	return metric.Median(all)
}

// counted lists words with their numbers, the most frequent first.
func counted(words []string) string {
	n := map[string]int{}
	for _, w := range words {
		n[w]++
	}
	list := slices.SortedFunc(maps.Keys(n), func(a, b string) int { return cmp.Or(cmp.Compare(n[b], n[a]), cmp.Compare(a, b)) })
	for i, w := range list {
		list[i] = fmt.Sprint(w, " ", n[w])
	}
	return strings.Join(list, ", ")
}
