// Command healthy counts the healthy windows in which the analysis blames a rank. A rank is blamed if it is called late
// with medium severity or more.
//
// See scripts/truth/healthy.sh.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// source is a capture from which healthy windows are drawn.
type source struct {
	name  string
	last  int    // last undisturbed step; -1: all steps are undisturbed
	wide  int    // number of ranks; 0: the number in the capture
	eager bool   // whether the devices always wait for the hosts
	long  int    // least number of steps; 0: the number in the capture
	loose loose  // delays of hosts that do not wait for devices or other hosts
	note  string // part of the capture that is used, or the reason for which it is not used
}

// loose holds the mean delay of a host per step, as a share of a step, and the share of a deviation from the mean that
// lasts into the next step.
type loose struct{ mean, memory float64 }

var sources = []source{
	{name: "graphs", last: -1, note: "all steps"},
	{name: "graphs", last: -1, wide: 8, note: "all steps, as on 8 ranks"},
	{name: "stacks", last: -1, eager: true, note: "all steps"},
	{name: "graph_work", last: 5, note: "the steps before rank 1 has more work"},
	{name: "g_device_r1", last: 5, note: "the steps before rank 1's device is shared"},
	{name: "sglang_plain", last: -1, note: "a real SGLang, all steps: hosts wait for each other in gloo"},
	{name: "balanced", last: -1, eager: true, long: 12, loose: loose{0.1, 0}, note: "hosts loosely coupled, delays of 10 ± 10 % of a step"},
	{name: "balanced", last: -1, eager: true, long: 12, loose: loose{0.1, 0.8}, note: "hosts loosely coupled, the delays a slow random walk"},
	{name: "stacks", last: -1, eager: true, long: 12, loose: loose{0.1, 0}, note: "hosts loosely coupled, delays of 10 ± 10 % of a step"},
	{name: "stacks", last: -1, eager: true, long: 12, loose: loose{0.1, 0.8}, note: "hosts loosely coupled, the delays a slow random walk"},
	{name: "sglang_plain", last: -1, long: 12, loose: loose{0.1, 0}, note: "hosts loosely coupled, delays of 10 ± 10 % of a step"},
	{name: "sglang_plain", last: -1, long: 12, loose: loose{0.1, 0.8}, note: "hosts loosely coupled, the delays a slow random walk"},
}

// uneven lists captures in which one rank was late for inherent reasons. Drawing assigns the lateness to a different
// rank in each step. Therefore the imbalance remains, but no rank causes it.
var uneven = []source{
	{name: "balanced", last: -1, eager: true, note: "rank 1's host is late in steps 5 to 8"},
	{name: "large", last: -1, eager: true, note: "rank 0's host is late from about step 16 on"},
}

// unfit lists captures that cannot be used as healthy captures.
var unfit = []source{
	{name: "compute_skew", note: "rank 2 has more work, and its host is late from the second step on"},
	{name: "g_mixed", note: "both ranks were disturbed, from the fifth step on"},
	{name: "sglang_shared", note: "rank 1's device is shared in all steps"},
	{name: "sglang_stops", note: "rank 1's scheduler is stopped now and again"},
	{name: "sglang_moe", note: "rank 0 has more work in each step"},
	{name: "sglang_stack", note: "two steps"},
	{name: "sglang_stage", note: "one step"},
}

// leastSteps is the minimum number of steps in a window that is shorter than its capture.
const leastSteps = 5

var verbose = flag.Bool("v", false, "show the findings in windows in which a delayed rank is not found")

