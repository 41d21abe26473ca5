package timeline

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/trace"
)

// Samples are values that were sampled around a window, beside its traces.
type Samples struct {
	GPUs     []trace.GPUState
	Contexts *trace.Contexts
	Loads    []trace.Load
}

// Counter is a quantity over time, with a series for each rank, data-parallel rank or GPU.
type Counter struct {
	ID     string   `json:"id"`
	Title  string   `json:"title"`
	Unit   string   `json:"unit"` // "B", "share", "MHz", "W", "tokens"; "": a number of requests
	Series []Series `json:"series"`
	All    int      `json:"all"` // number of series before they were summarised
	// Peak is the highest value of the whole capture; Of is its series and At its time.
	Peak float64 `json:"peak"`
	At   int64   `json:"peak_ns"`
	Of   string  `json:"peak_of"`
	Rank int     `json:"peak_rank"` // -1: the series belongs to no rank
}

// Series holds the values of one series in columns of equal time. A column without a new value is left out: the last
// value of the column before applies.
type Series struct {
	Name string    `json:"name"`
	Rank int       `json:"rank"` // -1: none
	At   []int     `json:"at"`   // columns
	Low  []float64 `json:"low"`  // lowest value in the column
	High []float64 `json:"high"` // highest value
	Last []float64 `json:"last"` // value at the end of the column
}

// Counters holds the counters of an interval.
type Counters struct {
	From     int64     `json:"from_ns"`
	To       int64     `json:"to_ns"`
	Columns  int       `json:"columns"` // number of columns into which the interval is divided
	Counters []Counter `json:"counters"`
}

// mostSeries is the maximum number of series of a counter. More are summarised as the highest, the median and the
// lowest, and those of the ranks of interest.
const mostSeries = 16

// mostColumns is the maximum number of columns of an answer, and wholeColumns the number if none is requested.
const mostColumns, wholeColumns = 2000, 1000

// counter has all values of a counter, in order of time.
type counter struct {
	Counter
	series []values
}

// values are the values of one series, sorted by time.
type values struct {
	name string
	rank int
	at   []int64
	v    []float64
}

func (s *values) add(at int64, v float64) { s.at, s.v = append(s.at, at), append(s.v, v) }

// Sampled adds the counters that the traces and the samples of the capture have. It must be called before other
// goroutines ask for answers.
func (t *Timeline) Sampled(from Samples) {
	t.memory()
	if t.a.Origin != 0 { // otherwise the traces do not tell the time of day
		t.contexts(from.Contexts)
		t.loads(from.Loads)
		t.gpus(from.GPUs)
	}
	for i := range t.counters {
		t.counters[i].peak(t.from, t.to)
	}
}

// count adds a counter, unless it has no values in or near the capture.
func (t *Timeline) count(id, title, unit string, series []values) {
	const reach = 5_000_000_000 // for values that are sampled once a second or less
	series = slices.DeleteFunc(series, func(s values) bool {
		return !slices.ContainsFunc(s.at, func(at int64) bool { return at >= t.from-reach && at <= t.to+reach })
	})
	if len(series) > 0 {
		t.counters = append(t.counters, counter{Counter: Counter{ID: id, Title: title, Unit: unit, Rank: -1}, series: series})
	}
}

// memory adds the memory of each rank's device, from captures that record allocations.
func (t *Timeline) memory() {
	var allocated, reserved []values
	for i, r := range t.ranks {
		of, most := map[int32]int{}, int32(-1)
		for _, p := range r.t.Memory {
			if p.GPU {
				if of[p.Device]++; most < 0 || of[p.Device] > of[most] {
					most = p.Device
				}
			}
		}
		a, b := values{name: r.Label, rank: i}, values{name: r.Label, rank: i}
		for _, p := range r.t.Memory {
			if p.GPU && p.Device == most && p.Allocated >= 0 {
				at := t.wall(r, p.Time)
				a.add(at, float64(p.Allocated))
				b.add(at, float64(max(p.Reserved, 0)))
			}
		}
		if len(a.at) > 0 {
			allocated, reserved = append(allocated, a.sorted()), append(reserved, b.sorted())
		}
	}
	t.count("allocated", "GPU memory allocated", "B", allocated)
	t.count("reserved", "GPU memory reserved", "B", reserved)
}

