// Command healthy counts in how many healthy windows a rank is called late.
//
// See scripts/truth/healthy.sh.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/explaintest/retime"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// source is a capture to draw windows from.
type source struct {
	name string
	last int    // step; later ones were disturbed. -1: none were
	note string // what of it, or why not
}

var sources = []source{
	{"graphs", -1, "all steps"},
	{"stacks", -1, "all steps"},
	{"graph_work", 5, "the steps before rank 1 has more work"},
	{"g_device_r1", 5, "the steps before rank 1's device is shared"},
}

// uneven are captures in which a rank was late by nature. Drawn from, that goes to
// another rank in each step: the imbalance remains, and no rank is to blame for it.
var uneven = []source{
	{"balanced", -1, "rank 1's host is late in steps 5 to 8"},
	{"large", -1, "rank 0's host is late from about step 16 on"},
}

// unfit are captures that tell nothing of healthy ones.
var unfit = []source{
	{name: "compute_skew", note: "rank 2 has more work, and its host is late from the second step on"},
	{name: "g_mixed", note: "both ranks were disturbed, from the fifth step on"},
	{name: "sglang_shared", note: "rank 1's device is shared in all steps"},
	{name: "sglang_stops", note: "rank 1's scheduler is stopped now and again"},
	{name: "sglang_plain", note: "rank 1's host is late in all steps, and hosts wait for each other where no trace shows it"},
	{name: "sglang_moe", note: "rank 0 has more work in each step"},
	{name: "sglang_stack", note: "two steps"},
	{name: "sglang_stage", note: "one step"},
}

// leastSteps is how many a window has at least that is a part of a capture.
const leastSteps = 5

func main() {
	windows := flag.Int("windows", 1000, "how many windows, of all sources together")
	seed := flag.Uint64("seed", 1, "of what is drawn")
	only := flag.String("only", "", "draw from the captures whose name has this in it")
	late := flag.Bool("uneven", false, "draw from captures in which a rank was late by nature, too; they do not count")
	pause := flag.Float64("pause", 0.15, "to see that who is late is found: a rank's host pauses in each step for this share of it, in as many windows again; 0: not tried")
	examples := flag.Int("examples", 3, "false findings to show of each capture")
	flag.Parse()
	log.SetFlags(0)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "capture\tranks\tsteps\twindows\twith a late rank\tshare\tpaused found\tfindings\tof it")
	var shown []string
	healthy := draw(w, sources, *only, *windows, *seed, *pause, *examples, &shown)
	for _, dir := range flag.Args() {
		t := tally{}
		if err := t.recorded(dir, *examples); err != nil {
			log.Fatalf("healthy: %s: %v", dir, err)
		}
		fmt.Fprintf(w, "%s\t\t\t%s\tas recorded\n", dir, t.row())
		healthy.add(t)
		shown = append(shown, t.examples...)
	}
	fmt.Fprintf(w, "all\t\t\t%s\t\n", healthy.row())
	without := slices.Concat(uneven, unfit)
	if *late {
		draw(w, uneven, *only, *windows, *seed, *pause, *examples, &shown)
		without = unfit
	}
	w.Flush()
	fmt.Println("\nleft out:")
	for _, s := range without {
		fmt.Printf("  %s: %s\n", s.name, s.note)
	}
	if len(shown) > 0 {
		fmt.Println("\nexamples:")
	}
	for _, e := range shown {
		fmt.Println("  " + e)
	}
	if 20*healthy.wrong > healthy.windows {
		fmt.Println("\nmore than 5 % of the healthy windows have a late rank: too many")
		os.Exit(1)
	}
}

// draw tries as many windows of the captures that are there, and prints a row of each.
func draw(w io.Writer, from []source, only string, windows int, seed uint64, pause float64, examples int, shown *[]string) (all tally) {
	from = slices.DeleteFunc(slices.Clone(from), func(s source) bool { return !strings.Contains(s.name, only) || dirOf(s.name) == "" })
	for i, s := range from {
		// Each gets its share of what is left to do.
		t, ranks, steps, err := s.try((windows-all.windows)/(len(from)-i), seed, pause, examples)
		if err != nil {
			log.Fatalf("healthy: %s: %v", s.name, err)
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\n", s.name, ranks, steps, t.row(), s.note)
		all.add(t)
		*shown = append(*shown, t.examples...)
	}
	return all
}

// tally counts findings that blame ranks of healthy windows.
type tally struct {
	windows, wrong int
	by             map[string]int // windows, by severity and cause
	paused, found  int            // windows in which a rank's host pauses, and in how many of them that is found
	examples       []string
}

func (t *tally) add(o tally) {
	t.windows, t.wrong = t.windows+o.windows, t.wrong+o.wrong
	t.paused, t.found = t.paused+o.paused, t.found+o.found
	for k, n := range o.by {
		t.count(k, n)
	}
}

func (t *tally) count(kind string, n int) {
	if t.by == nil {
		t.by = map[string]int{}
	}
	t.by[kind] += n
}

func percent(n, of int) string { return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(max(of, 1))) }

