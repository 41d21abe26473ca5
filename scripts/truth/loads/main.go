// Command loads measures how often the report of a load names the cause of its slowest requests, and whether it is right
// about the server keeping up.
//
// See scripts/truth/loads.sh.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stepscope/stepscope/bench"
)

// factors are the rates of the loads, in times of the capacity.
var factors = []float64{0.5, 0.6, 0.7, 0.8, 0.9, 1.1, 1.25, 1.5, 1.75, 2}

// nearly is the share of the mean wait of the slowest requests from which others waited nearly as long.
const nearly = 0.9

// The capacity is measured by requests that take about capacitySeconds, at least capacityPrompts, with capacityInFlight at
// once: twice as many as the server runs. A long queue, as of an overload, slows the server itself.
const (
	capacityPrompts  = 600
	capacitySeconds  = 10
	capacityInFlight = 128
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	wrong, err := run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "loads:", err)
	}
	if err != nil || wrong > 0 {
		os.Exit(1)
	}
}

// tester runs loads on one server.
type tester struct {
	bin, dir, url string
	seed          int
	verbose       bool
	roughly       float64 // capacity as measured last; 0: not measured
}

// result is the part of the JSON of bench serving that is judged.
type result struct {
	Verdict string      `json:"verdict"`
	Pace    *bench.Pace `json:"pace"`
	Rate    float64     `json:"requests_per_s"`
	Waits   *struct {
		Causes *struct {
			Recorded int   `json:"recorded"`
			NS       int64 `json:"ns"`
			Slowest  int64 `json:"slowest_ns"`
			Causes   []struct {
				Kind  string  `json:"kind"`
				Share float64 `json:"share"`
			} `json:"causes"`
		} `json:"causes"`
	} `json:"waits"`
}

func run(ctx context.Context) (wrong int, err error) {
	why := flag.Int("why", 10, "loads of 15 s at twice the capacity")
	long := flag.Int("long", 10, "loads of 3 min at twice the capacity")
	pace := flag.Int("pace", 20, "loads of 60 s at 0.5 to 2 times the capacity")
	tp := flag.Int("tp", 4, "ranks of the server")
	keep := flag.String("keep", "", "directory in which to keep the runs")
	t := &tester{}
	flag.IntVar(&t.seed, "seed", 1, "seed of the first load, and number of the first of the ten rates")
	flag.BoolVar(&t.verbose, "v", false, "print the verdict of each load")
	flag.Parse()
	rate := max(t.seed-1, 0)
	if t.dir, err = os.MkdirTemp("", "loads"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(t.dir) // not -keep
	t.bin = filepath.Join(t.dir, "stepscope")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", t.bin, "./cmd/stepscope").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build: %w: %s", err, out)
	}
	if *keep != "" {
		if t.dir, err = filepath.Abs(*keep); err == nil {
			err = os.MkdirAll(t.dir, 0o777)
		}
		if err != nil {
			return 0, err
		}
	}
	end, err := t.serve(ctx, *tp)
	if err != nil {
		return 0, err
	}
	defer end()
	for _, set := range []struct {
		name    string
		n       int
		seconds float64
	}{{"why is p99 TTFT high, 15 s at twice the capacity", *why, 15}, {"why is p99 TTFT high, 3 min at twice the capacity", *long, 180}} {
		right := 0
		for range set.n {
			ok, err := t.why(ctx, set.seconds)
			if err != nil {
				return wrong, err
			}
			if ok {
				right++
			}
		}
		fmt.Printf("%s: %d of %d answered\n", set.name, right, set.n)
		wrong += set.n - right
	}
	right := 0
	for i := range *pace {
		ok, err := t.pace(ctx, factors[(rate+i)%len(factors)])
		if err != nil {
			return wrong, err
		}
		if ok {
			right++
		}
	}
	fmt.Printf("does the server keep up, 60 s at 0.5 to 2 times the capacity: %d of %d right\n", right, *pace)
	for range *pace / 10 {
		if _, err := t.pace(ctx, 1); err != nil {
			return wrong, err
		}
	}
	return wrong + *pace - right, nil
}