// sorted returns the values in order of time. The events of several threads need not be in order.
func (s values) sorted() values {
	if slices.IsSorted(s.at) {
		return s
	}
	order := make([]int, len(s.at))
	for i := range order {
		order[i] = i
	}
	sorts.Stable(order, func(a, b int) int { return cmp.Compare(s.at[a], s.at[b]) })
	out := values{name: s.name, rank: s.rank}
	for _, i := range order {
		out.add(s.at[i], s.v[i])
	}
	return out
}

// by returns the series with the given name in list, and adds it if there is none.
func by(list *[]values, name string, rank int) *values {
	i := slices.IndexFunc(*list, func(s values) bool { return s.name == name })
	if i < 0 {
		i = len(*list)
		*list = append(*list, values{name: name, rank: rank})
	}
	return &(*list)[i]
}

// contexts adds the running requests and their tokens.
func (t *Timeline) contexts(c *trace.Contexts) {
	if c == nil {
		return
	}
	var running, tokens []values
	unit, title := "tokens", "tokens of running requests"
	if c.Pool > 0 {
		unit, title = "share", "KV cache in use"
	}
	for _, s := range c.Samples {
		name := "server"
		if s.DP >= 0 {
			name = fmt.Sprintf("DP%02d", s.DP)
		}
		at := s.At - t.a.Origin
		by(&running, name, -1).add(at, float64(s.Running))
		used := float64(s.High)
		if c.Pool > 0 {
			used = min(used/float64(c.Pool), 1)
		}
		by(&tokens, name, -1).add(at, used)
	}
	t.count("running", "running requests", "", sortedAll(running))
	t.count("kv", title, unit, sortedAll(tokens))
}

func sortedAll(list []values) []values {
	for i := range list {
		list[i] = list[i].sorted()
	}
	return list
}

// loads adds the queues of a prefill or decode server.
func (t *Timeline) loads(loads []trace.Load) {
	if len(loads) == 0 {
		return
	}
	of := func(value func(*trace.Load) float64) []values {
		s := values{name: "server", rank: -1}
		for i := range loads {
			s.add(loads[i].At-t.a.Origin, value(&loads[i]))
		}
		return []values{s.sorted()}
	}
	if !slices.ContainsFunc(t.counters, func(c counter) bool { return c.ID == "running" }) {
		t.count("running", "running requests", "", of(func(l *trace.Load) float64 { return float64(l.Running) }))
		t.count("kv", "KV cache in use", "share", of(func(l *trace.Load) float64 { return l.KVUsage }))
	}
	t.count("waiting", "waiting requests", "", of(func(l *trace.Load) float64 {
		return float64(l.Waiting + l.Bootstrap + l.Prealloc)
	}))
}

// gpus adds the clock and the power of each sampled GPU.
func (t *Timeline) gpus(states []trace.GPUState) {
	var clock, power []values
	for i := range states {
		s := &states[i]
		name, rank := fmt.Sprintf("GPU %d", s.GPU), t.rankOf(s)
		if s.Host != "" {
			name += " of " + s.Host
		}
		if rank >= 0 {
			name = t.ranks[rank].Label
		}
		at := s.At - t.a.Origin
		if s.SM >= 0 {
			by(&clock, name, rank).add(at, s.SM)
		}
		if s.Power >= 0 {
			by(&power, name, rank).add(at, s.Power)
		}
	}
	t.count("clock", "GPU clock (SM)", "MHz", sortedAll(clock))
	t.count("power", "GPU power", "W", sortedAll(power))
}

// rankOf returns the rank whose trace has the UUID or the PCI bus id of a GPU, or -1.
func (t *Timeline) rankOf(s *trace.GPUState) int {
	return slices.IndexFunc(t.ranks, func(r *rank) bool {
		src := &r.t.Source
		return src.UUID != "" && src.UUID == s.UUID || src.UUID == "" && src.PCI != "" && src.PCI == s.PCI && src.Host == s.Host
	})
}

