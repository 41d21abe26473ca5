package timeline

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// packed is a pack that counts answers uncompressed.
type packed struct {
	left    int
	answers map[string]any
	narrow  bool // there is no room for the columns of all spans
}

func (p *packed) Left() int { return p.left }

func (p *packed) Add(leave int, answers ...Answer) bool {
	size := p.Size(answers...)
	if p.left-size < leave || p.narrow && len(answers) > 0 && answers[0].What == "columns" {
		return false
	}
	p.left -= size
	for _, a := range answers {
		p.answers[a.What] = a.Of
	}
	return true
}

func (p *packed) Size(answers ...Answer) (size int) {
	for _, a := range answers {
		size += len(text(a.Of))
	}
	return size
}

func text(v any) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// TestExport: an exported page gives the same answers as a server, and more room gives more of them. With enough room it
// has all spans; with less, its tiles match the server's at any place and zoom, down to the finest level.
func TestExport(t *testing.T) {
	tl := open(t, "graphs")
	told := -1
	for _, room := range []int{1_400_000, 1_500_000, 30_000_000} {
		p := &packed{room, map[string]any{}, room == 1_400_000}
		e, err := tl.Export(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d bytes: %+v, %d left", room, *e, p.left)
		head := p.answers["head"].(*Head)
		if head.Columns == p.narrow || e.Told <= told || e.Drawn > e.All || e.Told > e.Drawn || head.Columns && (e.Drawn != e.All || len(head.Levels) > 0) {
			t.Errorf("%d bytes contain %+v", room, *e)
		}
		told = e.Told
		tiles := map[Place]*Tile{}
		levels := []int{}
		spans, met, summed := 0, 0, 0
		var groups [][]member
		for block := 0; p.answers[fmt.Sprintf("groups?block=%d", block)] != nil; block++ {
			var of [][]member
			if err := json.Unmarshal(p.answers[fmt.Sprintf("groups?block=%d", block)].([]byte), &of); err != nil {
				t.Fatal(err)
			}
			groups = append(groups, of...)
		}
		for what, answer := range p.answers {
			path, query, _ := strings.Cut(what, "?")
			v, err := url.ParseQuery(query)
			if err != nil {
				t.Fatal(err)
			}
			switch path {
			case "tiles":
				var level int
				fmt.Sscan(v.Get("level"), &level)
				levels = append(levels, level)
				for _, tile := range decode(t, answer.([]byte)) {
					tiles[tile.Place] = tile
				}
			case "head", "ribbons", "groups":
			case "columns":
				if head.Columns {
					sameLanes(t, tl, answer.([]byte))
				}
			case "details":
				var of map[int32]*detail
				if err := json.Unmarshal(answer.([]byte), &of); err != nil {
					t.Fatal(err)
				}
				rank, _ := strconv.Atoi(v.Get("rank"))
				for span, d := range of {
					spans++
					if spans%17 == 0 { // all would take seconds
						sameDetail(t, tl, rank, span, d, groups, head.Columns)
					}
				}
			case "collectives":
				of := answer.(*Collectives)
				for i, last := range of.Last {
					if want, err := tl.Align(ByCollective, 0, last); err != nil || !reflect.DeepEqual(of.At[i], want) {
						t.Errorf("at the collective of %d: %+v, a server says %+v (%v)", last, of.At[i], want, err)
					}
				}
				met = len(of.Last)
			default:
				if path == "range" {
					summed++
				}
				if want, err := tl.Answer(path, v); err != nil || text(answer) != text(want) {
					t.Errorf("%s: %.200s, a server says %.200s (%v)", what, text(answer), text(want), err)
				}
			}
		}
		if len(head.Levels) != len(levels) || spans != e.Told || len(levels) > 0 && head.Levels[len(levels)-1] != e.Finest {
			t.Errorf("the head has levels %v, want %v; %d spans, of %d", head.Levels, levels, spans, e.Told)
		}
		if all := room == 30_000_000; summed != e.Summed || (met > 0) != e.Met || all && (summed != len(tl.report.Steps) || met < 100 || e.Told != e.All) {
			t.Errorf("%d bytes contain sums of %d steps of %d, and %d collectives", room, summed, len(tl.report.Steps), met)
		}
		if room == 30_000_000 && (len(groups) == 0 || 3*len(groups) > spans) { // the capture has four ranks
			t.Errorf("%d spans have %d groups of counterparts", spans, len(groups))
		}
		if len(levels) > 0 {
			sameTiles(t, tl, tiles, e.Finest, slices.Max(levels))
		}
	}
}

// sameLanes compares the columns of an exported page with the lanes.
func sameLanes(t *testing.T, tl *Timeline, answer []byte) {
	t.Helper()
	if n := binary.LittleEndian.Uint32(answer); int(n) != len(tl.lanes) {
		t.Fatalf("%d lanes, want %d", n, len(tl.lanes))
	}
	answer = answer[4:]
	for at, l := range tl.lanes {
		size := binary.LittleEndian.Uint32(answer)
		of := answer[4 : 4+size]
		answer = answer[4+size:]
		unsigned := func() int64 {
			v, n := binary.Uvarint(of)
			of = of[n:]
			return int64(v)
		}
		signed := func() int64 {
			v, n := binary.Varint(of)
			of = of[n:]
			return v
		}
		n := int(unsigned())
		waits := of[0] == 1
		of = of[1:]
		starts, ends, span := make([]int64, n), make([]int64, n), int32(0)
		for i := range n {
			starts[i] = signed()
		}
		end := int64(0)
		for i := range n {
			starts[i] += end
			end = starts[i] + unsigned()
			ends[i] = end
		}
		if !slices.Equal(starts, l.start) || !slices.Equal(ends, l.end) {
			t.Fatalf("lane %d has other times", at)
		}
		for i := range n {
			if span += int32(signed()); span != l.span[i] {
				t.Fatalf("lane %d has another span %d: %d, want %d", at, i, span, l.span[i])
			}
		}
		for i := range n {
			if name := unsigned(); name != int64(tl.ranks[l.rank].nameOf(l.span[i])) {
				t.Fatalf("span %d of lane %d has name %d", i, at, name)
			}
		}
		if !slices.Equal(of[:n], l.class) {
			t.Fatalf("lane %d has other classes", at)
		}
		of = of[2*n:]
		for i := 0; waits && i < n; i++ {
			if wait := unsigned(); wait != l.wait[i] {
				t.Fatalf("span %d of lane %d waits for %d ns", i, at, wait)
			}
		}
		if len(of) > 0 {
			t.Fatalf("lane %d: %d bytes too many", at, len(of))
		}
	}
}

// sameDetail compares the details of a span with those of a server.
func sameDetail(t *testing.T, tl *Timeline, rank int, span int32, d *detail, groups [][]member, all bool) {
	t.Helper()
	want, err := tl.Select(rank, span)
	if err != nil {
		t.Fatal(err)
	}
	x := telling{t: tl, all: all}
	ref := func(l *Link) string {
		if l == nil {
			return "null"
		}
		return text(x.link(l))
	}
	if d.Name != want.Name || d.Step != want.Step || d.Layer != want.Layer || text(d.Args) != text(want.Args) && len(want.Args) > 0 || d.Wait != want.Wait || d.Last != want.Last || d.Delay != want.Delay || d.Launches != want.Launches {
		t.Errorf("span %d of rank %d: %s, a server says %s", span, rank, text(d), text(want))
	}
	same := func(got any, l *Link) bool {
		var a, b any
		if json.Unmarshal([]byte(text(got)), &a) != nil || json.Unmarshal([]byte(ref(l)), &b) != nil {
			return false
		}
		return reflect.DeepEqual(a, b)
	}
	if !same(d.Launch, want.Launch) || len(d.Around) != len(want.Around) || len(d.Launched) != len(want.Launched) {
		t.Errorf("span %d of rank %d: %s, a server says %s", span, rank, text(d), text(want))
	}
	for i := range d.Around {
		if !same(d.Around[i], &want.Around[i]) {
			t.Errorf("span %d of rank %d is in %s, a server says %s", span, rank, text(d.Around[i]), text(want.Around[i]))
		}
	}
	switch {
	case d.Group == nil:
		if len(d.Counterparts) != len(want.Counterparts) {
			t.Errorf("span %d of rank %d has %d counterparts, a server says %d", span, rank, len(d.Counterparts), len(want.Counterparts))
		}
	default:
		members := slices.Delete(slices.Clone(groups[*d.Group]), rank, rank+1)
		for i := range want.Counterparts {
			c := &want.Counterparts[i]
			if m := members[i]; !same(m[0], &c.Link) || m[1] != string(c.Why) || m[3] != c.Grid {
				t.Errorf("span %d of rank %d has the counterpart %s, a server says %s", span, rank, text(m), text(c))
			}
		}
	}
}

// sameTiles compares the tiles of an exported page with those of a server.
func sameTiles(t *testing.T, tl *Timeline, tiles map[Place]*Tile, finest, coarsest int) {
	t.Helper()
	for level := finest; level <= coarsest && level < finest+8; level += 3 {
		n := 0
		tl.whole(level).Each(func(at Place) {
			if n++; n%13 != 0 { // all would take seconds
				return
			}
			want := tl.Tile(at)
			if got := tiles[at]; got != nil {
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("%+v is another tile", at)
				}
				return
			}
			from := at
			for tiles[from] == nil {
				if from.Level++; from.Level > MostLevel {
					t.Fatalf("%+v is nowhere", at)
				}
				from.Index >>= 1
			}
			if !tiles[from].Whole || want.Empty != (shownOf(tiles[from], at) == 0) || len(want.Spans) != shownOf(tiles[from], at) {
				t.Fatalf("%+v: %+v shows %d spans of it, there are %d (whole %v)", at, from, shownOf(tiles[from], at), len(want.Spans), tiles[from].Whole)
			}
		})
	}
}

// shownOf counts the pieces of a tile that overlap a finer one.
func shownOf(t *Tile, finer Place) (n int) {
	base := int64(t.Index) * Columns << t.Level
	from, to := int64(finer.Index)*Columns<<finer.Level, int64(finer.Index+1)*Columns<<finer.Level
	for _, s := range t.Spans {
		start := base + int64(s.Start)*unit(t.Level)
		if start < to && start+int64(s.Width)*unit(t.Level) > from {
			n++
		}
	}
	return n
}
