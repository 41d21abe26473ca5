//go:build linux

// Command route measures the cost that stepscope's router adds to a server. See README.md one directory up. The router
// runs on one core. This client and the mock server share another core. The reference is a relay that only copies
// bytes.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/measure/load"
	"github.com/stepscope/stepscope/internal/measure/load/selftest"
	"github.com/stepscope/stepscope/internal/measure/workload"
	"github.com/stepscope/stepscope/scripts/bench/goal"
)

// Goals.
const (
	maxTTFT   = 0.1e6   // maximum of the median time that the router adds, in ns
	minEvents = 20000.0 // minimum events per second on one core
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == "relay" {
		fmt.Fprintln(os.Stderr, "route:", relay(os.Args[2]))
		os.Exit(2)
	}
	met, err := run()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "route:", err)
		os.Exit(2)
	case !met:
		os.Exit(1)
	}
}

type bench struct {
	exe   string
	flags []string // additional flags of the router
	cores [2]int   // core of server and client, core of the router
}

func run() (met bool, err error) {
	fs := flag.NewFlagSet("route", flag.ContinueOnError)
	exe := fs.String("stepscope", "stepscope", "the binary to measure")
	rounds := fs.Int("rounds", 10, "rounds of 200 requests, direct and through the router by turns")
	streams := fs.String("streams", "400,800,1200,1600", "streams of 50 events/s")
	seconds := fs.Int("seconds", 5, "length of each stream")
	if err := fs.Parse(os.Args[1:]); err != nil {
		return false, flag.ErrHelp
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b := &bench{exe: *exe, flags: fs.Args()}
	if b.cores, err = selftest.TwoCores(); err != nil {
		return false, err
	}
	if b.cores[0] == b.cores[1] {
		fmt.Println("one core for all: these figures are of server, router and client together")
	}
	// This client must not run on the router's core.
	if err := pin(b.cores[0]); err != nil {
		return false, err
	}
	runtime.GOMAXPROCS(2)
	added, err := b.ttft(ctx, *rounds)
	if err != nil {
		return false, fmt.Errorf("time to first token: %w", err)
	}
	most, err := b.throughput(ctx, *streams, *seconds)
	if err != nil {
		return false, fmt.Errorf("events: %w", err)
	}
	fmt.Println()
	goal.Say(added <= maxTTFT, "route: the router adds %.2f ms to TTFT p50 (goal %.1f)", added/1e6, maxTTFT/1e6)
	goal.Say(most >= minEvents, "route: one core passes on %.0f events/s (goal %.0f)", most, minEvents)
	return !goal.Missed, nil
}

// ttft compares the median times to first token of sequential requests and returns the time, in ns, that the router
// adds.
func (b *bench) ttft(ctx context.Context, rounds int) (added float64, err error) {
	r, err := b.start(ctx, "-instant", "-period", "1ms")
	if err != nil {
		return 0, err
	}
	defer r.stop()
	const n = 200
	plan := make([]time.Duration, n)
	for i := range plan {
		plan[i] = 10*time.Millisecond + time.Duration(i)*5*time.Millisecond
	}
	var direct, relayed, all []float64
	for i := range rounds {
		var p50 [3]float64
		for k := range 3 {
			side := (i + k) % 3 // the three take turns at being first
			res, err := send(ctx, []string{r.mock, r.relay, r.router}[side], plan, 4)
			if err != nil {
				return 0, err
			}
			var took []float64
			for i := range res.Records {
				if v, ok := res.Records[i].TTFT(); ok {
					took = append(took, float64(v))
				}
			}
			p50[side] = metric.Median(took)
		}
		direct, relayed, all = append(direct, p50[0]), append(relayed, p50[1]-p50[0]), append(all, p50[2]-p50[0])
	}
	fmt.Printf("TTFT p50, median of %d rounds of %d requests: direct %.3f ms\n", rounds, n, metric.Median(direct)/1e6)
	for k, v := range [][]float64{relayed, all} {
		fmt.Printf("%-12s adds %.3f ms (least %.3f, most %.3f)\n", []string{"a bare relay", "the router"}[k], metric.Median(v)/1e6, slices.Min(v)/1e6, slices.Max(v)/1e6)
	}
	fmt.Println()
	return metric.Median(all), nil
}

// throughput sends streams of 50 events per second, both directly and through the router. A load is sustained if the
// events arrive at the rate at which they are sent. most is the highest sustained rate, in events per second.
func (b *bench) throughput(ctx context.Context, list string, seconds int) (most float64, err error) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "streams\tevents/s\tby way of\tarrived/s\tgap p50\tgap p99\tCPU/event\tof a core\trouter's memory\theld")
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return 0, fmt.Errorf("-streams %q: give numbers", list)
		}
		for side, name := range []string{"direct", "router"} {
			r, err := b.start(ctx, "-period", "20ms", "-spread", strconv.Itoa(n))
			if err != nil {
				return 0, err
			}
			plan := make([]time.Duration, n)
			for i := range plan {
				plan[i] = 50*time.Millisecond + time.Duration(i)*time.Millisecond
			}
			before := r.cpu()
			res, err := send(ctx, []string{r.mock, r.router}[side], plan, seconds*50)
			if err != nil {
				r.stop()
				return 0, err
			}
			used := r.cpu() - before
			memory := r.memory()
			r.stop()
			f := measure(res)
			events := float64(n * seconds * 50)
			// A load counts as sustained if events arrive at 99 % of the sending rate or more while all streams run.
			held := f.failed == 0 && f.rate >= 0.99*50*float64(n)
			row := fmt.Sprintf("%d\t%d\t%s\t%.0f\t%.2f ms\t%.2f ms\t", n, n*50, name, f.rate, f.p50/1e6, f.p99/1e6)
			if side == 1 {
				row += fmt.Sprintf("%.1f µs\t%.0f%%\t%.0f MB\t", used/events*1e6, 100*used/events*50*float64(n), memory/1e6)
				if held {
					most = max(most, float64(n*50))
				}
			} else {
				row += "-\t-\t-\t"
			}
			fmt.Fprintln(w, row+map[bool]string{true: "yes", false: fmt.Sprintf("no (%d failed)", f.failed)}[held])
		}
	}
	return most, w.Flush()
}

