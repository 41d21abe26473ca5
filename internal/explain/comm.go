package explain

import (
	"cmp"
	"fmt"
	"github.com/stepscope/stepscope/trace"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/kernel"
)

// bytesOf is the message size of a collective, ns/nccl-tests' convention: the
// output of an all-gather, the input of the others. 0: not recorded.
func (r *rank) bytesOf(o *op, name string) int64 {
	c := r.comm(o)
	if c == nil {
		return 0
	}
	size, ok := kernel.DTypeSize(r.t.Strings.Get(c.DType))
	if !ok {
		return 0
	}
	if name == kernel.AllGather {
		return c.Out * int64(size)
	}
	return c.In * int64(size)
}

// collectives fills the table of collectives: matched ones, and those with no
// partner on other ranks.
func (a *analyzer) collectives() {
	type key struct {
		op, group, kind string
		size            int
		bytes           int64
	}
	rows := map[key]*CollectiveRow{}
	transfers := map[key][]int64{}
	row := func(k key) *CollectiveRow {
		c := rows[k]
		if c == nil {
			c = &CollectiveRow{Op: k.op, Group: k.group, Size: k.size, Kind: k.kind, Bytes: k.bytes}
			rows[k] = c
		}
		return c
	}
	for _, d := range a.domains {
		for i := range d.matches {
			m := &d.matches[i]
			first := d.ranks[m.at[0].rank]
			k := key{m.op, d.groupName(m), a.kindOf[m.step].String(), len(m.at), first.bytesOf(&first.ops[m.at[0].op], m.op)}
			c := row(k)
			c.Count++
			if m.inGraph {
				c.InGraphs++
			}
			if !possible(m.at) {
				continue
			}
			c.Matched++
			shortest := m.at[0].end - m.at[0].start
			for _, p := range m.at {
				c.Wait += p.wait
				c.Transfer += p.end - p.start - p.wait
				shortest = min(shortest, p.end-p.start)
			}
			transfers[k] = append(transfers[k], shortest)
		}
	}
	for _, r := range a.ranks {
		for i := range r.ops {
			o := &r.ops[i]
			if !o.comm() || o.match >= 0 {
				continue
			}
			name, _ := r.collective(o)
			kind, size := "outside", 1
			if o.step >= 0 {
				kind = r.steps[o.step].info.Kind.String()
			}
			if c := r.comm(o); c != nil {
				size = max(1, int(c.GroupSize))
			}
			c := row(key{name, r.label + " alone", kind, size, r.bytesOf(o, name)})
			c.Count++
			if trace.IsGraphLaunch(r.launchName(o)) {
				c.InGraphs++
			}
			c.Transfer += o.end - o.start
		}
	}
	for k, c := range rows {
		if t := transfers[k]; len(t) > 0 {
			c.Median = int64(metric.Median(t))
			if k.bytes > 0 && c.Median > 0 {
				c.AlgGBs = float64(k.bytes) / float64(c.Median)
				c.BusGBs = c.AlgGBs * kernel.BusFactor(k.op, k.size)
			}
		}
		a.report.Collectives = append(a.report.Collectives, *c)
	}
	slices.SortFunc(a.report.Collectives, func(x, y CollectiveRow) int {
		return cmp.Or(cmp.Compare(y.Wait+y.Transfer, x.Wait+x.Transfer), cmp.Compare(x.Op, y.Op), cmp.Compare(x.Group, y.Group), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Bytes, y.Bytes))
	})
}

// groupName is how people call the ranks of a collective.
func (d *domain) groupName(m *match) string {
	if len(m.at) == len(d.ranks) && len(m.at) > 4 {
		return fmt.Sprintf("all %d ranks", len(m.at))
	}
	name := ""
	for i, p := range m.at {
		if i > 0 {
			name += ", "
		}
		name += d.ranks[p.rank].label
	}
	return name
}

// rankRows compares the ranks of a domain, medians over steps.
func (a *analyzer) rankRows(d *domain, late [][]lateness) {
	for i, r := range d.ranks {
		row := RankRow{
			Rank: r.index, Name: r.label, File: r.t.Source.Path, Stage: r.t.Source.Stage, Steps: len(r.steps),
			ShiftNS: r.shift.Offset, ShiftError: r.shift.Uncertainty(),
		}
		var period, work, wait, gap, kernels, caused []int64
		for n := range a.report.Steps {
			s := &a.report.Steps[n]
			for j := range s.Ranks {
				p := &s.Ranks[j]
				// The first step is the profilers' start; a capture of one has no other.
				if p.Rank != r.index || n == 0 && len(r.steps) > 1 {
					continue
				}
				period, wait = append(period, p.Period), append(wait, p.CommWait)
				gap, kernels = append(gap, p.HostGap), append(kernels, int64(p.Kernels))
				if w := r.workBySteps()[n]; w != nil {
					work = append(work, w.total)
				}
				caused = append(caused, late[i][n].cost)
			}
		}
		for n := range late[i] {
			row.Last += late[i][n].last
			row.Collectives += late[i][n].of
		}
		mid := func(x []int64) int64 {
			if len(x) == 0 {
				return 0
			}
			return int64(metric.MedianInPlace(x))
		}
		row.Period, row.Work, row.Wait, row.HostGap = mid(period), mid(work), mid(wait), mid(gap)
		row.Kernels, row.Caused = int(mid(kernels)), mid(caused)
		a.report.Ranks = append(a.report.Ranks, row)
	}
}

