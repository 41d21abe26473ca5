package light

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// Options holds what is known about the server beside its trace.
type Options struct {
	Model  *Model         // nil: unknown; then no floor is known
	Device *Device        // nil: the device with the name in the trace
	Flags  map[string]any // SGLang's server arguments; nil: unknown
	// Contexts tells the contexts of the running requests around the window; nil: unknown.
	Contexts *trace.Contexts
	Why      string // why the configuration beside the traces cannot be used; "": it can, or there is none
}

// Or returns the options, with those of other in place of unknown ones.
func (o Options) Or(other Options) Options {
	if o.Model == nil {
		o.Model = other.Model
	}
	if o.Device == nil {
		o.Device = other.Device
	}
	if o.Flags == nil {
		o.Flags = other.Flags
	}
	if o.Contexts == nil {
		o.Contexts = other.Contexts
	}
	o.Why = cmp.Or(o.Why, other.Why)
	return o
}

// Of compares the steps of a window with the device's limits, and finds changes that may make them faster. steps are the
// parts of the steps' time. Without a model or the peaks of the device, only the measured parts are known.
func Of(a *match.Aligned, steps []result.Step, opt Options) (result.Light, []Change) {
	layout, why := opt.complete(a.Ranks)
	if why.Key == "" {
		return Compare(a, steps, opt, layout)
	}
	l := measured(a, steps, why)
	if opt.Model != nil {
		l.Model = opt.Model.Family
	}
	return l, nil
}

// complete sets the device of the ranks, unless it is given, and returns their layout. It returns a reason if the model,
// the device or the layout is not known.
func (o *Options) complete(ranks []*match.Rank) (Layout, fact.Fact) {
	switch {
	case o.Model == nil && o.Why != "":
		return Layout{}, fact.Of("light_bad_model", "why", o.Why)
	case o.Model == nil:
		return Layout{}, fact.Of("light_no_model")
	}
	device := ""
	for _, r := range ranks {
		if device = cmp.Or(device, r.Source.Device); r.Source.Device != "" && r.Source.Device != device {
			return Layout{}, fact.Of("light_devices", "one", device, "other", r.Source.Device)
		}
	}
	if o.Device == nil {
		d, ok := FindDevice(device)
		if !ok {
			return Layout{}, fact.Of("light_device", "device", cmp.Or(device, "the device"))
		}
		o.Device = &d
	}
	return LayoutOf(ranks)
}

// measured returns the parts of the steps without floors.
func measured(a *match.Aligned, steps []result.Step, why fact.Fact) result.Light {
	c := comparer{a: a, steps: map[stepKey]*result.LightStep{}}
	for _, r := range a.Ranks {
		for i := range r.Steps {
			if t := timeOf(r, i, steps); t != nil {
				key := stepKey{rank: r.Label, kind: r.Steps[i].Info.Kind.String()}
				c.part(key, t)
				c.steps[key].Why = why
			}
		}
	}
	out := result.Light{Why: why}
	c.rows(&out)
	return out
}

// timeOf returns the parts of the time of a rank's step; nil: they are not known.
func timeOf(r *match.Rank, i int, steps []result.Step) *result.Time {
	of := steps[i+r.First].Ranks
	at, ok := slices.BinarySearchFunc(of, r.Index, func(p result.StepRank, index int) int { return cmp.Compare(p.Rank, index) })
	if !ok {
		return nil
	}
	return &of[at].Time
}

