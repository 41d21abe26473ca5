package tables_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/trace"
)

// kinetoEvent holds the fields of a real file's event that decorated needs.
type kinetoEvent struct {
	Cat, Name string
	PID, TID  json.RawMessage
	TS, Dur   json.Number
	Args      struct{ Correlation json.Number }

	start, end int64
}

// putIn is the summed GPU time put into a module, by step kind.
type putIn map[[2]string]int64

// decorated adds layer-wise markers around the launches of a profiler's file in the repository, as torch writes
// annotations: per step an embedding, layers with two modules each, and a last launch outside all of them. It adds the
// GPU time of each module to sums.
func decorated(t testing.TB, text []byte, layers int, sums putIn) []byte {
	t.Helper()
	var file map[string]json.RawMessage
	var events []json.RawMessage
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&file); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(file["traceEvents"], &events); err != nil {
		t.Fatal(err)
	}
	micros := func(n json.Number) int64 {
		ns, ok := chromejson.ParseMicros([]byte(n))
		if !ok {
			t.Fatalf("invalid time %q", n)
		}
		return ns
	}
	work := map[string]int64{} // by correlation
	var steps, launches []kinetoEvent
	for _, raw := range events {
		var e kinetoEvent
		if json.Unmarshal(raw, &e) != nil || e.Dur == "" {
			continue
		}
		e.start = micros(e.TS)
		e.end = e.start + micros(e.Dur)
		_, isStep := trace.ParseStep(e.Name)
		switch {
		case e.Cat == "user_annotation" && isStep:
			steps = append(steps, e)
		case (e.Cat == "cuda_runtime" || e.Cat == "cuda_driver") && e.Args.Correlation != "":
			launches = append(launches, e)
		case e.Cat == "kernel" || e.Cat == "gpu_memcpy" || e.Cat == "gpu_memset":
			work[e.Args.Correlation.String()] += e.end - e.start
		}
	}
	launches = slices.DeleteFunc(launches, func(e kinetoEvent) bool { return work[e.Args.Correlation.String()] == 0 })
	slices.SortFunc(launches, func(a, b kinetoEvent) int { return cmp.Compare(a.start, b.start) })
	for i := range steps {
		var in []kinetoEvent
		for _, l := range launches {
			if l.start >= steps[i].start && l.start < steps[i].end {
				in = append(in, l)
			}
		}
		step, _ := trace.ParseStep(steps[i].Name)
		mark := func(name, rest string, of []kinetoEvent) {
			if len(of) == 0 {
				return
			}
			from, to := of[0].start, of[len(of)-1].end+1
			events = append(events, json.RawMessage(fmt.Sprintf(`{"ph": "X", "cat": "user_annotation", "name": %s, "pid": %s, "tid": %s, "ts": %d.%03d, "dur": %d.%03d, "args": {}}`,
				strconv.Quote(explaintest.DictOf(name, rest)), steps[i].PID, steps[i].TID, from/1000, from%1000, (to-from)/1000, (to-from)%1000)))
			for _, l := range of {
				sums[[2]string{step.Kind.String(), name}] += work[l.Args.Correlation.String()]
			}
		}
		for _, l := range in {
			sums[[2]string{step.Kind.String(), ""}] += work[l.Args.Correlation.String()]
		}
		if len(in) < 2*layers+4 {
			continue
		}
		mark("model.model.embed_tokens", `, 'Inputs': [[16]]`, in[:1])
		rest := in[1 : len(in)-1]
		each := len(rest) / layers
		for l := range layers {
			of := rest[l*each : (l+1)*each]
			path := fmt.Sprintf("model.model.layers.%d", l)
			mark(path, `, 'Inputs': [[16], [16, 4096]]`, of)
			mark(path+".self_attn", "", of[:len(of)/2])
			mark(path+".mlp.down_proj", `, 'TrainableParams': {'weight': [4096, 14336]}, 'Inputs': [[16, 14336]]`, of[len(of)/2:])
		}
	}
	var err error
	if file["traceEvents"], err = json.Marshal(events); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestDecorated checks the layers of real files, read by the real reader, against sums from their text.
func TestDecorated(t *testing.T) {
	for _, c := range []struct {
		set    string
		ranks  int
		inside []string // step kinds launched op by op
	}{
		{"g_mixed", 2, []string{"prefill"}}, // decode steps are replays
		{"compute_skew", 4, []string{"prefill", "decode"}},
	} {
		t.Run(c.set, func(t *testing.T) {
			sums := putIn{}
			var files []any
			for rank := range c.ranks {
				files = append(files, fmt.Sprintf("7-TP-%d.trace.json", rank), decorated(t, explaintest.TextOf(t, c.set, rank), 8, sums))
			}
			r := explaintest.Analyzed(t, explaintest.ReadDir(t, explaintest.DirOf(t, files...)))
			seen := 0
			for _, l := range r.Layers.Totals {
				if got, want := l.GPU*int64(l.Steps), sums[[2]string{l.Kind, ""}]; l.Kind != "outside" && explaintest.Abs(got-want) > want/1000+int64(l.Steps) {
					t.Errorf("%s: got %d ns in total, want %d", l.Kind, got, want)
				}
				if in := slices.Contains(c.inside, l.Kind); in != (l.InModule > 0) && l.Kind != "outside" {
					t.Errorf("%s: got %d of %d ns in modules", l.Kind, l.InModule, l.GPU)
				}
				for n := range 8 {
					want := sums[[2]string{l.Kind, fmt.Sprintf("model.model.layers.%d", n)}]
					if want == 0 {
						continue
					}
					seen++
					if got := findLayer(t, r, l.Kind, n).GPU * int64(l.Steps); explaintest.Abs(got-want) > int64(l.Steps) {
						t.Errorf("%s layer %d: got %d ns, want %d", l.Kind, n, got, want)
					}
				}
				down := int64(0)
				for n := range 8 {
					down += sums[[2]string{l.Kind, fmt.Sprintf("model.model.layers.%d.mlp.down_proj", n)}]
				}
				if down > 0 {
					if m := findModule(t, r, l.Kind, "model.layers.*.mlp.down_proj"); explaintest.Abs(m.Self*int64(l.Steps)-down) > int64(l.Steps) || m.Modules != 8 {
						t.Errorf("%s down_proj: got %d ns of %d modules, want %d", l.Kind, m.Self*int64(l.Steps), m.Modules, down)
					}
				}
			}
			if seen == 0 {
				t.Error("the report has no layers")
			}
		})
	}
}
