package timeline

import (
	"fmt"
	"math"
	"net/url"
	"slices"
)

// Answer is a request and the answer to it, as returned by Timeline.Answer.
type Answer struct {
	What string // path below /api/timeline/, with parameters sorted by name
	Of   any    // raw bytes, or a value to encode as JSON
}

// Pack stores the answers to all requests of a page without a server.
type Pack interface {
	// Add stores the answers if at least leave bytes remain free afterwards. Otherwise it stores none of them and
	// returns false.
	Add(leave int, answers ...Answer) bool
	// Left returns the number of free bytes. Size returns the number of bytes that answers would take.
	Left() int
	Size(answers ...Answer) int
}

// SpanOf identifies a span.
type SpanOf struct {
	Rank int
	Span int32
}

// Exported describes the part of a timeline that was exported.
type Exported struct {
	Finest int  // finest level of tiles: a pixel column is 2^Finest ns; 0: the page has all spans
	All    int  // number of spans
	Drawn  int  // number of spans drawn individually; other spans appear only in strips
	Told   int  // number of spans with details
	Summed int  // number of steps with sums, from the first on
	Met    bool // whether alignments by collectives are included
}

// tileShare is the share of a pack that tiles may take. meetShare is the share of the remaining space that alignments
// may take. sumShare is the share of the space left after the alignments that sums may take. mostTiles is the maximum
// number of tiles per level that the page can hold.
const (
	tileShare   = 0.6
	meetShare   = 0.2
	sumShare    = 0.3
	mostTiles   = 64_000
	mostMoves   = 2_000_000 // maximum number of shifts of ranks in alignments
	stepsAtOnce = 8
)

// Export writes a timeline to a pack: the initial data, all spans (see Spans), alignments by collectives, sums of steps,
// and the details of individually drawn spans. If the spans do not fit, tiles take their place. Tiles are stored level
// by level (as answers to tiles?level=12, for example), from the coarsest level to the finest that fits. A finer level
// has only the tiles that show more than the coarser level. Details are stored for the spans in first, then for spans of
// pinned rows, beginning with the longest spans. The initial data and the coarsest tiles are always included, even if
// they do not fit.
func (t *Timeline) Export(p Pack, first []SpanOf) (*Exported, error) {
	e := &Exported{}
	head := t.Head()
	initial := []Answer{
		{"counters", t.wholeCounters()},
		{"ribbons", t.Ribbons(t.from, t.to, mostRibbons)},
		{"align?align=" + ByWall, &Alignment{By: ByWall, Step: -1, Moved: make([]int64, len(t.ranks)), Known: make([]bool, len(t.ranks))}},
	}
	for block := 0; block*nameBlock < len(t.names.label); block++ {
		initial = append(initial, Answer{fmt.Sprintf("names?block=%d", block), t.Names(block)})
	}
	for _, m := range Measures {
		cells, err := t.Heat(m.ID)
		if err != nil {
			return nil, err
		}
		initial = append(initial, Answer{"heat?measure=" + m.ID, cells})
	}
	for n := range t.report.Steps {
		if a, err := t.Align(ByStep, n, 0); err == nil { // ranks cannot be aligned by a step that no rank has
			initial = append(initial, Answer{fmt.Sprintf("align?align=%s&step=%d", ByStep, n), a})
		}
	}
	p.Add(math.MinInt, initial...)

	leave := without(p, tileShare)
	if head.Columns = p.Add(leave, Answer{"columns", t.Spans()}); !head.Columns {
		t.levels(p, leave, head, e)
	} else {
		head.Groupings = withoutSums(head.Groupings)
	}
	met, leave := t.collectives(), without(p, meetShare)
	head.Collectives = len(met.Last) > 0 && p.Add(leave, Answer{"collectives", met})
	e.Met = head.Collectives
	if err := t.sum(p, head, e); err != nil {
		return nil, err
	}
	p.Add(math.MinInt, Answer{"head", head})
	return e, t.tell(p, head, e, first)
}

// withoutSums returns groupings whose groups have no lanes: a page that draws its own tiles draws those of ranks only.
func withoutSums(from []Grouping) []Grouping {
	out := slices.Clone(from)
	for i := range out {
		out[i].Lanes = slices.Repeat([][2]int{{-1, -1}}, len(out[i].Groups))
	}
	return out
}

