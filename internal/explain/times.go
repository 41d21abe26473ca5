package explain

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/trace"
)

// Where the time of a device goes. A step's window on the device runs from its
// first op to the first op of the next step, so the windows of all steps
// cover the capture without hole or overlap.

// The kinds of device time, in the order in which overlap is resolved: what
// computes is compute whatever else runs.
const (
	inCompute = iota
	inComm
	inCopy
	numActivities
)

func activity(o *op) int {
	switch o.class {
	case kernel.Comm:
		return inComm
	case kernel.Copy:
		return inCopy
	}
	return inCompute // memsets count as compute: nothing is moved
}

// deviceWindows gives the bounds of every step on the device: step i is
// [out[i], out[i+1]).
func (r *rank) deviceWindows() []int64 {
	n := len(r.steps)
	out := make([]int64, n+1)
	seen := make([]bool, n)
	last := int64(0)
	for i := range r.ops {
		o := &r.ops[i]
		if o.step < 0 {
			continue
		}
		if !seen[o.step] || o.start < out[o.step] {
			out[o.step], seen[o.step] = o.start, true
		}
		last = max(last, o.end)
	}
	out[n] = last
	for i := n - 1; i >= 0; i-- {
		// A step without device work is empty; one that begins on another
		// stream before an earlier one starts with it.
		if !seen[i] || out[i] > out[i+1] {
			out[i] = out[i+1]
		}
	}
	return out
}

