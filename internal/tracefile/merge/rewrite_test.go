package merge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/trace"
)

// rewritten returns the rewriter's output for the events in text.
func rewritten(t *testing.T, w *rewriter, text string) []string {
	t.Helper()
	s := chromejson.NewScanner(strings.NewReader("[" + text + "]"))
	defer s.Close()
	var out []string
	for {
		kind, err := s.Next()
		if err == io.EOF {
			return out
		}
		if kind == chromejson.EventToken {
			out = append(out, string(w.event(nil, &s.Event)))
		}
	}
}

func TestRewrite(t *testing.T) {
	label := rewriter{prefix: "[TP01] ", ids: IDMap{4}, index: 1, sort: 100}
	late := label
	late.shift = Shift{Offset: 1500, Nonzero: true}
	tests := []struct {
		name     string
		w        rewriter
		in, want string
	}{
		{"kineto", label,
			"{\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7,\n    \"ts\": 1.500, \"dur\": 2.000,\n    \"args\": {\n      \"External id\": 3,\"correlation\": 20, \"x\": [1,  2]\n    }\n  }",
			"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": \"[TP01] 0\", \"tid\": 7, \"ts\": 1.500, \"dur\": 2.000, \"args\": {\n      \"External id\": 13,\"correlation\": 81, \"x\": [1,  2]\n    }}"},
		{"one line, other order", label, `{"args": {"correlation": 5}, "id": 6, "ts": 1, "pid": "Spans", "ph": "s", "new":  {"a": 1e3}}`,
			`{"args": {"correlation": 21}, "id": 25, "ts": 1, "pid": "[TP01] Spans", "ph": "s", "new":  {"a": 1e3}}`},
		{"no ids", label, `{"pid": -1, "args": {"correlation": 0, "External id": -1}}`, `{"pid": "[TP01] -1", "args": {"correlation": 0, "External id": -1}}`},
		{"flow 0 is an arrow", label, `{"ph": "s", "id": 0, "pid": 1}`, `{"ph": "s", "id": 1, "pid": "[TP01] 1"}`},
		{"id as text", label, `{"ph": "s", "id": "0x1f", "pid": 1}`, `{"ph": "s", "id": "1:0x1f", "pid": "[TP01] 1"}`},
		{"id too large", label, `{"ph": "s", "id": 18446744073709551615, "pid": 1}`, `{"ph": "s", "id": "1:18446744073709551615", "pid": "[TP01] 1"}`},
		{"id above a double", label, `{"ph": "s", "id": 9007199254740000, "pid": 1}`, `{"ph": "s", "id": "1:9007199254740000", "pid": "[TP01] 1"}`},
		{"counter ids are names", label, `{"ph": "C", "id": 5, "pid": 1}`, `{"ph": "C", "id": 5, "pid": "[TP01] 1"}`},
		{"no pid", label, `{"ph": "i", "ts": 1}`, `{"ph": "i", "ts": 1,"pid": "[TP01] "}`},
		{"odd pids", label, `{"pid": null},{"pid": "a\"b"},{"pid": {"x": "y"}}`, `{"pid": "[TP01] null"}|{"pid": "[TP01] a\"b"}|{"pid": "[TP01] {\"x\": \"y\"}"}`},
		{"wait on an event", label, `{"cat": "cuda_sync", "pid": 0, "args": {"wait_on_cuda_event_record_corr_id": 7, "correlation": 8}}`,
			`{"cat": "cuda_sync", "pid": "[TP01] 0", "args": {"wait_on_cuda_event_record_corr_id": 29, "correlation": 33}}`},
		{"time", late, `{"pid": 1, "ts": 1},{"pid": 1, "ts": "2.25"},{"pid": 1, "ts": 4436331677568.557},{"pid": 1, "ts": true}`,
			`{"pid": "[TP01] 1", "ts": 2.500}|{"pid": "[TP01] 1", "ts": "3.750"}|{"pid": "[TP01] 1", "ts": 4436331677570.057}|{"pid": "[TP01] 1", "ts": true}`},
		{"device row", label, `{"name": "process_sort_index", "ph": "M", "pid": 3, "args": {"sort_index": 5000003}}`,
			`{"name": "process_sort_index", "ph": "M", "pid": "[TP01] 3", "args": {"sort_index": 103}}`},
		{"one file, its ids stay", rewriter{prefix: "[TP00] ", ids: IDMap{1}}, `{"ph": "s", "id": 5, "pid": 1, "args": {"correlation": 5}}`,
			`{"ph": "s", "id": 5, "pid": "[TP00] 1", "args": {"correlation": 5}}`},
		{"as it is", rewriter{ids: IDMap{1}}, `{"name": "process_sort_index", "ph": "M", "pid": 3, "args": {"sort_index": 5}}`,
			`{"name": "process_sort_index", "ph": "M", "pid": 3, "args": {"sort_index": 5}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := strings.Join(rewritten(t, &tt.w, tt.in), "|"); got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestRowOrder(t *testing.T) {
	rank := rankOrder(trace.Rank{TP: 3, DP: 1, PP: 2, EP: -1})
	if rank != 100_020_300 {
		t.Errorf("rank order %d", rank)
	}
	for pid, want := range map[string]int64{"5": rank + 5, "999": rank + 999, "4000": rank - 1, `"Spans"`: rank + 99} {
		if got := rowOrder(rank, []byte(pid)); got != want {
			t.Errorf("pid %s: %d, want %d", pid, got, want)
		}
	}
}

func TestIDMapReversible(t *testing.T) {
	for _, n := range []int{1, 2, 64, 4096} {
		m := IDMap{n}
		seen := map[int64]string{}
		for _, k := range []int{0, 1, n - 1} {
			if k >= n {
				continue
			}
			for _, id := range []int64{0, 1, 2, 1 << 20, 1 << 40, 1 << 53, 1<<63 - 1} {
				to, ok := m.Map(k, id)
				if !ok {
					text := string(m.append(nil, fmt.Append(nil, id), k, true))
					if back, s, ok := m.SplitText(strings.Trim(text, `"`)); !ok || back != k || s != fmt.Sprint(id) {
						t.Errorf("%d files: %d of file %d became %s", n, id, k, text)
					}
					continue
				}
				who := fmt.Sprint(k, id)
				if n > 1 && seen[to] != "" && seen[to] != who {
					t.Errorf("%d files: %s and %s are both %d", n, seen[to], who, to)
				}
				seen[to] = who
				if backK, backID := m.Split(to); backID != id || n > 1 && backK != k {
					t.Errorf("%d files: %s came back as %d %d", n, who, backK, backID)
				}
			}
		}
	}
}

