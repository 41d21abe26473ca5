package timeline

import (
	"math"
	"slices"
)

// Columns is the number of pixel columns in a tile.
const Columns = 512

// Place identifies a tile, which consists of Columns columns of a lane. Each column is 2^Level ns wide. The first
// column has the number Index·Columns. If Stretched is set, times are on the stretched axis; see stretch.go.
type Place struct {
	Lane      int
	Index     int32
	Level     int
	Stretched bool
}

// MostLevel is the coarsest level, with columns of 18 minutes. At levels above fineLevel, an offset in a tile does not
// fit in 32 bits of ns.
const (
	MostLevel = 40
	fineLevel = 22
)

// unit is the unit of starts and widths of a tile's spans, in ns.
func unit(level int) int64 { return int64(1) << max(0, level-fineLevel) }

// minColumns is the minimum width, in columns, of a span that is drawn individually. A tile therefore has at most
// MostSpans such spans, including one at either edge.
const (
	minColumns = 3
	MostSpans  = Columns/minColumns + 2
)

// Tile is the picture of a lane in Columns columns.
type Tile struct {
	Place
	Empty bool // whether no span overlaps the tile
	// For each column, Class is the class of the longest span that overlaps the column, or 0. Covered is the part of
	// the column that spans cover. Waited is the part in which collectives waited for other ranks. Both parts are in
	// 255ths, rounded up.
	Class, Covered, Waited [Columns]uint8
	// Spans are the spans that are at least minColumns wide, in time order. Whole means that no other span overlaps the
	// tile, so that finer tiles show nothing more. Whole is never set on the stretched axis.
	Spans []Piece
	Whole bool
}

// Piece is the part of a span inside a tile.
type Piece struct {
	Start, Width uint32 // start relative to the tile's start, and width, in unit(level)
	Span         int32  // index in the rank's trace
	Name         uint32
	Class        uint8
	Flags        uint8
}

// Flags of a Piece.
const (
	BeginsBefore = 1 << iota // the span begins before the tile's left edge
	EndsAfter                // the span ends after the tile's right edge
	InGraph                  // the span was replayed by a graph
	Matched                  // the span is a collective with known kernels on the other ranks
)

// Tile returns a tile, which must not be modified.
func (t *Timeline) Tile(p Place) *Tile {
	if tile := (*t.coarse.Load())[p]; tile != nil {
		return tile
	}
	if at := p.Lane - len(t.lanes); at >= 0 {
		return t.drawSum(p, t.sums[at])
	}
	return t.draw(p)
}

// crowd is the mean number of spans per column at which the tiles of a lane are kept.
const crowd = 4

// keepCoarse draws and keeps all tiles with many spans per column. There are few such tiles, but their spans are seldom
// in the processor's cache, so drawing such a tile takes a hundred µs. Finer tiles take about 10 µs each and are drawn
// on request. So are all tiles until keepCoarse has returned.
func (t *Timeline) keepCoarse() {
	made := make([][]*Tile, len(t.lanes))
	each(len(t.lanes), func(at int) {
		l := t.lanes[at]
		n := len(l.start)
		if n == 0 {
			return
		}
		from, to := l.start[0], l.end[n-1]
		for level := 0; level <= MostLevel; level++ {
			columns := (to-from)>>level + 1
			if int64(n) < crowd*columns {
				continue
			}
			for _, stretched := range []bool{false, true} {
				if stretched && len(t.ranks[l.rank].knots.own) == 0 {
					continue
				}
				x := axis{}
				if stretched {
					x.knots = t.ranks[l.rank].knots
				}
				for i := x.shown(from) >> level / Columns; i <= x.shown(to)>>level/Columns; i++ {
					made[at] = append(made[at], t.draw(Place{Lane: at, Index: int32(i), Level: level, Stretched: stretched}))
				}
			}
			if columns < Columns/4 { // the page does not zoom out farther
				break
			}
		}
	})
	coarse := map[Place]*Tile{}
	for _, tile := range slices.Concat(made...) {
		coarse[tile.Place] = tile
	}
	t.coarse.Store(&coarse)
}

