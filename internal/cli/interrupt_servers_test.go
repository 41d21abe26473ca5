//go:build unix

package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/runs"
)

// A phase of a verb that has a server record, by what it asks of that.
type phase string

const (
	before phase = "before the window" // its first request
	within phase = "in the window"     // the server has just armed
	after  phase = "after the window"  // the server has closed it, or is asked to
)

// closes are the ways in which a verb is ended from outside.
var closes = []struct {
	name string
	end  func(*ended)
}{
	{"INT", func(r *ended) { r.cmd.Process.Signal(os.Interrupt) }},
	{"TERM", func(r *ended) { r.cmd.Process.Signal(syscall.SIGTERM) }},
	{"HUP", func(r *ended) { r.cmd.Process.Signal(syscall.SIGHUP) }},
	{"PIPE", func(r *ended) { r.stdout.Close(); r.stderr.Close() }},
	{"KILL", func(r *ended) { r.cmd.Process.Kill() }},
}

// TestInterruptServers: however a verb is ended that has a server record, and whenever, the server does not go on
// recording, and the next profile works. A killed verb closes nothing, so the server closes the window by itself, after
// the number of steps that it was told; where it was told none, the user was, beforehand.
func TestInterruptServers(t *testing.T) {
	const steps = "200"
	load := []string{"--dataset-name", "random-ids", "--num-prompts", "24", "--random-input-len", "8", "--random-output-len", "400", "--random-range-ratio", "1",
		"--max-concurrency", "4", "--profile", "--profile-output-dir", "DIR"}
	for _, v := range []struct {
		name    string
		args    []string
		moments []phase
		short   bool            // with -short, too
		do      func(at string) // what a user does once it has printed a line, such as its address
		free    bool            // the window has no number of steps
		first   []string        // a verb before it, that ends by itself
		ways    string          // only these; "": all
		alone   bool            // it wants a server without other requests
		silent  bool            // it writes nothing once it has begun, so a closed pipe ends nothing
		serve   string          // a flag of the server
		whole   bool            // it may have done all that it was asked for before it hears of its end
	}{
		{name: "profile", args: []string{"profile", "--num-steps", steps, "--output-dir", "DIR"}, moments: []phase{before, within, after}, short: true},
		{name: "profile for a time", args: []string{"profile", "--duration", "100ms", "--output-dir", "DIR"}, moments: []phase{within, after}},
		{name: "profile by stage", args: []string{"profile", "--profile-by-stage", "--num-steps", "50", "--output-dir", "DIR"}, moments: []phase{within, after}},
		{name: "profile start", args: []string{"profile", "start", "--num-steps", steps, "--output-dir", "DIR"}, moments: []phase{before, within}, whole: true},
		{name: "profile start without end", args: []string{"profile", "start", "--num-steps", "0", "--output-dir", "DIR"}, moments: []phase{within}, free: true, whole: true},
		{name: "profile stop", first: []string{"profile", "start", "--num-steps", "0", "--output-dir", "DIR", "-o", "DIR/window"}, args: []string{"profile", "stop", "DIR/window"}, moments: []phase{after}, free: true},
		{name: "profile stop of a server", first: []string{"profile", "start", "--num-steps", "0", "--output-dir", "DIR"}, args: []string{"profile", "stop"}, moments: []phase{before, after}, free: true, whole: true},
		{name: "bench serving", args: append([]string{"bench", "serving", "--profile-num-steps", steps}, load...), moments: []phase{before, within, after}},
		{name: "bench serving to its end", args: append([]string{"bench", "serving", "--profile-unbounded"}, append(load, "--num-prompts", "4", "--random-output-len", "50")...), moments: []phase{within}, free: true},
		{name: "bench one-batch-server", args: []string{"bench", "one-batch-server", "--batch-size", "2", "--input-len", "16", "--output-len", "300", "--profile", "--profile-steps", steps,
			"--profile-output-dir", "DIR", "--result-filename", "DIR/result.jsonl"}, moments: []phase{before, within, after}, alone: true},
		{name: "send", args: []string{"send", "--max-new-tokens", "400", "--ignore-eos", "--profile", "--profile-steps", steps}, moments: []phase{before, within, after}},
		{name: "watch", args: []string{"watch", "--every", "100ms", "--ttft", "1us", "--hold", "100ms", "--num-steps", steps, "--output-dir", "DIR"}, moments: []phase{within}, ways: "HUP KILL",
			serve: "--enable-metrics"}, // a rule takes ten seconds
		{name: "view", args: []string{"view", "--output-dir", "DIR"}, moments: []phase{before, within, after}, silent: true, do: func(at string) {
			for status := 0; status != http.StatusAccepted; { // it says its address before it is ready
				res, err := http.Post(at+"api/live/capture", "application/json", strings.NewReader(`{"steps": `+steps+`}`))
				if err != nil {
					return // it has ended
				}
				status = res.StatusCode
				res.Body.Close()
			}
		}},
	} {
		if testing.Short() && !v.short {
			continue
		}
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			s := startServe(t, "--model-path", "builtin:llama-tiny", "--tp-size", "2", "--max-total-tokens", "8192", cmp.Or(v.serve, "--log-level=warning"))
			busy := func() func() { return s.busy(t) }
			if v.alone {
				busy = func() func() { return func() {} }
			}
			for _, m := range v.moments {
				for _, c := range closes {
					if testing.Short() && (m != within || c.name == "INT" || c.name == "TERM") || v.silent && c.name == "PIPE" || v.ways != "" && !strings.Contains(v.ways, c.name) {
						continue
					}
					t.Run(string(m)+", "+c.name, func(t *testing.T) {
						rest := busy()
						g := s.watched(t)
						dir := t.TempDir()
						if v.first != nil {
							if r := startAgainst(t, dir, v.first, g.url); r.wait(t) != exitOK {
								t.Fatalf("%s", r.said())
							}
						}
						r := startAgainst(t, dir, v.args, g.url)
						g.at(m, func() { c.end(r) })
						if v.do != nil {
							go func() { v.do(<-r.line) }()
						}
						status := r.wait(t)
						rest()
						defer s.busy(t)() // so that steps are made, which end a window
						killed := c.name == "KILL"
						done := v.whole && status == exitOK
						if !killed && !done && status != exitInterrupted && !(v.silent && status == exitOK) || killed && !done && status != -1 {
							t.Errorf("status %d\n%s", status, r.said())
						}
						if strings.Contains(r.said(), "broken pipe") || strings.Contains(r.said(), "goroutine ") {
							t.Errorf("it said\n%s", r.said())
						}
						if list, err := runs.List(filepath.Join(dir, "runs")); !killed && (err != nil || slices.ContainsFunc(list, func(e runs.Entry) bool { return e.Status != runs.Complete && e.Status != runs.Interrupted })) {
							t.Errorf("a run is left broken: %v, %+v", err, list)
						}
						for _, body := range g.starts() {
							if bounded := body.NumSteps != nil && *body.NumSteps > 0; bounded == v.free {
								t.Errorf("the server was told %+v", body)
							}
						}
						if v.free && v.first == nil && c.name != "PIPE" && !strings.Contains(r.said(), "if stepscope is killed before it closes this window, close it with: stepscope profile stop --url "+g.url) {
							t.Errorf("nobody was told that the window has no end:\n%s", r.said())
						}
						switch {
						case v.free && (killed || done):
							if status, out, errs := stepscope(t, "profile", "stop", "--url", s.url); status != exitOK {
								t.Errorf("stop: status %d, %s%s", status, out, errs)
							}
						case killed || done:
							s.idleWithin(t, 30*time.Second)
						}
						if open := s.open(t); open {
							t.Fatalf("the server records\n%s", r.said())
						}
						if status, out, errs := stepscope(t, "profile", "--url", s.url, "--num-steps", "3", "--output-dir", t.TempDir(), "--no-store", "--no-analyze"); status != exitOK {
							t.Errorf("the next profile: status %d\n%s%s", status, out, errs)
						}
					})
				}
			}
		})
	}
}

