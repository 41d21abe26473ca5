// Package tables breaks down the time of aligned ranks by step, kernel, layer, collective and host function. It only
// measures; package judge looks for causes.
package tables

import (
	"cmp"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// This file breaks down device time. A step's window on the device runs from the first op of the step to the first op
// of the next step, so the windows of all steps cover the capture without gap or overlap. There is one exception: the
// last step of a stage of a diffusion pipeline ends with its own last op, since other stages follow.

// Kinds of device time. If several kinds overlap, the time counts as the first of them: time with compute counts as
// compute, even if other kinds of work run.
const (
	inCompute = iota
	inComm
	inCopy
	numActivities
)

func activity(o *prep.Op) int {
	switch o.Class {
	case kernel.Comm:
		return inComm
	case kernel.Copy:
		return inCopy
	}
	return inCompute // memsets count as compute: they move no data
}

// Times breaks down the time of each step and rank, and finds the pauses.
func Times(a *match.Aligned) (rows []result.TimeRow, steps []result.Step, pauses Pauses) {
	steps = make([]result.Step, a.Steps)
	for n := range steps {
		steps[n] = result.Step{Step: n, Batch: -1, Tokens: -1, Ranks: []result.StepRank{}}
	}
	at := map[[2]string]int{} // index in rows, by rank and kind
	add := func(rank, kind string, t *result.Time) {
		key := [2]string{rank, kind}
		i, ok := at[key]
		if !ok {
			i = len(rows)
			at[key] = i
			rows = append(rows, result.TimeRow{Rank: rank, Kind: kind})
		}
		rows[i].Steps++
		rows[i].Time.Add(t)
	}
	pauses = findPauses(a)
	for i, r := range a.Ranks {
		parts := sweep(r, &pauses[i])
		waits, exposed, edges := waitsByStep(r)
		for i := range r.Steps {
			st := &r.Steps[i]
			n := i + r.First
			row := &steps[n]
			if row.Name == "" && st.Info.Kind == a.KindOf[n] {
				row.Kind, row.Mode, row.Batch, row.Tokens = st.Info.Kind.String(), st.Info.Mode, st.Info.Batch, st.Info.Tokens
				row.Name, row.Stage = st.Name, r.Source.Stage
			}
			if (r.AsGoodAsMissing() || st.Unmeasured()) && !a.HostOnly {
				continue // including it would halve the means over two ranks
			}
			p := result.StepRank{Rank: r.Index, Start: r.Wall(st.Start) - a.Origin, CPU: st.End - st.Start, Period: r.Period(i),
				Kernels: st.Kernels, Launches: st.Launches, Graphs: st.Graphs, Time: parts[i]}
			p.CommWait, p.ExposedWait = waits[i], min(exposed[i], p.ExposedComm)
			p.Unrecorded = min(edges[i], p.ExposedComm-p.ExposedWait)
			p.HostGap = p.IdleBy.Late()
			row.Ranks = append(row.Ranks, p)
			for _, rank := range []string{r.Label, "all"} {
				add(rank, st.Info.Kind.String(), &p.Time)
				add(rank, "all", &p.Time)
			}
		}
	}
	sorts.Stable(rows, func(x, y result.TimeRow) int {
		return cmp.Or(result.First(x.Rank == "all", y.Rank == "all"), result.First(x.Kind == "all", y.Kind == "all"))
	})
	return rows, steps, pauses
}

// waitsByStep sums up the waits in collectives of each step. exposed is the part of these waits during which no compute
// ran. edges is the time of match.Rank.Edge during which no compute ran.
func waitsByStep(r *match.Rank) (waits, exposed, edges []int64) {
	waits, exposed, edges = make([]int64, len(r.Steps)), make([]int64, len(r.Steps)), make([]int64, len(r.Steps))
	var computing []prep.Interval
	for i := range r.Ops {
		if o := &r.Ops[i]; activity(o) == inCompute {
			computing = append(computing, prep.Interval{Start: o.Start, End: o.End})
		}
	}
	computing = prep.Union(computing)
	for i, wait := range r.Wait {
		o, edge := &r.Ops[i], r.Edge[int32(i)]
		if o.Step < 0 || wait+edge == 0 {
			continue
		}
		begun := o.Start + edge
		waits[o.Step] += wait
		exposed[o.Step] += wait - prep.Overlap(computing, begun, begun+wait)
		edges[o.Step] += edge - prep.Overlap(computing, o.Start, begun)
	}
	return waits, exposed, edges
}

// sweep goes through the device's timeline once and divides the time of every step into its kinds.
func sweep(r *match.Rank, pauses *pause) []result.Time {
	l := ledger{parts: make([]result.Time, len(r.Steps)), none: pauses.none}
	l.bounds, l.ends = r.DeviceWindows()
	if len(r.Steps) == 0 {
		return l.parts
	}
	ends := make([]int32, len(r.Ops))
	for i := range ends {
		ends[i] = int32(i)
	}
	sorts.By(ends, func(x, y int32) int { return cmp.Compare(r.Ops[x].End, r.Ops[y].End) })
	running, ended := 0, 0
	end := func() {
		e := &r.Ops[ends[ended]]
		l.spend(e.End, nil)
		l.active[activity(e)]--
		running--
		ended++
	}
	for i := range r.Ops {
		o := &r.Ops[i]
		for ended < i && r.Ops[ends[ended]].End <= o.Start {
			end()
		}
		if running == 0 && ended > 0 && o.Start > l.cursor && l.cursor >= l.bounds[0] {
			idle, _ := idleOf(r, l.cursor, o, pauses)
			l.spend(o.Start, &idle)
		} else {
			l.spend(o.Start, nil)
		}
		l.cursor = max(l.cursor, o.Start)
		l.active[activity(o)]++
		running++
	}
	for ended < len(ends) {
		end()
	}
	return l.parts
}

// ledger assigns a device's time to its steps.
type ledger struct {
	parts  []result.Time
	bounds []int64 // bounds of the steps, see prep.Rank.DeviceWindows
	ends   []int64
	none   []prep.Interval // intervals in which no request was under way
	active [numActivities]int
	at     int   // the step that contains the cursor
	cursor int64 // end of the assigned time
}

// spend assigns the time between the cursor and to. If some kind of work is active, the time belongs to that kind;
// otherwise it is idle time, divided as in idle.
func (l *ledger) spend(to int64, idle *result.Idle) {
	for l.cursor < to {
		for l.at < len(l.parts) && l.cursor >= l.bounds[l.at+1] {
			l.at++
		}
		if l.at == len(l.parts) {
			l.cursor = to
			return
		}
		if l.cursor < l.bounds[l.at] {
			l.cursor = min(to, l.bounds[l.at])
			continue
		}
		if l.cursor >= l.ends[l.at] {
			l.cursor = min(to, l.bounds[l.at+1])
			continue
		}
		n := min(to, l.ends[l.at]) - l.cursor
		t := &l.parts[l.at]
		t.Total += n
		switch {
		case l.active[inCompute] > 0:
			t.Compute += n
			if l.active[inComm] > 0 {
				t.HiddenComm += n
			}
		case l.active[inComm] > 0:
			t.ExposedComm += n
		case l.active[inCopy] > 0:
			t.ExposedCopy += n
			t.Waiting += prep.Overlap(l.none, l.cursor, l.cursor+n)
		default:
			t.Idle += n
			if idle != nil {
				t.IdleBy.Add(idle)
				t.Waiting += idle.None
				idle = nil
			}
		}
		l.cursor += n
	}
}

// starved reports whether a software device had no core to run on for most of a gap.
func starved(r *match.Rank, from, to int64) bool { return 2*prep.Overlap(r.NoCore, from, to) > to-from }

// onTheWay is the longest time, in ns, from the end of a launch call to the start of its work on an otherwise idle
// device.
const onTheWay = 1_000_000

// idleOf divides a gap by cause. The gap begins at a, when the device became idle, and ends with the start of op o. The
// parts add up to the gap.
func idleOf(r *match.Rank, a int64, o *prep.Op, p *pause) (idle result.Idle, cause string) {
	gap := o.Start - a
	if starved(r, a, o.Start) {
		// A lack of cores counts as the host's fault.
		idle.Host = gap
		return idle, "host"
	}
	if o.Call < 0 {
		idle.Between, idle.None = prep.Overlap(p.all, a, o.Start), prep.Overlap(p.none, a, o.Start)
		idle.Unknown = gap - idle.Between
		if idle.Between > idle.Unknown {
			return idle, "between"
		}
		return idle, "unknown"
	}
	c := &r.Calls[o.Call]
	if !o.First || c.End <= a || c.Waits && c.Start <= a {
		// The op was already queued, or is inside a graph replay, so the host was in time.
		idle.Device = gap
		return idle, "device"
	}
	asked := min(o.Start, max(a, c.Start)) // time at which the host began to launch
	idle.Launch = o.Start - asked
	// The host had run ahead until the launch queue was full, so it was in time.
	idle.Device = prep.Overlap(r.Full, a, o.Start)
	idle.Launch = max(0, idle.Launch-prep.Overlap(r.Full, asked, o.Start))
	host := gap - idle.Launch - idle.Device
	// Queued work that does not begin is waiting for earlier work or for another user of the device.
	queued := c.End + onTheWay
	if c.Waits { // the copy is queued as soon as the call begins
		queued = asked
	}
	if late := min(max(o.Start-max(queued, asked), 0), idle.Launch); late > 0 {
		idle.Device, idle.Launch = idle.Device+late, idle.Launch-late
	}
	idle.Profiler = min(prep.Overlap(r.Stalls, a, asked), host)
	idle.Sync = min(prep.Overlap(r.Blocked[c.Track], a, asked), host-idle.Profiler)
	if c.Track == r.Main {
		idle.Peers = min(r.WaitsForHosts(a, asked), host-idle.Profiler-idle.Sync)
	}
	idle.Between = min(prep.Overlap(p.all, a, asked), host-idle.Profiler-idle.Sync-idle.Peers)
	idle.None = min(prep.Overlap(p.none, a, asked), idle.Between)
	idle.Host = host - idle.Profiler - idle.Sync - idle.Peers - idle.Between
	largest := max(idle.Host, idle.Sync, idle.Peers, idle.Launch, idle.Profiler, idle.Between, idle.Device)
	switch largest {
	case idle.Between:
		cause = "between"
	case idle.Host:
		cause = "host"
	case idle.Launch:
		cause = "launch"
	case idle.Sync:
		cause = "sync"
	case idle.Peers:
		cause = "peers"
	case idle.Device:
		cause = "device"
	default:
		cause = "profiler"
	}
	return idle, cause
}
