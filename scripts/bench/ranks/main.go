// Command ranks measures an analysis at scale. It measures one task of "analyze --on slurm", which summarises some of
// the ranks. It also measures the final step, which joins all summaries. Both are compared with an analysis on one
// machine that reads all files.
//
// See scripts/bench/ranks.sh.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/explain/window"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/internal/tracefile/kineto"
	"github.com/stepscope/stepscope/scripts/bench/goal"
)

func main() {
	log.SetFlags(0)
	program := flag.String("stepscope", "", "the program to measure")
	capture := flag.String("capture", "testdata/traces/graphs", "what the ranks are copies of")
	each := flag.Int("each", 8, "ranks of a task")
	most := flag.Int("most", 512, "ranks at most")
	into := flag.String("write", "", "write the ranks into this directory, and measure nothing")
	flag.Parse()
	if *into != "" {
		if err := write(*into, *capture, *most); err != nil {
			log.Fatal(err)
		}
		return
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "ranks\ttraces\tsummaries\ta task, CPU\tmemory\tthe join, CPU\tmemory\tone machine, CPU\tmemory\t")
	var first, last used
	ranks := 0
	for n := *each; n <= *most; n *= 8 {
		all, err := measure(w, *program, *capture, n, *each)
		if err != nil {
			log.Fatal(err)
		}
		if last, ranks = all, n; n == *each {
			first = all
		}
	}
	w.Flush()
	fmt.Println()
	grows := float64(last.time) / float64(first.time) / float64(ranks / *each)
	goal.Say(grows <= linear, "ranks: %d on one machine take %.2f times the CPU for a rank that %d take (goal %.2f)", ranks, grows, *each, linear)
	goal.Say(last.memory <= mostMemory, "ranks: %d on one machine take %d MB (goal %d)", ranks, last.memory/1_000_000, mostMemory/1_000_000)
	if goal.Missed {
		os.Exit(1)
	}
}

// Goals, relative to an analysis on one machine.
const (
	linear     = 1.25 // maximum ratio of the CPU time per rank with many ranks to that with few ranks
	mostMemory = 600_000_000
)

// measure creates n ranks and writes a row of the table. all is the cost on one machine.
func measure(w io.Writer, program, capture string, n, each int) (all used, err error) {
	dir, err := os.MkdirTemp("", "ranks")
	if err != nil {
		return all, err
	}
	defer os.RemoveAll(dir)
	// Start the programs from another process, because the memory of a process is counted as memory of the processes
	// that it starts.
	self, err := os.Executable()
	if err != nil {
		return all, err
	}
	if _, _, err := run(self, "-write", dir, "-capture", capture, "-most", fmt.Sprint(n)); err != nil {
		return all, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.gz"))
	if err != nil {
		return all, err
	}
	var summaries []string
	var tasks []used
	for share := range slices.Chunk(files, each) {
		summaries = append(summaries, filepath.Join(dir, fmt.Sprint(len(summaries), ".ranks")))
		u, _, err := run(program, append([]string{"analyze", "--summary", summaries[len(summaries)-1]}, share...)...)
		if err != nil {
			return all, err
		}
		tasks = append(tasks, u)
	}
	join, joined, err := run(program, append([]string{"analyze", "--json"}, summaries...)...)
	if err != nil {
		return all, err
	}
	all, read, err := run(program, append([]string{"analyze", "--json"}, files...)...)
	if err != nil {
		return all, err
	}
	if !bytes.Equal(joined, read) {
		return all, fmt.Errorf("%d ranks: the summaries are explained otherwise than the files", n)
	}
	slices.SortFunc(tasks, func(a, b used) int { return int(a.time - b.time) })
	task := tasks[len(tasks)/2]
	fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t\n", n, size(files), size(summaries), task, join, all)
	return all, nil
}

// write writes the files of n ranks. The files are copies of real files with different times. One of the ranks is late.
func write(dir, capture string, n int) error {
	in := window.Input{Paths: []string{capture}}
	c, err := in.Open(context.Background(), &progress.Console{W: os.Stderr}, "reading")
	if err != nil {
		return err
	}
	ranks, err := retime.Straggler(c.Traces, n, n/2+1, 4, 1_000_000)
	if err != nil {
		return err
	}
	for _, r := range ranks {
		if err := kineto.WriteFile(filepath.Join(dir, r.Source.Path), r); err != nil {
			return err
		}
	}
	return nil
}

// used holds the time and memory that a run of a program used.
type used struct {
	time   time.Duration // CPU time on all cores
	memory int64         // peak memory in bytes
}

func (u used) String() string {
	return fmt.Sprintf("%.2f s\t%d MB", u.time.Seconds(), u.memory/1_000_000)
}

func run(program string, args ...string) (u used, out []byte, err error) {
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	if out, err = cmd.Output(); err != nil {
		return u, nil, fmt.Errorf("%s %s: %w", program, args[0], err)
	}
	u.time = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		u.memory = r.Maxrss * 1024
	}
	return u, out, nil
}

func size(paths []string) string {
	var n int64
	for _, p := range paths {
		if st, err := os.Stat(p); err == nil {
			n += st.Size()
		}
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
