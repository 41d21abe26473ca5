// Command nsys measures how fast stepscope reads exports of Nsight Systems and compares it with nsys itself. The export
// is made longer by repeating its rows.
//
//	nsysbench SHORT.sqlite TIMES LONG_TIMES
package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/stepscope/stepscope/scripts/bench/goal"
)

const (
	rounds = 3
	// reports lists the summaries that are compared.
	reports = "cuda_gpu_kern_sum,cuda_api_sum,cuda_gpu_mem_time_sum,nvtx_sum"
	// faster is the minimum speed-up of the summaries over nsys, in wall time.
	faster = 10.0
	// analysed is the minimum speed-up of the complete analysis over nsys.
	analysed = 10.0
	// Maximum memory, in bytes, of the analysis of a long export and of the summaries of a long export.
	mostAnalysis, mostStats = 2.5e9, 100e6
)

func main() {
	if err := compare(); err != nil {
		fmt.Fprintln(os.Stderr, "nsysbench:", err)
		os.Exit(2)
	}
	if goal.Missed {
		os.Exit(1)
	}
}

func compare() error {
	if len(os.Args) != 4 {
		return fmt.Errorf("usage: nsysbench SHORT.sqlite TIMES LONG_TIMES")
	}
	dir, err := os.MkdirTemp(".bench", "nsys-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	nsys := cmp.Or(os.Getenv("STEPSCOPE_NSYS"), "nsys")
	db, long := filepath.Join(dir, "x.sqlite"), filepath.Join(dir, "long.sqlite")
	for i, to := range []string{db, long} {
		times, err := strconv.Atoi(os.Args[2+i])
		if err != nil || times < 1 {
			return fmt.Errorf("%s: give how often the export is repeated", os.Args[2+i])
		}
		if err := repeat(os.Args[1], to, times); err != nil {
			return err
		}
	}
	size := func(path string) string {
		st, err := os.Stat(path)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%.0f MB", float64(st.Size())/1e6)
	}
	fmt.Printf("%-44s %10s %10s %10s\n", "", "wall", "CPU", "memory")
	row := func(name string, c cost) {
		fmt.Printf("%-44s %8.2f s %8.2f s %7.0f MB\n", name, c.wall.Seconds(), c.cpu.Seconds(), c.memory/1e6)
	}
	// Run the subjects alternately, and keep the minimum time of each.
	subjects := []struct {
		name string
		args []string
	}{
		{"nsys stats, " + size(db), []string{nsys, "stats", "-q", "-f", "csv", "-r", reports, "-o", "-", db}},
		{"stepscope nsys stats, " + size(db), []string{"bin/stepscope", "nsys", "stats", "--format", "csv", "-r", reports, db}},
		{"stepscope analyze, " + size(db), []string{"bin/stepscope", "analyze", db, "--json"}},
	}
	best := make([]cost, len(subjects))
	for round := range rounds {
		for i, s := range subjects {
			c, err := measure(s.args)
			if err != nil {
				return err
			}
			if round == 0 || c.wall < best[i].wall {
				best[i] = c
			}
		}
	}
	for i, s := range subjects {
		row(s.name, best[i])
	}
	stats, err := measure([]string{"bin/stepscope", "nsys", "stats", "--format", "csv", "-r", reports, long})
	if err != nil {
		return err
	}
	row("stepscope nsys stats, "+size(long), stats)
	analysis, err := measure([]string{"bin/stepscope", "analyze", long, "--json"})
	if err != nil {
		return err
	}
	row("stepscope analyze, "+size(long), analysis)

	ratio := float64(best[0].wall) / float64(best[1].wall)
	goal.Say(ratio >= faster, "nsys: the same summaries %.1f times as fast as nsys stats (goal %.0f)", ratio, faster)
	ratio = float64(best[0].wall) / float64(best[2].wall)
	goal.Say(ratio >= analysed, "nsys: the whole analysis %.1f times as fast as nsys stats (goal %.0f)", ratio, analysed)
	goal.Say(stats.memory <= mostStats, "nsys: summaries of the long export in %.0f MB (goal %.0f)", stats.memory/1e6, mostStats/1e6)
	goal.Say(analysis.memory <= mostAnalysis, "nsys: analysis of the long export in %.0f MB (goal %.0f)", analysis.memory/1e6, mostAnalysis/1e6)
	return nil
}

type cost struct {
	wall, cpu time.Duration
	memory    float64 // peak resident set in bytes
}

// incomplete is the exit status of an analysis that omits part of a long export.
const incomplete = 3

func measure(args []string) (cost, error) {
	cmd := exec.Command(args[0], args[1:]...)
	start := time.Now()
	_, err := cmd.Output()
	wall := time.Since(start)
	if err != nil && (cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != incomplete) {
		return cost{}, fmt.Errorf("%v: %w", args, err)
	}
	use := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return cost{wall, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), float64(use.Maxrss) * 1024}, nil
}
