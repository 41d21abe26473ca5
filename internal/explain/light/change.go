package light

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

const (
	leastChange  = 0.005 // share of a step below which a change is not reported
	faster       = 0.9   // time of a module on another rank, as a share of its own, from which it counts as faster there
	mostOfBlocks = 0.9   // share of the device that the blocks of a product fill, below which they are too few
	leastOverlap = 0.1   // share of a step that exposed transfers need to be worth an overlap
)

// Change is a change of a window's steps, with the ops that it affects.
type Change struct {
	result.LightChange
	Steps trace.StepKind
	ranks []*match.Rank // by index
	after func(rank int, op int32) (ns int64, ok bool)
}

// After returns the time of an op after the change; ok is false if the change does not affect the op. An op with a time of
// 0 vanishes. rank is the index of the rank in the window.
func (x *Change) After(rank, op int) (ns int64, ok bool) {
	r := x.ranks[rank]
	if s := r.Ops[op].Step; s < 0 || r.Steps[s].Info.Kind != x.Steps {
		return 0, false
	}
	return x.after(rank, int32(op))
}

// changes returns the changes that may make steps faster. Only kinds of steps whose kernels could all be assigned to
// modules have changes.
func (c *comparer) changes() (all []Change) {
	for _, kind := range []trace.StepKind{trace.Prefill, trace.Decode, trace.Mixed} {
		if s := c.stepsOf(kind); s != nil {
			all = append(all, c.slow(s)...)
			all = append(all, c.elsewhere(s)...)
			all = append(all, c.fusions(s)...)
			all = append(all, c.overlap(s)...)
		}
	}
	return all
}

// kindSteps holds the steps of a kind, summed over ranks.
type kindSteps struct {
	kind  trace.StepKind
	steps map[string]int // by rank
	n     int            // sum of steps over ranks
	step  int64          // mean time of a step, ns
	rows  int            // the largest mean number of rows of a rank
}

// stepsOf returns the steps of a kind; nil: there are none, or some could not be told.
func (c *comparer) stepsOf(kind trace.StepKind) *kindSteps {
	s := kindSteps{kind: kind, steps: map[string]int{}}
	total := int64(0)
	for _, k := range c.kinds {
		row := c.steps[k]
		if k.kind != kind.String() {
			continue
		}
		if row.Told < row.Steps {
			return nil
		}
		s.steps[k.rank] = row.Steps
		total, s.n = total+row.Total, s.n+row.Steps
		s.rows = max(s.rows, row.Rows/max(row.Steps, 1))
	}
	if s.n == 0 {
		return nil
	}
	s.step = total / int64(s.n)
	return &s
}

// change returns a change of the given kind. time is summed over all steps and ranks, calls too.
func (c *comparer) change(s *kindSteps, what string, ranks []string, time int64, calls int) Change {
	n := 0
	for _, r := range ranks {
		n += s.steps[r]
	}
	n = max(n, 1)
	out := Change{Steps: s.kind, ranks: c.a.Ranks}
	out.Change, out.Kind, out.Ranks, out.Time, out.Calls = what, s.kind.String(), ranks, time/int64(n), calls/n
	return out
}

func (s *kindSteps) all() []string { return slices.Sorted(maps.Keys(s.steps)) }

// slow returns a change for each module that takes longer than good kernels need.
func (c *comparer) slow(s *kindSteps) (list []Change) {
	var roles []Role
	for _, k := range c.order {
		if k.kind == s.kind.String() && !slices.Contains(roles, k.role) {
			roles = append(roles, k.role)
		}
	}
	for _, role := range roles {
		took, good, calls := int64(0), int64(0), 0
		names := map[string]int{}
		told := true
		var one *sum
		for _, k := range c.order {
			x := c.sums[k]
			if k.kind != s.kind.String() || k.role != role {
				continue
			}
			told = told && x.refused.Key == "" && !x.calls[0].work.Unknown
			calls += len(x.calls)
			for i := range x.calls {
				took += x.calls[i].exposed
				good += min(int64(x.calls[i].attain), x.calls[i].exposed)
			}
			for n, k := range x.kernels {
				names[n] += k
			}
			one = x
		}
		x := c.change(s, result.ChangeSlow, s.all(), took-good, calls)
		if !told || float64(x.Time) < leastChange*float64(s.step) {
			continue
		}
		n := took / int64(max(calls, 1))
		x.Modules, x.Kernels = []string{string(role)}, []string{most(names)}
		x.Say = fact.Of("light_slow", "module", string(role), "calls", x.Calls, "time", n, "attainable", good/int64(max(calls, 1)), "why", c.few(one))
		x.after = func(rank int, op int32) (int64, bool) {
			t := &c.tasks[rank][op]
			return t.attain, t.Role == role && t.attain > 0
		}
		list = append(list, x)
	}
	return list
}

