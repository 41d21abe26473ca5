package timeline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stepscope/stepscope/internal/base/sorts"
)

// Details of spans in an exported page. Details that are used together are one answer. details?rank=R&block=B has the
// spans B·detailBlock to (B+1)·detailBlock-1 of a rank, by their numbers. groups?block=B has the groups of counterparts
// B·groupBlock to (B+1)·groupBlock-1. A link is the number of its span if the page has the columns of all spans, and -1
// if there is no such span; else it is a Link.
const (
	detailBlock = 256
	groupBlock  = 128
	answerBytes = 400_000 // of the answers that are compressed together
)

// detail is a Selected without the parts that the page derives from the columns.
type detail struct {
	Name     string `json:"name"`
	Category string `json:"category"`
	Class    uint8  `json:"class"`
	Step     int    `json:"step"`
	StepName string `json:"step_name,omitempty"`
	Layer    string `json:"layer,omitempty"`
	Args     []Arg  `json:"args,omitempty"`
	Wait     int64  `json:"wait_ns,omitempty"`
	Last     int    `json:"last"`
	Launch   any    `json:"launch,omitempty"`
	Delay    int64  `json:"delay_ns,omitempty"`
	Launched []any  `json:"launched,omitempty"`
	Launches int    `json:"launches,omitempty"`
	Around   []any  `json:"around,omitempty"`
	Op       any    `json:"op,omitempty"`
	Calls    []any  `json:"calls,omitempty"`

	Counterparts []Counterpart `json:"counterparts,omitempty"`
	Self         any           `json:"self,omitempty"` // the span itself, if the page does not have all spans
	Group        *int          `json:"group,omitempty"`
}

// member is a Member in an exported page: of, why, other, grid, delay_ns, launched.
type member [6]any

// told is a span with its details.
type told struct {
	rank  int
	span  int32
	of    *detail
	group *[]member // nil: it has none
}

// tell adds the details of spans, as far as space and time permit: those in first, then those of pinned rows, the longest
// first.
func (t *Timeline) tell(p Pack, head *Head, e *Exported, first []SpanOf) error {
	drawn := t.drawn(e, first)
	x := telling{t: t, all: head.Columns, left: mostCompared, groups: map[group]*[]member{}}
	var of []told
	for _, at := range drawn[:min(len(drawn), mostTold, max(p.Left(), 0)/leastDetail)] {
		one, err := x.tell(at.Rank, at.Span)
		if err != nil {
			return err
		}
		if x.left < 0 {
			break
		}
		of = append(of, one)
	}
	for n := len(of); n > 0; {
		chunks := chunksOf(of[:n])
		size := 0
		for _, c := range chunks {
			size += p.Size(c...)
		}
		if size <= p.Left() {
			for _, c := range chunks {
				p.Add(0, c...)
			}
			e.Told = n
			return nil
		}
		n = min(n-1, int(float64(n)*float64(p.Left())/float64(size)*0.97))
	}
	return nil
}

// mostTold is the maximum number of spans with details. leastDetail is the least size of a detail, in bytes.
const (
	mostTold    = 300_000
	leastDetail = 12
)

// place is a span that is drawn individually.
type place struct {
	SpanOf
	turn int // 0: it is told first; 1: it is on a pinned row; 2: neither
	dur  int64
}

// drawn returns the spans that are drawn individually, in the order in which details are given.
func (t *Timeline) drawn(e *Exported, first []SpanOf) (drawn []place) {
	proofs := map[SpanOf]bool{}
	for _, s := range first {
		proofs[s] = true
	}
	for _, row := range t.rows {
		for _, l := range t.lanes[row.Lane : row.Lane+row.Lanes] {
			e.All += len(l.span)
			for i, span := range l.span {
				if dur := l.end[i] - l.start[i]; e.Finest == 0 || dur >= minColumns<<e.Finest {
					at := place{SpanOf{Rank: l.rank, Span: span}, 2, dur}
					if proofs[at.SpanOf] {
						at.turn = 0
					} else if row.Pinned {
						at.turn = 1
					}
					drawn = append(drawn, at)
				}
			}
		}
	}
	e.Drawn = len(drawn)
	sorts.By(drawn, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.turn, b.turn), cmp.Compare(b.dur, a.dur), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Span, b.Span))
	})
	return drawn
}

