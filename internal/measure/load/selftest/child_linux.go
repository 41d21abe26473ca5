package selftest

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stepscope/stepscope/internal/measure/load"
	"github.com/stepscope/stepscope/internal/measure/workload"
)

// The self test consists of separate processes, each with its own Go runtime: the parent, the mock server on one core,
// the client under test on another core, and a canary on each of the two cores. The child processes run Main. The
// parent starts a child with the command Options.Command followed by the arguments of the child.

// Main runs one child of the self test and returns its exit status.
func Main(args []string) int {
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "stepscope: this is a part of bench selftest and is started by it")
		return 2
	}
	var err error
	switch verb := args[0]; verb {
	case "serve":
		var period time.Duration
		var spread int
		var instant bool
		fs := flag.NewFlagSet(verb, flag.ContinueOnError)
		fs.DurationVar(&period, "period", 20*time.Millisecond, "between the events of a stream")
		fs.IntVar(&spread, "spread", 1, "phases of the streams; 1: together")
		fs.BoolVar(&instant, "instant", false, "answer at once")
		if fs.Parse(args[1:]) != nil {
			return 2
		}
		debug.SetGCPercent(400)
		err = serveMock(os.Stdin, os.Stdout, period, spread, instant)
	case "canary":
		err = watchCore(os.Stdin, os.Stdout)
	case "client":
		err = testClient(args[1:])
	default:
		err = fmt.Errorf("no part %q of the self test", verb)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "stepscope:", err)
		return 1
	}
	return 0
}

const (
	watchTick  = 250 * time.Microsecond
	watchPause = 250 * time.Microsecond
)

// watchCore is the canary. Its process has the highest priority on its core, so a late wake-up shows that the core was
// not available. watchCore records these pauses until in ends, and then writes them as JSON.
func watchCore(in io.Reader, out io.Writer) error {
	ended := make(chan struct{})
	go func() {
		io.Copy(io.Discard, in)
		close(ended)
	}()
	runtime.LockOSThread()
	pauses := []pause{}
	for due := monotonic(); ; {
		select {
		case <-ended:
			return json.NewEncoder(out).Encode(pauses)
		default:
		}
		due += int64(watchTick)
		at := unix.NsecToTimespec(due)
		for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &at, nil) == unix.EINTR {
		}
		if now := monotonic(); now-due > int64(watchPause) {
			pauses = append(pauses, pause{due, now})
			due = now
		}
	}
}

// testClient sends streams to the mock and writes the times of all events.
func testClient(args []string) error {
	var url, log, backend string
	var streams, tokens int
	var rate float64
	var userStamps bool
	fs := flag.NewFlagSet("client", flag.ContinueOnError)
	fs.StringVar(&url, "url", "", "the mock")
	fs.StringVar(&log, "log", "", "where the times go")
	fs.StringVar(&backend, "backend", "sglang-oai-chat", "shape of the requests")
	fs.IntVar(&streams, "streams", 1, "requests")
	fs.IntVar(&tokens, "tokens", 1, "events of each")
	fs.Float64Var(&rate, "rate", 1000, "requests/s")
	fs.BoolVar(&userStamps, "user-stamps", false, "no kernel stamps")
	if err := fs.Parse(args); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	reqs := make([]workload.Request, streams)
	schedule := make([]time.Duration, streams)
	for i := range reqs {
		reqs[i] = workload.Request{Prompt: strings.Repeat("token ", 32), PromptLen: 32, OutputLen: tokens}
		schedule[i] = 50*time.Millisecond + time.Duration(float64(i)/rate*1e9)
	}
	// Each stream has a separate section of times. Each section is filled by one goroutine.
	times := make([]eventTimes, streams*tokens)
	seen := make([]int, streams)
	opt := load.Options{
		Backend: backend, BaseURL: url, Model: "mock", Stream: true, IgnoreEOS: true, Schedule: schedule, UserStamps: userStamps,
		Tap: func(index int, data []byte, kernel, user int64) {
			if string(data) == "[DONE]" || seen[index] == tokens {
				return
			}
			t := eventTimes{Stream: int64(index), User: user}
			t.Sent, t.Kernel = sentStamp(data), kernel
			times[index*tokens+seen[index]] = t
			seen[index]++
		},
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res, err := load.Run(ctx, reqs, opt)
	if err != nil {
		return err
	}
	runtime.ReadMemStats(&after)
	base := monotonic() - int64(time.Since(res.Start))
	out := ClientResult{
		Stamps: string(res.Stamps), Verdict: res.Health.Verdict, Merged: res.Health.MergedReads, Reads: res.Health.Reads,
		LateP50: res.Health.SendLateP50, LateP99: res.Health.SendLateP99, LateP999: res.Health.SendLateP999, LateMax: res.Health.SendLateMax,
		AllocsEvent: float64(after.Mallocs-before.Mallocs) / float64(max(len(times), 1)),
	}
	times = slices.DeleteFunc(times, func(t eventTimes) bool { return t.User == 0 }) // of failed streams
	for i := range times {
		t := &times[i]
		if t.User += base; t.Kernel != 0 {
			t.Kernel += base
		}
	}
	for i := range res.Records {
		if r := &res.Records[i]; r.OK() {
			out.OK++
		} else if out.Failed++; out.Error == "" {
			out.Error = string(r.Failure) + ": " + r.Error
		}
	}
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return os.NewSyscallError("getrusage", err)
	}
	out.CPU = float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
	out.RSS = peakMemory()
	if err := writeTimes(log, times); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

// peakMemory returns the peak resident set size of this program in bytes. The value from getrusage would also cover the
// memory of the parent at the time of the fork.
func peakMemory() int64 {
	status, _ := os.ReadFile("/proc/self/status")
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	var kb int64
	fmt.Sscan(after, &kb)
	return kb << 10
}

func writeTimes(path string, times []eventTimes) error {
	if path == "" {
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := binary.Write(f, binary.LittleEndian, times); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