// draw computes the tile at p.
func (t *Timeline) draw(p Place) *Tile {
	l := t.lanes[p.Lane]
	r := t.ranks[l.rank]
	d := drawing{t: &Tile{Place: p}, l: l, r: r, from: int64(p.Index) * Columns << p.Level}
	if p.Stretched {
		d.axis.knots = r.knots
	}
	first := d.axis.own(d.from)
	at, i := first, l.before(first) // number of spans that begin before the column
	if i > 0 && l.end[i-1] > at {
		d.add(int32(i - 1))
	}
	covered, waited := l.coveredTo(at, i), l.waitedTo(at, i)
	for c := 0; c < Columns; c++ {
		if n := d.same(c, at, i); n > 0 {
			d.fill(c, n, at, i)
			c, at = c+n-1, d.axis.own(d.from+int64(c+n)<<p.Level)
			covered, waited = l.coveredTo(at, i), l.waitedTo(at, i)
			continue
		}
		next := d.axis.own(d.from + int64(c+1)<<p.Level)
		end := max(next, at+1) // if the stretched axis has several columns per ns, each of them shows that ns
		j := l.before(end)
		longest := l.longestOf(i, j)
		if i > 0 && l.end[i-1] > at {
			longest = longer(l.node(-1, i-1), longest)
		}
		toCovered, toWaited := l.coveredTo(end, j), l.waitedTo(end, j)
		if k := longest.span; k >= 0 {
			d.t.Class[c] = l.class[k]
			d.t.Covered[c], d.t.Waited[c] = share(toCovered-covered, end-at), share(toWaited-waited, end-at)
			d.add(k)
		}
		if next == end {
			at, i, covered, waited = next, j, toCovered, toWaited
		}
	}
	if i > 0 && l.end[i-1] > first {
		d.add(int32(i - 1))
	}
	d.t.Empty = d.last == 0
	begin, end := l.overlapping(d.from, d.from+Columns<<p.Level)
	d.t.Whole = !p.Stretched && end-begin == len(d.t.Spans)
	return d.t
}

// same returns the number of equal columns from column c on, which begins at moment at. Equal columns lie either all in
// the gap before span i or all in span i-1. Within span i-1, the waiting time contains either all of them or none.
func (d *drawing) same(c int, at int64, i int) int {
	l := d.l
	to := int64(math.MaxInt64 >> 1)
	if i > 0 && l.end[i-1] > at {
		to = l.end[i-1]
		if l.wait != nil && l.start[i-1]+l.wait[i-1] > at {
			to = l.start[i-1] + l.wait[i-1]
		}
	}
	if i < len(l.start) {
		to = min(to, l.start[i])
	}
	begin := d.from + int64(c)<<d.t.Level
	n := int(min((d.axis.shown(to)-begin)>>d.t.Level, int64(Columns-c)))
	// The round trip between the axes is not always exact.
	for n > 0 && (d.axis.own(begin+int64(n)<<d.t.Level) > to || d.axis.own(begin+int64(n-1)<<d.t.Level) >= to) {
		n--
	}
	return n
}

// fill draws n equal columns from column c on.
func (d *drawing) fill(c, n int, at int64, i int) {
	l := d.l
	if i == 0 || l.end[i-1] <= at {
		return
	}
	d.add(int32(i - 1))
	waits := l.wait != nil && l.start[i-1]+l.wait[i-1] > at
	for k := c; k < c+n; k++ {
		d.t.Class[k], d.t.Covered[k] = l.class[i-1], 255
		if waits {
			d.t.Waited[k] = 255
		}
	}
}

// drawing is a tile under construction.
type drawing struct {
	t    *Tile
	l    *lane
	r    *rank
	axis axis
	from int64 // start of the tile on the axis
	last int32 // index in the lane of the last span examined, plus 1; 0: no span overlaps the tile
}

// add adds span k, which overlaps the tile, to the pieces of the tile if the span is wide enough. draw calls add, in
// order, for every span that may be wide enough. A wide span is the longest span in each column that it covers
// completely, or it lies at an edge of the tile.
func (d *drawing) add(k int32) {
	if d.last == k+1 {
		return
	}
	d.last = k + 1
	l, level := d.l, d.t.Level
	start, end := d.axis.shown(l.start[k]), d.axis.shown(l.end[k])
	if end-start < minColumns<<level {
		return
	}
	to := d.from + Columns<<level
	p := Piece{Span: l.span[k], Name: d.r.nameOf(l.span[k]), Class: l.class[k]}
	if start < d.from {
		p.Flags |= BeginsBefore
	}
	if end > to {
		p.Flags |= EndsAfter
	}
	start, end = max(start, d.from), min(end, to)
	p.Start, p.Width = uint32((start-d.from)/unit(level)), uint32((end-start)/unit(level))
	if op := d.r.op(p.Span); op >= 0 {
		if d.r.InGraph(&d.r.Ops[op]) {
			p.Flags |= InGraph
		}
		if d.r.Match[op] >= 0 {
			p.Flags |= Matched
		}
	}
	d.t.Spans = append(d.t.Spans, p)
}

// share returns part/whole in 255ths, rounded up so that even the smallest part is visible.
func share(part, whole int64) uint8 { return uint8((min(part, whole)*255 + whole - 1) / whole) }