// few states that the blocks of a product do not fill the device.
func (c *comparer) few(s *sum) fact.Fact {
	blocks := blocksOf(s.grid) // of a product with one block an SM
	if share := float64(blocks) / float64(max(c.d.SMs, 1)); blocks > 0 && share < mostOfBlocks && strings.HasPrefix(most(s.kernels), "nvjet") {
		return fact.Of("light_few_blocks", "blocks", blocks, "sms", c.d.SMs, "share", share)
	}
	return fact.Fact{}
}

// elsewhere returns a change for each module that another rank runs faster, by another kernel or with another grid.
func (c *comparer) elsewhere(s *kindSteps) (list []Change) {
	type times struct {
		rank   string
		calls  []float64
		kernel map[int32]int
		rows   float64
	}
	of := map[Role][]*times{}
	var roles []Role
	for i, r := range c.a.Ranks {
		own := map[Role]*times{}
		sums := map[sumOf]int64{}
		main := map[sumOf]int32{}
		for op := range r.Ops {
			t := &c.tasks[i][op]
			o := &r.Ops[op]
			if !t.told || t.Role == Unknown || o.Class == kernel.Comm || r.Steps[o.Step].Info.Kind != s.kind {
				continue
			}
			k := sumOf{o.Step, t.Place}
			sums[k] += o.End - o.Start
			if at, ok := main[k]; !ok || o.End-o.Start > r.Ops[at].End-r.Ops[at].Start {
				main[k] = int32(op)
			}
		}
		for k, ns := range sums {
			x := own[k.Role]
			if x == nil {
				x = &times{rank: r.Label, kernel: map[int32]int{}}
				own[k.Role] = x
			}
			x.calls = append(x.calls, float64(ns))
			x.kernel[r.Ops[main[k]].Key]++
		}
		for role, x := range own {
			if row := c.steps[stepKey{rank: r.Label, kind: s.kind.String()}]; row != nil {
				x.rows = float64(row.Rows) / float64(max(row.Told, 1))
			}
			if of[role] == nil {
				roles = append(roles, role)
			}
			of[role] = append(of[role], x)
		}
	}
	slices.Sort(roles)
	for _, role := range roles {
		if role == Attention || role == ExpertsIn || role == ExpertsOut || c.anyRefused(s, role) { // the work depends on contexts and routing
			continue
		}
		best := slices.MinFunc(of[role], func(x, y *times) int { return cmp.Compare(metric.Median(x.calls), metric.Median(y.calls)) })
		want, fast := metric.Median(best.calls), most(best.kernel)
		slower := map[int]float64{} // by rank: share of its time
		var ranks []string
		var slowest *times
		time, calls := 0.0, 0
		for _, x := range of[role] {
			own := metric.Median(x.calls)
			if want > faster*own || most(x.kernel) == fast || x.rows != best.rows || x.rank == best.rank {
				continue
			}
			ranks = append(ranks, x.rank)
			i := slices.IndexFunc(c.a.Ranks, func(r *match.Rank) bool { return r.Label == x.rank })
			slower[i] = want / own
			time, calls = time+float64(len(x.calls))*(own-want), calls+len(x.calls)
			if slowest == nil || own > metric.Median(slowest.calls) {
				slowest = x
			}
		}
		if slowest == nil {
			continue
		}
		x := c.change(s, result.ChangeElsewhere, ranks, int64(time), calls)
		if float64(x.Time) < leastChange*float64(s.step) {
			continue
		}
		slow, good := c.a.Names.Keys[most(slowest.kernel)], c.a.Names.Keys[fast]
		x.Modules, x.Kernels = []string{string(role)}, slices.Compact([]string{c.a.Names.List[slow.Name], c.a.Names.List[good.Name]})
		why := fact.Of("light_other_kernel", "kernel", c.a.Names.List[good.Name])
		if slow.Name == good.Name {
			why = fact.Of("light_other_grid", "slow", blocksOf(slow.Grid), "fast", blocksOf(good.Grid))
			x.How = []fact.Fact{fact.Of("next_configuration")}
		}
		x.Say = fact.Of("light_elsewhere", "module", string(role), "slow", slowest.rank, "time", int64(metric.Median(slowest.calls)), "fast", best.rank, "best", int64(want), "why", why)
		x.after = func(rank int, op int32) (int64, bool) {
			share, ok := slower[rank]
			o := &c.a.Ranks[rank].Ops[op]
			t := &c.tasks[rank][op]
			return int64(float64(o.End-o.Start) * share), ok && t.told && t.Role == role
		}
		list = append(list, x)
	}
	return list
}

