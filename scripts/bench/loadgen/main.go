// Command loadgen compares stepscope's load generator with a client that has the same design as SGLang's bench_serving.
// See README.md one directory up.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/stepscope/stepscope/internal/measure/load/selftest"
	"github.com/stepscope/stepscope/scripts/bench/goal"
)

const part = "part" // the first argument of a child process

func main() {
	if len(os.Args) > 1 && os.Args[1] == part {
		os.Exit(selftest.Main(os.Args[2:]))
	}
	met, err := run()
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(2)
	}
	if !met {
		os.Exit(1)
	}
}

func run() (met bool, err error) {
	fs := flag.NewFlagSet("loadgen", flag.ContinueOnError)
	only := fs.String("only", "", "measure shapes whose name has this")
	tries := fs.Int("tries", 3, "times to try a shape until its goal is met")
	python := fs.String("python", "", "a Python with aiohttp, to run the peer")
	if err := fs.Parse(os.Args[1:]); err != nil {
		return false, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	exe, err := os.Executable()
	if err != nil {
		return false, err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "client\t"+strings.Join(selftest.RowHead, "\t"))
	measure := func(client string, shapes []selftest.Shape, peer []string, tries int) (*selftest.Report, error) {
		var some []selftest.Shape
		for _, s := range shapes {
			if strings.Contains(s.Name, *only) {
				s.Peer = peer != nil
				some = append(some, s)
			}
		}
		return selftest.Run(ctx, selftest.Options{
			Command: []string{exe, part}, Peer: peer, Shapes: some, Tries: tries,
			Row: func(r selftest.Row) {
				fmt.Fprintln(w, client+"\t"+strings.Join(r.Cells(), "\t"))
				fmt.Fprintln(os.Stderr, client, r.Shape.Name)
			},
		})
	}
	ours, err := measure("stepscope", selftest.Shapes(), nil, *tries)
	if err != nil {
		return false, err
	}
	var theirs *selftest.Report
	if *python != "" {
		if theirs, err = measure("peer", peerShapes(), []string{*python, "scripts/bench/loadgen_peer.py"}, 1); err != nil {
			return false, err
		}
	}
	w.Flush()
	if !ours.Realtime {
		fmt.Println("\nno real-time priority: other work of the machine is in these figures")
	}
	if !ours.Cores {
		fmt.Println("\nserver and client share a core: these figures are of both")
	}
	if theirs != nil {
		ratios(ours, theirs)
	}
	fmt.Println()
	for _, r := range ours.Rows {
		missed := ""
		if len(r.Missed) > 0 {
			missed = ": " + strings.Join(r.Missed, "; ")
		}
		goal.Say(r.Met, "loadgen: %s%s", r.Shape.Name, missed)
	}
	return !goal.Missed, nil
}

// peerShapes returns loads near the limit of an asyncio client.
func peerShapes() []selftest.Shape {
	var out []selftest.Shape
	for _, n := range []int{100, 200, 300, 400, 500, 600, 700} {
		out = append(out, selftest.Spread(n))
	}
	for _, s := range selftest.Shapes() {
		if s.Together || s.Period == 0 {
			s.Goal = selftest.Goal{}
			out = append(out, s)
		}
	}
	return append(out, selftest.Shape{Name: "2000 slow streams", Streams: 2000, Tokens: 35, Period: 200 * time.Millisecond, StartRate: 500})
}

// ratios prints the ratios of the figures of the two clients, for loads at which both were measured.
func ratios(ours, theirs *selftest.Report) {
	fmt.Println()
	a, rate := ours.Ceiling()
	b, theirRate := theirs.Ceiling()
	if a > 0 && b > 0 {
		fmt.Printf("streams with ITL error p99 <= 1 ms by reads: %d (%.0f events/s), peer %d (%.0f): %.1f times\n", a, rate, b, theirRate, float64(a)/float64(b))
	} else if a > 0 {
		fmt.Printf("streams with ITL error p99 <= 1 ms by reads: %d (%.0f events/s); the peer held no shape\n", a, rate)
	}
	for _, o := range ours.Rows {
		for _, t := range theirs.Rows {
			if o.Shape.Name != t.Shape.Name {
				continue
			}
			fmt.Printf("%s: CPU for an event 1/%.1f of the peer's", o.Shape.Name, t.CPUEvent()/o.CPUEvent())
			if o.Timing.Events > 0 && t.Timing.Events > 0 {
				fmt.Printf("; lag p99 %.1f µs by the kernel, %.0f µs by reads, the peer's %.0f µs", o.Timing.KernelLag99/1e3, o.Timing.UserLag99/1e3, t.Timing.UserLag99/1e3)
			} else {
				fmt.Printf("; sent late p99 %.0f µs, the peer %.0f µs", float64(o.Client.LateP99)/1e3, float64(t.Client.LateP99)/1e3)
			}
			fmt.Println()
		}
	}
}
