// Command whatif compares the predicted worth of findings with measurements. It measures the duration of steps without
// the faults.
//
// See scripts/truth/whatif.sh.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/set"
)

const (
	mostOff    = 0.013 // maximum median error for unchanged steps
	mostOffP90 = 0.05
	mostWrong  = 0.03 // maximum median error for scenarios
	// untold is the error that is counted for a scenario or capture without a prediction.
	untold = 1.0
)

func main() {
	n := flag.Int("scenarios", len(scenarios), "how many of the scenarios to run, from the first on")
	only := flag.String("only", "", "those whose name has this in it")
	keep := flag.String("keep", "", "keep the captures there")
	flag.Parse()
	log.SetFlags(0)
	var dirs []string
	for _, root := range append([]string{"testdata/traces"}, flag.Args()...) {
		dirs = append(dirs, dirsIn(root)...)
	}
	if data := os.Getenv("STEPSCOPE_DATA"); data != "" {
		for _, dir := range dirsIn(filepath.Join(data, "traces")) {
			// Some of these captures are also in testdata. Leave these out, so that no capture counts twice.
			if !slices.Contains(dirs, filepath.Join("testdata/traces", filepath.Base(dir))) {
				dirs = append(dirs, dir)
			}
		}
	}
	good := unchanged(dirs)
	good = changed(scenarios[:min(*n, len(scenarios))], *only, *keep) && good
	if !good {
		os.Exit(1)
	}
}

func dirsIn(root string) []string {
	dirs, _ := filepath.Glob(filepath.Join(root, "*"))
	return dirs
}

// unchanged replays the captures without changes.
func unchanged(dirs []string) bool {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "capture\tsteps\toff, median\tp90\tunexplained")
	var offs, p90 []float64
	captures := 0
	for _, dir := range dirs {
		r, err := analyze(dir)
		if err != nil {
			log.Fatalf("whatif: %s: %v", dir, err)
		}
		x := r.Replay
		switch {
		case x.Steps < 3 && !x.Known:
			fmt.Fprintf(w, "%s\t%d\ttoo few steps with GPU work to compare\n", filepath.Base(dir), x.Steps)
			continue
		case !x.Known:
			x.Off, x.OffP90 = untold, untold
		}
		captures++
		for range x.Steps { // all steps have the same weight, so a longer capture counts more
			offs, p90 = append(offs, x.Off), append(p90, x.OffP90)
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\n", filepath.Base(dir), x.Steps, percent(x.Off), percent(x.OffP90), percent(x.Unexplained))
	}
	w.Flush()
	slices.Sort(offs)
	slices.Sort(p90)
	if len(offs) == 0 {
		log.Fatal("whatif: no captures")
	}
	off, high := metric.Quantile(offs, 0.5), metric.Quantile(p90, 0.9)
	fmt.Printf("unchanged, %d captures weighted by steps: %s at the median, the 90th percentiles at most %s in nine of ten\n\n", captures, percent(off), percent(high))
	return off <= mostOff && high <= mostOffP90
}

// changed runs the scenarios.
func changed(list []scenario, only, keep string) bool {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "scenario\tstep with it\twithout, predicted\tinterval\twithout, measured\toff\tfinding")
	var offs []float64
	for _, s := range list {
		if !strings.Contains(s.name(), only) {
			continue
		}
		row, err := s.run(keep)
		if err != nil {
			log.Fatalf("whatif: %s: %v", s.name(), err)
		}
		offs = append(offs, math.Abs(row.off))
		if row.finding == nil {
			fmt.Fprintf(w, "%s\t%s\t–\t–\t%s\tnothing is said\t%s\n", s.name(), metric.Duration(row.with), metric.Duration(row.without), row.why)
			continue
		}
		x := row.finding.Worth
		fmt.Fprintf(w, "%s\t%s\t%s\t%s … %s\t%s\t%+.1f %%\t%s\n", s.name(), metric.Duration(row.with), metric.Duration(x.Without), metric.Duration(x.Low), metric.Duration(x.High),
			metric.Duration(row.without), 100*row.off, row.finding.ID)
	}
	w.Flush()
	if len(offs) == 0 {
		return true
	}
	slices.Sort(offs)
	off := metric.Quantile(offs, 0.5)
	fmt.Printf("%d scenarios: %s off at the median, %s at the 90th percentile\n", len(offs), percent(off), percent(metric.Quantile(offs, 0.9)))
	return off <= mostWrong
}

func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

// analyze explains the first capture of a directory.
func analyze(dir string) (*result.Report, error) {
	sets, err := set.Find([]string{dir})
	if err != nil {
		return nil, err
	}
	ts, failures, err := read.ReadSet(context.Background(), sets[0], read.Options{})
	for _, f := range failures {
		err = errors.Join(err, fmt.Errorf("%s: %w", f.Path, f.Err))
	}
	if err != nil {
		return nil, err
	}
	return explain.Analyze(ts, explain.Options{ID: sets[0].ID})
}
