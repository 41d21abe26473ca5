package chromejson

import (
	"io"
	"os"
	"testing"
)

func BenchmarkScan(b *testing.B) {
	path := os.Getenv("SCAN_FILE")
	if path == "" {
		b.Skip("SCAN_FILE not set")
	}
	for b.Loop() {
		src, err := Open(path)
		if err != nil {
			b.Fatal(err)
		}
		s := NewScanner(src)
		for {
			_, err := s.Next()
			if err == io.EOF {
				break
			}
		}
		s.Close()
		src.Close()
		b.SetBytes(s.Stats.Bytes)
		b.ReportMetric(float64(s.Stats.Events), "events")
		if !s.Stats.End.Complete {
			b.Fatalf("%+v", s.Stats)
		}
	}
}
