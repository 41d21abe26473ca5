package load

import (
	"cmp"
	"container/heap"
	"math"
	"net/http"
	"slices"
	"strconv"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/waits"
)

// mostRows is the maximum number of requests in one answer.
const mostRows = 6_000

// Requests describes requests that are drawn as bars, as one column per property. Times are in the run's time. The bars
// in one row do not overlap.
type Requests struct {
	Rows    int     `json:"rows"`  // number of rows for all requests of the run
	Of      int     `json:"of"`    // number of requests in progress in the selected time
	Index   []int   `json:"index"` // indices of the records
	Row     []int   `json:"row"`
	Sent    []int64 `json:"sent"`
	First   []int64 `json:"first"` // -1: never
	Last    []int64 `json:"last"`
	Done    []int64 `json:"done"`
	Failed  []bool  `json:"failed"`
	Touched []bool  `json:"touched"` // whether the profiling window touched the request
}

// rows assigns the requests of a repetition to rows.
type rows struct {
	n     int
	order []int // indices of the sent records, ordered by send time
	row   []int // row of each element of order
}

// freeRows is a heap of rows without a request. The lowest row is the first.
type freeRows []int

func (f freeRows) Len() int           { return len(f) }
func (f freeRows) Less(a, b int) bool { return f[a] < f[b] }
func (f freeRows) Swap(a, b int)      { f[a], f[b] = f[b], f[a] }
func (f *freeRows) Push(x any)        { *f = append(*f, x.(int)) }
func (f *freeRows) Pop() any {
	last := len(*f) - 1
	x := (*f)[last]
	*f = (*f)[:last]
	return x
}

// pack assigns each request to the lowest row that is free when the request is sent. The number of rows is the maximum
// number of requests in progress.
func pack(records []bench.Record) *rows {
	p := &rows{}
	for i := range records {
		if r := &records[i]; r.Sent != bench.Never && r.Done >= r.Sent {
			p.order = append(p.order, i)
		}
	}
	sorts.Stable(p.order, func(a, b int) int { return cmp.Compare(records[a].Sent, records[b].Sent) })
	ends := slices.Clone(p.order) // ordered by end time
	sorts.Stable(ends, func(a, b int) int { return cmp.Compare(records[a].Done, records[b].Done) })
	of, free := map[int]int{}, &freeRows{}
	for _, i := range p.order {
		for len(ends) > 0 && records[ends[0]].Done <= records[i].Sent {
			if row, ok := of[ends[0]]; ok {
				heap.Push(free, row)
			}
			ends = ends[1:]
		}
		row := p.n
		if free.Len() > 0 {
			row = heap.Pop(free).(int)
		} else {
			p.n++
		}
		of[i] = row
		p.row = append(p.row, row)
	}
	return p
}