// LayoutOf derives the layout from the coordinates of all ranks. With data-parallel attention, ranks with different DP
// coordinates have different TP coordinates. Otherwise each DP coordinate is a replica. The layout of a single rank is
// known only if its file has the number of ranks and no DP or EP coordinate.
func LayoutOf(ranks []*match.Rank) (Layout, fact.Fact) {
	tp, dp, ep, world := map[int]int{}, map[int]map[int]bool{}, map[int]bool{}, 0 // by TP: DP coordinates; by DP: TP coordinates
	stages := map[int]int{}                                                       // ranks of each stage of a pipeline
	for _, r := range ranks {
		c := r.Source.Rank
		stages[max(c.PP, 0)]++
		world = max(world, r.Source.World.Size)
		at, of, experts := max(c.TP, 0), max(c.DP, 0), max(c.EP, 0)
		if dp[of] == nil {
			dp[of] = map[int]bool{}
		}
		if !dp[of][at] {
			tp[at]++
		}
		dp[of][at], ep[experts] = true, true
	}
	missing := fact.Of("light_layout", "ranks", len(ranks), "world", world)
	if c := ranks[0].Source.Rank; len(ranks) == 1 && world > 1 {
		if c.DP >= 0 || c.EP >= 0 || c.PP >= 0 {
			return Layout{}, missing
		}
		return Layout{TP: world, AttnTP: world, EP: 1, MoETP: world, PP: 1}, fact.Fact{}
	}
	l := Layout{TP: len(tp), AttnTP: len(dp[0]), EP: len(ep), PP: len(stages)}
	for n := range l.PP {
		if stages[n] == 0 || stages[n]*l.PP != len(ranks) {
			return Layout{}, missing
		}
	}
	replicas := 1
	for _, n := range tp {
		if replicas = max(replicas, n); n != tp[0] {
			return Layout{}, missing
		}
	}
	if replicas > 1 && replicas != len(dp) || l.AttnTP == 0 || world > l.TP*replicas*l.PP {
		return Layout{}, missing
	}
	for n := range l.TP {
		if tp[n] == 0 {
			return Layout{}, missing
		}
	}
	for n := range len(dp) {
		if len(dp[n]) != l.AttnTP {
			return Layout{}, missing
		}
	}
	for n := range l.EP {
		if !ep[n] {
			return Layout{}, missing
		}
	}
	if l.TP%l.EP != 0 || l.TP%l.AttnTP != 0 {
		return Layout{}, missing
	}
	l.MoETP = l.TP / l.EP
	return l, fact.Fact{}
}

// Compare is Of for a known device and layout.
func Compare(a *match.Aligned, steps []result.Step, opt Options, l Layout) (result.Light, []Change) {
	c, out := compare(a, steps, opt, l, false)
	if out.Why.Key != "" {
		return out, nil
	}
	return out, c.changes()
}

// compare compares the steps with the limits, by rank and kind and, if byRows is set, by the number of their rows.
func compare(a *match.Aligned, steps []result.Step, opt Options, l Layout, byRows bool) (*comparer, result.Light) {
	m, d := opt.Model, *opt.Device
	out := result.Light{Model: m.Family, Layout: l.String(), Device: d.Name, Memory: d.Memory, BF16: d.BF16, Source: d.Source, Sure: d.Sure, Untried: strings.Join(m.untried(l), ", ")}
	c := &comparer{a: a, m: m, d: d, l: l, flags: opt.Flags, contexts: opt.Contexts, told: map[string]*told{}, sums: map[sumKey]*sum{}, steps: map[stepKey]*result.LightStep{}, tasks: make([][]task, len(a.Ranks))}
	c.cache, out.Cache = opt.cacheBytes()
	if byRows {
		c.beside = map[stepKey]*beside{}
	}
	for _, r := range a.Ranks {
		c.card = cmp.Or(c.card, r.Source.Device)
	}
	if l.AttnTP < l.TP {
		c.routed = routed(a.Ranks, len(steps))
	}
	for i, r := range a.Ranks {
		c.tasks[i] = make([]task, len(r.Ops))
		c.rank(i, r, steps)
	}
	out.Contexts = c.contextsFact()
	out.Why = c.check()
	c.rows(&out)
	return c, out
}

// routed returns the new tokens of all data-parallel ranks in each step, which experts see together.
func routed(ranks []*match.Rank, steps int) []int {
	out := make([]int, steps)
	seen := map[int]bool{}
	for _, r := range ranks {
		if seen[r.Source.Rank.DP] {
			continue
		}
		seen[r.Source.Rank.DP] = true
		for i := range r.Steps {
			out[i+r.First] += max(r.Steps[i].Info.Tokens, r.Steps[i].Info.Batch, 0)
		}
	}
	return out
}

// stepKey identifies the steps whose times are added up.
type stepKey struct {
	rank, kind string
	rows       int // see comparer.beside; 0: any number
}

type sumKey struct {
	stepKey
	role Role
}

// call is one call of a module: its kernels in one layer of one step.
type call struct {
	main    int64 // time of the main kernel, ns
	exposed int64 // time of all kernels, without that under earlier kernels
	work    Work
	floor   float64
	padded  float64 // floor of the rows that the kernels computed
	attain  float64
	// most and attainMost are floor and attain with the upper bound of the keys; 0: there is none.
	most, attainMost float64
	guessed          bool // nothing is known of the keys but that each request has one
}

