package judge

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/parallel"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/timeslice"
	"github.com/stepscope/stepscope/trace"
)

// Thresholds of lateness. A rank is late in a step if one cause costs the other ranks more than lateShare of the median
// period of similar steps, and more than lateFloor. Natural differences between ranks of a healthy server stay below
// these thresholds: they were 1 to 3 % in captures of one host.
const (
	lateShare = 0.05
	lateFloor = 20_000 // ns
	// softDevice replaces lateFloor for the cause "device" on ranks with a software device. Traces of such devices do
	// not show shorter times without a core.
	softDevice = 150_000 // ns
	// softShare sets another such floor: the length of a step divided by softShare. Kernels on a core take longer by
	// that much while other cores use the shared caches and memory.
	softShare = 4
	// workShare is a share of compute. Extra work above this share counts even if no rank waits for it because another
	// rank is even later. So does the extra time of slower configurations of generated kernels.
	workShare = 0.05
	// passingShare is the minimum cost of a passing lateness, as a share of the period. A few steps with a lower cost
	// are jitter.
	passingShare = 0.10
	// levelShare is the minimum cost of a step that belongs to a lateness, as a share of the median cost.
	levelShare = 0.25
	// leastSteps is the number by which the late steps of a stretch must outnumber its other steps.
	leastSteps = 2
	// leastRecurring is the minimum number of single late steps that form a pattern.
	leastRecurring = 3
	// stayingSteps is the minimum length, in steps, of a lateness that lasts to the end.
	stayingSteps = 3
)

var lateRules = []rule{{[]string{result.Straggler, result.CommBound, result.SlowLink, result.Data}, func(c *capture) (out []result.Finding) {
	for _, d := range c.blames {
		of := stragglers(c.Aligned, d)
		of = append(of, lateHosts(c.Aligned, d, of)...)
		out = slices.Concat(out, of, unexplained(slowTransfers(c, d), of))
	}
	return c.shareGroups(c.holdBack(lackCores(c, out)))
}}}

// stragglers derives findings from the lateness of a domain's ranks.
func stragglers(a *match.Aligned, d *Domain) []result.Finding {
	all := make([]verdict, len(d.Ranks))
	for i := range d.Ranks {
		all[i] = judgeRank(a, d, i)
	}
	out := moving(a, d, all)
	of := make([][]result.Finding, len(all))
	for i := range all {
		of[i] = rankFindings(a, d, i, all)
	}
	parallel.Each(len(all), func(i int) {
		for k := range of[i] {
			of[i][k].P = byLabels(a, d, all, &all[i].runs[k], i)
		}
	})
	out = append(out, slices.Concat(of...)...)
	return shareLinks(d, shareEqual(a, d, all, out))
}

// verdict holds the steps in which a rank is late, by cause.
type verdict struct {
	late  []lateness
	split [][numCauses]int64 // cost of each step, by cause
	yes   [numCauses][]bool  // per step, whether the rank is late
	runs  []lateRun
}

// lateRun holds the steps over which a rank is late by one cause.
type lateRun struct {
	steps     []int
	cause     int
	kind      string       // kind of the steps if steps of other kinds lie between them; otherwise ""
	stays     bool         // lasts to the end of the capture
	recurring bool         // intermittent: in between, there are steps in which the rank is in time
	peaks     bool         // recurring steps that cost far more than all other late steps of the rank
	still     *standstills // host stalls that explain the lateness; nil: none
}

func judgeRank(a *match.Aligned, d *Domain, i int) (v verdict) {
	begin, end := d.Common()
	v.late = d.late[i][:end]
	v.split = make([][numCauses]int64, end)
	for n := range v.late {
		v.split[n] = v.late[n].split()
	}
	stepsKnown := d.stepsKnown()
	hidden := make([]bool, end)
	for n := range hidden {
		hidden[n] = d.hidden(a, i, n)
	}
	find := func(c int) (yes []bool, late []lateRun) {
		yes = make([]bool, end)
		for n := begin; n < end; n++ {
			limit := lateLimit(a, n)
			if c == byDevice && d.Ranks[i].NoCore != nil {
				limit = max(limit, softDevice, a.StepPeriod(n)/softShare)
			}
			yes[n] = v.split[n][c] > limit || stepsKnown && (c == byWork && d.more[i][n] > workShare || c == byDevice && d.other[i][n] > workShare)
		}
		// Hosts and devices start the first step unevenly because the profilers start in it, so lateness in the first
		// step alone proves nothing.
		if c != byWork && end-begin > 2 && !(yes[begin+1] && yes[begin+2]) {
			yes[begin] = false
		}
		var told []int
		for n := range yes {
			if yes[n] || !hidden[n] {
				told = append(told, n)
			}
		}
		return yes, runs(a, told, yes, v.split, c)
	}
	_, host := find(byHost)
	if still := d.standsStill(i, begin, v.split, host); still != nil {
		v.runs = append(v.runs, lateRun{steps: still.steps, cause: byHost, recurring: true, still: still})
	}
	for c := range numCauses {
		var late []lateRun
		v.yes[c], late = find(c)
		v.runs = append(v.runs, late...)
	}
	return v
}