type figures struct {
	rate, p50, p99 float64 // events per second; gaps between events of a stream, ns
	failed         int
}

// measure computes the events per second and the gaps between events. It uses only the time in which all streams run.
func measure(res *load.Result) (f figures) {
	from, to := int64(0), int64(1<<62)
	for i := range res.Records {
		r := &res.Records[i]
		if !r.OK() || len(r.Chunks) == 0 {
			f.failed++
			continue
		}
		from, to = max(from, r.Chunks[0].At), min(to, r.Chunks[len(r.Chunks)-1].At)
	}
	var gaps []float64
	events := 0
	for i := range res.Records {
		chunks := res.Records[i].Chunks
		for k := range chunks {
			if at := chunks[k].At; at > from && at <= to {
				events++
				if k > 0 {
					gaps = append(gaps, float64(at-chunks[k-1].At))
				}
			}
		}
	}
	if to > from {
		f.rate = float64(events) / (float64(to-from) / 1e9)
	}
	slices.Sort(gaps)
	f.p50, f.p99 = metric.Quantile(gaps, 0.5), metric.Quantile(gaps, 0.99)
	return f
}

func send(ctx context.Context, url string, plan []time.Duration, tokens int) (*load.Result, error) {
	reqs := make([]workload.Request, len(plan))
	for i := range reqs {
		reqs[i] = workload.Request{Prompt: strconv.Itoa(i) + strings.Repeat(" token", 500), PromptLen: 500, OutputLen: tokens}
	}
	res, err := load.Run(ctx, reqs, load.Options{Backend: "sglang-oai-chat", BaseURL: url, Model: "mock", Stream: true, IgnoreEOS: true, Schedule: plan})
	if err != nil {
		return nil, err
	}
	for i := range res.Records {
		if r := &res.Records[i]; !r.OK() {
			return res, fmt.Errorf("a request to %s failed: %s %s", url, r.Failure, r.Error)
		}
	}
	return res, nil
}