// times computes the steps' and the ranks' shares.
func (a *analyzer) times() {
	byStep := make([]Step, a.steps)
	for n := range byStep {
		byStep[n] = Step{Step: n, Batch: -1, Tokens: -1, Ranks: []StepRank{}}
	}
	total := map[[2]string]*TimeRow{}
	var order [][2]string
	add := func(rank, kind string, t *Time) {
		key := [2]string{rank, kind}
		row := total[key]
		if row == nil {
			row = &TimeRow{Rank: rank, Kind: kind}
			total[key] = row
			order = append(order, key)
		}
		row.Steps++
		row.Time.Add(t)
	}
	for _, r := range a.ranks {
		parts := a.sweep(r)
		waits, exposed := a.waitsByStep(r)
		for i := range r.steps {
			st := &r.steps[i]
			n := i + r.first
			row := &byStep[n]
			if row.Name == "" && st.info.Kind == a.kindOf[n] {
				row.Kind, row.Mode, row.Batch, row.Tokens = st.info.Kind.String(), st.info.Mode, st.info.Batch, st.info.Tokens
				row.Name, row.Stage = r.t.Strings.Get(st.name), r.t.Source.Stage
			}
			p := &parts[i]
			p.CommWait, p.ExposedWait = waits[i], min(exposed[i], p.ExposedComm)
			p.Rank, p.Start, p.CPU, p.Period = r.index, r.wall(st.start)-a.origin, st.end-st.start, r.period(i)
			p.HostGap = p.IdleBy.Host + p.IdleBy.Sync + p.IdleBy.Launch
			row.Ranks = append(row.Ranks, *p)
			for _, rank := range []string{r.label, "all"} {
				add(rank, st.info.Kind.String(), &p.Time)
				add(rank, "all", &p.Time)
			}
		}
	}
	slices.SortStableFunc(order, func(x, y [2]string) int {
		return cmp.Or(-boolCompare(x[0] == "all", y[0] == "all"), -boolCompare(x[1] == "all", y[1] == "all"))
	})
	for _, key := range order {
		a.report.Times = append(a.report.Times, *total[key])
	}
	a.report.Steps = byStep
	a.markSlow()
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// Add adds the parts of o.
func (t *Time) Add(o *Time) {
	t.Total += o.Total
	t.Compute += o.Compute
	t.ExposedComm += o.ExposedComm
	t.ExposedCopy += o.ExposedCopy
	t.Idle += o.Idle
	t.HiddenComm += o.HiddenComm
	t.CommWait += o.CommWait
	t.ExposedWait += o.ExposedWait
	t.IdleBy.add(&o.IdleBy)
	t.waiting += o.waiting
}

func (i *Idle) add(o *Idle) {
	i.Host += o.Host
	i.Sync += o.Sync
	i.Launch += o.Launch
	i.Device += o.Device
	i.Profiler += o.Profiler
	i.Unknown += o.Unknown
	i.Between += o.Between
	i.none += o.none
}

// waitsByStep sums each step's waiting in collectives, and the part of it
// during which nothing computes.
func (a *analyzer) waitsByStep(r *rank) (waits, exposed []int64) {
	waits, exposed = make([]int64, len(r.steps)), make([]int64, len(r.steps))
	var computing []interval
	for i := range r.ops {
		if o := &r.ops[i]; activity(o) == inCompute {
			computing = append(computing, interval{o.start, o.end})
		}
	}
	computing = union(computing)
	for _, d := range a.domains {
		if !slices.Contains(d.ranks, r) {
			continue
		}
		for i := range d.matches {
			m := &d.matches[i]
			for _, p := range m.at {
				if d.ranks[p.rank] == r && possible(m.at) {
					o := &r.ops[p.op]
					waits[m.step-r.first] += p.wait
					exposed[m.step-r.first] += p.wait - overlap(computing, o.start, o.start+p.wait)
				}
			}
		}
	}
	return waits, exposed
}

// sweep walks the device's timeline once and gives every step its parts.
func (a *analyzer) sweep(r *rank) []StepRank {
	parts := make([]StepRank, len(r.steps))
	if len(r.steps) == 0 {
		return parts
	}
	bounds := r.deviceWindows()
	blocked, profiler, pauses := r.blockedSpans(), r.intervals(trace.Overhead), a.pauses(r)
	for i := range r.ops {
		if o := &r.ops[i]; o.step >= 0 && r.t.Spans[o.span].Cat == trace.Kernel {
			parts[o.step].Kernels++
		}
	}
	for i := range r.calls {
		if c := &r.calls[i]; c.step >= 0 {
			parts[c.step].Launches++
			if trace.IsGraphLaunch(r.t.Strings.Get(r.t.Spans[c.span].Name)) {
				parts[c.step].Graphs++
			}
		}
	}
	ends := make([]int32, len(r.ops))
	for i := range ends {
		ends[i] = int32(i)
	}
	slices.SortFunc(ends, func(x, y int32) int { return cmp.Compare(r.ops[x].end, r.ops[y].end) })

	var active [numActivities]int
	at := 0 // window
	var cursor int64
	// spend books [cursor, to) under what was active in it.
	spend := func(to int64, idle *Idle) {
		for cursor < to {
			for at < len(parts) && cursor >= bounds[at+1] {
				at++
			}
			if at == len(parts) {
				cursor = to
				return
			}
			if cursor < bounds[at] {
				cursor = min(to, bounds[at])
				continue
			}
			n := min(to, bounds[at+1]) - cursor
			t := &parts[at].Time
			t.Total += n
			switch {
			case active[inCompute] > 0:
				t.Compute += n
				if active[inComm] > 0 {
					t.HiddenComm += n
				}
			case active[inComm] > 0:
				t.ExposedComm += n
			case active[inCopy] > 0:
				t.ExposedCopy += n
				t.waiting += overlap(pauses.none, cursor, cursor+n)
			default:
				t.Idle += n
				if idle != nil {
					t.IdleBy.add(idle)
					t.waiting += idle.none
					idle = nil
				}
			}
			cursor += n
		}
	}
	running, lastEnded := 0, int32(-1)
	for i, j := 0, 0; i < len(r.ops); {
		o := &r.ops[i]
		e := &r.ops[ends[j]]
		if j < i && e.end <= o.start {
			spend(e.end, nil)
			active[activity(e)]--
			running--
			lastEnded = ends[j]
			j++
			continue
		}
		if running == 0 && lastEnded >= 0 && o.start > cursor && cursor >= bounds[0] {
			idle, cause := r.idle(cursor, o, blocked, profiler, &pauses)
			a.gap(r, cursor, o, lastEnded, cause)
			spend(o.start, &idle)
		} else {
			spend(o.start, nil)
		}
		cursor = max(cursor, o.start)
		active[activity(o)]++
		running++
		i++
	}
	// What still runs after the last start.
	rest := make([]int32, 0, running)
	for _, e := range ends {
		if r.ops[e].end > cursor {
			rest = append(rest, e)
		}
	}
	active = [numActivities]int{}
	for _, e := range rest {
		active[activity(&r.ops[e])]++
	}
	for _, e := range rest {
		spend(r.ops[e].end, nil)
		active[activity(&r.ops[e])]--
	}
	return parts
}

// intervals lists the spans of a category, such as the profiler's own stalls,
// in time order.
func (r *rank) intervals(cat trace.Category) []interval {
	var out []interval
	for i := range r.t.Spans {
		if s := &r.t.Spans[i]; s.Cat == cat {
			out = append(out, interval{s.Start, s.End()})
		}
	}
	slices.SortFunc(out, func(x, y interval) int { return cmp.Compare(x.start, y.start) })
	return union(out)
}

// union joins intervals, ordered by start, that touch or overlap.
func union(in []interval) []interval {
	out := in[:0]
	for _, x := range in {
		if n := len(out); n > 0 && x.start <= out[n-1].end {
			out[n-1].end = max(out[n-1].end, x.end)
			continue
		}
		out = append(out, x)
	}
	return out
}

// idle splits the time from a, when the device fell idle, to the start of op
// o, by what kept it waiting. The parts sum up to the gap.
func (r *rank) idle(a int64, o *op, blocked map[trace.TrackID][]interval, profiler []interval, p *pauses) (idle Idle, cause string) {
	gap := o.start - a
	if starved := overlap(r.noCore, a, o.start); 2*starved > gap {
		// A core is the host's to give.
		idle.Host = gap
		return idle, "host"
	}
	if o.call < 0 {
		idle.Between, idle.none = overlap(p.all, a, o.start), overlap(p.none, a, o.start)
		idle.Unknown = gap - idle.Between
		if idle.Between > idle.Unknown {
			return idle, "between"
		}
		return idle, "unknown"
	}
	c := &r.calls[o.call]
	if !o.first || c.end <= a {
		// Queued already, or inside a graph replay: the host was in time.
		idle.Device = gap
		return idle, "device"
	}
	asked := min(o.start, max(a, c.start)) // the launch call begins
	idle.Launch = o.start - asked
	host := asked - a
	idle.Profiler = overlap(profiler, a, asked)
	idle.Sync = min(overlap(blocked[c.track], a, asked), host-idle.Profiler)
	idle.Between = min(overlap(p.all, a, asked), host-idle.Profiler-idle.Sync)
	idle.none = min(overlap(p.none, a, asked), idle.Between)
	idle.Host = host - idle.Profiler - idle.Sync - idle.Between
	largest := max(idle.Host, idle.Sync, idle.Launch, idle.Profiler, idle.Between)
	switch largest {
	case idle.Between:
		cause = "between"
	case idle.Host:
		cause = "host"
	case idle.Launch:
		cause = "launch"
	case idle.Sync:
		cause = "sync"
	default:
		cause = "profiler"
	}
	return idle, cause
}
