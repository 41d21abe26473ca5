package runs

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"testing"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/gate"
)

// TestBatches: each batch is on disk and in the manifest when AddBatch returns; a truncated file is read up to its last
// whole record.
func TestBatches(t *testing.T) {
	root := t.TempDir()
	r, err := Create(root, About{Kind: "bench", Tool: "bench one-batch"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Batches(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no batches yet: %v", err)
	}
	want := []bench.Batch{
		{BatchSize: 2, InputLen: 8, OutputLen: 3, Figures: []bench.BatchFigure{{Metric: "decode_latency", Unit: bench.NS, Value: 5, Samples: []float64{4, 6}}}, Row: json.RawMessage(`{"a":1}`)},
		{BatchSize: 4, InputLen: 8, OutputLen: 3, Figures: []bench.BatchFigure{}, Row: json.RawMessage(`{}`)},
	}
	for i := range want {
		if err := r.AddBatch(&want[i]); err != nil {
			t.Fatal(err)
		}
		seen, err := Open(root, r.ID()) // by another process
		if err != nil {
			t.Fatal(err)
		}
		files := seen.Files(KindBatches)
		got, err := seen.Batches()
		if err != nil || !reflect.DeepEqual(got, want[:i+1]) || len(files) != 1 || files[0].Count != int64(i+1) {
			t.Errorf("%v: %+v, files %+v", err, got, files)
		}
	}
	if err := r.Finish(Complete, nil); err != nil {
		t.Fatal(err)
	}
	if err := r.AddBatch(&want[0]); err == nil {
		t.Error("a finished run accepted a batch")
	}
	st, err := os.Stat(r.Path(BatchesFile))
	if err != nil || r.Files(KindBatches)[0].Size != st.Size() {
		t.Fatal(err, r.Files())
	}
	if err := os.Truncate(r.Path(BatchesFile), st.Size()-3); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Batches(); !errors.Is(err, ErrCut) || !reflect.DeepEqual(got, want[:1]) {
		t.Errorf("cut: %v, %+v", err, got)
	}
	if err := os.WriteFile(r.Path(BatchesFile), []byte("no JSON\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Batches(); err == nil || errors.Is(err, ErrCut) || len(got) > 0 {
		t.Errorf("damaged: %v, %+v", err, got)
	}
}

// FuzzBatches: anything readable can be compared, and written again.
func FuzzBatches(f *testing.F) {
	f.Add([]byte(`{"batch_size":1,"figures":[{"metric":"prefill_latency","unit":"ns","value":1,"samples":[1,2,3]}],"row":{}}` + "\n"))
	f.Add([]byte(`{"figures":[{"metric":"a","value":-1e300},{"metric":"a","value":0}]}` + "\n{}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := readBatches(bytes.NewReader(text))
		if err != nil {
			return
		}
		side := bench.Batches{ID: "x", Batches: list}
		if c, err := bench.CompareBatches(side, side, bench.CompareOptions{Limits: gate.Limits{{By: 0.1}}}); err == nil && len(c.Regressions) > 0 {
			t.Errorf("a run is worse than itself: %q", c.Regressions)
		}
	})
}