// levels adds tiles from the coarsest level to the finest that fits.
func (t *Timeline) levels(p Pack, leave int, head *Head, e *Exported) {
	coarsest := 0
	for (t.to-t.from)>>coarsest > Columns/4 { // fits the whole timeline, with a margin, in a narrow window
		coarsest++
	}
	q := t.whole(min(coarsest, MostLevel))
	for must := 3; len(q.Parts) > 0; must-- {
		answer := Answer{fmt.Sprintf("tiles?level=%d", q.Level), t.Encode(q)}
		if must > 0 {
			p.Add(math.MinInt, answer)
		} else if q.tiles() > mostTiles || !p.Add(leave, answer) {
			break
		}
		head.Levels = append(head.Levels, q.Level)
		e.Finest = q.Level
		if q.Level == 0 {
			break
		}
		q = t.finer(q)
	}
}

// without returns the number of bytes that must stay free so that only the given part of the free space is used.
func without(p Pack, part float64) (leave int) { return int(float64(p.Left()) * (1 - part)) }

// Collectives holds the alignments by all possible collectives. It is empty if these would contain too many shifts.
type Collectives struct {
	Last []int64      `json:"last_ns"` // last arrival at each collective
	At   []*Alignment `json:"at"`
}

func (t *Timeline) collectives() *Collectives {
	out := &Collectives{Last: []int64{}, At: []*Alignment{}}
	n := 0
	for _, of := range t.meetings {
		n += len(of) * len(t.ranks)
	}
	if n > mostMoves {
		return out
	}
	for _, of := range t.meetings {
		for i := range of {
			if !of[i].possible {
				continue
			}
			a := &Alignment{By: ByCollective, Step: -1, Moved: make([]int64, len(t.ranks)), Known: make([]bool, len(t.ranks))}
			t.alignCollective(of[i].last, a)
			out.Last, out.At = append(out.Last, of[i].last), append(out.At, a)
		}
	}
	return out
}

// sum adds, for each step from the first on, the sums over the pinned rows, as far as space permits.
func (t *Timeline) sum(p Pack, head *Head, e *Exported) error {
	leave := without(p, sumShare)
	for steps := range slices.Chunk(head.Steps, stepsAtOnce) {
		var answers []Answer
		for _, s := range steps {
			if s.End <= s.Start {
				continue
			}
			what := fmt.Sprintf("from=%d&to=%d", s.Start, s.End)
			v, err := url.ParseQuery(what)
			if err != nil {
				return err
			}
			of, err := t.Answer("range", v)
			if err != nil {
				return err
			}
			answers = append(answers, Answer{"range?" + what, of})
		}
		if !p.Add(leave, answers...) {
			break
		}
		e.Summed += len(steps)
	}
	head.Summed = e.Summed
	return nil
}

// whole returns all tiles of a level that may contain spans.
func (t *Timeline) whole(level int) *Query {
	q := &Query{Level: level}
	from, to := int32(t.from>>level/Columns), int32((t.to-1)>>level/Columns)
	if t.from < 0 {
		from--
	}
	for at, l := range t.lanes {
		if len(l.start) > 0 {
			q.Parts = append(q.Parts, Part{First: at, Last: at, From: from, To: to})
		}
	}
	if n := len(t.lanes); len(t.sums) > 0 {
		q.Parts = append(q.Parts, Part{First: n, Last: n + len(t.sums) - 1, From: from, To: to})
	}
	return q
}

// finer returns the tiles of the next finer level that show more than the tiles of q. It skips the tiles of q that
// already show everything.
func (t *Timeline) finer(q *Query) *Query {
	next := &Query{Level: q.Level - 1}
	q.Each(func(p Place) {
		if t.Tile(p).Whole {
			return
		}
		from, to := 2*p.Index, 2*p.Index+1
		if n := len(next.Parts); n > 0 && next.Parts[n-1].First == p.Lane && next.Parts[n-1].To == from-1 {
			next.Parts[n-1].To = to
			return
		}
		next.Parts = append(next.Parts, Part{First: p.Lane, Last: p.Lane, From: from, To: to})
	})
	return next
}
