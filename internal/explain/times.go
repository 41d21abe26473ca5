package explain

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/explain/kernel"
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
func deviceWindows(r *ranked) []int64 {
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

// timesOf tells where the time of each step and rank went, and which gaps were the longest.
func timesOf(a *aligned) (rows []TimeRow, steps []Step, gaps longest) {
	steps = make([]Step, a.steps)
	for n := range steps {
		steps[n] = Step{Step: n, Batch: -1, Tokens: -1, Ranks: []StepRank{}}
	}
	at := map[[2]string]int{} // in rows, by rank and kind
	add := func(rank, kind string, t *Time) {
		key := [2]string{rank, kind}
		i, ok := at[key]
		if !ok {
			i = len(rows)
			at[key] = i
			rows = append(rows, TimeRow{Rank: rank, Kind: kind})
		}
		rows[i].Steps++
		rows[i].Time.Add(t)
	}
	pauses := findPauses(a)
	for i, r := range a.ranks {
		parts := sweep(r, &pauses[i], &gaps)
		waits, exposed := waitsByStep(r)
		for i := range r.steps {
			st := &r.steps[i]
			n := i + r.first
			row := &steps[n]
			if row.Name == "" && st.info.Kind == a.kindOf[n] {
				row.Kind, row.Mode, row.Batch, row.Tokens = st.info.Kind.String(), st.info.Mode, st.info.Batch, st.info.Tokens
				row.Name, row.Stage = st.name, r.source.Stage
			}
			p := StepRank{Rank: r.index, Start: r.wall(st.start) - a.origin, CPU: st.end - st.start, Period: r.period(i),
				Kernels: st.kernels, Launches: st.launches, Graphs: st.graphs, Time: parts[i]}
			p.CommWait, p.ExposedWait = waits[i], min(exposed[i], p.ExposedComm)
			p.HostGap = p.IdleBy.Late()
			row.Ranks = append(row.Ranks, p)
			for _, rank := range []string{r.label, "all"} {
				add(rank, st.info.Kind.String(), &p.Time)
				add(rank, "all", &p.Time)
			}
		}
	}
	slices.SortStableFunc(rows, func(x, y TimeRow) int {
		return cmp.Or(First(x.Rank == "all", y.Rank == "all"), First(x.Kind == "all", y.Kind == "all"))
	})
	return rows, steps, gaps
}

// waitsByStep sums each step's waiting in collectives, and the part of it
// during which nothing computes.
func waitsByStep(r *ranked) (waits, exposed []int64) {
	waits, exposed = make([]int64, len(r.steps)), make([]int64, len(r.steps))
	var computing []interval
	for i := range r.ops {
		if o := &r.ops[i]; activity(o) == inCompute {
			computing = append(computing, interval{o.start, o.end})
		}
	}
	computing = union(computing)
	for i, wait := range r.wait {
		if o := &r.ops[i]; wait > 0 {
			waits[o.step] += wait
			exposed[o.step] += wait - overlap(computing, o.start, o.start+wait)
		}
	}
	return waits, exposed
}

// sweep walks the device's timeline once and gives every step its parts. It adds to
// gaps those in which the device did nothing.
func sweep(r *ranked, pauses *pauses, gaps *longest) []Time {
	parts := make([]Time, len(r.steps))
	if len(r.steps) == 0 {
		return parts
	}
	bounds := deviceWindows(r)
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
			t := &parts[at]
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
				t.Waiting += overlap(pauses.none, cursor, cursor+n)
			default:
				t.Idle += n
				if idle != nil {
					t.IdleBy.add(idle)
					t.Waiting += idle.None
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
			idle, cause := idleOf(r, cursor, o, pauses)
			gaps.add(openGap{r, cursor, o.start - cursor, lastEnded, o, cause})
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

// idleOf splits the time from a, when the device fell idle, to the start of op
// o, by what kept it waiting. The parts sum up to the gap.
func idleOf(r *ranked, a int64, o *op, p *pauses) (idle Idle, cause string) {
	gap := o.start - a
	if starved := overlap(r.noCore, a, o.start); 2*starved > gap {
		// A core is the host's to give.
		idle.Host = gap
		return idle, "host"
	}
	if o.call < 0 {
		idle.Between, idle.None = overlap(p.all, a, o.start), overlap(p.none, a, o.start)
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
	idle.Profiler = overlap(r.stalls, a, asked)
	idle.Sync = min(overlap(r.blocked[c.track], a, asked), host-idle.Profiler)
	idle.Between = min(overlap(p.all, a, asked), host-idle.Profiler-idle.Sync)
	idle.None = min(overlap(p.none, a, asked), idle.Between)
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