func main() {
	windows := flag.Int("windows", 1200, "how many windows, of all sources together")
	seed := flag.Uint64("seed", 1, "of what is drawn")
	only := flag.String("only", "", "draw from the captures whose name has this in it")
	late := flag.Bool("uneven", false, "draw a tenth more, from captures in which a rank was late by nature; they count apart")
	power := flag.Int("power", 0, "how many windows to draw for each base, cause and size of a delay that one rank has")
	steps := flag.Int("steps", 12, "how many steps these windows have")
	sizes := flag.String("sizes", "0.1,0.2", "the sizes of the delays, as shares of a step, separated by commas")
	examples := flag.Int("examples", 3, "false findings to show of each capture")
	flag.Parse()
	log.SetFlags(0)
	w := &rows{}
	w.row("capture", "ranks", "steps", "windows", "blamed", "share (95 %)", "low in", "held back in", "imbalance in", "of it")
	var shown []string
	healthy := draw(w, sources, *only, *windows, *seed, *examples, &shown)
	for _, dir := range flag.Args() {
		t := tally{}
		if err := t.recorded(dir, *examples); err != nil {
			log.Fatalf("healthy: %s: %v", dir, err)
		}
		w.row(slices.Concat([]string{filepath.Base(dir), "", ""}, t.row(), []string{"as recorded"})...)
		healthy.add(t)
		shown = append(shown, t.examples...)
	}
	w.row(slices.Concat([]string{"all", "", ""}, healthy.row(), []string{""})...)
	without := slices.Concat(uneven, unfit)
	if *late {
		draw(w, uneven, *only, *windows/10, *seed, *examples, &shown)
		without = unfit
	}
	w.print()
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
	if *power > 0 {
		fmt.Println()
		if err := showPower(*power, *steps, sharesIn(*sizes), *only, *seed); err != nil {
			log.Fatal("healthy: ", err)
		}
	}
	if 20*healthy.wrong > healthy.windows {
		fmt.Println("\na rank is blamed in more than 5 % of the healthy windows: too many")
		os.Exit(1)
	}
}

// sharesIn returns the numbers of a list separated by commas.
func sharesIn(list string) (out []float64) {
	for text := range strings.SplitSeq(list, ",") {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			log.Fatalf("healthy: -sizes %s: %v", list, err)
		}
		out = append(out, x)
	}
	return out
}

// rows is a Markdown table.
type rows struct{ all [][]string }

func (r *rows) row(cells ...string) { r.all = append(r.all, cells) }

func (r *rows) print() {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 0, ' ', 0)
	for i, cells := range r.all {
		fmt.Fprintln(w, "| "+strings.Join(cells, "\t | ")+"\t |")
		if i == 0 {
			fmt.Fprintln(w, "| "+strings.TrimSuffix(strings.Repeat("---\t | ", len(cells)), " "))
		}
	}
	w.Flush()
}

// draw draws and tests the same number of windows from each available capture, and adds a table row for each capture.
func draw(w *rows, from []source, only string, windows int, seed uint64, examples int, shown *[]string) (all tally) {
	from = there(from, only)
	for i, s := range from {
		// Each capture gets an equal share of the remaining windows.
		t, ranks, steps, err := s.try((windows-all.windows)/(len(from)-i), seed, examples)
		if err != nil {
			log.Fatalf("healthy: %s: %v", s.name, err)
		}
		w.row(slices.Concat([]string{s.name, fmt.Sprint(ranks), fmt.Sprint(steps)}, t.row(), []string{s.note})...)
		all.add(t)
		*shown = append(*shown, t.examples...)
	}
	return all
}

// there returns the captures that can be read and whose names contain the text only.
func there(from []source, only string) []source {
	return slices.DeleteFunc(slices.Clone(from), func(s source) bool { return !strings.Contains(s.name, only) || dirOf(s.name) == "" })
}

// tally counts healthy windows and the findings in them that call a rank late.
type tally struct {
	windows, wrong   int // all windows; windows that blame a rank
	low, held, turns int // windows with a low-severity late rank, with chance as explanation, with turns
	examples         []string
}

func (t *tally) add(o tally) {
	t.windows, t.wrong, t.low, t.held, t.turns = t.windows+o.windows, t.wrong+o.wrong, t.low+o.low, t.held+o.held, t.turns+o.turns
}

func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

// wilson formats the proportion k/of with its 95 % confidence interval (Wilson 1927).
func wilson(k, of int) string {
	if of == 0 {
		return ""
	}
	const z = 1.959964
	n, p := float64(of), float64(k)/float64(of)
	middle := (p + z*z/(2*n)) / (1 + z*z/n)
	reach := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return fmt.Sprintf("%s (%s to %s)", percent(p), percent(max(0, middle-reach)), percent(min(1, middle+reach)))
}

