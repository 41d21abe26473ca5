package chromejson

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
)

// The same event in the three existing layouts.
const (
	// torch 2.11: several keys per line.
	torchLayout = `{
    "ph": "X", "cat": "kernel", "name": "gemm<\"a\">", "pid": 0, "tid": 7,
    "ts": 4436349795783.992, "dur": 7166.677,
    "args": {
      "External id": 96,      "device": 0,      "stream": 7, "correlation": 234,      "grid": [24, 1, 1]
    }
  }`
	// Current libkineto: one key per line.
	kinetoLayout = `{
    "ph": "X",
    "cat": "kernel",
    "name": "gemm<\"a\">",
    "pid": 0,
    "tid": 7,
    "ts": 4436349795783.992,
    "dur": 7166.677,
    "args": {
        "External id": 96,
        "device": 0,
        "stream": 7,
        "correlation": 234,
        "grid": [24, 1, 1]
    }
}`
	// Python's json.dump, as used for merged and rewritten files.
	pythonLayout = `{"ph": "X", "cat": "kernel", "name": "gemm<\"a\">", "pid": 0, "tid": 7, "ts": 4436349795783.992, "dur": 7166.677, "args": {"External id": 96, "device": 0, "stream": 7, "correlation": 234, "grid": [24, 1, 1]}}`
	// Other writers omit optional fields, or put them in unusual places.
	denseLayout = "{\"args\":{\"External id\":96,\"device\" :0,\r\n\"stream\":7,\"correlation\":\t234,\"grid\":[24, 1, 1]},\"dur\":7166.677,\"ts\":4436349795783.992,\"tid\":7,\"pid\":0,\"name\":\"gemm<\\\"a\\\">\",\"cat\":\"kernel\",\"ph\":\"X\"}"
)

func TestLayouts(t *testing.T) {
	for name, text := range map[string]string{"torch": torchLayout, "kineto": kinetoLayout, "python": pythonLayout, "dense": denseLayout} {
		t.Run(name, func(t *testing.T) {
			s := NewScanner(strings.NewReader(`{"traceEvents": [` + text + `]}`))
			defer s.Close()
			if kind, err := s.Next(); kind != EventToken || err != nil {
				t.Fatal(kind, err)
			}
			e := &s.Event
			if string(e.Raw) != text || e.Off != 17 || e.Ph != 'X' {
				t.Errorf("ph %q at %d: %s", e.Ph, e.Off, e.Raw)
			}
			for _, f := range []struct {
				at   Field
				want string
			}{
				{e.Cat, "kernel"}, {e.Name, `gemm<\"a\">`}, {e.PID, "0"}, {e.TID, "7"},
				{e.TS, "4436349795783.992"}, {e.Dur, "7166.677"},
			} {
				if got := string(e.Text(f.at)); got != f.want {
					t.Errorf("got %q; want %q", got, f.want)
				}
			}
			if e.ID.Present() || string(e.Value(e.Name)) != `"gemm<\"a\">"` {
				t.Errorf("id %v, name %s", e.ID, e.Value(e.Name))
			}
			var keys []ArgKey
			for _, k := range e.Known {
				keys = append(keys, k.Key)
			}
			if want := []ArgKey{ArgExternalID, ArgDevice, ArgStream, ArgCorrelation, ArgGrid}; !reflect.DeepEqual(keys, want) {
				t.Errorf("args %v; want %v", keys, want)
			}
			if n, ok := e.ArgInt(ArgCorrelation); n != 234 || !ok {
				t.Errorf("correlation %d, %v", n, ok)
			}
			if _, ok := e.ArgInt(ArgGrid); ok {
				t.Error("a grid is an integer")
			}
			if _, ok := e.ArgInt(ArgBytes); ok {
				t.Error("bytes are missing")
			}
		})
	}
}

