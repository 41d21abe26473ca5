package timeline

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/base/columns"
)

// Head is the data about a timeline that the page requests only once.
type Head struct {
	Epoch uint32 `json:"epoch"`
	From  int64  `json:"from_ns"` // start of the first span
	To    int64  `json:"to_ns"`   // end of the last span
	// Window is the capture as its summary counts it. Spans before and after it are those of starting and ending
	// profilers, for example.
	Window   [2]int64  `json:"window_ns"`
	Ranks    []string  `json:"ranks"`
	Rows     []Row     `json:"rows"`
	Classes  []string  `json:"classes"`
	Names    int       `json:"names"` // number of names
	Block    int       `json:"block"` // number of names per block, which is one request
	Steps    []Step    `json:"steps"`
	Replicas []Replica `json:"replicas"` // empty: all ranks step together
	// Groupings are the ways to group the ranks. Late is how much later than the median rank each rank arrives at
	// collectives, as a mean over steps, in ns. Blamed lists the findings about late ranks.
	Groupings []Grouping `json:"groupings"`
	Late      []int64    `json:"late_ns"`
	Blamed    []Blame    `json:"blamed"`
	Measures  []Measure  `json:"measures"`
	Measure   string     `json:"measure"`  // measure that the heatmap shows initially
	Findings  []Marked   `json:"findings"` // findings that the heatmap can outline
	// Stretch reports whether ranks share collectives. Without shared collectives, the stretched axis is undefined.
	Stretch bool `json:"stretch"`
	// Levels lists the zoom levels for which an exported page contains all tiles. It is empty if a server provides the
	// tiles.
	Levels []int `json:"levels"`
	// Counters is the number of counters.
	Counters int `json:"counters"`
	// Columns reports that an exported page has all spans, and draws its own tiles.
	Columns bool `json:"columns"`
	// The fields below describe an exported page: whether the page has alignments by collectives, and the number of
	// steps, counted from the first step, that have sums.
	Collectives bool `json:"collectives"`
	Summed      int  `json:"summed"`
}

// Head returns the timeline's head.
func (t *Timeline) Head() *Head {
	h := &Head{
		Epoch: t.epoch, From: t.from, To: t.to, Window: t.window(), Ranks: []string{}, Rows: append([]Row{}, t.rows...), Classes: Classes,
		Names: len(t.names.label), Block: nameBlock, Steps: t.steps(), Replicas: t.replicas(), Measures: t.measures(), Measure: Telling(t.report), Levels: []int{},
		Groupings: t.groupings, Late: t.late, Blamed: t.blamed(), Counters: len(t.counters), Findings: marked(t.report),
	}
	for _, r := range t.ranks {
		h.Ranks = append(h.Ranks, columns.Clean(r.Label))
		h.Stretch = h.Stretch || len(r.knots.own) > 0
	}
	return h
}

// window returns the start and the end of the capture.
func (t *Timeline) window() [2]int64 {
	if span := t.report.Source.SpanNS; span > 0 && t.from < span && t.to > 0 {
		return [2]int64{max(t.from, 0), min(t.to, span)}
	}
	return [2]int64{t.from, t.to}
}

// Answer answers a request below /api/timeline/. The result is a value to encode as JSON, or raw bytes. An error means
// that the request is invalid.
func (t *Timeline) Answer(what string, v url.Values) (any, error) {
	for _, a := range answers {
		if a.what == what {
			q := question{v: v}
			got, err := a.answer(t, &q)
			if q.err != nil {
				return nil, q.err
			}
			return got, err
		}
	}
	return nil, fmt.Errorf("a timeline has no %q", what)
}

