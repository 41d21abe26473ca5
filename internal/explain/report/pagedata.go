package report

import (
	"slices"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// pageData is the data of the page's plots. Per-step figures are stored as arrays of numbers, one rank after another.
// Neighbouring steps share a column if necessary, so that ranks × columns fit the page. (As JSON objects, 64 ranks ×
// 2,000 steps would take 60 MB.)
type pageData struct {
	Ranks    []string      `json:"ranks"`
	Kinds    []string      `json:"kinds"`
	Findings []pageFinding `json:"findings"`
	Grid     grid          `json:"grid"`
	Lengths  lengths       `json:"lengths"`
	Memory   []pageMemory  `json:"memory"`
	Light    *LightPicture `json:"light,omitempty"`
}

type pageFinding struct {
	Kind     string `json:"kind"`
	Severity string `json:"severity"`
	Cause    string `json:"cause"`
	Ranks    []int  `json:"ranks"`
	First    int    `json:"first"`
	Last     int    `json:"last"`
}

// grid holds one column per bucket of steps. The arrays of cells are flat and in ns. The cell of rank r and column c
// has the index r·Cols + c. If a rank lacks the step, its cell is -1 in Parts and 0 in the other arrays.
type grid struct {
	Bucket int     `json:"bucket"` // steps per column
	Cols   int     `json:"cols"`
	First  []int   `json:"first"` // first step of each column
	Last   []int   `json:"last"`
	Kind   []int   `json:"kind"` // index into Kinds; -1: several kinds
	Slow   []int   `json:"slow"` // number of slow steps in the column
	Batch  []int   `json:"batch"`
	Tokens []int   `json:"tokens"`
	Parts  []part  `json:"parts"` // means over the column's steps; the parts sum up to the total
	Wait   []int64 `json:"wait"`  // longest wait in the column
	// Work and Host are the excess of a rank's own compute and host gap over the median of the step's ranks. In a
	// column of several steps, they are the value that is furthest from 0.
	Work []int64 `json:"work"`
	Host []int64 `json:"host"`
}

type part struct {
	Name string  `json:"name"`
	NS   []int64 `json:"ns"`
}

// lengths are step durations over time, each on the slowest rank. In long captures, they contain only the longest step
// of each kind in a run of consecutive steps.
type lengths struct {
	Every int     `json:"every"` // length of the runs; 1: every step is included
	Step  []int   `json:"step"`
	At    []int64 `json:"at"` // start of the step, ns since the capture's start
	NS    []int64 `json:"ns"`
	Kind  []int   `json:"kind"`
	Slow  []int   `json:"slow"`
}

type pageMemory struct {
	Label     string  `json:"label"`
	At        []int64 `json:"at"`
	Allocated []int64 `json:"allocated"`
	Reserved  []int64 `json:"reserved"`
}

// limits bounds the size of the page. shrink halves all limits.
type limits struct{ cells, points, series, rows, name int }

var pageLimits = limits{cells: 24_000, points: 6_000, series: 32, rows: pageRows, name: 600}

func (l limits) shrink() limits {
	return limits{max(l.cells/2, 1), max(l.points/2, 1), max(l.series/2, 1), max(l.rows/2, 5), max(l.name/2, 60)}
}

func newPageData(r *result.Report, l limits) *pageData {
	d := &pageData{Ranks: []string{}, Kinds: []string{}, Findings: []pageFinding{}, Memory: []pageMemory{}}
	ranks := len(r.Source.Ranks)
	for i := range r.Steps {
		for _, sr := range r.Steps[i].Ranks {
			ranks = max(ranks, sr.Rank+1)
		}
		if k := r.Steps[i].Kind; !slices.Contains(d.Kinds, k) {
			d.Kinds = append(d.Kinds, k)
		}
	}
	slices.Sort(d.Kinds)
	for i := range ranks {
		d.Ranks = append(d.Ranks, columns.Clean(rankName(r, i)))
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		d.Findings = append(d.Findings, pageFinding{f.Kind, f.Severity, f.Cause, append([]int{}, f.Ranks...), f.FirstStep, f.LastStep})
	}
	d.Grid = newGrid(r.Steps, d.Kinds, ranks, l.cells)
	d.Lengths = newLengths(r.Steps, d.Kinds, l.points)
	series, _ := ranked(r.Memory, l.series, "", peak)
	for i := range series {
		m := &series[i]
		p := pageMemory{Label: columns.Clean(rankName(r, m.Rank) + " " + m.Device), At: []int64{}, Allocated: []int64{}, Reserved: []int64{}}
		for _, pt := range m.Points {
			p.At, p.Allocated, p.Reserved = append(p.At, pt.At), append(p.Allocated, pt.Allocated), append(p.Reserved, pt.Reserved)
		}
		d.Memory = append(d.Memory, p)
	}
	return d
}

func newGrid(steps []result.Step, kinds []string, ranks, cells int) grid {
	g := grid{
		Bucket: 1, First: []int{}, Last: []int{}, Kind: []int{}, Slow: []int{}, Batch: []int{}, Tokens: []int{},
		Parts: []part{}, Wait: []int64{}, Work: []int64{}, Host: []int64{},
	}
	if ranks == 0 || len(steps) == 0 {
		return g
	}
	columns := max(cells/ranks, 1)
	g.Bucket = (len(steps) + columns - 1) / columns
	g.Cols = (len(steps) + g.Bucket - 1) / g.Bucket
	names := []string{"compute", "transfer", "wait", unrecorded, "copy", "host", "sync", "launch", "device", "profiler", "unknown", "peers", "between"}
	n := ranks * g.Cols
	for _, name := range names {
		g.Parts = append(g.Parts, part{name, make([]int64, n)})
	}
	g.Wait, g.Work, g.Host = make([]int64, n), make([]int64, n), make([]int64, n)
	seen := make([]int64, n)
	for c := range g.Cols {
		in := steps[c*g.Bucket : min((c+1)*g.Bucket, len(steps))]
		kind := slices.Index(kinds, in[0].Kind)
		slow := 0
		for i := range in {
			if slices.Index(kinds, in[i].Kind) != kind {
				kind = -1
			}
			if in[i].Slow {
				slow++
			}
			g.add(&in[i], c, seen)
		}
		g.First, g.Last = append(g.First, in[0].Step), append(g.Last, in[len(in)-1].Step)
		g.Kind, g.Slow = append(g.Kind, kind), append(g.Slow, slow)
		batch, tokens := -1, -1
		if len(in) == 1 {
			batch, tokens = in[0].Batch, in[0].Tokens
		}
		g.Batch, g.Tokens = append(g.Batch, batch), append(g.Tokens, tokens)
	}
	for _, p := range g.Parts {
		for i := range p.NS {
			if seen[i] == 0 {
				p.NS[i] = -1
			} else {
				p.NS[i] /= seen[i]
			}
		}
	}
	return g
}

// add adds one step to column c. seen counts the steps that each cell contains.
func (g *grid) add(s *result.Step, c int, seen []int64) {
	work, host := make([]int64, 0, len(s.Ranks)), make([]int64, 0, len(s.Ranks))
	for i := range s.Ranks {
		work, host = append(work, s.Ranks[i].Compute), append(host, s.Ranks[i].HostGap)
	}
	midWork, midHost := metric.LowerMedian(work), metric.LowerMedian(host)
	for i := range s.Ranks {
		sr := &s.Ranks[i]
		if sr.Rank < 0 {
			continue
		}
		k := sr.Rank*g.Cols + c
		seen[k]++
		p := split(&sr.Time)
		by := &sr.IdleBy
		for j, v := range []int64{p.compute, p.transfer, p.wait, p.unrecorded, p.copy, by.Host, by.Sync, by.Launch, by.Device, by.Profiler, by.Unknown, by.Peers, by.Between} {
			g.Parts[j].NS[k] += v
		}
		g.Wait[k] = max(g.Wait[k], sr.CommWait)
		g.Work[k] = further(g.Work[k], sr.Compute-midWork)
		g.Host[k] = further(g.Host[k], sr.HostGap-midHost)
	}
}

// further returns a or b, whichever is further from 0.
func further(a, b int64) int64 {
	if max(b, -b) > max(a, -a) {
		return b
	}
	return a
}

func newLengths(steps []result.Step, kinds []string, points int) lengths {
	l := lengths{Every: 1, Step: []int{}, At: []int64{}, NS: []int64{}, Kind: []int{}, Slow: []int{}}
	if len(steps) == 0 {
		return l
	}
	// At most one point per kind and run.
	if len(steps) > points {
		l.Every = (len(steps)*max(len(kinds), 1) + points - 1) / points
	}
	best := make([]int, len(kinds))
	for from := 0; from < len(steps); from += l.Every {
		for i := range best {
			best[i] = -1
		}
		for i := from; i < min(from+l.Every, len(steps)); i++ {
			k := slices.Index(kinds, steps[i].Kind)
			if best[k] < 0 || longest(&steps[i]) > longest(&steps[best[k]]) {
				best[k] = i
			}
		}
		picked := slices.DeleteFunc(slices.Clone(best), func(i int) bool { return i < 0 })
		slices.Sort(picked)
		for _, i := range picked {
			s := &steps[i]
			slow, at := 0, int64(0)
			if s.Slow {
				slow = 1
			}
			if len(s.Ranks) > 0 {
				at = s.Ranks[0].Start
			}
			l.Step, l.At, l.NS = append(l.Step, s.Step), append(l.At, at), append(l.NS, longest(s))
			l.Kind, l.Slow = append(l.Kind, slices.Index(kinds, s.Kind)), append(l.Slow, slow)
		}
	}
	return l
}

func longest(s *result.Step) int64 {
	var out int64
	for i := range s.Ranks {
		out = max(out, s.Ranks[i].Period)
	}
	return out
}
