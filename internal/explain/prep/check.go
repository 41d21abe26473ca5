package prep

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/trace"
)

// farthest is the largest valid time. Two valid times can be added without overflow.
const farthest = int64(1) << 62

// Check validates a rank that was read from a file or from another host. It returns an error if indices are out of
// range or elements are out of order, since such a rank cannot be a result of Trace. A rank that passes Check can be
// joined with others.
func (r *Rank) Check() error {
	c := checker{}
	ops, calls, steps, names, keys := len(r.Ops), len(r.Calls), len(r.Steps), len(r.Names.List), len(r.Names.Keys)
	c.that(len(r.Names.Class) == names, "classes of kernels")
	for _, class := range r.Names.Class {
		c.that(class <= kernel.Memset, "class of a kernel")
	}
	for _, k := range r.Names.Keys {
		c.place(k.Name, names, 0, "kernel")
	}
	for i := range r.Ops {
		o := &r.Ops[i]
		c.time(o.Start, o.End)
		c.that(i == 0 || r.Ops[i-1].Start <= o.Start, "order of GPU work")
		c.that(o.Class <= kernel.Memset && o.Cat.OnGPU(), "kind of GPU work")
		c.place(o.Call, calls, -1, "launch")
		c.place(o.Step, steps, -1, "step")
		c.place(o.Key, keys, 0, "kernel")
		c.place(o.Name, names, 0, "kernel")
		c.place(o.Coll, len(r.Colls), -1, "collective")
		c.that(o.Coll >= 0 || !o.Comm(), "collective")
	}
	for i := range r.Calls {
		x := &r.Calls[i]
		c.time(x.Start, x.End)
		c.time(0, x.Host)
		c.that(i == 0 || r.Calls[i-1].Start <= x.Start, "order of launches")
		c.place(x.Op, ops, -1, "GPU work")
		c.place(x.Step, steps, -1, "step")
		c.place(x.Site, len(r.Names.Sites), -1, "source")
		c.that((!x.Blocks || x.Op >= 0) && (!x.Waits || x.Blocks), "launch that blocks")
	}
	all := slices.Concat(r.Steps, r.Cut)
	for i := range all {
		s := &all[i]
		c.time(s.Start, s.End)
		c.that(i == 0 || all[i-1].End <= s.Start, "order of steps")
		c.time(min(s.Next, 0), s.Next)
		c.time(min(s.Until, 0), s.Until)
		c.that(s.Info.Kind <= trace.Denoising && min(s.Kernels, s.Launches, s.Graphs) >= 0, "step")
	}
	for _, m := range r.Moves {
		c.place(m.Op, ops, 0, "copy")
	}
	for at, flops := range r.Flops {
		c.place(at, ops, 0, "GPU work")
		c.that(flops >= 0 && flops < 1e300, "operations of a kernel")
	}
	r.checkTimes(&c)
	r.checkHost(&c)
	return c.err
}

// checkTimes checks the fields that contain only times.
func (r *Rank) checkTimes(c *checker) {
	c.intervals([]Interval{r.Recorded})
	c.intervals([]Interval{r.Extent})
	c.intervals(r.NoCore)
	c.intervals(r.Stalls)
	c.intervals(r.Full)
	for _, list := range r.Blocked {
		c.intervals(list)
	}
	c.intervals(r.Waits)
	for i := range r.HostColls {
		x := &r.HostColls[i]
		c.time(x.Start, x.End)
		c.time(x.Blocked.Start, x.Blocked.End)
		c.that(i == 0 || r.HostColls[i-1].Start <= x.Start, "order of host collectives")
		c.place(x.Step, len(r.Steps), -1, "step")
	}
	for i := range r.Cold {
		x := &r.Cold[i]
		c.time(x.Start, x.End)
		c.place(x.Call, len(r.Calls), -1, "launch")
		c.place(x.Step, len(r.Steps), -1, "step")
	}
	for i := range r.Still {
		x := &r.Still[i]
		c.time(x.Start, x.End)
		c.place(x.Step, len(r.Steps), -1, "step")
	}
	for i, s := range r.Stages {
		c.time(s.Start, s.End)
		c.that(i == 0 || r.Stages[i-1].End <= s.Start, "order of stages")
	}
	for i, s := range r.Stretches {
		c.time(s.Start, s.End)
		c.that(i == 0 || r.Stretches[i-1].End <= s.Start, "order of stretches")
	}
	for i := range r.Memory {
		for _, p := range r.Memory[i].Points {
			c.time(min(p.At, 0), p.At)
		}
	}
	for i, n := range r.Devices {
		c.that(n >= 0 && (i == 0 || r.Devices[i-1] < n), "order of devices")
	}
	c.that(min(r.Unlaunched, r.Empty, r.Lost, r.Captured, r.APICalls) >= 0, "count")
}

func (r *Rank) checkHost(c *checker) {
	h := &r.Host
	for i, b := range h.Before {
		c.place(b.Call, len(r.Calls), 0, "launch")
		c.that(i == 0 || h.Before[i-1].Call < b.Call, "order of launches")
		c.that(b.Did.Kind <= DidNothing, "host activity")
	}
	for i := range h.Gaps {
		g := &h.Gaps[i]
		c.time(g.From, g.From+max(0, min(g.Dur, farthest)))
		c.place(g.Before, len(r.Ops), 0, "GPU work")
		c.place(g.After, len(r.Ops), 0, "GPU work")
		c.that(g.Did.Kind <= DidNothing, "host activity")
	}
	for i := range h.Marked {
		m := &h.Marked[i]
		c.time(m.Start, m.End)
		c.place(m.Text, len(h.Texts), 0, "text")
		c.that(i == 0 || h.Marked[i-1].Span < m.Span, "order of markers")
	}
}

// checker collects the errors of checks and keeps the first one.
type checker struct{ err error }

func (c *checker) that(ok bool, what string) {
	if !ok && c.err == nil {
		c.err = errors.New("invalid " + what)
	}
}

func (c *checker) place(at int32, n int, least int32, of string) {
	if (at < least || int(at) >= n) && c.err == nil {
		c.err = fmt.Errorf("index %d of %s is out of range (entries: %d)", at, of, n)
	}
}

func (c *checker) time(start, end int64) {
	c.that(-farthest < start && start <= end && end < farthest, "time")
}

func (c *checker) intervals(list []Interval) {
	for i, x := range list {
		c.time(x.Start, x.End)
		c.that(i == 0 || list[i-1].End <= x.Start, "order of times")
	}
}
