package mcp

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// ofRun is the argument that all tools on one capture have.
type ofRun struct {
	Run    string `json:"run" jsonschema:"id of a run, last, or a path"`
	Server string `json:"server,omitempty" jsonschema:"one of several servers"`
}

// limited returns a limit between 1 and most.
func limited(limit, usual, most int) int {
	if limit <= 0 {
		return usual
	}
	return min(limit, most)
}

type stepsIn struct {
	ofRun
	Kind  string `json:"kind,omitempty" jsonschema:"prefill, decode, mixed"`
	Rank  string `json:"rank,omitempty"`
	From  *int   `json:"from,omitempty" jsonschema:"first step"`
	To    *int   `json:"to,omitempty" jsonschema:"last step"`
	Sort  string `json:"sort,omitempty" jsonschema:"step (default), time, wait, idle"`
	Limit int    `json:"limit,omitempty" jsonschema:"default 20, at most 50"`
}

// stepRow is one rank's part in a step.
type stepRow struct {
	step *result.Step
	part *result.StepRank
}

// time is the time of the step on the rank.
func (r *stepRow) time() int64 { return r.part.Period }

// steps lists steps. Without a rank, each step is shown for its slowest rank.
func (s *Server) steps(ctx context.Context, in stepsIn) (reply, error) {
	a, r, err := s.reportOf(ctx, in.ofRun)
	if err != nil {
		return nil, err
	}
	rank, err := rankOf(r, in.Rank)
	if err != nil {
		return nil, err
	}
	by, ok := map[string]func(r *stepRow) int64{
		"": nil, "step": nil,
		"time": (*stepRow).time,
		"wait": func(r *stepRow) int64 { return r.part.ExposedWait },
		"idle": func(r *stepRow) int64 { return r.part.Time.Idle },
	}[in.Sort]
	if !ok {
		return nil, fmt.Errorf("sort %q: give step, time, wait or idle", clean(in.Sort))
	}
	var rows []stepRow
	for i := range r.Steps {
		st := &r.Steps[i]
		if in.Kind != "" && st.Kind != in.Kind || in.From != nil && st.Step < *in.From || in.To != nil && st.Step > *in.To {
			continue
		}
		var best *result.StepRank
		for j := range st.Ranks {
			if p := &st.Ranks[j]; (rank < 0 || p.Rank == rank) && (best == nil || p.Period > best.Period) {
				best = p
			}
		}
		if best != nil {
			rows = append(rows, stepRow{st, best})
		}
	}
	if by != nil {
		sorts.Stable(rows, func(a, b stepRow) int { return cmp.Compare(by(&b), by(&a)) })
	}
	out := a.begin(r)
	if rank < 0 {
		out.line("Each step on the rank where it took longest; start counts from the start of the capture.")
	}
	out.fact("steps", len(rows))
	out.rows("step | kind | name | batch | rank | start | time | compute | wait | transfer | idle (host) | slow", len(rows), limited(in.Limit, 20, 50),
		"narrow by kind, rank, from, to, or raise limit", func(i int) string {
			st, p := rows[i].step, rows[i].part
			slow := ""
			if st.Slow {
				slow = fmt.Sprintf("%s longer than similar steps: %s", metric.Percent(st.SlowBy), clean(report.Words(st.Why)))
			}
			batch := "?"
			if st.Batch >= 0 {
				batch = fmt.Sprint(st.Batch)
			}
			return strings.Join([]string{fmt.Sprint(st.Step), st.Kind, clean(st.Name), batch, clean(r.Source.Ranks[p.Rank]), metric.Duration(p.Start), metric.Duration(p.Period),
				metric.Duration(p.Compute), metric.Duration(p.ExposedWait), metric.Duration(p.Transfer()), metric.Duration(p.Time.Idle) + " (" + metric.Duration(p.HostGap) + ")", slow}, " | ")
		})
	return out, nil
}

type kernelsIn struct {
	ofRun
	Kind  string `json:"kind,omitempty" jsonschema:"prefill, decode, mixed"`
	Name  string `json:"name,omitempty" jsonschema:"part of a kernel's name"`
	Limit int    `json:"limit,omitempty" jsonschema:"default 20, at most 50"`
}