// chunksOf returns the answers about spans, in parts that are compressed together. Neighbours are alike, so they are
// together, and groups have the order of their first spans.
func chunksOf(of []told) (chunks [][]Answer) {
	of = slices.Clone(of)
	sorts.By(of, func(a, b told) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.span, b.span)) })
	size := 0
	var chunk []Answer
	add := func(what string, v any) {
		text, _ := json.Marshal(v) // cannot fail for plain values
		chunk = append(chunk, Answer{what, text})
		if size += len(text); size > answerBytes {
			chunks, chunk, size = append(chunks, chunk), nil, 0
		}
	}
	ids := map[*[]member]int{}
	var groups []*[]member
	for i := 0; i < len(of); {
		rank, block := of[i].rank, of[i].span/detailBlock
		spans := map[int32]*detail{}
		for ; i < len(of) && of[i].rank == rank && of[i].span/detailBlock == block; i++ {
			if g := of[i].group; g != nil {
				id, known := ids[g]
				if !known {
					id = len(groups)
					ids[g], groups = id, append(groups, g)
				}
				of[i].of.Group = &id
			}
			spans[of[i].span] = of[i].of
		}
		add(fmt.Sprintf("details?block=%d&rank=%d", block, rank), spans)
	}
	if chunk != nil {
		chunks, chunk, size = append(chunks, chunk), nil, 0
	}
	block := 0
	for some := range slices.Chunk(groups, groupBlock) {
		add(fmt.Sprintf("groups?block=%d", block), some)
		block++
	}
	if chunk != nil {
		chunks = append(chunks, chunk)
	}
	return chunks
}

// mostCompared is the maximum number of ops that are compared to find the counterparts of exported spans: some seconds.
const mostCompared = 1_000_000_000

// telling exports the details of spans. Spans that are counterparts of each other share one group with their members,
// so the work and the size do not grow with the square of the number of ranks.
type telling struct {
	t      *Timeline
	all    bool // the page has the columns of all spans
	left   int  // number of ops that may still be compared
	groups map[group]*[]member
}

// link returns a link in the form of the page.
func (x *telling) link(l *Link) any {
	if l.Span < 0 || x.all && l.Lane >= 0 {
		return l.Span
	}
	return l
}

func (x *telling) links(of []Link) (out []any) {
	for i := range of {
		out = append(out, x.link(&of[i]))
	}
	return out
}

// tell returns the details of a span.
func (x *telling) tell(rank int, span int32) (out told, err error) {
	s, w, err := x.t.describe(rank, span)
	if err != nil {
		return out, err
	}
	d := &detail{
		Name: s.Name, Category: s.Category, Class: s.Class, Step: s.Step, StepName: s.StepName, Layer: s.Layer, Args: s.Args, Wait: s.Wait, Last: s.Last,
		Delay: s.Delay, Launched: x.links(s.Launched), Launches: s.Launches, Around: x.links(s.Around), Calls: x.links(s.Calls),
	}
	if s.Op != nil {
		d.Op = x.link(s.Op)
	}
	if s.Launch != nil {
		d.Launch = x.link(s.Launch)
	}
	if !x.all {
		d.Self = &s.Link
	}
	out = told{rank: rank, span: span, of: d}
	g, ok := x.t.groupOf(rank, w)
	if out.group = x.groups[g]; ok && out.group != nil {
		return out, nil
	}
	if w.op >= 0 {
		if x.left -= x.t.matched().Cost(rank, w.op); x.left < 0 {
			return out, nil
		}
	}
	members := x.t.members(rank, w)
	switch {
	case ok && members[rank].Span == span:
		of := make([]member, len(members))
		for i := range members {
			m := &members[i]
			of[i] = member{x.link(&m.Link), m.Why, m.Other, m.Grid, m.Delay, m.Launched}
		}
		out.group = &of
		x.groups[g] = out.group
	default:
		out.group = nil
		d.Counterparts = relative(s, members)
	}
	return out, nil
}
