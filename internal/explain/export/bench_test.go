package export

import (
	"context"
	"io"
	"testing"

	"github.com/stepscope/stepscope/internal/tracefile/read"
)

// BenchmarkExport writes one rank that has been read before.
func BenchmarkExport(b *testing.B) {
	traces, err := read.ReadFile(b.Context(), realSet(b, "compute_skew").Files[0], read.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range []Format{Parquet, CSV, SQLite} {
		b.Run(string(f), func(b *testing.B) {
			ctx := context.Background()
			var s sink
			switch f {
			case Parquet:
				s = newParquetSink(io.Discard)
			case CSV:
				s = newCSVSink(io.Discard, false)
			case SQLite:
				if s, err = newSQLiteSink(scratch(b)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := s.rank(ctx, prepare(traces[0], newNamer())); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(traces[0].Spans))*float64(b.N)/b.Elapsed().Seconds(), "spans/s")
			s.abandon()
		})
	}
}