// sum collects the calls of a module.
type sum struct {
	calls           []call
	kernels         map[string]int         // main kernels
	keys            map[int]map[int32]bool // names and grids of the main kernels, by the rows of the product
	grid            [3]int32               // of a main kernel
	agrees, differs int
	refused         fact.Fact
	at              result.Place // longest main kernel
}

type comparer struct {
	a     *match.Aligned
	flags map[string]any // see Options
	card  string         // name of the device in the traces
	m     *Model
	d     Device
	l     Layout
	sums  map[sumKey]*sum
	order []sumKey
	steps map[stepKey]*result.LightStep
	kinds []stepKey
	// contexts, cache (bytes of an element) and told (by source) are about the KV cache.
	contexts *trace.Contexts
	samples  map[samplesKey][]*trace.ContextSample // of contexts; nil: not yet sorted
	cache    int
	pace     int64 // see paceOf, of the current rank
	told     map[string]*told
	// routed is the number of tokens that reach the experts in each step; nil: those of the rank.
	routed []int
	tasks  [][]task // by rank and op
	// beside holds what a comparison of windows needs in addition. If it is set, steps count by the rows that their kernels
	// computed, with -1 if these are not known, and only steps that can be compared count.
	beside map[stepKey]*beside
}

// task is the place of an op in the model, and the time that good kernels take for it.
type task struct {
	Place
	told   bool  // whether the kernels of the step could be assigned
	attain int64 // ns; 0: not known
}

// rank adds the steps of a rank.
func (c *comparer) rank(index int, r *match.Rank, steps []result.Step) {
	c.pace = paceOf(r)
	bounds, ends := r.DeviceWindows()
	own, all := make([][]int32, len(r.Steps)), make([][]int32, len(r.Steps))
	at := 0
	for i := range r.Ops {
		s := int(r.Ops[i].Step)
		if s >= 0 {
			own[s] = append(own[s], int32(i))
		} else { // launched between two steps, such as vLLM's head and sampling
			for at < len(ends) && ends[at] <= r.Ops[i].Start {
				at++
			}
			if at == len(ends) || bounds[at] > r.Ops[i].Start {
				continue
			}
			s = at
		}
		all[s] = append(all[s], int32(i))
	}
	told := make([]*assigned, len(r.Steps))
	for i := range told {
		if timeOf(r, i, steps) == nil || c.beside != nil && !c.comparable(r, i) {
			continue
		}
		if told[i] = c.assign(r, i, all[i]); told[i].places == nil && len(own[i]) < len(all[i]) {
			told[i] = c.assign(r, i, own[i])
		}
	}
	if c.beside != nil && slices.ContainsFunc(told, (*assigned).head) { // the recording ended before the head of the others
		for i, x := range told {
			if x != nil && x.known && !x.head() {
				told[i] = nil
			}
		}
	}
	exposed := exposures(r, bounds, ends, told)
	for i, x := range told {
		if x != nil {
			c.step(index, r, x, exposed, timeOf(r, i, steps))
		}
	}
}

// exposures returns, for each kernel of the steps that computes, the time in which no earlier kernel computes, as far as it
// lies in device windows of steps that count with its own. The next step may begin on another stream before its own step
// ends.
func exposures(r *match.Rank, bounds, ends []int64, told []*assigned) []int64 {
	of := make([]*assigned, len(r.Ops))
	for _, x := range told {
		if x != nil {
			for _, op := range x.ops {
				of[op] = x
			}
		}
	}
	out := make([]int64, len(r.Ops))
	covered, first := int64(0), 0
	for i := range r.Ops {
		o := &r.Ops[i]
		if o.Class == kernel.Comm || o.Class == kernel.Copy {
			continue
		}
		from := max(o.Start, covered)
		if covered = max(covered, o.End); of[i] == nil {
			continue
		}
		for first < len(ends) && ends[first] <= from {
			first++
		}
		for s := first; s < len(ends) && bounds[s] < o.End; s++ {
			if told[s] != nil && told[s].key == of[i].key {
				out[i] += max(0, min(o.End, ends[s])-max(from, bounds[s]))
			}
		}
	}
	return out
}