func (t *tally) row() []string {
	return []string{fmt.Sprint(t.windows), fmt.Sprint(t.wrong), wilson(t.wrong, t.windows), fmt.Sprint(t.low), fmt.Sprint(t.held), fmt.Sprint(t.turns)}
}

// dirOf returns the directory of the capture with the given name, or "".
func dirOf(name string) string {
	for _, root := range []string{"testdata/traces", filepath.Join(os.Getenv("STEPSCOPE_DATA"), "traces")} {
		if dir := filepath.Join(root, name); exists(dir) {
			return dir
		}
	}
	return ""
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// try draws windows from a capture and counts the findings in them.
func (s source) try(windows int, seed uint64, examples int) (t tally, ranks, steps int, err error) {
	ts, err := s.read()
	if err != nil {
		return t, 0, 0, err
	}
	b := base{source: s, pool: retime.New(ts), long: ts}
	if s.long > 0 {
		b.long = retime.Lengthen(ts, s.long)
	}
	for n := range windows {
		random := rand.New(rand.NewPCG(seed, uint64(n)))
		m := retime.New(b.long)
		m.ResampleFrom(b.pool, random)
		if s.loose.mean > 0 {
			m.Loosen(random, int64(s.loose.mean*float64(m.Period())), s.loose.memory)
		}
		steps = m.Steps
		window, err := m.Run()
		if err != nil {
			return t, 0, 0, err
		}
		if random.IntN(2) == 1 && steps > leastSteps { // half of the windows are shorter
			length := leastSteps + random.IntN(steps-leastSteps)
			first := random.IntN(steps - length + 1)
			for _, tr := range window {
				retime.Keep(tr, first, first+length-1)
			}
		}
		if err := t.window(s.name, n, window, examples); err != nil {
			return t, 0, 0, err
		}
	}
	return t, len(ts), steps, nil
}

// read reads the undisturbed steps of a capture.
func (s source) read() ([]*trace.Trace, error) {
	sets, err := set.Find([]string{dirOf(s.name)})
	if err != nil {
		return nil, err
	}
	ts, err := ranksOf(sets[0])
	if err != nil {
		return nil, err
	}
	if s.last >= 0 {
		for _, tr := range ts {
			retime.Keep(tr, 0, s.last)
		}
	}
	if s.wide > 0 {
		ts = retime.Wide(ts, s.wide)
	}
	return ts, nil
}

// recorded counts the findings in the windows of a directory. These windows were recorded on a server without late
// ranks and are used unchanged.
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

// window counts the findings in one window.
func (t *tally) window(name string, n int, window []*trace.Trace, examples int) error {
	r, err := explain.Analyze(window, explain.Options{})
	if err != nil {
		return err
	}
	wrong, low, turns := false, false, false
	for i := range r.Findings {
		f := &r.Findings[i]
		turns = turns || strings.HasPrefix(f.ID, "imbalance-")
		if !blames(f) {
			continue
		}
		if f.Severity == "low" {
			low = true
			continue
		}
		wrong = true
		if len(t.examples) < examples {
			p := "not tested" // the window is too short, or chance does not apply: docs/metrics.md, Chance
			if f.P > 0 {
				p = fmt.Sprintf("p %.2g", f.P)
			}
			t.examples = append(t.examples, fmt.Sprintf("%s, window %d: %s, %s, costs %s a step: %s", name, n, f.Severity, p, metric.Duration(f.CostNSPerStep), report.Words(f.Title)))
		}
	}
	t.windows++
	for yes, count := range map[*int]bool{&t.wrong: wrong, &t.low: low, &t.turns: turns, &t.held: r.Chance.HeldBack > 0} {
		if count {
			*yes++
		}
	}
	return nil
}

// blames reports whether a finding calls a rank late.
func blames(f *result.Finding) bool { return strings.HasPrefix(f.ID, result.Straggler+"-") }
