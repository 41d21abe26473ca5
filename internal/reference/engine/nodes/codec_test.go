package nodes

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/reference/engine/model"
)

var steps = []step{
	{name: "step[DECODE bs=2]", batch: model.Batch{Mode: model.Decode, Seqs: []model.Seq{
		{Tokens: []int32{7}, Start: 130, Blocks: []int32{0, 9, 3}}, {Tokens: []int32{math.MaxInt32}, Start: 0, Blocks: []int32{1}},
	}}},
	{name: "step[EXTEND bs=2 toks=5]", requests: "a,b%2C", batch: model.Batch{Mode: model.Extend, Seqs: []model.Seq{
		{Tokens: []int32{1, 2, 3, 4}, Start: 64, Blocks: []int32{5, 6}, NoLogits: true}, {Tokens: []int32{9}, Blocks: []int32{7}, WantAll: true},
	}}},
}

func TestStep(t *testing.T) {
	for _, s := range steps {
		text := appendStep(nil, &s)
		if text[0] != msgStep {
			t.Fatalf("begins with %d", text[0])
		}
		got, err := parseStep(text[1:])
		if err != nil || !reflect.DeepEqual(*got, s) {
			t.Errorf("%+v, %v; want %+v", got, err, s)
		}
		for n := range len(text) - 1 {
			if _, err := parseStep(text[1 : 1+n]); err == nil {
				t.Errorf("%s: %d of %d bytes are taken for a step", s.name, n, len(text)-1)
			}
		}
	}
}

func TestAnswer(t *testing.T) {
	for _, a := range []answer{
		{}, {err: "out of luck", fatal: "device lost"}, {rows: [][]float32{{1, 2, 3}, {4, 5, 6}}}, {rows: [][]float32{{float32(math.Inf(1))}}},
	} {
		frame := slices.Concat(a.parts()...)
		got, err := parseAnswer(frame)
		if err != nil || !reflect.DeepEqual(*got, a) {
			t.Errorf("%+v, %v; want %+v", got, err, a)
		}
		for n := range len(frame) - 1 {
			if got, err := parseAnswer(frame[:n]); err == nil && len(a.rows) > 0 {
				t.Errorf("%d of %d bytes are taken for %+v", n, len(frame), got)
			}
		}
	}
}

// FuzzMessages checks that no input makes a parser panic or use much memory, and that a decoded step is encoded again
// with the same meaning.
func FuzzMessages(f *testing.F) {
	for _, s := range steps {
		f.Add(appendStep(nil, &s)[1:])
	}
	f.Add(slices.Concat((&answer{err: "x", rows: [][]float32{{1}, {2}}}).parts()...))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 8 {
			_, _ = parseAnswer(text[:len(text)&^7])
		}
		s, err := parseStep(text)
		if err != nil {
			return
		}
		again := appendStep(nil, s)
		back, err := parseStep(again[1:])
		if err != nil || !bytes.Equal(appendStep(nil, back), again) {
			t.Errorf("%+v is encoded as %+v, %v", s, back, err)
		}
	})
}

func TestLayout(t *testing.T) {
	for _, c := range []struct {
		tp, dp, pp, nodes int
		at                []int
		members           [][]int // of each replica
	}{
		{2, 1, 1, 2, []int{0, 1}, [][]int{{0, 1}}},
		{4, 1, 1, 2, []int{0, 0, 1, 1}, [][]int{{0, 1}}},
		{2, 1, 2, 2, []int{0, 0, 1, 1}, [][]int{{0, 1}}},
		{1, 2, 1, 2, []int{0, 1}, [][]int{{0}, {1}}},
		{2, 2, 1, 4, []int{0, 1, 2, 3}, [][]int{{0, 1}, {2, 3}}},
		{1, 4, 1, 2, []int{0, 0, 1, 1}, [][]int{{0}, {0}, {1}, {1}}},
	} {
		l := Layout{Nodes: c.nodes}
		l.Sizes.TP, l.Sizes.DP, l.Sizes.PP = c.tp, c.dp, c.pp
		if err := l.Check(); err != nil {
			t.Error(err)
		}
		var at []int
		for rank := range c.tp * c.dp * c.pp {
			at = append(at, l.At(rank))
		}
		var members [][]int
		for dp := range c.dp {
			members = append(members, l.members(dp))
		}
		if !slices.Equal(at, c.at) || !reflect.DeepEqual(members, c.members) {
			t.Errorf("%+v: at %v, members %v", c, at, members)
		}
	}
	l := Layout{Nodes: 3}
	l.Sizes.TP = 4
	if l.Check() == nil {
		t.Error("four ranks are spread over three nodes")
	}
}