var answers = []struct {
	what   string
	answer func(*Timeline, *question) (any, error)
}{
	{"head", func(t *Timeline, _ *question) (any, error) { return t.Head(), nil }},
	{"tiles", func(t *Timeline, q *question) (any, error) {
		query, err := ParseQuery(q.v, len(t.lanes)+len(t.sums))
		if err != nil {
			return nil, err
		}
		return t.Encode(&query), nil
	}},
	{"names", func(t *Timeline, q *question) (any, error) {
		return t.Names(int(q.number("block", 0, 1<<31))), nil
	}},
	{"span", func(t *Timeline, q *question) (any, error) {
		return t.Select(int(q.number("rank", 0, 1<<31)), int32(q.number("span", 0, 1<<31-1)))
	}},
	{"hit", func(t *Timeline, q *question) (any, error) {
		lane := int(q.number("lane", 0, int64(len(t.lanes))-1))
		from, to := q.times()
		if q.err != nil {
			return nil, q.err
		}
		if q.v.Get("axis") == "stretched" {
			x := axis{knots: t.ranks[t.lanes[lane].rank].knots}
			from = x.own(from)
			to = max(x.own(to), from+1)
		}
		return t.Hit(lane, from, to), nil
	}},
	{"beside", func(t *Timeline, q *question) (any, error) {
		return t.Beside(int(q.number("rank", 0, 1<<31)), int32(q.number("span", 0, 1<<31-1)), q.v.Get("back") != "")
	}},
	{"locate", func(t *Timeline, q *question) (any, error) {
		rank, start := int(q.number("rank", 0, int64(len(t.ranks))-1)), q.number("start", math.MinInt64, math.MaxInt64)
		dur := int64(-1)
		if q.v.Get("dur") != "" {
			dur = q.number("dur", 0, math.MaxInt64)
		}
		if q.err != nil {
			return nil, q.err
		}
		return t.Locate(rank, start, dur), nil
	}},
	{"alike", func(t *Timeline, q *question) (any, error) {
		return t.Alike(int(q.number("rank", 0, 1<<31)), int32(q.number("span", 0, 1<<31-1)), q.v.Get("which"))
	}},
	{"range", func(t *Timeline, q *question) (any, error) {
		a := q.alignment(t)
		from, to := q.times()
		if q.err != nil {
			return nil, q.err
		}
		rows, own := q.rows(t), t.inOwnTime(a, from, to)
		table := t.Range(rows, own)
		table.From, table.To, table.Ranks = from, to, t.RankSums(rows, own)
		return table, nil
	}},
	{"search", func(t *Timeline, q *question) (any, error) {
		return t.Search(q.v.Get("q"), q.rows(t), q.number("after", -farthest, farthest), q.v.Get("back") != ""), nil
	}},
	{"align", func(t *Timeline, q *question) (any, error) { return q.alignment(t), nil }},
	{"moved", func(t *Timeline, q *question) (any, error) {
		from, to := q.times()
		ranks, n := q.list("ranks", len(t.ranks)), int(q.number("n", 1, 1024))
		if q.err != nil {
			return nil, q.err
		}
		return t.Moved(ranks, from, to, n), nil
	}},
	{"ribbons", func(t *Timeline, q *question) (any, error) {
		from, to := q.times()
		return t.Ribbons(from, to, int(q.number("most", 1, mostRibbons))), nil
	}},
	{"counters", func(t *Timeline, q *question) (any, error) {
		if q.v.Get("n") == "" {
			return t.wholeCounters(), nil
		}
		from, to := q.times()
		n, rank := q.number("n", 1, mostColumns), q.number("rank", -1, int64(len(t.ranks))-1)
		if q.err != nil {
			return nil, q.err
		}
		return t.Counters(from, to, int(n), int(rank)), nil
	}},
	{"parts", func(t *Timeline, q *question) (any, error) {
		return t.Parts(int(q.number("domain", 0, 1<<31)), int(q.number("index", 0, 1<<31))), nil
	}},
	{"heat", func(t *Timeline, q *question) (any, error) { return t.Heat(q.v.Get("measure")) }},
}

// inOwnTime returns a function that converts the displayed interval [from, to) to each rank's wall clock.
func (t *Timeline) inOwnTime(a *Alignment, from, to int64) func(rank int) Interval {
	return func(rank int) Interval {
		if a.By == ByStretch {
			x := axis{knots: t.ranks[rank].knots}
			return Interval{x.own(from), x.own(to)}
		}
		return Interval{from - a.Moved[rank], to - a.Moved[rank]}
	}
}

// farthest is the limit on times, so that sums of a few times do not overflow.
const farthest = 1 << 60

// question parses the parameters of a request, and keeps the first error.
type question struct {
	v   url.Values
	err error
}

func (q *question) number(name string, least, most int64) int64 {
	n, err := strconv.ParseInt(q.v.Get(name), 10, 64)
	if (err != nil || n < least || n > most) && q.err == nil {
		q.err = fmt.Errorf("%s=%s: give a number from %d to %d", name, q.v.Get(name), least, most)
	}
	return n
}

// times returns from and to.
func (q *question) times() (from, to int64) {
	from, to = q.number("from", -farthest, farthest), q.number("to", -farthest, farthest)
	if to <= from && q.err == nil {
		q.err = fmt.Errorf("from=%d to=%d: from must be before to", from, to)
	}
	return from, to
}

// list parses a list of numbers and ranges below n, such as 1,4-7. The default is all numbers below n.
func (q *question) list(name string, n int) (out []int) {
	text := q.v.Get(name)
	if text == "" {
		for i := range n {
			out = append(out, i)
		}
		return out
	}
	for part := range strings.SplitSeq(text, ",") {
		first, last, ok := strings.Cut(part, "-")
		if !ok {
			last = first
		}
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err1 != nil || err2 != nil || from < 0 || to < from || to >= n {
			if q.err == nil {
				q.err = fmt.Errorf("%s=%s: give numbers below %d, as 1,4-7", name, text, n)
			}
			return nil
		}
		for i := from; i <= to; i++ {
			out = append(out, i)
		}
		if len(out) > 2*n {
			break
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// rows parses the list of requested rows. The default is all pinned rows.
func (q *question) rows(t *Timeline) (out []int) {
	if q.v.Get("rows") != "" {
		return q.list("rows", len(t.rows))
	}
	for i := range t.rows {
		if t.rows[i].Pinned {
			out = append(out, i)
		}
	}
	return out
}

// alignment parses the parameter align and, if the alignment needs it, step or at.
func (q *question) alignment(t *Timeline) *Alignment {
	by := q.v.Get("align")
	var step, at int64
	switch by {
	case "":
		by = ByWall
	case ByStep:
		step = q.number("step", 0, 1<<31)
	case ByCollective:
		at = q.number("at", -farthest, farthest)
	}
	if q.err != nil {
		return nil
	}
	a, err := t.Align(by, int(step), at)
	if err != nil {
		q.err = err
	}
	return a
}
