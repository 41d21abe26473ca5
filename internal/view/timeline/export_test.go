package timeline

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// packed is a pack that counts answers uncompressed.
type packed struct {
	left    int
	answers map[string]any
}

func (p *packed) Left() int { return p.left }

func (p *packed) Add(leave int, answers ...Answer) bool {
	size := 0
	for _, a := range answers {
		size += len(text(a.Of))
	}
	if p.left-size < leave {
		return false
	}
	p.left -= size
	for _, a := range answers {
		p.answers[a.What] = a.Of
	}
	return true
}

func text(v any) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// TestExport: an exported page gives the same answers as a server, and more room gives more of them; at any place and
// zoom its tiles match the server's, down to the finest level.
func TestExport(t *testing.T) {
	tl := open(t, "graphs")
	least, told := math.MaxInt, -1
	for _, room := range []int{1_000_000, 5_000_000, 30_000_000} {
		p := &packed{room, map[string]any{}}
		e, err := tl.Export(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d bytes: %+v, %d left", room, *e, p.left)
		if p.left < 0 || e.Finest > least || e.Told <= told || e.Drawn > e.All || e.Told > e.Drawn {
			t.Errorf("%d bytes contain %+v", room, *e)
		}
		least, told = e.Finest, e.Told
		tiles := map[Place]*Tile{}
		levels := []int{}
		spans, groups, met, summed := 0, 0, 0, 0
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
			case "head", "ribbons": // of the whole capture
			case "group": // of spans
				groups++
			case "collectives":
				of := answer.(*Collectives)
				for i, last := range of.Last {
					if want, err := tl.Align(ByCollective, 0, last); err != nil || !reflect.DeepEqual(of.At[i], want) {
						t.Errorf("at the collective of %d: %+v, a server says %+v (%v)", last, of.At[i], want, err)
					}
				}
				met = len(of.Last)
			default:
				switch path {
				case "span":
					spans++
					if s := *answer.(*Selected); s.Group != nil {
						s.Counterparts = relative(&s, p.answers[fmt.Sprintf("group?id=%d", *s.Group)].([]Member))
						s.Group = nil
						answer = &s
					}
				case "range":
					summed++
				}
				if want, err := tl.Answer(path, v); err != nil || text(answer) != text(want) {
					t.Errorf("%s: %.200s, a server says %.200s (%v)", what, text(answer), text(want), err)
				}
			}
		}
		if head := p.answers["head"].(*Head); len(head.Levels) != len(levels) || head.Levels[len(levels)-1] != e.Finest || spans != e.Told {
			t.Errorf("the head has levels %v, want %v; %d spans, of %d", head.Levels, levels, spans, e.Told)
		}
		if all := room == 30_000_000; summed != e.Summed || (met > 0) != e.Met || all && (summed != len(tl.report.Steps) || met < 100) {
			t.Errorf("%d bytes contain sums of %d steps of %d, and %d collectives", room, summed, len(tl.report.Steps), met)
		}
		if groups == 0 || 3*groups > spans { // the capture has four ranks
			t.Errorf("%d spans have %d groups of counterparts", spans, groups)
		}
		for level := e.Finest; level <= slices.Max(levels) && level < e.Finest+8; level += 3 {
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
