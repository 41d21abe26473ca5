package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Four times the input may take mostGrowth times the processor time. Below leastCPU, start-up and noise dominate.
const (
	mostGrowth = 6
	leastCPU   = 500 * time.Millisecond
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

// scale runs each command on captures of size n and 4n in each dimension and compares the processor time.
func scale(a *attack) error {
	for i, sh := range shapes {
		if *short && i%4 != int(*seed)%4 || *dimension != "" && *dimension != sh.name {
			continue
		}
		if err := a.scaleShape(sh); err != nil {
			return err
		}
	}
	return a.scaleRuns()
}

func (a *attack) scaleShape(sh shape) error {
	dir, done, err := a.temp()
	if err != nil {
		return err
	}
	defer done()
	small, large := filepath.Join(dir, "small"), filepath.Join(dir, "large")
	if err := sh.write(small, sh.n); err != nil {
		return err
	}
	if err := sh.write(large, 4*sh.n); err != nil {
		return err
	}
	for _, args := range scaled {
		a.grows(dir, sh.name, with(args, small), with(args, large))
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

// grows compares the processor time of a command on a small input and on one that is four times as large. It runs the
// small input only if the large one takes longer than leastCPU.
func (a *attack) grows(dir, what string, small, large []string) {
	a.try()
	l, err := cpu(dir, large)
	if *verbose {
		fmt.Printf("%-30s %7.2f s  %s\n", what, l.Seconds(), strings.Join(large, " "))
	}
	if err != nil {
		a.fail("%s: %s: %v", what, strings.Join(large, " "), err)
		return
	}
	if l < leastCPU {
		return
	}
	s, err := cpu(dir, small)
	if err != nil {
		a.fail("%s: %s: %v", what, strings.Join(small, " "), err)
		return
	}
	if *verbose {
		fmt.Printf("%-30s %7.2f s, %.1f times\n", "", s.Seconds(), l.Seconds()/s.Seconds())
	}
	if l > mostGrowth*s { // the machine may have been busy
		if again, err := cpu(dir, large); err == nil {
			l = min(l, again)
		}
	}
	if l > mostGrowth*s {
		a.fail("%s: %s takes %.2f s, and %.1f times as much on four times the input", what, strings.Join(small, " "), s.Seconds(), l.Seconds()/s.Seconds())
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
