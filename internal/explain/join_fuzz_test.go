package explain

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"runtime/debug"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/summary"
	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/trace"
)

// toyRanks returns two small ranks with some data in every field.
func toyRanks() (out []prep.Rank) {
	for rank := range 2 {
		y := toytrace.New()
		y.T.Source.Rank.TP = rank
		y.T.Source.WithStack = true
		for n := range int64(6) {
			at := n * 1000
			y.Step(at, at+900)
			y.Span(trace.CPUOp, 0, "{'Module': 'model.model.layers.0'}", at+5, at+400)
			y.Span(trace.PythonFunction, 0, "server.py(1): loop", at+6, at+90)
			y.Span(trace.UserAnnotation, 1, "gloo:broadcast", at+500, at+600)
			y.Run("gemm", at+10, at+20, at+200+int64(rank)*100, 1)
			y.Run(toytrace.AllReduce, at+100, at+350, at+450, 1)
		}
		out = append(out, *prep.Trace(y.Done(), nil))
	}
	return out
}

// marshal and unmarshal write and read a rank as summaries do.
func marshal(r prep.Rank) []byte {
	var out bytes.Buffer
	if err := gob.NewEncoder(&out).Encode(r); err != nil {
		panic(err)
	}
	return out.Bytes()
}

func unmarshal(data []byte, r *prep.Rank) error {
	return gob.NewDecoder(bytes.NewReader(data)).Decode(r)
}

// FuzzJoin: arbitrary ranks are refused or explained, without panic.
func FuzzJoin(f *testing.F) {
	for _, r := range toyRanks() {
		f.Add(marshal(r), marshal(r))
	}
	f.Fuzz(func(_ *testing.T, a, b []byte) {
		var ranks []*prep.Rank
		for _, data := range [][]byte{a, b} {
			r := &prep.Rank{}
			if unmarshal(data, r) == nil && r.Check() == nil {
				ranks = append(ranks, r)
			}
		}
		if len(ranks) > 0 {
			_, _ = Join(ranks).Analyze(Options{Force: true})
		}
	})
}

// FuzzSummaries: any stream of summaries is read or refused.
func FuzzSummaries(f *testing.F) {
	var stream bytes.Buffer
	w, err := summary.NewWriter(&stream, &summary.Window{ID: "1"})
	if err == nil {
		err = w.File(&summary.File{Ranks: toyRanks()})
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		f.Fatal(err)
	}
	f.Add(stream.Bytes())
	f.Fuzz(func(_ *testing.T, data []byte) {
		r, err := summary.NewReader(bytes.NewReader(data))
		if err != nil {
			return
		}
		defer r.Close()
		for err == nil {
			_, err = r.Next()
		}
		if err != io.EOF && err.Error() == "" {
			panic("no reason")
		}
	})
}

// TestMutatedRanks changes one number of a rank at a time to an impossible or a possible value: the rank is refused, or
// explained without panic.
func TestMutatedRanks(t *testing.T) {
	whole := toyRanks()
	random := rand.New(rand.NewPCG(1, 2))
	values := []int64{-1 << 63, -1 << 31, -2, -1, 0, 1, 2, 7, 255, 1 << 20, 1<<31 - 1, 1 << 40, 1<<63 - 1}
	refused := 0
	for range 3000 {
		ranks := []*prep.Rank{{}, {}}
		for i := range ranks {
			if err := unmarshal(marshal(whole[i]), ranks[i]); err != nil {
				t.Fatal(err)
			}
		}
		what := mutate(reflect.ValueOf(ranks[0]).Elem(), random, values[random.IntN(len(values))])
		if ranks[0].Check() != nil {
			refused++
			continue
		}
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("changing %s: panic %v\n%s", what, p, debug.Stack())
				}
			}()
			_, _ = Join(ranks).Analyze(Options{Force: true})
		}()
		if t.Failed() {
			return
		}
	}
	if refused < 300 {
		t.Errorf("%d changed ranks were refused, want at least 300", refused)
	}
}

// mutate sets one randomly chosen number in a value to x, and returns its path.
func mutate(v reflect.Value, random *rand.Rand, x int64) string {
	switch v.Kind() {
	case reflect.Struct:
		if n := v.NumField(); n > 0 {
			i := random.IntN(n)
			if f := v.Type().Field(i); f.IsExported() && f.Name != "Ranges" {
				return "." + f.Name + mutate(v.Field(i), random, x)
			}
		}
	case reflect.Slice, reflect.Array:
		if n := v.Len(); n > 0 {
			i := random.IntN(n)
			return fmt.Sprintf("[%d]", i) + mutate(v.Index(i), random, x)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if !v.OverflowInt(x) {
			v.SetInt(x)
		}
	case reflect.Uint8, reflect.Uint32:
		v.SetUint(uint64(uint8(x)))
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.String:
		v.SetString("")
	}
	return fmt.Sprint(" = ", x)
}