// hidden reports whether another rank made the remaining ranks wait, on average, longer in step n than a usual step
// takes, or whether the recording lost work of rank i in the step. In such a step, the lateness of rank i cannot be seen.
func (d *Domain) hidden(a *match.Aligned, i, n int) bool {
	if d.Ranks[i].Lacks(n) {
		return true
	}
	for j := range d.late {
		if j != i && d.late[j][n].cost > a.StepPeriod(n) {
			return true
		}
	}
	return false
}

func rankFindings(a *match.Aligned, d *Domain, i int, verdicts []verdict) []result.Finding {
	v := &verdicts[i]
	late, split, all := v.late, v.split, v.runs
	// Causes without a finding also contribute to the observed lateness in a step. Divide their cost among the findings
	// of the step in proportion.
	costs := make([][]int64, len(all))
	of := make([][]int, len(late)) // the runs of each step
	for k := range all {
		if all[k].still == nil {
			for _, n := range all[k].steps {
				of[n] = append(of[n], k)
			}
		}
	}
	for n := range late {
		var own, sum int64
		for _, k := range of[n] {
			own += split[n][all[k].cause]
		}
		for _, c := range split[n] {
			sum += c
		}
		for _, k := range of[n] {
			cost := split[n][all[k].cause]
			if own > 0 {
				cost = int64(float64(cost) * float64(sum) / float64(own))
			}
			costs[k] = append(costs[k], cost)
		}
	}
	var out []result.Finding
	for k := range all {
		if all[k].still != nil {
			costs[k] = all[k].still.costs
		}
		cost := metric.MedianInPlace(slices.Clone(costs[k]))
		f := straggler(a, d, i, late, all[k], int64(cost))
		f.Plain = all[k].cause == byWork && d.runMore([]int{i}, all[k].steps)
		out = append(out, f)
	}
	return out
}

// runs returns the runs of steps in which a rank is late by one cause. A run is a stretch of the steps in told, a
// stretch of the steps of one kind, or a set of intermittent steps. A stretch of one kind applies if the rank is in
// time in steps of other kinds.
func runs(a *match.Aligned, told []int, yes []bool, split [][numCauses]int64, cause int) []lateRun {
	var out []lateRun
	covered := make([]bool, len(yes))
	add := func(steps []int, kind string) {
		sub := make([]bool, len(steps))
		for i, n := range steps {
			sub[i] = yes[n]
		}
		for _, s := range stretches(sub, leastSteps) {
			if cause != byWork {
				if s = levelled(a, s, steps, split, cause); s.last-s.first+1 < leastSteps {
					continue
				}
			}
			run := lateRun{steps: steps[s.first : s.last+1], cause: cause, kind: kind, stays: staying(s, len(steps))}
			overlaps := kind != "" && slices.ContainsFunc(out, func(o lateRun) bool {
				return !o.recurring && o.steps[0] <= run.steps[len(run.steps)-1] && run.steps[0] <= o.steps[len(o.steps)-1]
			})
			if overlaps || !run.stays && !worthNaming(a, split, run.steps, cause) {
				continue
			}
			out = append(out, run)
		}
	}
	peaks := regularPeaks(yes, split, cause)
	if peaks != nil {
		out = append(out, lateRun{steps: peaks, cause: cause, recurring: true, peaks: true})
		told = slices.DeleteFunc(slices.Clone(told), func(n int) bool { _, ok := slices.BinarySearch(peaks, n); return ok })
	}
	byKind := map[string][]int{}
	for _, n := range told {
		k := a.KindOf[n].String()
		byKind[k] = append(byKind[k], n)
	}
	add(told, "")
	if len(a.Kinds) > 1 {
		for _, k := range a.Kinds {
			add(byKind[k], k)
		}
	}
	for _, run := range out {
		for _, n := range run.steps {
			covered[n] = true
		}
	}
	var now []int
	for n := range yes {
		if yes[n] && !covered[n] && worthNaming(a, split, []int{n}, cause) {
			now = append(now, n)
		}
	}
	// Steps that cost far less than the other late steps have another cause.
	var costs []int64
	for _, n := range now {
		costs = append(costs, split[n][cause])
	}
	least := int64(levelShare * metric.MedianInPlace(costs))
	now = slices.DeleteFunc(now, func(n int) bool { return split[n][cause] < least })
	if peaks == nil && len(now) >= max(leastRecurring, len(yes)/10) {
		out = append(out, lateRun{steps: now, cause: cause, recurring: true})
	}
	return costliest(out, split)
}

