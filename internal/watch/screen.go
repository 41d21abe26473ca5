package watch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/live"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/capture/signals"
)

// screen is the terminal display, with one line per rank.
type screen struct {
	mu    sync.Mutex
	lines func(width, rows int) []string
}

// set stores a snapshot of the state. The snapshot must not be modified afterwards.
func (s *screen) set(m *coordinator) {
	v := view{at: time.Now(), began: m.began, captures: m.budget.made, bytes: m.budget.bytes, doing: "watching"}
	if m.shooting != nil {
		v.doing = "capturing"
	}
	for _, f := range m.followers {
		v.servers = append(v.servers, onScreen{name: f.name, live: f.live, missing: f.missing, alarms: m.engine.On(f.name)})
	}
	s.mu.Lock()
	s.lines = v.frame
	s.mu.Unlock()
}

func (s *screen) frame(width, rows int) []string {
	s.mu.Lock()
	lines := s.lines
	s.mu.Unlock()
	if lines == nil {
		return nil
	}
	return lines(width, rows)
}

// view is a snapshot of the state of one follower.
type view struct {
	at, began time.Time
	doing     string
	captures  int
	bytes     int64
	servers   []onScreen
}

type onScreen struct {
	name    string
	live    *signals.Live // nil: no sample
	missing time.Time
	alarms  []string
}

// few is the minimum number of lines used for ranks. If there are more ranks than lines, only the ranks with the
// highest load are shown.
const few = 3

func (v *view) frame(width, rows int) []string {
	right := fmt.Sprintf("%s, %v", plural(v.captures, "capture"), v.at.Sub(v.began).Round(time.Second))
	if v.bytes > 0 {
		right = metric.Bytes(v.bytes) + ", " + right
	}
	out := []string{columns.Ends(v.doing, right, width)}
	room := max((rows-2)/max(len(v.servers), 1)-2, few)
	for i := range v.servers {
		out = append(out, v.servers[i].lines(v.at, width, room)...)
	}
	if most := max(rows-2, few); len(out) > most {
		out = append(out[:most-1], fmt.Sprintf("and %s more", plural(len(out)-most+1, "line")))
	}
	return out
}

func (s *onScreen) lines(now time.Time, width, room int) []string {
	if s.live == nil {
		what := "no sample yet"
		if !s.missing.IsZero() {
			what = fmt.Sprintf("no answer for %v", now.Sub(s.missing).Round(time.Second))
		}
		return []string{columns.Ends(s.name, what, width)}
	}
	l := s.live
	head := latencies(l)
	if len(s.alarms) > 0 {
		head = strings.Join(s.alarms, ", ")
	}
	out := []string{columns.Ends(s.name, head, width)}
	mean := l.Sum(func(f *signals.Flow) float64 { return f.Load }) / float64(len(l.Ranks))
	most := 1.0
	for i := range l.Ranks {
		most = max(most, l.Ranks[i].Load)
	}
	shown := busiest(l.Ranks, room-1)
	out = append(out, columns.Ends("  rank     running   queued  tokens/s   cache  load/mean", "", width))
	for _, at := range shown {
		f := &l.Ranks[at]
		text := fmt.Sprintf("  %-6s %9s %8s %9s %7s %10s", rankName(f.DP), round(f.Running), round(f.Queued), round(f.Tokens), share(f.Usage), ratio(f.Load, mean))
		if bar := width - len(text) - 2; bar >= 10 && signals.Known(f.Load) {
			text += "  " + live.Bar(f.Load/most, min(bar, 30))
		}
		out = append(out, text)
	}
	if left := len(l.Ranks) - len(shown); left > 0 {
		out = append(out, fmt.Sprintf("  and %s with less load", plural(left, "rank")))
	}
	return out
}

// busiest returns the indices of the n ranks with the highest load, or the indices of all ranks if there are fewer than
// n ranks. The indices are in ascending order.
func busiest(ranks []signals.Flow, n int) (places []int) {
	for i := range ranks {
		places = append(places, i)
	}
	sorts.Stable(places, func(a, b int) int { return cmp.Compare(ranks[b].Load, ranks[a].Load) })
	places = places[:min(max(n, 1), len(places))]
	slices.Sort(places)
	return places
}

// latencies summarizes the request latencies.
func latencies(l *signals.Live) string {
	var parts []string
	for _, h := range []struct {
		name string
		of   *signals.Histogram
	}{{"TTFT", &l.TTFT}, {"ITL", &l.ITL}} {
		if v := h.of.Mean(); signals.Known(v) {
			parts = append(parts, h.name+" "+metric.Duration(v*1e9))
		}
	}
	return strings.Join(parts, "  ")
}

func round(v float64) string {
	if !signals.Known(v) {
		return "?"
	}
	return fmt.Sprintf("%.0f", v)
}

func share(v float64) string {
	if !signals.Known(v) {
		return "?"
	}
	return fmt.Sprintf("%.0f %%", 100*v)
}

func ratio(v, mean float64) string {
	if !signals.Known(v) || !(mean > 0) {
		return "-"
	}
	return fmt.Sprintf("%.2f", v/mean)
}
