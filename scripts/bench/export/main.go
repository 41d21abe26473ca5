// Command export measures the duration of decode steps while the traces of a profiling window are written and merged in
// the background.
//
// See scripts/bench/export.sh.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/scripts/bench/goal"
)

// setup is one engine to measure.
type setup struct {
	name      string
	overrides string // members that replace those of builtin:llama-tiny's configuration
	tp        int
}

// wide is a model whose decode steps take several milliseconds.
const wide = `{"hidden_size": 1024, "num_hidden_layers": 8, "intermediate_size": 3072, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 64}`

var setups = []setup{
	{"llama-tiny TP 1", "", 1},
	{"llama-tiny TP 2", "", 2},
	{"wide TP 1", wide, 1},
	{"wide TP 2", wide, 2},
}

func main() {
	o := options{}
	flag.IntVar(&o.rounds, "rounds", 20, "windows to record for each engine")
	flag.IntVar(&o.steps, "steps", 200, "steps of a window")
	flag.IntVar(&o.batch, "batch", 4, "sequences that decode together")
	flag.BoolVar(&o.merge, "merge", true, "merge the files of a window")
	flag.BoolVar(&o.stack, "stack", true, "record stacks")
	flag.BoolVar(&o.mem, "mem", false, "record memory too")
	only := flag.String("only", "", "measure the engines whose name has this in it")
	flag.Parse()
	log.SetFlags(0)
	const head = "engine\tphase\tsteps\tp50 ms\tp99 ms\tp99.9 ms\tmax ms\tp50 more\tp99 more\tmax more\tover 2 steps\t"
	for _, s := range setups {
		if !strings.Contains(s.name, *only) {
			continue
		}
		m, err := measure(context.Background(), s, o)
		if err != nil {
			log.Fatalf("export: %s: %v", s.name, err)
		}
		w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(w, head)
		m.print(w, s.name)
	}
}

// print writes a line for each phase and reports whether the goal is met. The column "more" compares the steps of a
// phase with the quiet steps before and after the windows. The values in this column are fractions of the median of the
// quiet steps.
func (m *result) print(w *tabwriter.Writer, name string) {
	quiet := slices.Concat(m.took[beforePhase], m.took[afterPhase])
	for _, took := range append(m.took[:], quiet, m.exports) {
		slices.Sort(took)
	}
	unit := metric.Quantile(quiet, 0.5)
	more := func(took []time.Duration, q float64) float64 {
		return (metric.Quantile(took, q) - metric.Quantile(quiet, q)) / unit
	}
	for p, took := range m.took {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%+.2f\t%+.2f\t%+.2f\t%.2f%%\t\n", name, phaseNames[p], len(took),
			ms(metric.Quantile(took, 0.5)), ms(metric.Quantile(took, 0.99)), ms(metric.Quantile(took, 0.999)), ms(metric.Quantile(took, 1)),
			more(took, 0.5), more(took, 0.99), more(took, 1), 100*longer(took, time.Duration(2*unit)))
	}
	w.Flush()
	fmt.Printf("%s: files took %s ms (median of %d)\n", name, ms(metric.Quantile(m.exports, 0.5)), len(m.exports))
	for _, g := range []struct {
		name string
		q    float64
	}{{"p99", 0.99}, {"the longest", 1}} {
		x := more(m.took[writePhase], g.q)
		goal.Say(x <= 1, "export, %s: steps while files are written, %s: %+.2f steps of %s ms more than quiet (goal 1)", name, g.name, x, ms(unit))
	}
	fmt.Println()
}

// longer returns the fraction of the durations in took that exceed the duration than.
func longer(took []time.Duration, than time.Duration) float64 {
	n := 0
	for _, d := range took {
		if d > than {
			n++
		}
	}
	return float64(n) / float64(max(len(took), 1))
}

func ms(ns float64) string { return fmt.Sprintf("%.2f", ns/1e6) }
