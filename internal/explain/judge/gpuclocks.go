package judge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

const (
	// lowerClock is the share of the peers' median clock below which a GPU's median clock is lower. Clocks of healthy
	// GPUs under a power limit differ by a few percent.
	lowerClock = 0.95
	// leastClocks is the minimum number of samples of a GPU at work.
	leastClocks = 3
	// clockReach extends the time of a finding that is too short for leastClocks samples, in ns. DCGM samples once a
	// second.
	clockReach = 1_500_000_000
	// leastReason is the minimum share of the samples at which the driver gave a reason.
	leastReason = 0.25
)

// gpu is one sampled GPU.
type gpu struct {
	trace.GPUState         // of its first sample
	clocks         []int64 // at work, in MHz
	reasons        map[string]int
}

// GPUClocks adds to findings of late devices how the clocks of their GPUs compared with those of the other ranks.
func GPUClocks(a *match.Aligned, rep *result.Report, states []trace.GPUState) {
	if len(states) == 0 || a.Origin == 0 {
		return
	}
	for i := range rep.Findings {
		f := &rep.Findings[i]
		if f.Kind != result.Straggler || f.Cause != result.CauseDevice && f.Cause != result.CauseUnknown {
			continue
		}
		from, to := timeOfSteps(a, f)
		found := sampledGPUs(states, from, to)
		if !slices.ContainsFunc(found, func(g *gpu) bool { return len(g.clocks) >= leastClocks }) {
			found = sampledGPUs(states, from-clockReach, to+clockReach)
		}
		told := clockEvidence(a, f, found)
		at := 0
		if told.Text.Key != "clock_lower" {
			at = min(1, len(f.Evidence))
		} else if f.Cause == result.CauseDevice && f.Reason == "" && explains(f, told) {
			f.Reason = result.ReasonClock
			why := fact.Of("late_clock", "mine", told.Value, "peers", told.Peers, "reason", told.Text.Get("reason"))
			if f.Title.Key == "several" {
				why = fact.Of("they_clock", "mine", told.Value, "peers", told.Peers, "reason", told.Text.Get("reason"))
			}
			f.Title = f.Title.With("why", why)
		}
		f.Evidence = slices.Insert(f.Evidence, at, told)
	}
}

// explains reports whether a lower clock can be the reason of a finding: whether it makes work longer by at least half
// of what the finding's evidence shows. A GPU that another process shares may also have a lower clock.
func explains(f *result.Finding, clock result.Evidence) bool {
	longer := 0.0
	for _, e := range f.Evidence {
		if e.Unit == "ns" && e.Peers > 0 {
			longer = max(longer, e.Value/e.Peers-1)
		}
	}
	return clock.Peers/clock.Value-1 >= longer/2
}

// timeOfSteps returns the time from the first to the last step of a finding, in ns since the epoch.
func timeOfSteps(a *match.Aligned, f *result.Finding) (from, to int64) {
	from, to = a.Origin+a.Span, a.Origin
	for _, r := range a.Ranks {
		for i := range r.Steps {
			if n := r.First + i; n >= f.FirstStep && n <= f.LastStep {
				from, to = min(from, r.Wall(r.Steps[i].Start)), max(to, r.Wall(r.Steps[i].End))
			}
		}
	}
	if from > to {
		return a.Origin, a.Origin + a.Span
	}
	return from, to
}

// sampledGPUs returns the GPUs that have samples, with the clocks between two moments. Idle GPUs lower their clocks, so
// only samples of GPUs at work count.
func sampledGPUs(states []trace.GPUState, from, to int64) []*gpu {
	by := map[string]*gpu{}
	for _, s := range states {
		key := fmt.Sprintf("%s %06d", s.Host, s.GPU)
		g := by[key]
		if g == nil {
			g = &gpu{GPUState: s, reasons: map[string]int{}}
			by[key] = g
		}
		if s.At < from || s.At > to || s.Busy == 0 || s.SM <= 0 {
			continue
		}
		g.clocks = append(g.clocks, int64(s.SM))
		for _, r := range s.Reasons {
			g.reasons[r]++
		}
	}
	var out []*gpu
	for _, key := range slices.Sorted(maps.Keys(by)) {
		slices.Sort(by[key].clocks)
		out = append(out, by[key])
	}
	return out
}

// otherHosts returns the hosts of the sampled GPUs if the trace of one of the finding's ranks names another host, or
// names none although the server may run on another; "": neither. A UUID is unique, so hosts are not compared if the
// trace has one.
func otherHosts(a *match.Aligned, f *result.Finding, all []*gpu) string {
	for _, i := range f.Ranks {
		src := &a.Ranks[i].Source
		if src.UUID == "" && !slices.ContainsFunc(all, func(g *gpu) bool { return sameHost(src.Host, g.Host) && (src.Host != "" || !g.Unsure) }) {
			hosts := map[string]bool{}
			for _, g := range all {
				hosts[g.Host] = true
			}
			return strings.Join(slices.Sorted(maps.Keys(hosts)), ", ")
		}
	}
	return ""
}

