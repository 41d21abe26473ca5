package merge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/packedtest"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/internal/tracefile/set"
)

func times(d document) map[string]string {
	m := map[string]string{}
	for _, e := range d.Events {
		m[e["name"].(string)] = fmt.Sprint(e["ts"])
	}
	return m
}

func TestBases(t *testing.T) {
	base := func(ns string) string { return `"baseTimeNanoseconds": ` + ns + ", " }
	tests := []struct {
		name   string
		a, b   string
		want   map[string]string
		base   string
		noteOf string
	}{
		{
			"equal: as they are written", traceOf(base("1000"), span(9, "1.5", "a")), traceOf(base("1000"), span(9, "2", "b")),
			map[string]string{"a": "1.5", "b": "2"}, "1000", "",
		},
		{
			"different: the smallest", traceOf(base("5000001"), span(9, "1.5", "a")), traceOf(base("2"), span(9, "4436331677568.557", "b")),
			map[string]string{"a": "5001.499", "b": "4436331677568.557"}, "2", "",
		},
		{
			"after the events", traceOf(base("1000"), span(9, "1", "a")),
			`{"traceEvents": [` + span(9, "2", "b") + `], "baseTimeNanoseconds": 3000}`,
			map[string]string{"a": "1", "b": "4.000"}, "1000", "",
		},
		{
			"none, from the epoch", traceOf(base("1790857026000000000"), span(9, "1", "a")), traceOf("", span(9, "1790857026000002.250", "b")),
			map[string]string{"a": "1", "b": "2.250"}, "1790857026000000000", "",
		},
		{
			"none, from nowhere", traceOf(base("1000"), span(9, "1", "a")), traceOf("", span(9, "7", "b")),
			map[string]string{"a": "1", "b": "7"}, "1000", "id-TP-1",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir, _ := write(t, "id-TP-0.trace.json", tt.a, "id-TP-1.trace.json", tt.b)
			d, res := merged(t, find(t, dir), Options{})
			if got := times(d); fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("ts %v, want %v", got, tt.want)
			}
			if got := string(d.Meta["baseTimeNanoseconds"]); got != tt.base {
				t.Errorf("base %s, want %s", got, tt.base)
			}
			if (tt.noteOf != "") != (len(res.Notes) > 0) {
				t.Errorf("notes %q", res.Notes)
			}
		})
	}
}

var tsField = regexp.MustCompile(`"ts": ([0-9.]+)`)

// shifted copies a set, moves the clocks of some files and names hosts.
func shifted(t *testing.T, set set.Set, ns map[int]int64, hosts bool) set.Set {
	t.Helper()
	dir := t.TempDir()
	for i, f := range set.Files {
		text := packedtest.Read(t, f.Path)
		if by := ns[i]; by != 0 {
			text = tsField.ReplaceAllFunc(text, func(m []byte) []byte {
				at, ok := chromejson.ParseMicros(m[len(`"ts": `):])
				if !ok {
					t.Fatalf("%s", m)
				}
				return chromejson.AppendMicros([]byte(`"ts": `), at+by)
			})
		}
		if hosts {
			name := fmt.Sprintf("{\"host_name\": \"node%d\",", min(1, int(ns[i]&1|ns[i]>>1&1|ns[i]>>2&1)))
			text = bytes.Replace(text, []byte("{"), []byte(name), 1)
		}
		path := filepath.Join(dir, fmt.Sprintf("shifted-TP-%d.trace.json", i))
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return find(t, dir)
}

func TestClocks(t *testing.T) {
	t.Parallel()
	const by = 7_654_321 // ns: odd numbers make shifted name the host node1
	tests := []struct {
		name    string
		align   Align
		ns      map[int]int64
		hosts   bool
		aligned bool
	}{
		{"hosts differ", Auto, map[int]int64{2: by, 3: by}, true, true},
		{"hosts differ, never", Never, map[int]int64{2: by, 3: by}, true, false},
		{"hosts unknown, clocks impossible", Auto, map[int]int64{1: by}, false, true},
		{"behind", Auto, map[int]int64{1: -by}, false, true},
		{"always", Always, map[int]int64{3: by}, false, true},
	}
	for _, name := range []string{"graphs", "stacks", "balanced"} {
		rows := tests
		if name == "balanced" {
			rows = tests[2:3] // slow: for files without graphs one row is enough
		}
		for _, tt := range rows {
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				original := testSet(t, name)
				set := shifted(t, original, tt.ns, tt.hosts)
				path := filepath.Join(t.TempDir(), "out.json")
				res, err := File(context.Background(), set, path, Options{Align: tt.align, Plain: true})
				if err != nil {
					t.Fatal(err)
				}
				for i, r := range res.Files {
					want := -tt.ns[i]
					if !tt.aligned {
						want = 0
					}
					if off := r.ShiftNS - want; off > r.Uncertainty || off < -r.Uncertainty {
						t.Errorf("rank %d moved by %d ± %d ns, want %d", i, r.ShiftNS, r.Uncertainty, want)
					}
					if want != 0 && (r.Collectives < 8 || r.ShiftInterval[0] > r.ShiftNS || r.ShiftInterval[1] < r.ShiftNS) {
						t.Errorf("rank %d: %d collectives, interval %v", i, r.Collectives, r.ShiftInterval)
					}
				}
				if name != "graphs" {
					return // one set is enough to check the events
				}
				type head struct { // without the arguments, which are most of an event
					Name, PID any
					TS        json.Number
				}
				var events []head
				m := stepscope(t, document{Meta: members(t, packedtest.Read(t, path), &events)})
				for i, f := range set.Files {
					var own []head
					members(t, packedtest.Read(t, f.Path), &own)
					first := own[0]
					was, _ := chromejson.ParseMicros([]byte(first.TS))
					for _, e := range events {
						if e.PID == m.Ranks[i].PIDPrefix+fmt.Sprint(first.PID) && e.Name == first.Name {
							is, _ := chromejson.ParseMicros([]byte(e.TS))
							if is-was != m.Ranks[i].ShiftNS {
								t.Errorf("rank %d: first event moved by %d, recorded %d", i, is-was, m.Ranks[i].ShiftNS)
							}
							break
						}
					}
				}
			})
		}
	}
}

// Real ranks of one host stay unchanged.
func TestClocksOfOneHost(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"graphs", "balanced", "compute_skew", "graph_work", "stacks"} {
		set := testSet(t, name)
		for _, align := range []Align{Auto, Always} {
			res, err := To(context.Background(), set, io.Discard, Options{Align: align})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range res.Files {
				if f.ShiftNS != 0 {
					t.Errorf("%s, %s: %s moved by %d ± %d ns", name, align, f.Label, f.ShiftNS, f.Uncertainty)
				}
			}
		}
	}
}

func TestMergedKeepsUnknownMembers(t *testing.T) {
	dir, _ := write(t,
		"id-TP-0.trace.json", `{"mine": {"a": [1, "x\u0041"]}, "traceEvents": [`+span(1, "1", "a")+`], "late": 1, "traceName": "n]"}`,
		"id-TP-1.trace.json", `{"mine": 2, "other": null, "traceEvents": [`+span(1, "1", "a")+`], "late": 2}`)
	d, _ := merged(t, find(t, dir), Options{})
	for key, want := range map[string]string{"mine": `{"a": [1, "x\u0041"]}`, "other": "null", "late": "1", "traceName": `"n]"`} {
		if got := string(d.Meta[key]); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
	if !json.Valid(d.Meta[set.Key]) {
		t.Error("no stepscope member")
	}
}
