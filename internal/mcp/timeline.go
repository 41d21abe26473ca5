package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

type timelineIn struct {
	ofRun
	Rank  string   `json:"rank" jsonschema:"label of the rank"`
	Step  *int     `json:"step,omitempty" jsonschema:"one step, or:"`
	From  *float64 `json:"from_ms,omitempty" jsonschema:"ms since the start of the capture"`
	To    *float64 `json:"to_ms,omitempty"`
	On    string   `json:"on,omitempty" jsonschema:"gpu (default), host, all"`
	Min   *float64 `json:"min_us,omitempty" jsonschema:"shortest span in µs, default 5"`
	Limit int      `json:"limit,omitempty" jsonschema:"default 100, at most 200"`
}

// timeline lists the spans of a rank in an interval, in order.
func (s *Server) timeline(ctx context.Context, in timelineIn) (reply, error) {
	a, r, err := s.reportOf(ctx, in.ofRun)
	if err != nil {
		return nil, err
	}
	if in.Rank == "" && len(r.Source.Ranks) == 1 {
		in.Rank = r.Source.Ranks[0]
	}
	rank, err := rankOf(r, in.Rank)
	if err != nil {
		return nil, err
	}
	if rank < 0 {
		return nil, fmt.Errorf("give a rank; the ranks are %v", r.Source.Ranks)
	}
	from, to, err := in.interval(r, rank)
	if err != nil {
		return nil, err
	}
	traces, err := s.traces(ctx, a.paths)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(r.Ranks, func(k result.RankRow) bool { return k.Rank == rank })
	if at < 0 {
		return nil, fmt.Errorf("rank %s has no row in the analysis", clean(in.Rank))
	}
	file, shift := r.Ranks[at].File, r.Ranks[at].ShiftNS
	i := slices.IndexFunc(traces, func(t *trace.Trace) bool { return t.Source.Path == file })
	if i < 0 {
		return nil, errors.New("the spans of this rank are not in a file of this capture: it was read from summaries")
	}
	if !slices.Contains([]string{"", "gpu", "host", "all"}, in.On) {
		return nil, fmt.Errorf("on %q: give gpu, host or all", clean(in.On))
	}
	least := int64(5000)
	if in.Min != nil {
		least = int64(*in.Min * 1000)
	}
	out := a.begin(r)
	out.line("%s from %s to %s; times are since the start of the capture", clean(in.Rank), metric.Duration(from), metric.Duration(to))
	spansOf(out, traces[i], in.On, shift-r.Source.StartNS, from, to, least, limited(in.Limit, 100, 200))
	return out, nil
}

// interval returns the interval that the arguments choose, in ns since the start of the capture.
func (in *timelineIn) interval(r *result.Report, rank int) (from, to int64, err error) {
	switch {
	case in.Step != nil:
		for i := range r.Steps {
			if st := &r.Steps[i]; st.Step == *in.Step {
				for j := range st.Ranks {
					if p := &st.Ranks[j]; p.Rank == rank {
						return p.Start, p.Start + p.Period, nil
					}
				}
			}
		}
		return 0, 0, fmt.Errorf("rank %s has no step %d; the steps are %s", clean(in.Rank), *in.Step, extent(r))
	case in.From == nil || in.To == nil:
		return 0, 0, errors.New("give a step, or from_ms and to_ms")
	case !(*in.From < *in.To) || *in.To-*in.From > 1e9 || *in.From < -1e9:
		return 0, 0, errors.New("from_ms must be less than to_ms")
	}
	return int64(*in.From * 1e6), int64(*in.To * 1e6), nil
}

// shown reports whether the timeline lists spans of a category. Python frames are nested and too many.
func shown(c trace.Category, on string) bool {
	switch {
	case c == trace.UserAnnotation:
		return true
	case c.OnGPU():
		return on != "host"
	}
	return (on == "host" || on == "all") && (c == trace.CPUOp || c == trace.Sync || c == trace.Overhead || c.Launch())
}

// spansOf lists the spans of t that touch the interval. shift turns the file's times into times since the start of the
// capture. Of nested spans of a CPU thread only the outermost is listed.
func spansOf(out *answer, t *trace.Trace, on string, shift, from, to, least int64, limit int) {
	var rows []*trace.Span
	short, shortTime, outer, track := 0, int64(0), int64(-1<<62), trace.TrackID(0)
	for i := range t.Spans {
		sp := &t.Spans[i]
		if sp.Track != track {
			track, outer = sp.Track, -1<<62
		}
		start, end := sp.Start+shift, sp.End()+shift
		if end <= from || start >= to || !shown(sp.Cat, on) {
			continue
		}
		if !sp.Cat.OnGPU() && sp.Cat != trace.UserAnnotation {
			if end <= outer {
				continue
			}
			outer = end
		}
		if sp.Dur < least {
			short, shortTime = short+1, shortTime+sp.Dur
			continue
		}
		rows = append(rows, sp)
	}
	sorts.Stable(rows, func(a, b *trace.Span) int { return cmp.Compare(a.Start, b.Start) })
	if short > 0 {
		out.line("%d spans shorter than %s are left out (%s in all)", short, metric.Duration(least), metric.Duration(shortTime))
	}
	out.fact("spans", len(rows))
	out.rows("start | length | on | what", len(rows), limit, "narrow the interval, or raise min_us", func(i int) string {
		sp := rows[i]
		tr := &t.Tracks[sp.Track]
		where := clean(cmp.Or(tr.Name, "thread "+tr.TID))
		if tr.GPU {
			where = fmt.Sprintf("stream %d", tr.Stream)
		}
		name := t.Strings.Get(sp.Name)
		if sp.Cat == trace.Kernel {
			name = kernel.Short(name)
		}
		return fmt.Sprintf("%s | %s | %s | %s", metric.Duration(sp.Start+shift), metric.Duration(sp.Dur), where, clean(name))
	})
}