// For any readable event the rewriter writes JSON, and changes only the fields that it must.
func FuzzRewrite(f *testing.F) {
	f.Add([]byte(span(9, "1.5", "a")), int64(1500), 3)
	f.Add([]byte("{\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7,\n    \"ts\": 1.500, \"dur\": 2.000,\n    \"args\": {\n      \"External id\": 3,\"correlation\": 20\n    }\n  }"), int64(0), 2)
	f.Add([]byte(`{"ph": "s", "id": "x", "pid": {"a": []}, "ts": "1"}`), int64(-5), 4)
	f.Add([]byte(`{"pid": 1e5, "id": -0, "ph": "n", "args": {"External id": 1.5, "correlation": "7"}}`), int64(7), 2)
	f.Add([]byte(`{"cat": "cuda_sync", "pid": 0, "args": {"wait_on_cuda_event_record_corr_id": 7}}`), int64(0), 2)
	f.Fuzz(func(t *testing.T, text []byte, by int64, files int) {
		if files < 1 || files > 1000 {
			return
		}
		s := chromejson.NewScanner(io.MultiReader(strings.NewReader("["), bytes.NewReader(text), strings.NewReader("]")))
		defer s.Close()
		w := rewriter{prefix: "[TP01] ", ids: IDMap{files}, index: files - 1, shift: Shift{Offset: by, Nonzero: by != 0}}
		for {
			kind, err := s.Next()
			if err == io.EOF {
				return
			}
			if kind != chromejson.EventToken {
				continue
			}
			in := map[string]json.RawMessage{}
			if json.Unmarshal(s.Event.Raw, &in) != nil || bytes.Count(s.Event.Raw, []byte(`"`)) > 64 {
				continue
			}
			raw := bytes.Clone(s.Event.Raw)
			got := w.event(nil, &s.Event)
			out := map[string]json.RawMessage{}
			if err := json.Unmarshal(got, &out); err != nil {
				t.Fatalf("%v:\n%s\n%s", err, raw, got)
			}
			if twice(raw) {
				continue // of equal keys, the rewriter changes the first, and encoding/json reads the last
			}
			checkFields(t, &w, raw, in, out)
		}
	})
}

// twice reports whether a key may occur twice in the event, by a rough count.
func twice(raw []byte) bool {
	for _, key := range []string{"pid", "ts", "id", "args", "correlation", "External id", "ph", "name", "cat", "sort_index", "wait_on_cuda_event_record_corr_id"} {
		if bytes.Count(raw, []byte(`"`+key+`"`)) > 1 {
			return true
		}
	}
	return bytes.Contains(raw, []byte(`\u`)) // may encode any key
}

func checkFields(t *testing.T, w *rewriter, raw []byte, in, out map[string]json.RawMessage) {
	t.Helper()
	var pid string
	if json.Unmarshal(out["pid"], &pid) != nil || !strings.HasPrefix(pid, w.prefix) {
		t.Fatalf("pid %s of %s", out["pid"], raw)
	}
	for key, v := range in {
		switch key {
		case "pid", "args":
			continue
		case "id":
			if w.ids.Stride > 1 {
				if n, ok := chromejson.ParseInt(out[key]); ok {
					k, id := w.ids.Split(n)
					if text := fmt.Sprint(id); k != w.index || text != string(v) {
						if string(v) != string(out[key]) { // ids of counters and names stay
							t.Fatalf("id %s became %s", v, out[key])
						}
					}
				}
				continue
			}
		case "ts":
			if was, ok := chromejson.ParseMicros(bytes.Trim(v, `"`)); ok && w.shift.Nonzero {
				is, ok := chromejson.ParseMicros(bytes.Trim(out[key], `"`))
				if want := w.shift.at(was); want != -1<<63 && want != 1<<63-1 && (!ok || is != want) && want > -9e18 && want < 9e18 {
					t.Fatalf("ts %s became %s", v, out[key])
				}
				continue
			}
		}
		if !bytes.Equal(bytes.TrimSpace(v), bytes.TrimSpace(out[key])) {
			t.Fatalf("%s: %s became %s", key, v, out[key])
		}
	}
}

// Split undoes Map.
func (m IDMap) Split(mapped int64) (k int, id int64) {
	n := int64(m.Stride)
	if n <= 1 || mapped < 0 {
		return 0, mapped
	}
	return int(mapped % n), mapped / n
}

// SplitText undoes the string form "k:ID".
func (m IDMap) SplitText(s string) (k int, id string, ok bool) {
	head, id, ok := strings.Cut(s, ":")
	if !ok || m.Stride <= 1 {
		return 0, s, false
	}
	k, err := strconv.Atoi(head)
	if err != nil || k < 0 || k >= m.Stride {
		return 0, s, false
	}
	return k, id, true
}