// slowTransfers finds collectives that become slower for all ranks alike from
// some step on: the time that is not waiting, summed per step, rises and stays
// up. The ranks are all there, so it is the link and not a rank. Only steps of
// like size are compared.
func (a *analyzer) slowTransfers(d *domain) []Finding {
	// Transfers of like collectives vary far less than the lateness of ranks
	// does, so less of a step is enough.
	const rise, slowShare = 1.25, 0.02
	moved := make([]int64, a.steps)
	for i := range d.matches {
		m := &d.matches[i]
		if m.first || !possible(m.at) {
			continue
		}
		shortest := m.at[0].end - m.at[0].start
		for _, p := range m.at {
			shortest = min(shortest, p.end-p.start)
		}
		moved[m.step] += shortest
	}
	type size struct {
		kind          string
		batch, tokens int
	}
	var sizes []size
	like := map[size][]int{}
	for n := 1; n < a.steps; n++ {
		s := &a.report.Steps[n]
		if k := (size{s.Kind, s.Batch, s.Tokens}); moved[n] > 0 {
			if like[k] == nil {
				sizes = append(sizes, k)
			}
			like[k] = append(like[k], n)
		}
	}
	var out []Finding
	for _, k := range sizes {
		steps := like[k]
		s := changePoint(steps, moved)
		if s < 0 {
			continue
		}
		before, after := pick(moved, steps[:s]), pick(moved, steps[s:])
		slices.Sort(before)
		slices.Sort(after)
		was, is := metric.Quantile(before, 0.5), metric.Quantile(after, 0.5)
		n := steps[s]
		apart := metric.Quantile(after, 0.25) > metric.Quantile(before, 0.75)
		if !apart || is < rise*was || is-was < max(lateFloor, slowShare*float64(a.stepPeriod(n))) {
			continue
		}
		out = append(out, a.slowTransfer(d, k.kind, n, steps[len(steps)-1], was, is))
	}
	return out
}

// slowTransfer is the finding that transfers went from was to is (ns a step)
// at step n. Where ranks are missing, what looks like a transfer on all that
// are there may be their waiting for one that is not.
func (a *analyzer) slowTransfer(d *domain, kind string, n, last int, was, is float64) Finding {
	f := Finding{
		Kind: SlowLink, Cause: CauseCommunication, Severity: "medium", FirstStep: n, LastStep: last,
		CostNSPerStep: int64(is - was), ID: fmt.Sprintf("%s-%s-%d", SlowLink, kind, n),
		Title: fmt.Sprintf("transfers take longer on all ranks since step %d: %s a %s step against %s before; no rank is to blame",
			n, metric.Duration(is), kind, metric.Duration(was)),
		Evidence: []Evidence{{
			Text:  fmt.Sprintf("collectives without waiting: %s a step, %s before", metric.Duration(is), metric.Duration(was)),
			Value: is, Peers: was, Unit: "ns", Step: -1,
		}},
	}
	if a.partial(d) {
		f.Kind, f.Cause, f.ID = Data, "", fmt.Sprintf("data-slow-%s-%d", kind, n)
		f.Title = fmt.Sprintf("collectives take longer on all recorded ranks since step %d: %s a %s step against %s before; ranks are missing, so one of them may be late, or the transfers slower",
			n, metric.Duration(is), kind, metric.Duration(was))
	}
	for _, r := range d.ranks {
		f.Ranks = append(f.Ranks, r.index)
	}
	return f
}

// partial tells whether ranks of a domain's groups are not in the capture.
func (a *analyzer) partial(d *domain) bool {
	if len(a.report.Source.Missing) > 0 {
		return true
	}
	for _, r := range d.ranks {
		if r.cut > 0 {
			return true
		}
	}
	size := int32(0)
	for _, r := range d.ranks {
		for i := range r.t.Comms {
			size = max(size, r.t.Comms[i].GroupSize)
		}
	}
	if size > 0 {
		return int(size) > len(d.ranks)
	}
	return d.ranks[0].t.Source.World.Size > len(a.ranks)
}

// unexplained leaves out slow transfers that begin with one rank's slowness: a
// device that others use, or that is throttled, or a slow link of one rank,
// slows the collectives of all. They become evidence of the straggler.
func unexplained(slow, stragglers []Finding) []Finding {
	return slices.DeleteFunc(slow, func(f Finding) bool {
		for i := range stragglers {
			s := &stragglers[i]
			if (s.Cause == CauseDevice || s.Cause == CauseCommunication) && s.FirstStep-1 <= f.FirstStep && f.FirstStep <= s.FirstStep+1 {
				e := f.Evidence[0]
				e.Text = "with it, on all ranks, " + e.Text
				s.Evidence = append(s.Evidence, e)
				return true
			}
		}
		return false
	})
}

// changePoint is the place that divides a series best into two levels, by the
// sum of absolute deviations from their medians; -1 if it is too short.
func changePoint(steps []int, value []int64) int {
	best, least := -1, 0.0
	for s := 2; s+stayingSteps <= len(steps); s++ {
		sum := deviation(pick(value, steps[:s])) + deviation(pick(value, steps[s:]))
		if best < 0 || sum < least {
			best, least = s, sum
		}
	}
	return best
}

func pick(value []int64, at []int) []int64 {
	out := make([]int64, len(at))
	for i, n := range at {
		out[i] = value[n]
	}
	return out
}

func deviation(x []int64) (sum float64) {
	mid := metric.Median(x)
	for _, v := range x {
		sum += max(float64(v)-mid, mid-float64(v))
	}
	return sum
}