func (v *Views) requests(req *http.Request) (any, error) {
	r, err := v.repOf(req)
	if err != nil {
		return nil, err
	}
	part, err := stretch(req, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	p := r.rows[r.n]
	if p == nil {
		p = pack(r.m.Records)
		r.rows[r.n] = p
	}
	r.mu.Unlock()
	var in []int // indices in p.order
	for k, i := range p.order {
		if rec := &r.m.Records[i]; rec.Sent <= part.To && rec.Done >= part.From {
			in = append(in, k)
		}
	}
	out := &Requests{
		Rows: p.n, Of: len(in), Index: []int{}, Row: []int{}, Sent: []int64{}, First: []int64{}, Last: []int64{}, Done: []int64{},
		Failed: []bool{}, Touched: []bool{},
	}
	embedding := r.m.Run.Embedding()
	for _, k := range fewer(in) {
		i := p.order[k]
		rec := &r.m.Records[i]
		out.Index, out.Row = append(out.Index, i), append(out.Row, p.row[k])
		out.Sent, out.First, out.Last, out.Done = append(out.Sent, rec.Sent), append(out.First, rec.First), append(out.Last, rec.Last), append(out.Done, rec.Done)
		out.Failed = append(out.Failed, !rec.OK() || !embedding && rec.First == bench.Never)
		out.Touched = append(out.Touched, r.m.Run.Overlaps(rec.Sent, rec.Done))
	}
	return out, nil
}

// fewer thins out a list evenly to at most mostRows elements.
func fewer(list []int) []int {
	if len(list) <= mostRows {
		return list
	}
	out := make([]int, mostRows)
	for k := range out {
		out[k] = list[k*len(list)/mostRows]
	}
	return out
}

// Request holds all data about one request.
type Request struct {
	Index   int           `json:"index"` // index of the record
	ID      string        `json:"id"`
	Turn    int           `json:"turn"`
	Moments []Moment      `json:"moments"` // in time order
	Facts   [][2]string   `json:"facts"`   // names and values
	Failure string        `json:"failure"` // "": success
	Error   string        `json:"error"`
	Events  []int64       `json:"events"` // times of events with text
	TTFT    *Waited       `json:"ttft"`   // null: the first token did not arrive in a recorded window
	Gaps    []Waited      `json:"gaps"`   // the longest gaps in recorded windows, longest first
	Steps   []waits.Place `json:"steps"`  // recorded steps of the request
	With    []Other       `json:"with"`   // other requests in these steps, the most frequent first
	Why     string        `json:"why"`    // reason that the steps are unknown; "": they are known
}

// Moment is a named time of a request.
type Moment struct {
	Name string `json:"name"`
	At   int64  `json:"at"` // in the run's time
}

// Waited is a TTFT or the time between two events, together with the parts of that time.
type Waited struct {
	Event int               `json:"event"` // index, among the events with text, of the event that ended the wait
	At    int64             `json:"at"`    // arrival of the event
	NS    int64             `json:"ns"`
	Parts []report.WaitPart `json:"parts"`
	Place string            `json:"place"` // server and rank
}

// Other is another request that was in the same steps.
type Other struct {
	Met
	Steps int `json:"steps"`
}

const (
	mostGaps   = 8
	mostOthers = 40
)

func (v *Views) request(req *http.Request) (any, error) {
	r, err := v.repOf(req)
	if err != nil {
		return nil, err
	}
	index, err := number(req, "index", -1, int64(len(r.m.Records)))
	if err != nil {
		return nil, err
	}
	i := int(index)
	rec := &r.m.Records[i]
	out := &Request{
		Index: i, ID: columns.Clean(rec.ID), Turn: rec.Turn, Moments: []Moment{}, Facts: facts(rec), Failure: string(rec.Failure), Error: columns.Clean(rec.Error),
		Events: []int64{}, Gaps: []Waited{}, Steps: []waits.Place{}, With: []Other{},
	}
	for _, m := range []Moment{
		{"scheduled", rec.Scheduled}, {"released", rec.Released}, {"sent", rec.Sent}, {"headers", rec.Headers}, {"first event", rec.FirstAny},
		{"first token", rec.First}, {"last token", rec.Last}, {"done", rec.Done},
	} {
		if m.At != bench.Never {
			out.Moments = append(out.Moments, m)
		}
	}
	for _, c := range rec.Chunks {
		if c.Text {
			out.Events = append(out.Events, c.At)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	j, err := v.join(req.Context(), r.opened)
	switch {
	case err != nil && req.Context().Err() != nil:
		return nil, err
	case err != nil:
		out.Why = err.Error()
	case j.Run != r.n:
		out.Why = "steps were recorded in another repetition of this load"
	default:
		out.wait(j, i, r.m.Records)
	}
	return out, nil
}

// wait adds to q the data of record i that come from the recorded steps.
func (q *Request) wait(j *joined, i int, records []bench.Record) {
	waited := func(c *waits.Case) Waited {
		return Waited{c.Event, c.At, c.NS, report.WaitParts(&c.Wait), report.ServedBy(c)}
	}
	served := j.Request(i)
	if served.TTFT != nil {
		w := waited(served.TTFT)
		q.TTFT = &w
	}
	sorts.Stable(served.Gaps, func(a, b waits.Case) int { return cmp.Compare(b.NS, a.NS) })
	for k := range served.Gaps[:min(len(served.Gaps), mostGaps)] {
		q.Gaps = append(q.Gaps, waited(&served.Gaps[k]))
	}
	q.Steps = served.In
	met := map[int]int{}
	for _, p := range served.In {
		for _, other := range j.Batch(p) {
			met[other]++
		}
	}
	delete(met, i)
	for other, n := range met {
		q.With = append(q.With, Other{Met{other, columns.Clean(records[other].ID)}, n})
	}
	sorts.By(q.With, func(a, b Other) int { return cmp.Or(cmp.Compare(b.Steps, a.Steps), cmp.Compare(a.Index, b.Index)) })
	q.With = q.With[:min(len(q.With), mostOthers)]
	if len(served.In) == 0 {
		q.Why = "none of its steps was recorded: it was served outside the captured window"
	}
}

// facts returns the properties of a request, except its times.
func facts(r *bench.Record) [][2]string {
	out := [][2]string{{"prompt", tokens(r.PromptLen)}, {"output", tokens(r.OutputLen) + ", at most " + tokens(r.AskedLen)}}
	add := func(there bool, name, text string) {
		if there {
			out = append(out, [2]string{name, columns.Clean(text)})
		}
	}
	add(r.OutputFrom != bench.FromServer, "output counted by", string(r.OutputFrom))
	add(r.CachedTokens >= 0, "from the cache", tokens(r.CachedTokens))
	add(r.DPRank >= 0, "data-parallel rank", strconv.Itoa(r.DPRank))
	add(r.Turn > 0, "turn", strconv.Itoa(r.Turn+1))
	add(r.Status != 0 && r.Status != http.StatusOK, "HTTP status", strconv.Itoa(r.Status))
	add(r.Finish != "", "finish reason", r.Finish)
	return out
}

func tokens(n int) string {
	if n == 1 {
		return "1 token"
	}
	return metric.Count(n) + " tokens"
}