// part adds the measured parts of a step to those that it counts with. All compute counts as unpriced; see rows.
func (c *comparer) part(key stepKey, t *result.Time) *result.LightStep {
	row := c.steps[key]
	if row == nil {
		row = &result.LightStep{Rank: key.rank, Kind: key.kind}
		c.steps[key], c.kinds = row, append(c.kinds, key)
	}
	row.Steps++
	row.Total += t.Total
	row.Unpriced += t.Compute
	row.Transfer, row.Wait, row.Unknown = row.Transfer+t.Transfer(), row.Wait+t.ExposedWait, row.Unknown+t.Unrecorded
	row.Copy, row.Idle = row.Copy+t.ExposedCopy, row.Idle+t.Idle
	row.IdleBy.Add(&t.IdleBy)
	return row
}

// step adds one step.
func (c *comparer) step(index int, r *match.Rank, x *assigned, exposed []int64, t *result.Time) {
	row := c.part(x.key, t)
	if !x.known {
		row.Why = x.why
		if x.places != nil {
			row.Why = fact.Of("light_batch")
		}
		return
	}
	b := x.batch
	row.Graph = row.Graph || x.graph
	row.Told++
	if x.key.kind == trace.Decode.String() {
		c.toldBy(x.from, &b, x.far)
	}
	row.Tokens += b.Tokens
	row.Rows += x.rows
	if c.beside != nil {
		c.keep(r, x, exposed)
	}
	calls := map[Place][]int{} // the kernels of each module
	for i, p := range x.places {
		c.tasks[index][x.ops[i]] = task{Place: p, told: r.Ops[x.ops[i]].Step >= 0}
		calls[p] = append(calls[p], i)
	}
	transfer, start := int64(0), int64(0)
	for i, p := range x.places {
		if n := x.m.bus(p, c.l, b); x.list[i].Class == kernel.Comm && n > 0 {
			o := &r.Ops[x.ops[i]]
			least := min(int64(c.d.transfer(n)), o.End-o.Start)
			transfer, start = transfer+least, start+min(startOf(x.list[i].Name), o.End-o.Start-least)
		}
	}
	row.TransferLeast += transfer
	transfer = min(transfer, t.Transfer())
	row.TransferFloor += transfer
	row.TransferStart += min(start, t.Transfer()-transfer)
	padded := c.padded(b, x.rows)
	for n := -1; n <= x.m.Layers; n++ {
		works, executed := x.m.part(n, c.l, b), x.m.part(n, c.l, padded)
		for k, w := range works {
			row.Least += int64(c.d.Floor(&w))
			if c.beside != nil {
				p := c.beside[x.key].part(x.m.partOf(Place{w.Role, n}, Unknown, kernel.Other))
				p.floor, p.experts = p.floor+int64(c.d.Floor(&w)), p.experts || w.High > 0
			}
			if of := calls[Place{w.Role, n}]; len(of) > 0 {
				one := call{work: w, floor: c.d.Floor(&w), padded: c.d.Floor(&executed[k]), attain: c.d.Attainable(&executed[k]), guessed: b.Keys < 0}
				if w.KVMost > 0 {
					most, done := w.most(), executed[k].most()
					one.most, one.attainMost = c.d.Floor(&most), c.d.Attainable(&done)
				}
				c.module(index, x, of, r, exposed, one)
			}
		}
	}
}

// padded returns the batch that the kernels computed.
func (c *comparer) padded(b Batch, rows int) Batch {
	if b.Routed > 0 {
		b.Routed = max(b.Routed, rows*(c.l.TP/c.l.AttnTP))
	}
	if more := rows - b.Tokens; more > 0 {
		b.Real, b.Tokens, b.Requests = b.Requests, rows, min(b.Requests+more, rows)
	}
	return b
}

