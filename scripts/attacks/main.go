// Command attacks attacks the stepscope binary with hostile files, requests and servers. See scripts/attack.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"golang.org/x/sync/errgroup"

	"github.com/stepscope/stepscope/internal/base/columns"
)

var (
	short     = flag.Bool("short", false, "a tenth of it")
	race      = flag.Bool("race", false, "the binary has the race detector: wider limits")
	program   = flag.String("binary", "", "what is attacked")
	only      = flag.String("only", "", "one family alone")
	dimension = flag.String("dimension", "", "one dimension of the family scale alone")
	verbose   = flag.Bool("v", false, "print each time of the family scale")
	seed      = flag.Uint64("seed", 1, "of what is drawn")
)

// attack is one run of a family of attacks. It counts the attempts and records the failures.
type attack struct {
	family string
	mu     sync.Mutex
	tried  int
	failed []string
	took   time.Duration
}

// try counts an attempt.
func (a *attack) try() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tried++
}

// family is a kind of attack.
type family struct {
	name string
	run  func(a *attack) error
}

// attack runs the attacks of the family.
func (f *family) attack(a *attack) {
	from := time.Now()
	if err := f.run(a); err != nil {
		a.failed = append(a.failed, fmt.Sprintf("%s: %v", f.name, err))
	}
	a.took = time.Since(from)
}

// together is the number of families, and of the dimensions of the family scale, that run at the same time.
const together = 2

func main() {
	flag.Parse()
	path, err := filepath.Abs(*program)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "attack:", err)
		os.Exit(2)
	}
	*program = path
	began := time.Now()
	families := []family{
		{"bombs", bombs}, {"mutated captures", mutated}, {"signals", signals}, {"names", names},
		{"HTTP to a server", func(a *attack) error { return hostileHTTP(a, false) }},
		{"HTTP to a router", func(a *attack) error { return hostileHTTP(a, true) }},
		{"peers", peers}, {"servers", servers}, {"numbers", numbers},
		{"hostile structures", structured}, {"databases, pictures", binaries}, {"pipes", pipes}, {"address space", limits},
		{"watches", watches}, {"clocks", clocks}, {"faults", faults}, {"nodes", nodes}, {"soak", soak}, {"scale", scale},
	}
	families = slices.DeleteFunc(families, func(f family) bool { return *only != "" && *only != f.name })
	var failed []string
	rows := []string{fmt.Sprintf("%-20s %7s %9s %8s", "family", "tried", "survived", "seconds")}
	for _, a := range runAll(families) {
		rows = append(rows, fmt.Sprintf("%-20s %7d %9d %8.1f", a.family, a.tried, a.tried-min(len(a.failed), a.tried), a.took.Seconds()))
		failed = append(failed, a.failed...)
	}
	fmt.Println(strings.Join(rows, "\n"))
	fmt.Printf("all in %.0f s\n", time.Since(began).Seconds())
	for _, f := range failed {
		fmt.Println("did not survive:", columns.Clean(f))
	}
	if len(failed) > 0 {
		os.Exit(1)
	}
}

// runAll runs the families, the soak beside the others. The family scale comes last and alone, because it measures
// processor time.
func runAll(families []family) []*attack {
	var out []*attack
	var beside sync.WaitGroup
	var queue []func()
	last := func() {}
	for _, f := range families {
		a := &attack{family: f.name}
		out = append(out, a)
		switch f.name {
		case "soak":
			beside.Go(func() { f.attack(a) })
		case "scale":
			last = func() { f.attack(a) }
		default:
			queue = append(queue, func() { f.attack(a) })
		}
	}
	var group errgroup.Group
	group.SetLimit(together)
	for _, run := range queue {
		group.Go(func() error { run(); return nil })
	}
	group.Wait()
	beside.Wait()
	last()
	return out
}

// some returns the number of cases to try out of n: all cases or, with -short, a tenth of them.
func some(n int) int {
	if *short {
		return max(n/10, 1)
	}
	return n
}

// wide returns the time limit d, extended if the race detector is on.
func wide(d time.Duration) time.Duration {
	if *race {
		return 8 * d
	}
	return d
}

func draw(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(*seed, stream)) }

func (a *attack) fail(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failed = append(a.failed, a.family+": "+fmt.Sprintf(format, args...))
}

// temp creates a directory. done removes it, unless an attack has failed since its creation.
func (a *attack) temp() (dir string, done func(), err error) {
	dir, err = os.MkdirTemp("", "attack-")
	count := func() int {
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.failed)
	}
	before := count()
	return dir, func() {
		if count() == before {
			os.RemoveAll(dir)
		} else {
			fmt.Println("kept:", dir)
		}
	}, err
}

