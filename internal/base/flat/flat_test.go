package flat

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/quick"
)

type color uint8

func (c color) String() string { return [...]string{"red", "green"}[min(c, 1)] }

type point struct {
	X, Y int64
	Tags []string
}

type sample struct {
	A int32
	B uint8
	C bool
	D float64
	E string
	F [3]int32
	G []point
	H map[uint32][]point
	I map[int32]float64
	J []bool
	K []float64
	L [][]int16
	M color
	N map[string]int `flat:"-"` // no map by number: left out
}

func TestRoundTrip(t *testing.T) {
	check := func(in sample) bool {
		var out sample
		if err := Unmarshal(Marshal(in), &out); err != nil {
			t.Log(err)
			return false
		}
		return reflect.DeepEqual(in, out)
	}
	for _, in := range []sample{
		{},
		{A: math.MinInt32, B: 255, C: true, D: math.Inf(-1), E: "x", G: []point{}, H: map[uint32][]point{}, J: []bool{}},
		{G: []point{{math.MinInt64, math.MaxInt64, nil}, {math.MaxInt64, math.MinInt64, []string{}}, {0, -1, []string{"a", "", "a"}}}},
		{H: map[uint32][]point{0: nil, 7: {}, math.MaxUint32: {{1, 2, nil}}}, I: map[int32]float64{-5: math.Copysign(0, -1), 5: math.SmallestNonzeroFloat64}},
	} {
		if !check(in) {
			t.Errorf("%+v", in)
		}
	}
	if err := quick.Check(func(a int32, b uint8, c bool, d float64, e string, f [3]int32, g []point, h map[uint32][]point, i map[int32]float64, j []bool, k []float64, l [][]int16) bool {
		return check(sample{A: a, B: b, C: c, D: d, E: e, F: f, G: g, H: h, I: i, J: j, K: k, L: l})
	}, nil); err != nil {
		t.Error(err)
	}
	var nan sample
	if err := Unmarshal(Marshal(sample{D: math.Float64frombits(0x7ff8_0000_0000_0123)}), &nan); err != nil || math.Float64bits(nan.D) != 0x7ff8_0000_0000_0123 {
		t.Errorf("%v %x", err, math.Float64bits(nan.D))
	}
}

// TestSchema: what could be read as something else has another sum.
func TestSchema(t *testing.T) {
	seen := map[string]string{}
	for _, v := range []any{
		struct{ A int64 }{}, struct{ B int64 }{}, struct{ A int32 }{}, struct{ A uint8 }{}, struct{ A color }{}, struct{ A []int64 }{},
		struct{ A [2]int64 }{}, struct{ A [3]int64 }{}, struct{ A struct{ A int64 } }{}, struct{ A, B int64 }{}, struct{ A map[int64]bool }{},
	} {
		s := Schema(v)
		if other := seen[s]; other != "" {
			t.Errorf("%T has the sum of %s", v, other)
		}
		seen[s] = fmt.Sprintf("%T", v)
	}
	defer func() {
		if p := fmt.Sprint(recover()); !strings.Contains(p, "not exported") {
			t.Error(p)
		}
	}()
	Schema(struct{ a int }{})
}

// FuzzUnmarshal: no data makes it panic, or take more memory than is theirs.
func FuzzUnmarshal(f *testing.F) {
	f.Add(Marshal(sample{}))
	f.Add(Marshal(sample{E: "abc", G: []point{{1, 2, []string{"a", "b"}}, {3, 4, nil}}, H: map[uint32][]point{1: {{5, 6, nil}}}, L: [][]int16{{1}, nil, {2, 3}}}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, data []byte) {
		var out, again sample
		if Unmarshal(data, &out) != nil {
			return
		}
		if err := Unmarshal(Marshal(out), &again); err != nil {
			t.Fatal(err)
		}
	})
}