// rig is a mock server with a router and a relay in front of it.
type rig struct {
	mock, router, relay string // URLs
	server, rt, copier  *exec.Cmd
	in                  io.Closer // closing it ends the server
}

func (b *bench) start(ctx context.Context, mock ...string) (*rig, error) {
	r := &rig{}
	r.server = exec.CommandContext(ctx, b.exe, append([]string{"bench", "mock", "serve"}, mock...)...)
	in, err := r.server.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := r.server.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.in = in
	if err := selftest.StartOn(r.server, b.cores[0], 0); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		r.stop()
		return nil, fmt.Errorf("the mock server does not start: %w", err)
	}
	r.mock = strings.TrimSpace(line)
	if err := r.startRelay(ctx, b.cores[1]); err != nil {
		r.stop()
		return nil, err
	}
	// Health probes are requests to the mock server, so keep them rare.
	args := append([]string{"route", "--port", "0", "--worker-urls", r.mock, "--health-check-interval-secs", "600"}, b.flags...)
	r.rt = exec.CommandContext(ctx, b.exe, args...)
	r.rt.Env = append(os.Environ(), "GOMAXPROCS=1")
	log, err := r.rt.StderrPipe()
	if err != nil {
		r.stop()
		return nil, err
	}
	if err := selftest.StartOn(r.rt, b.cores[1], 0); err != nil {
		r.rt = nil
		r.stop()
		return nil, err
	}
	lines := bufio.NewScanner(log)
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
		if _, url, ok := strings.Cut(lines.Text(), "Listening on "); ok {
			r.router = url
		}
		if strings.Contains(lines.Text(), "worker is up") {
			go io.Copy(io.Discard, log) // ends when the router ends
			return r, nil
		}
	}
	r.stop()
	return nil, fmt.Errorf("the router does not start: %s", strings.Join(said, "; "))
}

// startRelay starts this program as a relay.
func (r *rig) startRelay(ctx context.Context, core int) error {
	r.copier = exec.CommandContext(ctx, os.Args[0], "relay", strings.TrimPrefix(r.mock, "http://"))
	r.copier.Env = append(os.Environ(), "GOMAXPROCS=1")
	out, err := r.copier.StdoutPipe()
	if err == nil {
		err = selftest.StartOn(r.copier, core, 0)
	}
	if err != nil {
		r.copier = nil
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	r.relay = strings.TrimSpace(line)
	return err
}

// relay copies bytes between each incoming connection and a connection to addr. No router can add less time than this
// relay.
func relay(addr string) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", ln.Addr())
	for {
		c, err := ln.Accept()
		if err != nil {
			return err
		}
		s, err := net.Dial("tcp", addr)
		if err != nil {
			return err
		}
		through := func(to, from net.Conn) {
			defer to.Close()
			buf := make([]byte, 16<<10)
			for {
				n, err := from.Read(buf)
				if err != nil {
					return
				}
				if _, err := to.Write(buf[:n]); err != nil {
					return
				}
			}
		}
		go through(s, c)
		go through(c, s)
	}
}

func (r *rig) stop() {
	if r.copier != nil {
		r.copier.Process.Kill()
		r.copier.Wait()
	}
	if r.rt != nil {
		r.rt.Process.Signal(os.Interrupt)
		r.rt.Wait()
	}
	r.in.Close()
	r.server.Wait()
}

// cpu returns the router's CPU time in s.
func (r *rig) cpu() float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.rt.Process.Pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest) // fields from the process state onwards
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / 100 // USER_HZ
}

// memory returns the router's peak resident set in bytes.
func (r *rig) memory() float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.rt.Process.Pid))
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	var kb float64
	fmt.Sscan(after, &kb)
	return kb * 1024
}

// pin puts all threads of this process on one core.
func pin(core int) error {
	var set unix.CPUSet
	set.Set(core)
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, t := range tasks {
		id, _ := strconv.Atoi(t.Name())
		if err := unix.SchedSetaffinity(id, &set); err != nil {
			return os.NewSyscallError("sched_setaffinity", err)
		}
	}
	return nil
}