// result is the outcome of a run of the binary.
type result struct {
	status      int
	out, errs   []byte
	took        time.Duration
	rss         int64 // peak resident memory in bytes
	interrupted time.Duration
}

// Limits of one run of a command.
const (
	longest = 20 * time.Second
	mostRSS = 1500 << 20
	// SIGINT may end a process that does not handle signals yet: one that is younger than startTime and has used less
	// processor time than startCPU.
	startTime = time.Second
	startCPU  = 100 * time.Millisecond
)

// run runs the binary. If interrupt > 0, it sends SIGINT after that time.
func run(interrupt time.Duration, dir string, args ...string) (r result, err error) {
	limit := wide(longest) + interrupt
	if interrupt > 0 {
		limit += 20 * time.Second // the caller checks the time that passes after the interrupt
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, *program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "HOME="+dir, "XDG_CACHE_HOME="+dir)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &limited{b: &out}, &limited{b: &errs}
	cmd.WaitDelay = time.Second
	from := time.Now()
	if err := cmd.Start(); err != nil {
		return r, err
	}
	var sent time.Time
	if interrupt > 0 {
		t := time.AfterFunc(interrupt, func() { sent = time.Now(); cmd.Process.Signal(syscall.SIGINT) })
		defer t.Stop()
	}
	ended := make(chan struct{})
	peak := make(chan int64)
	go watch(cmd.Process.Pid, ended, peak)
	err = cmd.Wait()
	close(ended)
	r.rss = <-peak
	r.took, r.out, r.errs = time.Since(from), out.Bytes(), errs.Bytes()
	if !sent.IsZero() {
		r.interrupted = time.Since(sent)
	}
	if ctx.Err() != nil {
		return r, fmt.Errorf("still runs after %.0f s", r.took.Seconds())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return r, err
	}
	r.status = cmd.ProcessState.ExitCode()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signal() == syscall.SIGINT && sent.Sub(from) < wide(startTime) && cmd.ProcessState.UserTime() < startCPU {
		r.status = 130 // as a shell reports it
	}
	return r, r.sane()
}

// watch sends the peak memory of a process. The figure that the kernel reports at exit cannot be used. It includes the
// memory of this process, from which the other process was forked.
func watch(pid int, ended <-chan struct{}, peak chan<- int64) {
	var most int64
	for {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if _, rest, ok := strings.Cut(string(text), "VmHWM:"); ok && strings.Contains(string(text), "Name:\t"+comm()+"\n") {
			var kb int64
			fmt.Sscan(rest, &kb)
			most = max(most, kb<<10)
		}
		select {
		case <-ended:
			peak <- most
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// comm returns the name that the kernel shows for the program. Before a forked process executes the program, the kernel
// shows another name.
func comm() string {
	name := filepath.Base(*program)
	return name[:min(len(name), 15)]
}

// sane returns an error if a run violates the conditions that hold for every run.
func (r *result) sane() error {
	if r.rss > mostRSS && !*race {
		return fmt.Errorf("took %d MB", r.rss>>20)
	}
	switch r.status {
	case 0, 1, 2, 3, 4, 130:
	default:
		return fmt.Errorf("status %d: %s", r.status, tail(r.errs))
	}
	for _, word := range []string{"panic:", "goroutine ", "runtime error", "DATA RACE"} {
		if bytes.Contains(r.errs, []byte(word)) {
			return fmt.Errorf("%s in %s", word, tail(r.errs))
		}
	}
	if c := control(r.errs); c != "" {
		return fmt.Errorf("stderr has %s", c)
	}
	if (r.status == 1 || r.status == 2) && len(bytes.TrimSpace(r.errs)) == 0 {
		return fmt.Errorf("status %d without a word", r.status)
	}
	return nil
}

// control returns the first character of text that moves the cursor or reverses text. It returns "" if there is none.
func control(text []byte) string {
	for _, r := range string(text) {
		switch {
		case r == '\n' || r == '\t' || r == unicode.ReplacementChar:
		case unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return fmt.Sprintf("%U", r)
		}
	}
	return ""
}

func tail(b []byte) string {
	s := strings.TrimSpace(string(b))
	return s[max(0, len(s)-200):]
}

// limited is a writer that keeps only the beginning of a long text.
type limited struct{ b *bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if room := 1<<20 - l.b.Len(); room > 0 {
		l.b.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}