// row is how many windows there were, how many have a late rank, and which findings.
func (t *tally) row() string {
	keys := slices.SortedFunc(maps.Keys(t.by), func(a, b string) int { return cmp.Or(cmp.Compare(t.by[b], t.by[a]), cmp.Compare(a, b)) })
	for i, k := range keys {
		keys[i] = fmt.Sprintf("%d %s", t.by[k], k)
	}
	found := ""
	if t.paused > 0 {
		found = percent(t.found, t.paused)
	}
	return fmt.Sprintf("%d\t%d\t%s\t%s\t%s", t.windows, t.wrong, percent(t.wrong, t.windows), found, strings.Join(keys, ", "))
}

// dirOf is where a capture lies; "": nowhere.
func dirOf(name string) string {
	for _, root := range []string{"testdata/traces", filepath.Join(os.Getenv("STEPSCOPE_DATA"), "traces")} {
		if dir := filepath.Join(root, name); exists(dir) {
			return dir
		}
	}
	return ""
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// try draws windows from a capture and counts what is found in them.
func (s source) try(windows int, seed uint64, pause float64, examples int) (t tally, ranks, steps int, err error) {
	sets, err := set.Find([]string{dirOf(s.name)})
	if err != nil {
		return t, 0, 0, err
	}
	ts, err := ranksOf(sets[0])
	if err != nil {
		return t, 0, 0, err
	}
	if s.last >= 0 {
		for _, tr := range ts {
			retime.Keep(tr, 0, s.last)
		}
	}
	for n := range windows {
		window, length, err := s.window(ts, rand.New(rand.NewPCG(seed, uint64(n))), -1, 0)
		if err != nil {
			return t, 0, 0, err
		}
		steps = max(steps, length)
		if err := t.window(s.name, n, window, examples); err != nil {
			return t, 0, 0, err
		}
		if pause == 0 {
			continue
		}
		late := n % len(ts)
		if window, _, err = s.window(ts, rand.New(rand.NewPCG(seed, uint64(n))), late, pause); err != nil {
			return t, 0, 0, err
		}
		r, err := explain.Analyze(window, explain.Options{})
		if err != nil {
			return t, 0, 0, err
		}
		t.paused++
		if slices.ContainsFunc(r.Findings, func(f result.Finding) bool { return f.Kind == result.Straggler && slices.Equal(f.Ranks, []int{late}) }) {
			t.found++
		}
	}
	return t, len(ts), steps, nil
}

// window draws one, in which the host of rank late, if that is not -1, pauses in each
// step for a share of the capture's median.
func (s source) window(ts []*trace.Trace, random *rand.Rand, late int, pause float64) (window []*trace.Trace, steps int, err error) {
	m := retime.New(ts)
	m.Resample(random)
	if late >= 0 {
		ns := int64(pause * float64(m.Period()))
		for step := range m.Steps {
			m.Pause(late, step, ns)
		}
	}
	if window, err = m.Run(); err != nil {
		return nil, 0, err
	}
	if random.IntN(2) == 1 && m.Steps > leastSteps { // a window is not always as long
		length := leastSteps + random.IntN(m.Steps-leastSteps)
		first := random.IntN(m.Steps - length + 1)
		for _, tr := range window {
			retime.Keep(tr, first, first+length-1)
		}
	}
	return window, m.Steps, nil
}

// recorded counts what is found in the windows of a directory as they are: those of
// a server on which nobody was late.
func (t *tally) recorded(dir string, examples int) error {
	sets, err := set.Find([]string{dir})
	if err != nil {
		return err
	}
	for n, s := range sets {
		ts, err := ranksOf(s)
		if err != nil {
			return err
		}
		if err := t.window(s.ID, n, ts, examples); err != nil {
			return err
		}
	}
	return nil
}

func ranksOf(s set.Set) ([]*trace.Trace, error) {
	ts, failures, err := read.ReadSet(context.Background(), s, read.Options{})
	for _, f := range failures {
		err = errors.Join(err, fmt.Errorf("%s: %w", f.Path, f.Err))
	}
	return ts, err
}

// window counts what is found in one.
func (t *tally) window(name string, n int, window []*trace.Trace, examples int) error {
	r, err := explain.Analyze(window, explain.Options{})
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, f := range r.Findings {
		if f.Kind != result.Straggler || len(f.Ranks) == 0 {
			continue
		}
		if kind := f.Severity + " " + f.Cause; !seen[kind] {
			seen[kind] = true
			t.count(kind, 1)
		}
		if len(t.examples) < examples {
			t.examples = append(t.examples, fmt.Sprintf("%s, window %d: %s, costs %s a step: %s", name, n, f.Severity, metric.Duration(f.CostNSPerStep), report.Words(f.Title)))
		}
	}
	t.windows++
	if len(seen) > 0 {
		t.wrong++
	}
	return nil
}
