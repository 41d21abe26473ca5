package tables

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// Stages breaks down the time of a diffusion pipeline by stage and rank. Host time is the time from the begin to the
// end of the stage. Device time is the time of the work that was launched in the stage.
func Stages(a *match.Aligned) (out []result.StageRow) {
	met := meetings(a)
	order := map[string]int{} // order of the stages, by first occurrence
	for _, r := range a.Ranks {
		rows := stagesOf(r, met[r])
		for i := range rows {
			if _, ok := order[rows[i].Stage]; !ok {
				order[rows[i].Stage] = len(order)
			}
		}
		out = append(out, rows...)
	}
	sorts.Stable(out, func(x, y result.StageRow) int { return cmp.Compare(order[x.Stage], order[y.Stage]) })
	if a.HostOnly {
		return out // waits in collectives are unknown, so it is unknown which rank is late
	}
	fastest := map[string]int64{}
	for i := range out {
		row := &out[i]
		if own, ok := fastest[row.Stage]; !ok || row.Own < own {
			fastest[row.Stage] = row.Own
		}
	}
	for i := range out {
		out[i].Beyond = out[i].Own - fastest[out[i].Stage]
	}
	return out
}

// stagesOf returns the rows of a rank. met holds the meetings of the rank's ops.
func stagesOf(r *match.Rank, met map[int32]meeting) (out []result.StageRow) {
	if len(r.Stages) == 0 {
		return nil
	}
	at := map[string]int{} // index in out
	in := make([]int, len(r.Stages))
	for i, s := range r.Stages {
		if _, ok := at[s.Name]; !ok {
			at[s.Name] = len(out)
			out = append(out, result.StageRow{Stage: s.Name, Rank: r.Index})
		}
		in[i] = at[s.Name]
	}
	var active, waits []prep.Interval // intervals of the device
	ran := make([][]prep.Interval, len(out))
	for i := range r.Ops {
		o := &r.Ops[i]
		active = append(active, prep.Interval{Start: o.Start, End: o.End})
		with := met[int32(i)]
		if with.wait+r.Edge[int32(i)] > 0 {
			waits = append(waits, prep.Interval{Start: o.Start, End: o.Start + with.wait + r.Edge[int32(i)]})
		}
		launched := o.Start
		if o.Call >= 0 {
			launched = r.Calls[o.Call].Start
		}
		if s := r.StageAt(launched); s >= 0 {
			ran[in[s]] = append(ran[in[s]], prep.Interval{Start: o.Start, End: o.End})
			out[in[s]].Wait += with.wait
			out[in[s]].Caused += with.caused
		}
	}
	active, waits = prep.Union(active), prep.Union(waits)
	var whole int64
	for i, s := range r.Stages {
		row, length := &out[in[i]], s.End-s.Start
		row.Count++
		row.Host += length
		row.Own += length - prep.Overlap(waits, s.Start, s.End)
		if len(r.Ops) > 0 {
			row.Idle += length - prep.Overlap(active, s.Start, s.End)
		}
		whole += length
	}
	for i := range out {
		for _, x := range prep.Union(ran[i]) {
			out[i].Busy += x.End - x.Start
		}
		out[i].Share = metric.Share(out[i].Host, whole)
	}
	return out
}

// meeting describes one rank's part in a collective.
type meeting struct {
	wait   int64 // the rank's wait until the last rank arrived
	caused int64 // the longest wait of the other ranks, if this rank was the last
}

// meetings returns, by rank and op, the meeting of each op that belongs to a collective of several ranks. It includes
// ops outside of steps.
func meetings(a *match.Aligned) map[*match.Rank]map[int32]meeting {
	out := map[*match.Rank]map[int32]meeting{}
	for _, r := range a.Ranks {
		out[r] = map[int32]meeting{}
	}
	for _, d := range a.Domains {
		for _, m := range slices.Concat(d.Matches, d.Outside) {
			last := slices.MaxFunc(m.At, func(p, q match.Part) int { return cmp.Compare(p.Start, q.Start) })
			var longest int64
			for _, p := range m.At {
				out[d.Ranks[p.Rank]][p.Op] = meeting{wait: p.Wait}
				longest = max(longest, p.Wait)
			}
			out[d.Ranks[last.Rank]][last.Op] = meeting{wait: last.Wait, caused: longest}
		}
	}
	return out
}