// kernels lists the kernels that take the most time.
func (s *Server) kernels(ctx context.Context, in kernelsIn) (reply, error) {
	a, r, err := s.reportOf(ctx, in.ofRun)
	if err != nil {
		return nil, err
	}
	steps := map[string]int{}
	for i := range r.Steps {
		steps[r.Steps[i].Kind] += len(r.Steps[i].Ranks)
		steps["all"] += len(r.Steps[i].Ranks)
	}
	kind := cmp.Or(in.Kind, "all")
	rows := slices.DeleteFunc(slices.Clone(r.Kernels), func(k result.KernelRow) bool {
		return k.Kind != kind || !strings.Contains(strings.ToLower(k.Name), strings.ToLower(in.Name))
	})
	sorts.Stable(rows, func(a, b result.KernelRow) int { return cmp.Compare(b.Total, a.Total) })
	out := a.begin(r)
	out.line("Sums are over all ranks; spread compares the medians of the slowest and the fastest rank.")
	out.fact("kernels", len(rows))
	out.rows("share | kind | class | total | per step and rank | median | max | spread | only rank | kernel | source", len(rows), limited(in.Limit, 20, 50),
		"narrow by kind or name, or raise limit", func(i int) string {
			k := &rows[i]
			per := "?"
			if n := steps[k.Kind]; n > 0 {
				per = metric.Three(float64(k.Count) / float64(n))
			}
			source := ""
			if len(k.Sources) > 0 {
				source = clean(k.Sources[0].Frame)
			}
			return strings.Join([]string{metric.Percent(k.Share), k.Kind, k.Class, metric.Duration(k.Total), per, metric.Duration(k.Median), metric.Duration(k.Max),
				metric.Percent(k.Spread), clean(k.Only), clean(k.Short), source}, " | ")
		})
	return out, nil
}

type collectivesIn struct {
	ofRun
	Kind string `json:"kind,omitempty" jsonschema:"prefill, decode, mixed"`
	Step *int   `json:"step,omitempty" jsonschema:"only this step, on all ranks"`
	From *int   `json:"from,omitempty" jsonschema:"first step of the list of steps"`
	To   *int   `json:"to,omitempty" jsonschema:"last step"`
}

// collectives lists the ranks by their lateness at collectives, and divides the time of collectives into wait and transfer.
func (s *Server) collectives(ctx context.Context, in collectivesIn) (reply, error) {
	a, r, err := s.reportOf(ctx, in.ofRun)
	if err != nil {
		return nil, err
	}
	out := a.begin(r)
	if in.Step != nil {
		return out, stepCollectives(out, r, *in.Step)
	}
	out.line("A rank that arrives last makes the others wait. Figures are medians per step.")
	out.rows("rank | steps | arrived last at | of collectives | made others wait | waited itself | own compute | host gap | kernels", len(r.Ranks), 50, "ask for one step", func(i int) string {
		k := &r.Ranks[i]
		return fmt.Sprintf("%s | %d | %d | %d | %s | %s | %s | %s | %d", clean(k.Name), k.Steps, k.Last, k.Collectives,
			metric.Duration(k.Caused), metric.Duration(k.Wait), metric.Duration(k.Work), metric.Duration(k.HostGap), k.Kernels)
	})
	rows := slices.DeleteFunc(slices.Clone(r.Collectives), func(c result.CollectiveRow) bool { return in.Kind != "" && c.Kind != in.Kind })
	out.line("")
	out.rows("collective | kind | group | bytes | count | matched | wait | transfer | median transfer | bus GB/s", len(rows), 20, "narrow by kind", func(i int) string {
		c := &rows[i]
		return fmt.Sprintf("%s | %s | %s | %s | %d | %d | %s | %s | %s | %s", clean(c.Op), c.Kind, clean(report.Words(c.Group)), known(c.Bytes > 0, fmt.Sprint(c.Bytes)), c.Count, c.Matched,
			metric.Duration(c.Wait), metric.Duration(c.Transfer), metric.Duration(c.Median), known(c.BusGBs > 0, metric.Three(c.BusGBs)))
	})
	out.line("")
	out.line("The rank that waited least in each step, compared with the median of the others of its group:")
	late := latest(r, in)
	out.rows("step | kind | last | others waited | it waited | compute, others | host gap, others | kernels, others", len(late), 50, "narrow by from and to", func(i int) string {
		return late[i]
	})
	return out, nil
}

// latest describes the rank that waited least in each step, in each group of ranks that wait for each other.
func latest(r *result.Report, in collectivesIn) (rows []string) {
	groups := together(r)
	for i := range r.Steps {
		st := &r.Steps[i]
		if in.Kind != "" && st.Kind != in.Kind || in.From != nil && st.Step < *in.From || in.To != nil && st.Step > *in.To {
			continue
		}
		parts := map[int][]*result.StepRank{}
		for j := range st.Ranks {
			g := groups[st.Ranks[j].Rank]
			parts[g] = append(parts[g], &st.Ranks[j])
		}
		for _, g := range slices.Sorted(maps.Keys(parts)) {
			if len(parts[g]) > 1 {
				rows = append(rows, latestOf(r, st, parts[g]))
			}
		}
	}
	return rows
}