// serve starts the server and waits until it answers.
func (t *tester) serve(ctx context.Context, tp int) (end func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	t.url = "http://127.0.0.1:" + strconv.Itoa(port)
	log, err := os.Create(filepath.Join(t.dir, "serve.log"))
	if err != nil {
		return nil, err
	}
	c := exec.Command(t.bin, "serve", "--model-path", "builtin:llama-tiny", "--tp-size", strconv.Itoa(tp), "--port", strconv.Itoa(port), "--enable-metrics")
	c.Stdout, c.Stderr = log, log
	if err := c.Start(); err != nil {
		return nil, err
	}
	end = func() {
		c.Process.Signal(syscall.SIGTERM)
		c.Wait()
		log.Close()
	}
	for begun := time.Now(); time.Since(begun) < time.Minute && ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		if r, err := http.Get(t.url + "/health"); err == nil {
			r.Body.Close()
			if r.StatusCode == http.StatusOK {
				return end, nil
			}
		}
	}
	end()
	return nil, fmt.Errorf("the server does not answer at %s", t.url)
}

// bench sends a load.
func (t *tester) bench(ctx context.Context, prompts int, more ...string) (*result, error) {
	t.seed++
	args := append([]string{"bench", "serving", "--url", t.url, "--dataset-name", "random", "--random-input-len", "200", "--random-output-len", "32",
		"--num-prompts", strconv.Itoa(prompts), "--seed", strconv.Itoa(t.seed), "--print-json", "--quiet", "--disable-tqdm", "--run-dir", filepath.Join(t.dir, "runs")}, more...)
	c := exec.CommandContext(ctx, t.bin, args...)
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 3) { // 3: the server refused requests
		return nil, fmt.Errorf("bench serving: %w: %s", err, errs.String())
	}
	r := &result{}
	return r, json.Unmarshal(out, r)
}

// capacity measures the requests per second that the server completes while requests queue.
func (t *tester) capacity(ctx context.Context) (float64, error) {
	prompts := max(capacityPrompts, int(capacitySeconds*t.roughly))
	if t.roughly == 0 {
		prompts = capacityPrompts / 2
	}
	r, err := t.bench(ctx, prompts, "--max-concurrency", strconv.Itoa(capacityInFlight))
	if err != nil {
		return 0, err
	}
	if r.Rate <= 0 {
		return 0, errors.New("measure the capacity: the server completed no requests")
	}
	first := t.roughly == 0
	if t.roughly = r.Rate; first {
		return t.capacity(ctx)
	}
	return t.roughly, nil
}

// load sends a load at a rate in times of the capacity.
func (t *tester) load(ctx context.Context, times, seconds float64, more ...string) (*result, string, error) {
	capacity, err := t.capacity(ctx)
	if err != nil {
		return nil, "", err
	}
	rate := times * capacity
	r, err := t.bench(ctx, int(rate*seconds), append(more, "--request-rate", strconv.FormatFloat(rate, 'f', 2, 64))...)
	return r, fmt.Sprintf("%.2f of %.1f/s for %.0f s", times, capacity, seconds), err
}

// why reports whether the answer to a load at twice the capacity is the overload.
func (t *tester) why(ctx context.Context, seconds float64) (ok bool, err error) {
	r, what, err := t.load(ctx, 2, seconds, "--profile")
	if err != nil {
		return false, err
	}
	if r.Waits != nil && r.Waits.Causes != nil && len(r.Waits.Causes.Causes) > 0 && (r.Waits.Causes.Recorded > 0 || float64(r.Waits.Causes.NS) >= nearly*float64(r.Waits.Causes.Slowest)) {
		c := r.Waits.Causes.Causes[0]
		ok = c.Kind == "overload" && c.Share >= 0.5
	}
	t.say(ok, what, r)
	return ok, nil
}

// pace reports whether the verdict on a load is right.
func (t *tester) pace(ctx context.Context, times float64) (ok bool, err error) {
	r, what, err := t.load(ctx, times, 60)
	if err != nil {
		return false, err
	}
	want := map[bool]string{true: bench.Overload, false: bench.KeepsUp}[times > 1]
	if times == 1 {
		want = bench.AtLimit
	}
	ok = r.Pace != nil && r.Pace.Verdict == want
	t.say(ok, what, r)
	return ok, nil
}

func (t *tester) say(ok bool, what string, r *result) {
	text := map[bool]string{true: "right", false: "wrong"}[ok] + "  " + what
	if r.Pace != nil {
		text += ": " + r.Pace.Verdict
	}
	fmt.Println(text)
	if t.verbose || !ok {
		fmt.Println("       " + r.Verdict)
	}
}
