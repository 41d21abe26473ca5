package timeline

import (
	"math"
	"slices"
)

// Columns is how many columns of pixels a tile has.
const Columns = 512

// A Place is where a tile lies: Columns columns of 2^Level ns of a lane, from Index·Columns on. Under Stretched times are
// those of the stretched axis, see stretch.go.
type Place struct {
	Lane      int
	Index     int32
	Level     int
	Stretched bool
}

// The coarsest level has columns of 18 minutes; from fineLevel on what is in a tile no longer fits 32 bits of ns.
const (
	MostLevel = 40
	fineLevel = 22
)

// unit is in how many ns starts and widths of a tile's spans are.
func unit(level int) int64 { return int64(1) << max(0, level-fineLevel) }

// minColumns is from how many columns on a span is drawn by itself, so that a tile has at most MostSpans: those that end
// in it, and one at either edge.
const (
	minColumns = 3
	MostSpans  = Columns/minColumns + 2
)

// A Tile is what a lane looks like in Columns columns.
type Tile struct {
	Place
	Empty bool // no span has a part in it
	// Class is that of the longest span that has a part in the column, 0 for none. Covered is how much of the column any
	// does cover, Waited how much of it collectives waited for other ranks, in 255ths, rounded up.
	Class, Covered, Waited [Columns]uint8
	// Spans are those that are at least minColumns wide, in time order. Whole tells that these are all that have a part in
	// the tile, so that a finer one shows the same; it is not said of the stretched axis.
	Spans []Piece
	Whole bool
}

// A Piece is the part of a span that lies in a tile.
type Piece struct {
	Start, Width uint32 // from the tile's start, in unit(level)
	Span         int32  // of the rank's trace
	Name         uint32
	Class        uint8
	Flags        uint8
}

// The flags of a Piece.
const (
	BeginsBefore = 1 << iota // the span goes on at the tile's left edge
	EndsAfter                // and at its right one
	InGraph                  // replayed by a graph
	Matched                  // a collective whose kernels on the other ranks are known
)

// Tile gives one. It is not to be changed.
func (t *Timeline) Tile(p Place) *Tile {
	if tile := t.coarse[p]; tile != nil {
		return tile
	}
	return t.draw(p)
}

// crowd is from how many spans a column on, on average, a lane's tiles are kept.
const crowd = 4

// keepCoarse draws the tiles whose columns have many spans, all that there are: they are few and seldom in a cache of
// the processor, so that each takes a hundred µs. Finer ones take some 10 µs, and are made when they are asked for.
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
			if columns < Columns/4 { // nobody goes farther away
				break
			}
		}
	})
	t.coarse = map[Place]*Tile{}
	for _, tile := range slices.Concat(made...) {
		t.coarse[tile.Place] = tile
	}
}

// draw computes a tile.
func (t *Timeline) draw(p Place) *Tile {
	l := t.lanes[p.Lane]
	r := t.ranks[l.rank]
	d := drawing{t: &Tile{Place: p}, l: l, r: r, from: int64(p.Index) * Columns << p.Level}
	if p.Stretched {
		d.axis.knots = r.knots
	}
	first := d.axis.own(d.from)
	at, i := first, l.before(first) // begin before the column
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
		end := max(next, at+1) // where a stretched axis has several columns for one ns, each shows all of it
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

// same is how many columns from c on, which begins at a moment, are alike: they lie in the span before i, and all of them
// or none in its waiting, or in the gap before i.
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
	// There and back is not always where it was.
	for n > 0 && (d.axis.own(begin+int64(n)<<d.t.Level) > to || d.axis.own(begin+int64(n-1)<<d.t.Level) >= to) {
		n--
	}
	return n
}

// fill draws such columns.
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

// drawing is a tile while it is made.
type drawing struct {
	t    *Tile
	l    *lane
	r    *rank
	axis axis
	from int64 // on the axis
	last int32 // span of the lane, + 1, that was looked at; 0: none has a part in it
}

// add takes a span that has a part in the tile among its pieces, if it is wide enough. Each that is comes here: where it
// covers a whole column it is the longest there, and if it does not, it is at an edge. They come in order.
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

// share is part of whole in 255ths, rounded up: what is there is seen.
func share(part, whole int64) uint8 { return uint8((min(part, whole)*255 + whole - 1) / whole) }