// together returns the group of each rank: the lowest rank with which it shares collectives, directly or through others.
func together(r *result.Report) []int {
	groups := make([]int, len(r.Source.Ranks))
	for i := range groups {
		groups[i] = i
	}
	join := func(members []int) {
		for k := range groups {
			if slices.Contains(members, groups[k]) {
				groups[k] = slices.Min(members)
			}
		}
	}
	for i := range r.Ranks { // a rank's clock is compared with that of a rank of its group
		if k := slices.Index(r.Source.Ranks, r.Ranks[i].Clock.Against); k >= 0 {
			join([]int{groups[k], groups[r.Ranks[i].Rank]})
		}
	}
	for i := range r.Collectives {
		c := &r.Collectives[i]
		if c.Size >= len(groups) { // "all 16 ranks"
			return make([]int, len(groups))
		}
		var members []int
		for label := range strings.SplitSeq(report.Words(c.Group), ", ") {
			if k := slices.Index(r.Source.Ranks, label); k >= 0 {
				members = append(members, groups[k])
			}
		}
		join(members)
	}
	return groups
}

// latestOf describes the rank that waited least among the parts of a step.
func latestOf(r *result.Report, st *result.Step, parts []*result.StepRank) string {
	last := slices.MinFunc(parts, func(a, b *result.StepRank) int { return cmp.Compare(a.ExposedWait, b.ExposedWait) })
	others := func(of func(p *result.StepRank) int64) int64 {
		var all []int64
		for _, p := range parts {
			if p != last {
				all = append(all, of(p))
			}
		}
		return int64(metric.Median(all))
	}
	return fmt.Sprintf("%d | %s | %s | %s | %s | %s, %s | %s, %s | %d, %d", st.Step, st.Kind, clean(r.Source.Ranks[last.Rank]),
		metric.Duration(others(func(p *result.StepRank) int64 { return p.ExposedWait })), metric.Duration(last.ExposedWait),
		metric.Duration(last.Compute), metric.Duration(others(func(p *result.StepRank) int64 { return p.Compute })),
		metric.Duration(last.HostGap), metric.Duration(others(func(p *result.StepRank) int64 { return p.HostGap })),
		last.Kernels, others(func(p *result.StepRank) int64 { return int64(p.Kernels) }))
}

// stepCollectives shows the parts of one step on each rank.
func stepCollectives(out *answer, r *result.Report, step int) error {
	i := slices.IndexFunc(r.Steps, func(s result.Step) bool { return s.Step == step })
	if i < 0 {
		return fmt.Errorf("there is no step %d; the steps are %s", step, extent(r))
	}
	st := &r.Steps[i]
	out.line("step %d (%s, %s)", st.Step, st.Kind, clean(st.Name))
	out.rows("rank | start | time | compute | wait for late ranks | transfer | idle | host gap | kernels", len(st.Ranks), 50, "ask for a rank of steps", func(i int) string {
		p := &st.Ranks[i]
		return fmt.Sprintf("%s | %s | %s | %s | %s | %s | %s | %s | %d", clean(r.Source.Ranks[p.Rank]), metric.Duration(p.Start), metric.Duration(p.Period), metric.Duration(p.Compute),
			metric.Duration(p.ExposedWait), metric.Duration(p.Transfer()), metric.Duration(p.Time.Idle), metric.Duration(p.HostGap), p.Kernels)
	})
	return nil
}

// extent names the first and the last step.
func extent(r *result.Report) string {
	if len(r.Steps) == 0 {
		return "none"
	}
	return fmt.Sprintf("%d to %d", r.Steps[0].Step, r.Steps[len(r.Steps)-1].Step)
}

// reportOf returns the analysis of a run and the report of its server.
func (s *Server) reportOf(ctx context.Context, in ofRun) (*analysis, *result.Report, error) {
	a, err := s.analyse(ctx, in.Run)
	if err != nil {
		return nil, nil, err
	}
	r, err := a.report(in.Server)
	return a, r, err
}

// rankOf returns the index of the rank with a label, or -1 without a label.
func rankOf(r *result.Report, label string) (int, error) {
	if label == "" {
		return -1, nil
	}
	if i := slices.Index(r.Source.Ranks, label); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("no rank %q; the ranks are: %s", clean(label), clean(strings.Join(r.Source.Ranks, ", ")))
}

// begin starts an answer about a report with the capture's name.
func (a *analysis) begin(r *result.Report) *answer {
	out := &answer{}
	name := r.Source.ID
	if a.run != nil {
		name = a.run.ID()
	}
	out.line("%s: %d ranks (%s), %d steps (%s), %s", clean(name), len(r.Source.Ranks), clean(strings.Join(r.Source.Ranks, ", ")), len(r.Steps), extent(r), clean(cmp.Or(r.Source.Device, "device unknown")))
	if len(r.Source.Missing) > 0 {
		out.line("no file of %s: the figures cover only the ranks found", clean(strings.Join(r.Source.Missing, ", ")))
	}
	return out
}
