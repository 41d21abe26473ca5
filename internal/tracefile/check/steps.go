package check

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/trace"
)

// Step is one forward pass as its annotation on the CPU shows it. Its number
// is its place in the list that Steps.List gives, from 0.
type Step struct {
	Start, End int64 // ns, as in the file: its base is not added
	trace.Step
}

// Steps gathers the steps of one file from its events. The zero value is ready.
type Steps struct {
	known             map[string]*named
	forward, profiler []Step
}

type named struct {
	step trace.Step
	ok   bool
}

// Event looks at one event; only annotations matter.
func (s *Steps) Event(e *chromejson.Event) {
	if e.Ph != 'X' || e.Cat.Hi-e.Cat.Lo != uint32(len(`"user_annotation"`)) || string(e.Text(e.Cat)) != "user_annotation" {
		return
	}
	n := s.known[string(e.Value(e.Name))]
	if n == nil {
		n = &named{}
		var name string
		if json.Unmarshal(e.Value(e.Name), &name) == nil {
			n.step, n.ok = trace.ParseStep(name)
		}
		if s.known == nil {
			s.known = map[string]*named{}
		}
		if len(s.known) < 1<<16 {
			s.known[string(e.Value(e.Name))] = n
		}
	}
	if !n.ok {
		return
	}
	start, ok := chromejson.ParseMicros(e.Text(e.TS))
	dur, ok2 := chromejson.ParseMicros(e.Text(e.Dur))
	if !ok || !ok2 || dur < 0 {
		return
	}
	st := Step{start, start + dur, n.step}
	if n.step.Mode == "ProfilerStep" {
		s.profiler = append(s.profiler, st)
	} else {
		s.forward = append(s.forward, st)
	}
}

// List gives the steps by start. Forward annotations go before ProfilerStep,
// and a step inside another (a draft model's) is part of it: the same rules as
// the analysis has, so that a step has one number everywhere.
func (s *Steps) List() []Step {
	steps := s.forward
	if len(steps) == 0 {
		steps = s.profiler
	}
	steps = slices.Clone(steps)
	slices.SortFunc(steps, func(a, b Step) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End))
	})
	kept := steps[:0]
	for _, st := range steps {
		if n := len(kept); n > 0 && st.Start < kept[n-1].End {
			continue
		}
		kept = append(kept, st)
	}
	return kept
}
