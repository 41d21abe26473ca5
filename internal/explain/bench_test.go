package explain_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
)

// BenchmarkAnalyze explains the large real set named by STEPSCOPE_DATA, read once; MB/s counts its JSON.
func BenchmarkAnalyze(b *testing.B) {
	root := os.Getenv("STEPSCOPE_DATA")
	if root == "" {
		b.Skip("STEPSCOPE_DATA is not set: the directory with traces/large")
	}
	ts := explaintest.ReadDir(b, filepath.Join(root, "traces", "large"))
	var bytes, events int64
	for _, t := range ts {
		bytes += t.Source.Bytes
		events += t.Source.Events
	}
	b.SetBytes(bytes)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := explain.Analyze(ts, explain.Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(events)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
