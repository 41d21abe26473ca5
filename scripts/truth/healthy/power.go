package main

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/trace"
)

// sizes are the delays that are added to each step. They are fractions of the capture's median step.
var sizes = []float64{0.02, 0.05, 0.075, 0.10, 0.20, 0.40}

// clear is the minimum delay for which the confusion matrix counts the cause that the analysis names.
const clear = 0.10

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

const (
	nothing   = "nothing"
	heldBack  = "held back"
	turns     = "imbalance"
	otherRank = "another rank"
)

// named lists the possible verdicts on a window with a delayed rank.
var named = []string{result.CauseHost, result.CauseDevice, result.CauseWork, result.CauseCommunication, result.CauseUnknown, otherRank, turns, heldBack, nothing}

// showPower delays one rank of healthy windows, for each cause and size. It shows how often the analysis finds the
// delayed rank and which cause the analysis names.
func showPower(windows int, only string, seed uint64) error {
	// Exclude captures whose devices always wait for hosts, because in such captures no rank waits for a slower device.
	from := slices.DeleteFunc(there(sources, only), func(s source) bool { return s.eager })
	var read [][]*trace.Trace
	for _, s := range from {
		ts, err := s.read()
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		read = append(read, ts)
	}
	power, confusion := &rows{}, &rows{}
	head := []string{"cause"}
	for _, size := range sizes {
		head = append(head, percent(size))
	}
	power.row(append(head, "how")...)
	confusion.row(append([]string{"cause"}, named...)...)
	for _, c := range causes {
		found, said := []string{c.name}, map[string]int{}
		for _, size := range sizes {
			hits := 0
			for n := range windows {
				ts := read[n%len(read)]
				random := rand.New(rand.NewPCG(seed, uint64(n)))
				m := retime.New(ts)
				m.Resample(random)
				rank, ns := random.IntN(len(ts)), int64(size*float64(m.Period()))
				for step := 1 + random.IntN(max(1, m.Steps/4)); step < m.Steps; step++ {
					c.delay(m, rank, step, ns)
				}
				window, err := m.Run()
				if err != nil {
					return err
				}
				what, ok, err := verdict(window, rank)
				if err != nil {
					return err
				}
				if ok {
					hits++
				}
				if size >= clear {
					said[what]++
				}
			}
			found = append(found, wilson(hits, windows))
		}
		power.row(append(found, c.how)...)
		cells := []string{c.name}
		for _, what := range named {
			cells = append(cells, fmt.Sprint(said[what]))
		}
		confusion.row(cells...)
	}
	power.print()
	fmt.Println()
	confusion.print()
	return nil
}

// verdict returns the verdict on a window with a delayed rank. The verdict comes from the finding with the highest
// cost. found reports whether any finding names that rank.
func verdict(window []*trace.Trace, rank int) (what string, found bool, err error) {
	r, err := explain.Analyze(window, explain.Options{Quick: true})
	if err != nil {
		return "", false, err
	}
	what = nothing
	if r.Chance.HeldBack > 0 {
		what = heldBack
	}
	var most int64 = -1
	for i := range r.Findings {
		f := &r.Findings[i]
		switch right := blames(f) && slices.Equal(f.Ranks, []int{rank}); {
		case right && (!found || f.CostNSPerStep > most):
			what, most, found = f.Cause, f.CostNSPerStep, true
		case found || right:
		case blames(f):
			what = otherRank
		case f.Kind == result.Straggler && what != otherRank:
			what = turns
		}
	}
	return what, found, nil
}