// busy keeps requests on the server until the function that it returns is called.
func (s *served) busy(t *testing.T) (end func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var load sync.WaitGroup
	for range 2 {
		load.Go(func() {
			for ctx.Err() == nil {
				body := strings.NewReader(`{"text": "a load", "sampling_params": {"max_new_tokens": 128, "ignore_eos": true}}`)
				r, err := http.NewRequestWithContext(ctx, "POST", s.url+"/generate", body)
				if err != nil {
					t.Error(err)
					return
				}
				if res, err := http.DefaultClient.Do(r); err == nil {
					io.Copy(io.Discard, res.Body)
					res.Body.Close()
				}
			}
		})
	}
	return func() { cancel(); load.Wait() }
}

// open tells whether the server records.
func (s *served) open(t *testing.T) bool {
	t.Helper()
	res, err := http.Get(s.url + "/profile_files")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var files wire.ProfileFiles
	if err := json.NewDecoder(res.Body).Decode(&files); err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files.Windows, func(w wire.ProfileWindow) bool { return w.Open })
}

// idleWithin waits until the server has closed its window by itself.
func (s *served) idleWithin(t *testing.T, limit time.Duration) {
	t.Helper()
	for until := time.Now().Add(limit); s.open(t) && time.Now().Before(until); {
		time.Sleep(20 * time.Millisecond)
	}
}

