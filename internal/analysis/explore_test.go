package analysis

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/ingest"
	"github.com/stepscope/stepscope/internal/metric"
	"github.com/stepscope/stepscope/internal/traceset"
)

func TestExplore(t *testing.T) {
	dirs, _ := filepath.Glob(os.Getenv("EXPLORE"))
	for _, dir := range dirs {
		sets, err := traceset.Find([]string{dir})
		if err != nil {
			t.Fatal(err)
		}
		ts, _, err := ingest.ReadSet(context.Background(), sets[0], ingest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t0 := time.Now()
		r, err := Analyze(ts, Options{})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("== %s  (%v) steps %d clocks %s\n", filepath.Base(dir), time.Since(t0), len(r.Steps), r.Source.Clocks)
		for _, f := range r.Findings {
			fmt.Printf("  %-6s %-11s %-8s %v %d-%d passing=%v cost %s | %s\n", f.Severity, f.Kind, f.Cause, f.Ranks, f.FirstStep, f.LastStep, f.Passing, metric.Duration(f.CostNSPerStep), f.Title)
			if os.Getenv("EV") != "" {
				for _, e := range f.Evidence {
					fmt.Println("        -", e.Text)
				}
			}
		}
		for _, tr := range r.Times {
			if tr.Compute+tr.ExposedComm+tr.ExposedCopy+tr.Idle != tr.Total {
				t.Error("parts != total", tr)
			}
			i := tr.IdleBy
			if i.Host+i.Sync+i.Launch+i.Device+i.Profiler+i.Unknown != tr.Idle {
				t.Error("idle parts != idle", tr)
			}
		}
	}
}