// clockEvidence compares the clocks of the GPUs of a finding's ranks with those of the other ranks.
func clockEvidence(a *match.Aligned, f *result.Finding, all []*gpu) result.Evidence {
	if hosts := otherHosts(a, f, all); hosts != "" {
		return proof("MHz", 0, 0, fact.Of("clock_elsewhere", "hosts", hosts))
	}
	var mine, peers []*gpu
	sure := true
	for i, r := range a.Ranks {
		g := gpuOf(a, r, all)
		late := slices.Contains(f.Ranks, i)
		switch {
		case g == nil:
			sure = sure && !late
		case late:
			mine = append(mine, g)
		default:
			peers = append(peers, g)
		}
	}
	low := lowest(all)
	if !sure || low != nil && slices.Contains(peers, low) && byNumber(a) {
		return unmapped(all, low)
	}
	own, others := pooled(mine), pooled(peers)
	if len(own) < leastClocks || len(others) < leastClocks {
		return proof("MHz", 0, 0, fact.Of("clock_few", "n", len(own), "peers", len(others)))
	}
	m, p := metric.Quantile(own, 0.5), metric.Quantile(others, 0.5)
	switch {
	case isLower(own, others):
		return proof("MHz", m, p, fact.Of("clock_lower", "mine", m, "peers", p, "n", len(own), "reason", reasonText(mine)))
	case m < lowerClock*p:
		return proof("MHz", m, p, fact.Of("clock_varied", "mine", m, "peers", p, "n", len(own), "reason", reasonText(mine)))
	}
	return proof("MHz", m, p, fact.Of("clock_equal", "mine", m, "peers", p, "n", len(own)))
}

// isLower reports whether clocks are lower than others beyond their noise. Both lists are sorted.
func isLower(own, others []int64) bool {
	return len(own) >= leastClocks && len(others) >= leastClocks && metric.Quantile(own, 0.5) < lowerClock*metric.Quantile(others, 0.5) &&
		metric.Quantile(own, 0.75) < metric.Quantile(others, 0.25)
}

// lowest returns the GPU whose clock was lower than those of all other GPUs together, or nil.
func lowest(all []*gpu) *gpu {
	for _, g := range all {
		var rest []*gpu
		for _, o := range all {
			if o != g {
				rest = append(rest, o)
			}
		}
		if isLower(g.clocks, pooled(rest)) {
			return g
		}
	}
	return nil
}

// unmapped states what is known if the GPU of a late rank is not.
func unmapped(all []*gpu, low *gpu) result.Evidence {
	if low == nil && len(pooled(all)) < leastClocks*len(all) {
		return proof("MHz", 0, 0, fact.Of("clock_unmapped.few"))
	}
	if low == nil {
		return proof("MHz", 0, 0, fact.Of("clock_unmapped"))
	}
	var rest []*gpu
	for _, g := range all {
		if g != low {
			rest = append(rest, g)
		}
	}
	m, p := metric.Quantile(low.clocks, 0.5), metric.Quantile(pooled(rest), 0.5)
	name := strings.TrimSpace(fmt.Sprintf("%s GPU %d", low.Host, low.GPU))
	return proof("MHz", m, p, fact.Of("clock_unmapped.low", "gpu", name, "mine", m, "peers", p, "reason", reasonText([]*gpu{low})))
}

// pooled returns the clocks of several GPUs, sorted.
func pooled(of []*gpu) (out []int64) {
	for _, g := range of {
		out = append(out, g.clocks...)
	}
	slices.Sort(out)
	return out
}

// reasonText lists the driver's reasons for the clocks of GPUs, the most frequent first, after a comma; "": none.
func reasonText(of []*gpu) (text string) {
	n, sum := 0, map[string]int{}
	for _, g := range of {
		n += len(g.clocks)
		for r, count := range g.reasons {
			sum[r] += count
		}
	}
	names := sorts.Sorted(maps.Keys(sum), func(x, y string) int { return cmp.Or(sum[y]-sum[x], cmp.Compare(x, y)) })
	for _, r := range names {
		if float64(sum[r]) >= leastReason*float64(n) {
			text += ", " + r
		}
	}
	return text
}

// gpuOf returns the sampled GPU of a rank, or nil if it is not certain. A UUID or a PCI bus id is certain. The number
// of a device is that of nvidia-smi if the rank's process saw all sampled GPUs of one host, and no other rank uses a
// device of the same number.
func gpuOf(a *match.Aligned, r *match.Rank, all []*gpu) *gpu {
	src := &r.Source
	if src.UUID != "" || src.PCI != "" {
		for _, g := range all {
			if same(src.UUID, g.UUID) || src.UUID == "" && same(src.PCI, g.PCI) && sameHost(src.Host, g.Host) {
				return g
			}
		}
		if all[0].UUID != "" {
			return nil
		}
	}
	if len(r.Devices) != 1 || src.Visible != len(all) {
		return nil
	}
	var own *gpu
	for _, g := range all {
		if g.Host != all[0].Host || !sameHost(src.Host, g.Host) {
			return nil
		}
		if g.GPU == int(r.Devices[0]) {
			own = g
		}
	}
	for _, o := range a.Ranks {
		if o != r && (o.Source.Host != src.Host || slices.Contains(o.Devices, r.Devices[0])) {
			return nil
		}
	}
	return own
}

// byNumber reports whether ranks are assigned to GPUs by the numbers of their devices, which CUDA_VISIBLE_DEVICES may
// order in another way.
func byNumber(a *match.Aligned) bool {
	return a.Ranks[0].Source.UUID == "" && a.Ranks[0].Source.PCI == ""
}

// same reports whether two ids are equal and known. nvidia-smi writes more zeros before a PCI bus id than others, and
// GPU- before a UUID.
func same(a, b string) bool {
	plain := func(id string) string { return strings.TrimLeft(strings.TrimPrefix(strings.ToLower(id), "gpu-"), "0") }
	return a != "" && plain(a) == plain(b)
}

// sameHost reports whether two names may be of one host. A name may have a domain, and may be unknown.
func sameHost(a, b string) bool {
	short := func(name string) string { name, _, _ = strings.Cut(strings.ToLower(name), "."); return name }
	return a == "" || b == "" || short(a) == short(b)
}