// module adds a call of a module of a step, the kernels of which have the indices of in its list.
func (c *comparer) module(index int, step *assigned, of []int, r *match.Rank, exposed []int64, x call) {
	list, ops, rows, requests := step.list, step.ops, step.rows, step.batch.Requests
	w := &x.work
	main, whole := -1, int64(0)
	for _, i := range of {
		o := &r.Ops[ops[i]]
		x.exposed += exposed[ops[i]]
		d := o.End - o.Start
		if whole += d; main < 0 || d > x.main {
			main, x.main = i, d
		}
	}
	for _, i := range of { // good kernels take this share of the time of each kernel
		o := &r.Ops[ops[i]]
		c.tasks[index][ops[i]].attain = int64(float64(o.End-o.Start) * min(1, x.attain/float64(max(whole, 1))))
	}
	k := sumKey{step.key, w.Role}
	s := c.sums[k]
	if s == nil {
		s = &sum{kernels: map[string]int{}, keys: map[int]map[int32]bool{}}
		c.sums[k], c.order = s, append(c.order, k)
	}
	s.calls = append(s.calls, x)
	s.kernels[list[main].Name]++
	if o := &r.Ops[ops[main]]; x.main > s.at.End-s.at.Start {
		s.at = result.Place{Start: r.Wall(o.Start) - c.a.Origin, End: r.Wall(o.End) - c.a.Origin, Rank: r.Index, Span: list[main].Name}
	}
	if w.N == 0 || w.PerHead || list[main].Class != kernel.GEMM {
		return
	}
	s.grid = list[main].Grid
	heights := []int{rows}
	if w.Role == Head { // of the requests, or of the rows of the graph
		heights, rows = []int{requests, rows}, requests
	}
	if s.keys[rows] == nil {
		s.keys[rows] = map[int32]bool{}
	}
	s.keys[rows][r.Ops[ops[main]].Key] = true
	if (w.Role == Router || w.Role == Head) && c.routed != nil { // the rows of all ranks, which are not known
		return
	}
	for _, i := range of {
		best := Silent
		for _, n := range heights {
			if is := GridOf(list[i].Name, list[i].Grid, n, w.N, c.d.SMs); best != Agrees && is != Silent {
				best = is
			}
		}
		switch best {
		case Agrees:
			s.agrees++
		case Differs:
			s.differs++
		}
	}
}

// rows writes the sums. Priced time moves from Unpriced to Floor, Start and Slow.
func (c *comparer) rows(out *result.Light) {
	for _, k := range c.order {
		s := c.sums[k]
		w := &s.calls[0].work
		row := result.LightModule{Rank: k.rank, Kind: k.kind, Module: string(k.role), Kernel: most(s.kernels), Calls: len(s.calls),
			Grid: s.agrees > 0 && s.refused.Key == "", Why: s.refused, Median: int64(s.median()), At: s.at}
		for i := range s.calls {
			row.Bytes += s.calls[i].work.Bytes() / float64(len(s.calls))
			row.FLOPs += s.calls[i].work.FLOPs / float64(len(s.calls))
			row.AtLeast = row.AtLeast || s.calls[i].work.Unknown
		}
		row.Experts = w.High > 0
		step := c.steps[k.stepKey]
		for i := range s.calls {
			x := &s.calls[i]
			row.Time += x.exposed
			if s.refused.Key != "" {
				continue
			}
			floor := min(int64(x.floor), x.exposed)
			padded := max(floor, min(int64(x.padded), x.exposed))
			attain := max(padded, min(int64(x.attain), x.exposed))
			row.Floor, row.Attain = row.Floor+int64(x.floor), row.Attain+int64(x.attain)
			if w := x.work; row.Experts {
				w.Weights = x.work.Low
				row.Low += int64(c.d.Floor(&w))
				w.Weights = x.work.High
				row.High += int64(c.d.Floor(&w))
			}
			if x.most > 0 {
				row.Low, row.High = row.Low+int64(x.floor), row.High+int64(x.most)
			}
			step.Floor, step.Padding = step.Floor+floor, step.Padding+padded-floor
			step.Start, step.Slow = step.Start+attain-padded, step.Slow+x.exposed-attain
			step.Unpriced -= x.exposed
		}
		if s.refused.Key == "" && w.N > 0 {
			row.OfPeak = s.quantile(func(x *call) float64 { return x.floor / float64(max(x.main, 1)) }, 0.5)
			row.OfAttainable = s.quantile(func(x *call) float64 { return x.attain / float64(max(x.main, 1)) }, 0.5)
			row.Compute = !c.memoryBound(s)
		}
		if s.refused.Key == "" && w.Role == Attention {
			s.share(&row)
		}
		out.Modules = append(out.Modules, row)
	}
	for _, k := range c.kinds {
		if out.Why.Key != "" {
			c.steps[k].Least, c.steps[k].TransferLeast, c.steps[k].TransferFloor, c.steps[k].TransferStart = 0, 0, 0, 0
		}
		out.Steps = append(out.Steps, *c.steps[k])
	}
}

// most returns the name or the key with the highest count.
func most[K cmp.Ordered](counts map[K]int) (name K) {
	for n, k := range counts {
		if k > counts[name] || k == counts[name] && n < name {
			name = n
		}
	}
	return name
}
