package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// Four times the input may take mostGrowth times the processor time. Below leastCPU, start-up and noise dominate. A
// slow command that takes enoughCPU is not measured on a larger input.
const (
	mostGrowth = 6
	leastCPU   = 500 * time.Millisecond
	enoughCPU  = 4 * time.Second
	mostCPU    = 60 * time.Second
)

// scaled are the commands that are measured on captures. In the arguments, FILE is replaced by the path of the capture.
var scaled = [][]string{
	{"analyze", "FILE", "--html", "page.html", "--full"}, {"compare", "FILE", "FILE"}, {"whatif", "FILE", "--set", "host=0.5"},
	{"trace", "check", "FILE"}, {"trace", "merge", "FILE", "-o", "out.trace.json.gz"}, {"trace", "merge", "FILE", "-o", "out.pftrace"},
	{"trace", "cut", "FILE", "--steps", "1-2", "-o", "cut"}, {"trace", "cut", "FILE", "--redact", "-o", "redacted"},
	{"trace", "export", "FILE", "-o", "spans.csv"}, {"trace", "export", "FILE", "-o", "spans.parquet"},
	{"trace", "export", "FILE", "-o", "spans.db"}, {"view", "FILE", "--export", "view.html"},
}

// scale compares the processor time of each command on small and large captures, in each dimension.
func scale(a *attack) error {
	var queue errgroup.Group
	queue.SetLimit(together)
	for i, sh := range shapes {
		if *short && i%4 != int(*seed)%4 || *dimension != "" && *dimension != sh.name {
			continue
		}
		queue.Go(func() error { return a.scaleOne(sh.name, sh.n, scaled, sh.write) })
	}
	for _, of := range shapesOfRuns {
		if *dimension != "" && *dimension != of.name {
			continue
		}
		queue.Go(func() error { return a.scaleOne(of.name, of.n, scaledRuns, of.write) })
	}
	return queue.Wait()
}

// scaleOne compares commands in one dimension. write writes an input of a size.
func (a *attack) scaleOne(name string, n int, commands [][]string, write func(dir string, n int) error) error {
	dir, done, err := a.temp()
	if err != nil {
		return err
	}
	defer done()
	var inputs [3]string
	for i, n := range []int{max(n/4, 1), n, 4 * n} {
		inputs[i] = filepath.Join(dir, []string{"smallest", "small", "large"}[i])
		if err := write(inputs[i], n); err != nil {
			return err
		}
	}
	for _, args := range commands {
		a.grows(dir, name, args, inputs)
	}
	return nil
}

func (sh shape) write(dir string, n int) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	ranks := sh.ranks(n)
	for r := range ranks {
		s := &sketch{rank: r, world: ranks}
		sh.fill(s, n)
		if err := s.write(dir); err != nil {
			return err
		}
	}
	return nil
}

// grows compares the processor time of a command on an input and on one that is four times as large. inputs are three
// inputs, each four times as large as the one before. It compares the last two, but the first two if the command is
// view and these suffice, since view takes as much time as all other commands together. It runs the smaller input only
// if the larger one takes longer than leastCPU.
func (a *attack) grows(dir, what string, args []string, inputs [3]string) {
	a.try()
	small, large := inputs[1], inputs[2]
	var s, l time.Duration
	var err error
	if args[0] == "view" {
		if l, err = cpu(dir, with(args, small)); l >= enoughCPU {
			small, large = inputs[0], small
		}
	}
	if err == nil && l < enoughCPU {
		l, err = cpu(dir, with(args, large))
	}
	if err == nil && l >= leastCPU {
		s, err = cpu(dir, with(args, small))
	}
	if err == nil && s > 0 && l > mostGrowth*s { // the machine may have been busy
		if again, err := cpu(dir, with(args, large)); err == nil {
			l = min(l, again)
		}
	}
	call := strings.Join(with(args, small), " ")
	if *verbose {
		fmt.Printf("%-30s %7.2f s %7.2f s  %s\n", what, s.Seconds(), l.Seconds(), call)
	}
	switch {
	case err != nil:
		a.fail("%s: %s, or on four times the input: %v", what, call, err)
	case s > 0 && l > mostGrowth*s:
		a.fail("%s: %s takes %.2f s, and %.1f times as much on four times the input", what, call, s.Seconds(), l.Seconds()/s.Seconds())
	}
}

// cpu runs the binary and returns its processor time.
func cpu(dir string, args []string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), wide(mostCPU))
	defer cancel()
	cmd := exec.CommandContext(ctx, *program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "HOME="+dir, "XDG_CACHE_HOME="+dir)
	for _, out := range []string{"cut", "redacted"} {
		os.RemoveAll(filepath.Join(dir, out))
	}
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return mostCPU, fmt.Errorf("still runs after %v", mostCPU)
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != 3 {
		return 0, fmt.Errorf("status %d: %s", code, tail(out))
	} else if err != nil && code < 0 {
		return 0, err
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}