// anyRefused reports whether a module cannot be told on some rank.
func (c *comparer) anyRefused(s *kindSteps, role Role) bool {
	return slices.ContainsFunc(c.order, func(k sumKey) bool { return k.kind == s.kind.String() && k.role == role && c.sums[k].refused.Key != "" })
}

// sumOf is one call of a module.
type sumOf struct {
	step int32
	Place
}

func blocksOf(grid [3]int32) int { return int(grid[0]) * int(grid[1]) * int(grid[2]) }

// overlap returns the change that hides the transfers of a step under its compute, if they are long enough. It is a bound:
// kernels that run at the same time slow each other down, and not all transfers have independent work.
func (c *comparer) overlap(s *kindSteps) []Change {
	if s.kind != trace.Prefill || c.l.TP == 1 {
		return nil
	}
	transfer, compute := int64(0), int64(0)
	for k, row := range c.steps {
		if k.kind == s.kind.String() {
			transfer, compute = transfer+row.Transfer, compute+row.Total-row.Idle-row.Transfer-row.Wait-row.Copy-row.Unknown
		}
	}
	x := c.change(s, result.ChangeOverlap, s.all(), min(transfer, compute), 0)
	if float64(x.Time) < leastOverlap*float64(s.step) {
		return nil
	}
	names, calls := map[string]int{}, 0
	for i, r := range c.a.Ranks {
		for op := range r.Ops {
			if o := &r.Ops[op]; o.Class == kernel.Comm && c.tasks[i][op].told && r.Steps[o.Step].Info.Kind == s.kind {
				names[c.a.Names.List[o.Name]]++
				calls++
			}
		}
	}
	x.Calls, x.Kernels, x.Modules = calls/s.n, []string{most(names)}, []string{}
	x.Say = fact.Of("light_overlap", "time", transfer/int64(s.n), "share", float64(transfer)/float64(s.n)/float64(s.step))
	x.How = c.toOverlap()
	x.Worth.AtMost = true
	x.after = func(rank int, op int32) (int64, bool) {
		return 1, c.a.Ranks[rank].Ops[op].Class == kernel.Comm && c.tasks[rank][op].told // 1: the collective remains, without a transfer
	}
	return []Change{x}
}

// exchanges reports whether SGLang's experts exchange tokens by an all-to-all backend, without which it refuses to overlap
// two batches.
func (c *comparer) exchanges() bool {
	backend, ok := c.flags["moe_a2a_backend"].(string)
	return ok && backend != "" && backend != "none"
}

// toOverlap returns how the server of the window overlaps transfers with compute, if it can.
func (c *comparer) toOverlap() []fact.Fact {
	switch engine := engineOf(c.a.Ranks); {
	case engine == sglang && c.m.Family == "qwen3_moe" && c.l.EP > 1 && c.exchanges() && c.flags["enable_two_batch_overlap"] != true:
		return []fact.Fact{fact.Of("light_overlap_sglang")}
	case engine == vllm && c.l.AttnTP == c.l.TP && c.m.Hidden >= 8192 && c.hopper():
		return []fact.Fact{fact.Of("light_overlap_vllm")}
	}
	return nil
}