// mostRuns is the maximum number of runs of one rank and cause. Nobody reads more, and each is tested against all late
// steps.
const mostRuns = 100

// costliest leaves the mostRuns runs that cost most, in their order.
func costliest(all []lateRun, split [][numCauses]int64) []lateRun {
	if len(all) <= mostRuns {
		return all
	}
	costs := make([]int64, len(all))
	for i, r := range all {
		for _, n := range r.steps {
			costs[i] += split[n][r.cause]
		}
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	sorts.Stable(order, func(x, y int) int { return cmp.Compare(costs[y], costs[x]) })
	order = order[:mostRuns]
	slices.Sort(order)
	var out []lateRun
	for _, i := range order {
		out = append(out, all[i])
	}
	return out
}

// levelled cuts off the beginning of a stretch if the cost in the beginning is far below the later level. Such a
// beginning is natural lateness that precedes the real lateness. A step is compared with the steps of its kind in the
// second half of the stretch or, if there are none, with all steps of the second half. The beginning ends when steps
// with a low cost no longer prevail.
func levelled(a *match.Aligned, s stretch, steps []int, split [][numCauses]int64, cause int) stretch {
	steps = steps[s.first : s.last+1]
	var all []int64
	ofKind := map[trace.StepKind][]int64{}
	for _, n := range steps[len(steps)/2:] {
		all = append(all, split[n][cause])
		ofKind[a.KindOf[n]] = append(ofKind[a.KindOf[n]], split[n][cause])
	}
	usual, later := metric.MedianInPlace(all), map[trace.StepKind]float64{}
	for k, costs := range ofKind {
		later[k] = metric.MedianInPlace(costs)
	}
	best, sum, cut := 0, 0, 0
	for i, n := range steps[:len(steps)-1] {
		level, ok := later[a.KindOf[n]]
		if !ok {
			level = usual
		}
		if float64(split[n][cause]) < levelShare*level {
			sum++
		} else {
			sum--
		}
		if sum > best {
			best, cut = sum, i+1
		}
	}
	s.first += cut
	return s
}

// staying reports whether a lateness lasts to about the end of the capture rather than being temporary.
func staying(s stretch, steps int) bool {
	length := s.last - s.first + 1
	return length >= stayingSteps && steps-1-s.last <= length/8
}

// worthNaming reports whether a passing lateness is more than jitter.
func worthNaming(a *match.Aligned, split [][numCauses]int64, steps []int, cause int) bool {
	var share []float64
	for _, n := range steps {
		share = append(share, float64(split[n][cause])/float64(max(a.StepPeriod(n), 1)))
	}
	return metric.Median(share) > passingShare
}

// lateLimit returns the cost above which a rank is late in a step, in ns.
func lateLimit(a *match.Aligned, n int) int64 { return limitOf(a.StepPeriod(n)) }

func limitOf(period int64) int64 { return max(lateFloor, int64(lateShare*float64(period))) }

// usualPeriod returns the median, over steps, of the typical period of similar steps, in ns. The median makes the
// influence of a prefill among decode steps small. steps must not be empty.
func usualPeriod(a *match.Aligned, steps []int) int64 {
	var all []int64
	for _, n := range steps {
		all = append(all, a.StepPeriod(n))
	}
	return int64(metric.MedianInPlace(all))
}

func straggler(a *match.Aligned, d *Domain, i int, late []lateness, run lateRun, cost int64) result.Finding {
	r := d.Ranks[i]
	cause, name := run.cause, causeNames[run.cause]
	first, last := run.steps[0], run.steps[len(run.steps)-1]
	begin, end := d.Common()
	whole := len(run.steps) == 2 && end-begin == 2 // too few steps to call the lateness transient
	f := result.Finding{
		Kind: result.Straggler, Cause: name, Ranks: []int{r.Index}, FirstStep: first, LastStep: last,
		Passing: !run.stays && !whole, CostNSPerStep: cost, Steps: run.steps,
		ID: id(result.Straggler, r.Label, name, first),
	}
	usual := usualPeriod(a, run.steps)
	share := metric.Share(cost, usual)
	waited := cost > limitOf(usual)
	switch {
	case !waited:
		f.Severity = "low"
	case share >= 0.10 && run.stays:
		f.Severity = "high"
	case share >= lateShare:
		f.Severity = "medium"
	default:
		f.Severity = "low"
	}
	when := fact.Of("late_since", "first", first)
	switch {
	case run.recurring:
		when = fact.Of("late_recurring", "n", len(run.steps), "of", len(late), "steps", run.steps)
		if every := period(run.steps); every > 0 {
			when = fact.Of("late_every", "every", every, "n", len(run.steps), "steps", run.steps)
		}
	case whole:
		when = fact.Of("late_both")
	case !run.stays:
		when = fact.Of("late_passing", "steps", []int{first, last})
		lost := 0
		for n := last + 1; n < end; n++ {
			if r.Lacks(n) {
				lost++
			}
		}
		if lost > 0 {
			when = fact.Of("late_passing.lost", "steps", []int{first, last}, "n", lost, "of", end-1-last)
		}
	}
	if run.kind != "" {
		when = fact.Of("late_kind", "kind", run.kind, "when", when)
	}
	why := fact.Of("late_" + name)
	if cause == byHost && coresShort(late, run.steps) {
		f.Starved = true
		why = fact.Of("late_cores")
	}
	if cause == byWork {
		if reason, told := d.reason(a, i, late, run.steps); reason != "" {
			f.Reason, why = reason, told
		}
	}
	var turns *result.Held
	if cause == byDevice {
		if turns = d.heldUp(i, run.steps); turns != nil {
			f.Reason, why = result.ReasonShared, turns.Why()
		} else if slowConfigurations(a.Names, late, run.steps) {
			f.Reason, why = result.ReasonConfiguration, fact.Of("late_configuration")
		}
	}
	felt := fact.Of("late_cost", "cost", cost, "share", float64(cost)/float64(max(d.length(run.steps), 1)))
	if !waited {
		felt = fact.Of("late_unfelt")
	}
	f.Title = fact.Of("straggler", "rank", r.Label, "when", when, "why", why, "cost", felt)
	f.Evidence = append(evidence(a, d, i, late, run.steps, cause), doubtEvidence(a, late, run.steps)...)
	if turns != nil {
		f.Evidence = slices.Insert(f.Evidence, 0, proof("ns", float64(turns.Usual), 0, turns.Proof()))
	}
	if run.still != nil {
		run.still.tell(&f, r, len(late), waited)
	}
	return f
}

// length returns the median length of the steps, in ns, where the length of a step is that on its slowest rank.
func (d *Domain) length(steps []int) int64 {
	var all []int64
	for _, n := range steps {
		longest := int64(0)
		for _, r := range d.Ranks {
			if i := n - r.First; i >= 0 && i < len(r.Steps) {
				longest = max(longest, r.Period(i))
			}
		}
		all = append(all, longest)
	}
	return int64(metric.MedianInPlace(all))
}

// heldUp describes how a rank's device stalls inside kernels of some steps while the devices of its peers do not. It
// returns nil if the device does not stall. Software devices stall for lack of a core, for which there is another
// finding.
func (d *Domain) heldUp(i int, steps []int) *result.Held {
	if d.Ranks[i].NoCore != nil {
		return nil
	}
	in := map[int]bool{}
	for _, n := range steps {
		in[n] = true
	}
	var mine, others []timeslice.Kernel
	for j, r := range d.Ranks {
		into := &others
		if i == j {
			into = &mine
		}
		for k := range r.Ops {
			if o := &r.Ops[k]; o.Step >= 0 && in[int(o.Step)+r.First] && !o.Comm() && !kernel.DataDependent(o.Class) {
				*into = append(*into, timeslice.Kernel{Key: o.Key, Start: o.Start, End: o.End})
			}
		}
	}
	return timeslice.Find(mine, others)
}

// coresShort reports whether a late host is due to a software device without a core, rather than to late launches.
func coresShort(late []lateness, steps []int) bool {
	var starved, all int64
	for _, n := range steps {
		starved += late[n].starved
		all += late[n].excess[byHost]
	}
	return 2*starved > all
}
