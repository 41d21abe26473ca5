package read

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stepscope/stepscope/internal/tracefile/set"
)

// BenchmarkReadSet reads the large real set named by STEPSCOPE_DATA.
func BenchmarkReadSet(b *testing.B) {
	root := os.Getenv("STEPSCOPE_DATA")
	if root == "" {
		b.Skip("STEPSCOPE_DATA is not set: the directory with traces/large")
	}
	sets, err := set.Find([]string{filepath.Join(root, "traces", "large")})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		ts, failed, err := ReadSet(context.Background(), sets[0], Options{})
		if err != nil || len(failed) > 0 {
			b.Fatal(err, failed)
		}
		var bytes, events int64
		for _, t := range ts {
			bytes += t.Source.Bytes
			events += t.Source.Events
		}
		b.SetBytes(bytes)
		b.ReportMetric(float64(events)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	}
}
