package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/measure/load/selftest"
)

// benchSelftestCmd is "bench selftest".
type benchSelftestCmd struct {
	Tries int `name:"tries" limits:"1.." default:"3" help:"Tries per shape; the best one counts, since other work on the machine can only make it worse."`
}

// Help returns the end of the verb's help text.
func (c *benchSelftestCmd) Help() string {
	return `Loads a mock server that reports when it sent each event, and prints how many streams this machine can time, and how accurately. Linux only.

Examples:
  stepscope bench selftest
  stepscope bench selftest --tries 1`
}

// Run measures how well this machine serves as the client of a benchmark.
func (c *benchSelftestCmd) Run(ctx context.Context, e *env) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	var rows [][]string
	rep, err := selftest.Run(ctx, selftest.Options{
		Command: []string{exe, "bench", "mock"}, Tries: c.Tries,
		Row: func(r selftest.Row) {
			rows = append(rows, r.Cells())
			fmt.Fprintf(e.stderr, "%s measured\n", r.Cells()[0])
		},
	})
	if err != nil {
		return err
	}
	if err := columns.Left(e.stdout, append([][]string{selftest.RowHead}, rows...)); err != nil {
		return err
	}
	streams, rate := rep.Ceiling()
	fmt.Fprintf(e.stdout, "\nOne core of this machine times %d streams, %.0f events a second, to 1 ms without the kernel's help.\n", streams, rate)
	if !rep.Cores {
		fmt.Fprintln(e.stdout, "Server and client shared a core; with two cores the figures would be better.")
	}
	if !rep.Realtime {
		fmt.Fprintln(e.stdout, "These figures include delays from other work on the machine, because real-time priority is not permitted.")
	}
	return nil
}

// benchMockCmd runs the mock server of the self test in a separate process.
type benchMockCmd struct {
	Args []string `arg:"" optional:"" passthrough:""`
}

// Run serves the mock API.
func (c *benchMockCmd) Run() error {
	os.Exit(selftest.Main(c.Args))
	return nil
}