// watchman stands before a server, and sees at which moment a verb is.
type watchman struct {
	url string

	mu     sync.Mutex
	moment phase
	do     func()
	bodies []wire.ProfileRequest
}

func (s *served) watched(t *testing.T) *watchman {
	t.Helper()
	at, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(at)
	// Servers of parallel tests close idle connections of the default transport.
	pass.Transport = &http.Transport{DisableKeepAlives: true}
	pass.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) } // the verb has gone
	g := &watchman{}
	hs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.reached(before)
		starts := r.Method == "POST" && r.URL.Path == "/start_profile"
		if starts {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			var req wire.ProfileRequest
			json.Unmarshal(body, &req)
			g.mu.Lock()
			g.bodies = append(g.bodies, req)
			g.mu.Unlock()
		}
		if r.Method == "POST" && r.URL.Path == "/stop_profile" || r.URL.Path == "/profile_files" && len(g.starts()) > 0 && !s.open(t) {
			g.reached(after)
		}
		pass.ServeHTTP(w, r)
		if starts {
			g.reached(within)
		}
	}))
	t.Cleanup(hs.Close)
	g.url = hs.URL
	return g
}

// at has f done once, when the verb has reached the moment.
func (g *watchman) at(m phase, f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.moment, g.do = m, f
}

func (g *watchman) reached(m phase) {
	g.mu.Lock()
	do := g.do
	if g.moment != m {
		do = nil
	} else {
		g.do = nil
	}
	g.mu.Unlock()
	if do != nil {
		do()
	}
}

// starts are the windows that the server was asked for.
func (g *watchman) starts() []wire.ProfileRequest {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.bodies)
}

// ended is a verb under way.
type ended struct {
	cmd            *exec.Cmd
	stdout, stderr *os.File // ends that are read here
	line           chan string
	out            syncBuffer
	reads          sync.WaitGroup
}

// startAgainst starts a verb against a server, with all that it writes in a directory.
func startAgainst(t *testing.T, dir string, args []string, url string) *ended {
	t.Helper()
	args = append(slices.Clone(args), "--url", url)
	for i, a := range args {
		args[i] = strings.Replace(a, "DIR", dir, 1)
	}
	r := &ended{cmd: exec.Command("stepscope", args...), line: make(chan string, 1)}
	r.cmd.Dir = dir
	r.cmd.Env = append(os.Environ(), "STEPSCOPE_RUN_DIR="+filepath.Join(dir, "runs"), "SGLANG_TORCH_PROFILER_DIR="+dir, "XDG_DATA_HOME="+dir)
	for _, o := range []struct {
		to *io.Writer
		at **os.File
	}{{&r.cmd.Stdout, &r.stdout}, {&r.cmd.Stderr, &r.stderr}} {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer write.Close()
		*o.to, *o.at = write, read
		first := o.at == &r.stdout
		r.reads.Go(func() {
			for lines := bufio.NewScanner(read); lines.Scan(); {
				fmt.Fprintln(&r.out, lines.Text())
				if first {
					r.line <- lines.Text()
					first = false
				}
			}
		})
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

// wait waits for the end, and gives the status; -1: it was killed.
func (r *ended) wait(t *testing.T) int {
	t.Helper()
	late := time.AfterFunc(time.Minute, func() {
		t.Errorf("it does not end:\n%s", r.said())
		r.cmd.Process.Kill()
	})
	r.cmd.Wait()
	late.Stop()
	r.reads.Wait()
	r.stdout.Close()
	r.stderr.Close()
	return r.cmd.ProcessState.ExitCode()
}

func (r *ended) said() string { return r.out.String() }