// peak finds the highest value of an interval. The last value before the interval applies from its beginning.
func (c *counter) peak(from, to int64) {
	c.All, c.At = len(c.series), from
	first := true
	for i := range c.series {
		s := &c.series[i]
		for k, v := range s.v {
			if s.at[k] > to {
				break
			}
			if passed := k+1 < len(s.at) && s.at[k+1] <= from; !passed && (first || v > c.Peak) {
				c.Peak, c.At, c.Of, c.Rank, first = v, max(s.at[k], from), columns.Clean(s.name), s.rank, false
			}
		}
	}
}

// Counters returns the counters of an interval in n columns. If a counter has more than mostSeries series, the answer
// has a summary, and the series of rank and of the rank with the peak.
func (t *Timeline) Counters(from, to int64, n, rank int) *Counters {
	out := &Counters{From: from, To: to, Columns: n, Counters: []Counter{}}
	for i := range t.counters {
		c := &t.counters[i]
		of := c.Counter
		of.Series = []Series{}
		for k := range c.series {
			s := &c.series[k]
			if len(c.series) <= mostSeries || s.rank >= 0 && (s.rank == rank || s.rank == c.Rank) {
				of.Series = append(of.Series, s.columns(from, to, n))
			}
		}
		if len(c.series) > mostSeries {
			of.Series = append(c.summary(from, to, n), of.Series...)
		}
		out.Counters = append(out.Counters, of)
	}
	return out
}

// wholeCounters returns the counters of the whole capture.
func (t *Timeline) wholeCounters() *Counters { return t.Counters(t.from, t.to, wholeColumns, -1) }

// columns returns the series in n columns of [from, to).
func (s *values) columns(from, to int64, n int) Series {
	out := Series{Name: columns.Clean(s.name), Rank: s.rank, At: []int{}, Low: []float64{}, High: []float64{}, Last: []float64{}}
	i, _ := slices.BinarySearch(s.at, from)
	width := float64(to-from) / float64(n)
	for held := i > 0; held || i < len(s.at) && s.at[i] < to; held = false {
		k, low, high, last := 0, math.Inf(1), math.Inf(-1), 0.0
		if !held {
			k = min(int(float64(s.at[i]-from)/width), n-1)
		}
		if i > 0 { // until the first value of the column, the one before applies
			low, high, last = s.v[i-1], s.v[i-1], s.v[i-1]
		}
		for ; i < len(s.at) && s.at[i] < to && min(int(float64(s.at[i]-from)/width), n-1) == k; i++ {
			low, high, last = min(low, s.v[i]), max(high, s.v[i]), s.v[i]
		}
		out.At, out.Low, out.High, out.Last = append(out.At, k), append(out.Low, low), append(out.High, high), append(out.Last, last)
	}
	return out
}

// summary returns the highest, the median and the lowest value of all series in each column.
func (c *counter) summary(from, to int64, n int) []Series {
	low, high, last := make([][]float64, n), make([][]float64, n), make([][]float64, n)
	for i := range c.series {
		s := c.series[i].columns(from, to, n)
		for k, at := range s.At {
			end := n
			if k+1 < len(s.At) {
				end = s.At[k+1]
			}
			low[at], high[at], last[at] = append(low[at], s.Low[k]), append(high[at], s.High[k]), append(last[at], s.Last[k])
			for x := at + 1; x < end; x++ {
				low[x], high[x], last[x] = append(low[x], s.Last[k]), append(high[x], s.Last[k]), append(last[x], s.Last[k])
			}
		}
	}
	middle := func(v []float64) float64 {
		slices.Sort(v)
		return v[len(v)/2]
	}
	return []Series{
		summed(fmt.Sprintf("highest of %d", len(c.series)), high, slices.Max[[]float64]),
		summed("median", last, middle), summed("lowest", low, slices.Min[[]float64]),
	}
}

// summed returns the series of one number of each column.
func summed(name string, columns [][]float64, of func([]float64) float64) Series {
	s := Series{Name: name, Rank: -1, At: []int{}, Last: []float64{}}
	for k, all := range columns {
		if len(all) == 0 {
			continue
		}
		if v, n := of(all), len(s.Last); n == 0 || s.Last[n-1] != v {
			s.At, s.Last = append(s.At, k), append(s.Last, v)
		}
	}
	s.Low, s.High = s.Last, s.Last
	return s
}
