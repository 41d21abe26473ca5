package timeline

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// MostTiles is the maximum number of tiles per request: 64 lanes of 7 tiles, enough for a large screen.
const MostTiles = 448

// Query lists the tiles of one view, as groups of lanes. In each group, all lanes have the same range of tiles.
type Query struct {
	Level     int
	Stretched bool
	Parts     []Part
}

// Part contains the tiles From to To of each of the lanes First to Last, all inclusive.
type Part struct {
	First, Last int
	From, To    int32
}

// ParseQuery parses level=L, axis=wall|stretched and tiles=PART;PART…. A part FIRST-LAST@FROM_TO gives a range of lanes
// and a range of tiles; FROM and TO may be negative. lanes is the number of existing lanes.
func ParseQuery(v url.Values, lanes int) (q Query, err error) {
	if q.Level, err = strconv.Atoi(v.Get("level")); err != nil || q.Level < 0 || q.Level > MostLevel {
		return q, fmt.Errorf("level=%s: give a power of two from 0 to %d", v.Get("level"), MostLevel)
	}
	switch axis := v.Get("axis"); axis {
	case "", "wall":
	case "stretched":
		q.Stretched = true
	default:
		return q, fmt.Errorf("axis=%s: want wall or stretched", axis)
	}
	for text := range strings.SplitSeq(v.Get("tiles"), ";") {
		p, err := parsePart(text)
		if err == nil {
			err = p.check(q.Level, lanes)
		}
		if err != nil {
			return q, fmt.Errorf("tiles: %q: %w", text, err)
		}
		q.Parts = append(q.Parts, p)
		if q.tiles() > MostTiles {
			return q, fmt.Errorf("tiles: more than %d at once", MostTiles)
		}
	}
	return q, nil
}

var errPart = errors.New("give FIRST-LAST@FROM_TO, lanes and tiles")

func parsePart(text string) (p Part, err error) {
	lanes, tiles, ok := strings.Cut(text, "@")
	first, last, ok1 := strings.Cut(lanes, "-")
	from, to, ok2 := strings.Cut(tiles, "_")
	if !ok || !ok1 || !ok2 {
		return p, errPart
	}
	number := func(text string, least, most int64) int64 {
		n, wrong := strconv.ParseInt(text, 10, 64)
		if wrong != nil || n < least || n > most {
			err = errPart
		}
		return n
	}
	const most = 1<<31 - 1
	p.First, p.Last = int(number(first, 0, most)), int(number(last, 0, most))
	p.From, p.To = int32(number(from, -most, most)), int32(number(to, -most, most))
	return p, err
}

// check returns an error if a time in the part does not fit in 62 bits, or if the ranges of lanes and tiles are
// invalid.
func (p *Part) check(level, lanes int) error {
	const most = 1 << 62 / Columns
	switch {
	case p.Last >= lanes:
		return fmt.Errorf("there are %d lanes", lanes)
	case p.Last < p.First || p.To < p.From || p.Last-p.First >= MostTiles || int64(p.To)-int64(p.From) >= MostTiles:
		return errPart
	case max(int64(p.To)+1, -int64(p.From)) > most>>level:
		return errors.New("time out of range")
	}
	return nil
}

// Each calls visit for each tile of a query, lane by lane.
func (q *Query) Each(visit func(Place)) {
	for _, p := range q.Parts {
		for lane := p.First; lane <= p.Last; lane++ {
			for i := p.From; ; i++ {
				visit(Place{Lane: lane, Index: i, Level: q.Level, Stretched: q.Stretched})
				if i == p.To {
					break
				}
			}
		}
	}
}

// The wire format. All numbers are little-endian, and all columns begin at a multiple of 8, so that the page can read
// them in place.
//
//	head       "SSTL", version u16, 0 u16, epoch u32, tiles u32, level u32, 0 u32 ×3
//	directory  of each tile: lane u32, index i32, offset u32 (0: the tile is empty), pieces u32 (highest bit: the pieces
//	           include every span that overlaps the tile)
//	tile       class u8 ×512, covered u8 ×512, waited u8 ×512; then the columns of its pieces: start u32, width u32,
//	           span u32, name u32, class u8, flags u8, padded to a multiple of 8
const (
	wireVersion = 1
	headBytes   = 32
	entryBytes  = 16
	stripBytes  = 3 * Columns
	pieceBytes  = 18
	wholeBit    = 1 << 31
)

// mostTileBytes is the maximum length of a tile, in bytes.
const mostTileBytes = stripBytes + (MostSpans*pieceBytes+7)/8*8

// MostBytes is the maximum length of the answer to a query, in bytes.
const MostBytes = headBytes + MostTiles*(entryBytes+mostTileBytes)

// tiles returns the number of tiles in a query.
func (q *Query) tiles() (n int) {
	for _, p := range q.Parts {
		n += (p.Last - p.First + 1) * int(p.To-p.From+1)
	}
	return n
}

// Encode returns the tiles of a query in the wire format.
func (t *Timeline) Encode(q *Query) []byte {
	var places []Place
	q.Each(func(p Place) { places = append(places, p) })
	out := make([]byte, headBytes+len(places)*entryBytes, headBytes+len(places)*(entryBytes+2*stripBytes))
	copy(out, "SSTL")
	le := binary.LittleEndian
	le.PutUint16(out[4:], wireVersion)
	le.PutUint32(out[8:], t.epoch)
	le.PutUint32(out[12:], uint32(len(places)))
	le.PutUint32(out[16:], uint32(q.Level))
	tiles := make([]*Tile, len(places))
	each(len(places), func(i int) { tiles[i] = t.Tile(places[i]) })
	for i, p := range places {
		tile := tiles[i]
		offset := len(out)
		if tile.Empty {
			offset = 0
		} else {
			out = tile.append(out)
		}
		entry := out[headBytes+i*entryBytes:]
		le.PutUint32(entry, uint32(p.Lane))
		le.PutUint32(entry[4:], uint32(p.Index))
		le.PutUint32(entry[8:], uint32(offset))
		pieces := uint32(len(tile.Spans))
		if tile.Whole {
			pieces |= wholeBit
		}
		le.PutUint32(entry[12:], pieces)
	}
	return out
}

func (t *Tile) append(out []byte) []byte {
	out = append(out, t.Class[:]...)
	out = append(out, t.Covered[:]...)
	out = append(out, t.Waited[:]...)
	for _, column := range []func(*Piece) uint32{
		func(p *Piece) uint32 { return p.Start },
		func(p *Piece) uint32 { return p.Width },
		func(p *Piece) uint32 { return uint32(p.Span) },
		func(p *Piece) uint32 { return p.Name },
	} {
		for i := range t.Spans {
			out = binary.LittleEndian.AppendUint32(out, column(&t.Spans[i]))
		}
	}
	for i := range t.Spans {
		out = append(out, t.Spans[i].Class)
	}
	for i := range t.Spans {
		out = append(out, t.Spans[i].Flags)
	}
	for len(out)%8 != 0 {
		out = append(out, 0)
	}
	return out
}
