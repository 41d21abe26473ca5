//go:build linux && amd64 && !noasm

// Command engine measures the engine on a Llama shape of 191 M parameters, in bf16. Each line compares the engine with
// the machine's limit or with another reference. The line's figure is a fraction of that limit or reference. The two
// measurements of a line run alternately.
//
// See scripts/bench/engine.sh.
package main

import (
	"flag"
	"fmt"
	"log"
	"runtime"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/reference/engine/model"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
	"github.com/stepscope/stepscope/scripts/bench/goal"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("engine: ")
	budget := flag.Duration("time", 4*time.Second, "how long to sample each line")
	most := flag.Int("workers", min(2, runtime.NumCPU()), "measure with 1 to so many workers")
	kernels := flag.Bool("kernels", false, "measure matrix products alone, on one core")
	only := flag.String("only", "", "lines with this in their name, no others")
	flag.Parse()
	if tensor.Current() == tensor.Generic {
		log.Fatalf("level %s: no kernels of its own to measure", tensor.Current())
	}
	cfg := must(model.ParseConfig([]byte(shape), nil))
	t := &table{budget: *budget, only: *only}
	fmt.Printf("level %s, %d processors\n", tensor.Current(), runtime.NumCPU())
	fmt.Printf(columns, "figure", "workers", "measured", "", "beside it", "", "fraction", "goal", "clean pairs", "all pairs", "")
	if *kernels {
		t.workers = 1
		t.kernels(newMachine(1))
		t.judge()
		return
	}
	for n := 1; n <= *most; n++ {
		t.workers = n
		t.measure(cfg, newMachine(n))
	}
	t.judge()
}

// judge prints, for each line that has a goal, whether the goal is met.
func (t *table) judge() {
	fmt.Println()
	for _, g := range t.goals {
		goal.Say(g.got >= g.want, "engine: %s, %d workers: %.3f (goal %.2f)%s", g.what, g.workers, g.got, g.want, g.noisy)
	}
}

// judged is a line with a goal.
type judged struct {
	what      string
	workers   int
	got, want float64
	noisy     string
}

func (t *table) measure(cfg *model.Config, m *machine) {
	w := work{cfg}
	format := tensor.BF16 // at this level, products of bf16 pairs use the arithmetic of BF16
	if tensor.Current() == tensor.AVX512BF16 {
		format = tensor.BF16Dot
	}

	a := newProduct(tensor.BF16Dot, 4096, 4096, promptLen)
	t.row(line{"GEMM 512×4096×4096", "GFLOP/s", a.flops() / 1e9, a.run(m.n), "multiply-adds", a.flops() / 1e9, m.compute(format, a.flops()), 0.75})

	s := newSubject(cfg, m.n, false)
	flops, bytes := w.flops(promptLen), w.bytes(before)
	t.row(line{"prefill of 512", "GFLOP/s", flops / 1e9, s.prefill(), "multiply-adds", flops / 1e9, m.compute(format, flops), 0.65})
	t.row(line{"decode", "GB/s", bytes / 1e9, s.decode(1, 1), "reading memory", bytes / 1e9, m.read(bytes), 0.90})
	t.row(line{"decode, batch of 16", "tokens/s", many, s.decode(many, 1), "alone", 1, s.decode(1, 1), 8})
	t.row(line{"decode, recorded", "tokens/s", window, s.recorded(true), "not recorded", window, s.decode(1, window), 0.98})
	e := newServed(cfg, m.n)
	t.row(line{"decode, by the engine", "tokens/s", window, e.decode(window), "without it", window, s.decode(1, window), 0})
	e.close()
	s.close()

	t.pictures(m.n)

	s = newSubject(cfg, m.n, true)
	t.row(line{"decode op by op, recorded", "tokens/s", window, s.recorded(true), "not recorded", window, s.decode(1, window), 0.98})
	t.row(line{"same, without stacks", "tokens/s", window, s.recorded(false), "not recorded", window, s.decode(1, window), 0.98})
	s.close()
}

// line compares a job with a reference job. It also has the number of units of work in each of the two jobs.
type line struct {
	what, unit string
	done       float64
	job        job
	beside     string
	besideDone float64
	besideJob  job
	goal       float64 // minimum fraction; 0: none
}

const columns = "%-25s %7v %10s %-8s %10s %-14s %8s %5s  %-11s %9s  %s\n"

type table struct {
	budget  time.Duration
	only    string
	workers int
	goals   []judged
}

func (t *table) row(l line) {
	if !strings.Contains(l.what, t.only) {
		return
	}
	all, p := alternate(t.workers, t.budget, l.besideJob, l.job)
	clean, noisy := fmt.Sprintf("%d of %d", len(p.a), len(all.a)), ""
	if len(p.a) < fewest {
		p, noisy = all, " NOISY"
	}
	scale := l.done / l.besideDone
	want, verdict := "", ""
	if l.goal > 0 {
		want, verdict = fmt.Sprintf("%.2f", l.goal), "ok"
		if p.ratio()*scale < l.goal {
			verdict = "MISSED"
		}
		t.goals = append(t.goals, judged{l.what, t.workers, p.ratio() * scale, l.goal, noisy})
	}
	rate := func(done float64, ns []float64) string { return fmt.Sprintf("%.1f", done/metric.Median(ns)*1e9) }
	fraction := func(p pairs) string { return fmt.Sprintf("%.3f", p.ratio()*scale) }
	fmt.Printf(columns, l.what, t.workers, rate(l.done, p.b), l.unit, rate(l.besideDone, p.a), l.beside,
		fraction(p), want, clean, fraction(all), strings.TrimSpace(verdict+noisy))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func must[T any](v T, err error) T {
	check(err)
	return v
}