// TestFastIsTaken: the layouts that the fast path is made for take it.
func TestFastIsTaken(t *testing.T) {
	var g grammar
	var e Event
	for _, text := range []string{
		torchLayout,
		"{\n    \"ph\": \"s\", \"id\": 234, \"pid\": 3603, \"tid\": 3603, \"ts\": 4436349795773.822,\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"\n  }",
		"{\n    \"ph\": \"f\", \"id\": 234, \"pid\": 0, \"tid\": 7, \"ts\": 4436349795783.992,\n    \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"\n  }",
	} {
		if n := g.fast([]byte(text+","), &e); n != len(text) {
			t.Errorf("%d bytes read of %s", n, text)
		}
	}
}

// TestSample compares all fields of the real events with encoding/json's.
func TestSample(t *testing.T) {
	text := sample(t)
	var doc struct{ TraceEvents []json.RawMessage }
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	want := collect(t, bytes.NewReader(text), defaultLimits, true)
	if len(want.Events) != len(doc.TraceEvents) || len(want.Meta) != 11 {
		t.Fatalf("%d events of %d, %d members", len(want.Events), len(doc.TraceEvents), len(want.Meta))
	}
	for i, e := range want.Events {
		if e.Raw != string(doc.TraceEvents[i]) || string(text[e.Off:e.Off+int64(len(e.Raw))]) != e.Raw {
			t.Errorf("event %d: %s", i, e.Raw)
		}
	}
	for _, block := range []int{1, 2, 3, 5, 8, 13, 100, 1000, 4096} {
		for _, headroom := range []int{0, 1, 50, 10000} {
			lim := defaultLimits
			lim.block, lim.headroom = block, headroom
			for _, general := range []bool{false, true} {
				if got := collect(t, iotest.HalfReader(bytes.NewReader(text)), lim, general); !reflect.DeepEqual(got, want) {
					t.Fatalf("blocks of %d, headroom %d, general %v: other events or stats: %+v", block, headroom, general, got.Stats)
				}
			}
		}
	}
}

func TestParseInt(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64
		ok   bool
	}{
		{"0", 0, true}, {"-1", -1, true}, {"9223372036854775807", 1<<63 - 1, true}, {"-9223372036854775808", -1 << 63, true},
		{"9223372036854775808", 0, false}, {"-9223372036854775809", 0, false}, {"18446744073709551615", 0, false},
		{"99999999999999999999", 0, false}, {"", 0, false}, {"-", 0, false}, {"1.0", 0, false}, {"1e3", 0, false}, {"+1", 0, false},
	} {
		got, ok := ParseInt([]byte(c.text))
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%q: %d, %v; want %d, %v", c.text, got, ok, c.want, c.ok)
		}
	}
}

func TestParseMicros(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64
		ok   bool
	}{
		{"4436349795783.992", 4436349795783992, true}, {"0", 0, true}, {"12", 12000, true}, {"-0.5", -500, true},
		{"1.0004", 1000, true}, {"1.0005", 1001, true}, {"0.9999999", 1000, true}, {"-1.0005", -1001, true},
		{"5e-05", 0, true}, {"5e-4", 1, true}, {"1.5E+3", 1500000, true}, {"0e99999999999", 0, true}, {"1e-99999999999", 0, true},
		{"1e16", 0, false}, {"1e99999999999", 0, false}, {"9223372036854774.999", 9223372036854774999, true},
		{"9223372036854775.807", 1<<63 - 1, true},
		{"9223372036854775.8075", 0, false}, {"-9223372036854775.808", 0, false}, {"92233720368547747.5e-1", 9223372036854774750, true},
		{"", 0, false}, {"-", 0, false}, {".5", 0, false}, {"1.", 0, false}, {"1.e2", 0, false}, {"1e", 0, false}, {"1e2e3", 0, false},
		{"e1", 0, false}, {"1 ", 0, false}, {"NaN", 0, false}, {"0x1", 0, false},
	} {
		got, ok := ParseMicros([]byte(c.text))
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%q: %d, %v; want %d, %v", c.text, got, ok, c.want, c.ok)
		}
	}
	for ns, want := range map[int64]string{0: "0.000", -1: "-0.001", 1234567: "1234.567", -1 << 63: "-9223372036854775.808"} {
		if got := string(AppendMicros(nil, ns)); got != want {
			t.Errorf("%s ns: %s; want %s", strconv.FormatInt(ns, 10), got, want)
		}
	}
}
