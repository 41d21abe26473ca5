package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/watch"
)

// TestWatch: a server with four data-parallel ranks, of which one gets more requests than the
// others from some moment on, or takes longer for as many: the moment is found, a window is
// captured in it, and the verdict tells one from the other.
func TestWatch(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("seconds of load")
	}
	// Kernels last a while, asleep, so that ranks do not take cores from each other.
	paced := func(rank int, fault string) string {
		return fmt.Sprintf("--device-fault=rank=%d,pace=100us%s", rank, fault)
	}
	// Limits are so far from what is usual that a machine on which much else runs does not reach them.
	for _, c := range []struct {
		name, fault string
		rule        string
		skewed      bool
		kind, cause string
	}{
		{"more work", "", "{kind: imbalance, signal: load, above: 2, least: 12, for: 2s}", true, watch.MoreWork, "load"},
		{"slower", ",from=250,kernel_sleep=4ms", "{kind: imbalance, signal: pace, measure: max/others, above: 1.8, least: 2, for: 2s}", false, watch.Slower, "device"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			args := []string{"serve", "--model-path", "builtin:llama-tiny", "--dp-size", "4", "--port", "0", "--enable-metrics"}
			for rank := range 4 {
				fault := ""
				if rank == 1 {
					fault = c.fault
				}
				args = append(args, paced(rank, fault))
			}
			_, log := program(t, args...)
			url := awaits(t, log, `(http://[\d.]+:\d+)`)
			load := newRankLoad(url)
			defer load.end()
			for rank := range 4 {
				load.add(rank, 4)
			}
			dir := t.TempDir()
			rules, series := filepath.Join(dir, "rules.yaml"), filepath.Join(dir, "series.jsonl")
			if err := os.WriteFile(rules, []byte("rules:\n  - "+c.rule+"\n"), 0o666); err != nil {
				t.Fatal(err)
			}
			watching, out := program(t, "watch", "--url", url, "--every", "200ms", "--rules", rules, "--series", series, "--num-steps", "6", "--max-captures", "1", "--run-dir", filepath.Join(dir, "runs"), "--json")
			if c.skewed {
				awaitSamples(t, series, 4, 15) // of how it is without the change
				load.add(1, 24)
			}
			awaits(t, out, `"kind":"alarm"`)
			awaits(t, out, `"kind":"(verdict|failed)"`)
			watching.Process.Signal(os.Interrupt)
			if status := ends(t, watching); status != exitInterrupted {
				t.Errorf("status %d", status)
			}
			events := eventsOf(t, filepath.Join(dir, "runs"))
			var alarm, verdict *watch.Event
			for i, e := range events {
				switch {
				case e.Kind == "alarm" && alarm == nil:
					alarm = &events[i]
				case e.Kind == "verdict":
					verdict = &events[i]
				}
			}
			if alarm == nil || verdict == nil {
				t.Fatalf("no alarm or no verdict: %+v", events)
			}
			v := verdict.Verdict
			if alarm.Rank != "DP01" || v.Rank != "DP01" || v.Kind != c.kind || v.Cause != c.cause {
				t.Errorf("%s of %s, by %s: %s\n%s", v.Kind, v.Rank, v.Cause, v.Says, strings.Join(v.Evidence, "\n"))
			}
			if c.skewed {
				onsetNear(t, alarm, series)
			}
			if v.Replica == nil || v.Replica.This.Steps < 3 {
				t.Errorf("what was captured: %+v", v.Replica)
			}
		})
	}
}

// seriesLine is what these tests read of a series.
type seriesLine struct {
	At    time.Time
	Blind bool
	Ranks []struct{ Running, Queued float64 }
}

func seriesOf(t *testing.T, path string) (out []seriesLine) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var s seriesLine
		if json.Unmarshal(line, &s) == nil { // the last may be half a line
			out = append(out, s)
		}
	}
	return out
}

// awaitSamples waits until so many samples have been judged in which all ranks have requests.
func awaitSamples(t *testing.T, path string, ranks, n int) {
	t.Helper()
	for range 1200 {
		works := 0
		for _, s := range seriesOf(t, path) {
			if !s.Blind && len(s.Ranks) == ranks && !slices.ContainsFunc(s.Ranks, func(r struct{ Running, Queued float64 }) bool { return r.Running+r.Queued == 0 }) {
				works++
			}
		}
		if works >= n {
			return
		}
		<-time.After(50 * time.Millisecond)
	}
	t.Fatalf("there are no %d samples in which all ranks work", n)
}

// onsetNear holds an onset against when the server had the requests, by its own word: within two seconds, or one sample
// where samples are further apart.
func onsetNear(t *testing.T, alarm *watch.Event, path string) {
	t.Helper()
	list := seriesOf(t, path)
	truth := slices.IndexFunc(list, func(s seriesLine) bool { return len(s.Ranks) == 4 && s.Ranks[1].Running+s.Ranks[1].Queued >= 8 })
	said := slices.IndexFunc(list, func(s seriesLine) bool { return s.At.Equal(*alarm.Onset) })
	if truth < 0 || said < 0 {
		t.Fatalf("the server had the requests in sample %d, and the onset is said to be in %d", truth, said)
	}
	if off := list[said].At.Sub(list[truth].At); off.Abs() > 2*time.Second && max(said-truth, truth-said) > 1 {
		t.Errorf("the onset is %v from the truth", off)
	}
}

// TestWatchSays: what keeps a server from being watched, and what is not known of one, with what to do about it.
func TestWatchSays(t *testing.T) {
	t.Parallel()
	url, log, stop := serving(t, "serve", "--model", "builtin:llama-tiny", "--port", "0", "--max-total-tokens", "4096", "--api-key", "secret")
	defer func() {
		if status := stop(); status != exitOK {
			t.Errorf("the server ended with %d:\n%s", status, log)
		}
	}()
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"--url", url}, exitFailed, "give --api-key"},
		{[]string{"--url", url, "--api-key", "secret"}, exitOK, "/metrics is off; start the server with --enable-metrics"},
		{[]string{"--url", "http://127.0.0.1:1"}, exitFailed, "127.0.0.1:1"},
		{[]string{"--url", url, "--api-key", "secret", "--log", "no/such/file"}, exitFailed, "no/such/file"},
		{[]string{"--url", url, "--api-key", "secret", "--log", "other=x"}, exitFailed, "no server has that name"},
		{[]string{"--url", url, "--view", "localhost:80"}, exitUsage, "give a port"},
		{[]string{"--url", url, "--listen", "x"}, exitUsage, "give a port, or HOST:PORT"},
		{[]string{"--url", url, "--listen", "0.0.0.0:0"}, exitUsage, "--insecure"},
		{[]string{"--url", url, "--alertmanager", "am:9093"}, exitUsage, "--alertmanager: give the URL of an Alertmanager"},
		{[]string{"--replay", "series.jsonl", "--alertmanager", "http://am:9093"}, exitUsage, "--replay and --alertmanager"},
		{[]string{"--url", url, "--every", "1ms"}, exitUsage, "give at least 50ms"},
		{[]string{"--url", url, "--ring-every", "1s"}, exitUsage, "give at least 5s"},
		{[]string{"--url", url, "--max-disk", "much"}, exitUsage, "--max-disk"},
		{[]string{"--url", url, "--imbalance", "0.5"}, exitUsage, "max/mean is 1 if all ranks are equal"},
		{[]string{"--url", url, "--rules", always(t), "--ttft", "1s"}, exitUsage, "leave one of them out"},
		{[]string{"--url", url, "--replay", "series.jsonl"}, exitUsage, "replay calls no server"},
		{[]string{"--replay", "no/such/file"}, exitFailed, "no/such/file"},
		{[]string{"--url", url, "--url", url + "0", "--nsys", "x"}, exitUsage, "a session has one server"},
	} {
		dir := t.TempDir()
		args := append([]string{"watch", "--for", "300ms", "--every", "100ms", "--run-dir", dir}, c.args...)
		status, out, errs := run(t, t.Context(), args...)
		if status != c.status || !strings.Contains(out+errs, c.says) {
			t.Errorf("%q: status %d, want %d and %q:\n%s%s", c.args, status, c.status, c.says, out, errs)
		}
		// A watch that reached no server leaves no run.
		kept := c.status == exitOK
		if n := len(glob(t, dir, "*")); (n > 0) != kept || strings.Contains(errs, "run kept: ") != kept {
			t.Errorf("%q: %d files under --run-dir:\n%s%s", c.args, n, out, errs)
		}
	}
}

// evenly serves two replicas, each with two requests at a time, until end is called.
func evenly(t *testing.T) (url string, load *rankLoad, end func()) {
	t.Helper()
	url, log, stop := serving(t, "serve", "--model", "builtin:llama-tiny", "--port", "0", "--dp-size", "2", "--enable-metrics", "--max-total-tokens", "8192")
	load = newRankLoad(url)
	load.add(0, 2)
	load.add(1, 2)
	return url, load, func() {
		load.end()
		if status := stop(); status != exitOK {
			t.Errorf("the server ended with %d:\n%s", status, log)
		}
	}
}

// TestWatchRing: the flight recorder's windows from before and after a capture, which is compared with the former; and
// what goes on reaches a command and the watch's own metrics meanwhile.
func TestWatchRing(t *testing.T) {
	t.Parallel()
	url, load, end := evenly(t)
	defer end()
	dir := t.TempDir()
	rules, got, series := filepath.Join(dir, "rules.yaml"), filepath.Join(dir, "got.jsonl"), filepath.Join(dir, "series.jsonl")
	if err := os.WriteFile(rules, []byte("rules:\n  - {name: lopsided, kind: imbalance, signal: load, above: 1.5, least: 8, for: 1s}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	watching, out := program(t, "watch", "--url", url, "--every", "200ms", "--rules", rules, "--max-captures", "1", "--run-dir", dir,
		"--ring", "3", "--ring-every", "6s", "--exec", "cat >>"+got, "--listen", "0", "--series", series)
	metrics := awaits(t, out, `listening on (http://\S+)`)
	awaitFiles(t, 2, filepath.Join(dir, "*", "traces", ".ring-1", "*.trace.json.gz"))
	awaitSamples(t, series, 2, 12) // so that the window is from before the change
	load.add(1, 24)
	awaits(t, out, `traces: (.*)`)
	if _, text := call(t, "GET", metrics, ""); !strings.Contains(text, `stepscope_watch_events_total{kind="verdict"} 1.0`) || !strings.Contains(text, `rule="lopsided"} `) {
		t.Errorf("metrics:\n%s", text)
	}
	awaitFiles(t, 2, filepath.Join(dir, "*", "traces", "capture-1-after", "*.trace.json.gz"))
	watching.Process.Signal(os.Interrupt)
	if status := ends(t, watching); status != exitInterrupted {
		t.Errorf("status %d", status)
	}
	events := eventsOf(t, dir)
	i := slices.IndexFunc(events, func(e watch.Event) bool { return e.Kind == watch.KindVerdict })
	if i < 0 || events[i].Verdict.Changed == "" || strings.Contains(events[i].Verdict.Changed, "cannot be") {
		t.Errorf("it is not compared with the window before: %+v", events)
	}
	for _, name := range []string{"capture-1", "capture-1-before-1", "capture-1-after"} {
		if n := len(glob(t, dir, "*", "traces", name, "*-DP-*.trace.json.gz")); n != 2 {
			t.Errorf("%s has %d traces", name, n)
		}
	}
	if left := glob(t, dir, "*", "traces", ".ring-*"); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	text, err := os.ReadFile(got)
	if lines := strings.Split(strings.TrimSpace(string(text)), "\n"); err != nil || len(lines) != len(events) {
		t.Errorf("the command got %d events of %d: %v", len(lines), len(events), err)
	}
}

// awaitFiles waits until there are so many files.
func awaitFiles(t *testing.T, n int, pattern string) {
	t.Helper()
	for range 2400 {
		if found, _ := filepath.Glob(pattern); len(found) >= n {
			return
		}
		<-time.After(50 * time.Millisecond)
	}
	t.Fatalf("there are no %d of %s", n, pattern)
}

// TestWatchInterrupted: SIGTERM in a capture lets it end, and says what came of it.
func TestWatchInterrupted(t *testing.T) {
	t.Parallel()
	url, _, end := evenly(t)
	defer end()
	dir := t.TempDir()
	watching, out := program(t, "watch", "--url", url, "--every", "200ms", "--rules", always(t), "--num-steps", "20", "--run-dir", dir, "--json")
	awaits(t, out, `"kind":"capture"`)
	watching.Process.Signal(syscall.SIGTERM)
	began := time.Now()
	if status := ends(t, watching); status != exitInterrupted {
		t.Errorf("status %d", status)
	}
	var kinds []string
	for _, e := range eventsOf(t, dir) {
		kinds = append(kinds, e.Kind)
	}
	got := strings.Join(kinds, " ")
	if strings.HasSuffix(got, "failed end") && time.Since(began) > 20*time.Second {
		return // a slow machine: captures are not waited for longer than 25 s
	}
	if !strings.HasPrefix(got, "begin ") || strings.Count(got, "capture") != 1 || !strings.HasSuffix(got, "verdict end") {
		t.Errorf("%s", got)
	}
	if n := len(glob(t, dir, "*", "traces", "capture-1", "*-DP-*.trace.json.gz")); n != 2 {
		t.Errorf("%d traces", n)
	}
	// What the watch said comes first when its window is looked at again.
	if status, out, errs := run(t, t.Context(), "analyze", "last", "--run-dir", dir); status != exitOK || !strings.HasPrefix(out, "watch on capture-1 at ") {
		t.Errorf("status %d:\n%s%s", status, errs, out)
	}
}

// TestWatchRouter: of a router its workers are watched, each by itself and all together.
func TestWatchRouter(t *testing.T) {
	t.Parallel()
	args := []string{"route", "--port", "0", "--policy", "round_robin", "--worker-urls"}
	for range 2 {
		url, _, stop := serving(t, "serve", "--model", "builtin:llama-tiny", "--port", "0", "--enable-metrics", "--max-total-tokens", "4096")
		defer stop()
		args = append(args, url)
	}
	router, log, stop := serving(t, args...)
	defer stop()
	workersUp(t, log, 2)
	load := &rankLoad{url: router, stop: make(chan struct{})}
	defer load.end()
	load.add(0, 4)
	dir := t.TempDir()
	watching, out := program(t, "watch", "--url", router, "--every", "200ms", "--rules", always(t), "--max-captures", "1", "--run-dir", dir, "--json")
	awaits(t, out, `"kind":"(verdict|failed)"`)
	watching.Process.Signal(os.Interrupt)
	if status := ends(t, watching); status != exitInterrupted {
		t.Errorf("status %d", status)
	}
	var began []string
	for _, e := range eventsOf(t, dir) {
		switch e.Kind {
		case watch.KindBegin:
			began = append(began, e.Server)
		case watch.KindFailed:
			t.Errorf("%+v", e)
		case watch.KindVerdict:
			if len(e.Verdict.Problems) > 0 {
				t.Errorf("%+v", e.Verdict)
			}
		}
	}
	if slices.Sort(began); !slices.Equal(began, slices.Sorted(slices.Values(args[6:]))) {
		t.Errorf("%v are watched, want %v", began, args[6:])
	}
}

// eventsOf reads the log of the only run in a directory.
func eventsOf(t *testing.T, dir string) (events []watch.Event) {
	t.Helper()
	logs, _ := filepath.Glob(filepath.Join(dir, "*", "events.jsonl"))
	if len(logs) != 1 {
		t.Fatalf("logs of events: %v", logs)
	}
	text, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var e watch.Event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		events = append(events, e)
	}
	return events
}

// rankLoad sends requests to data-parallel ranks by number, each sender one after the other.
type rankLoad struct {
	url  string
	stop chan struct{}
	all  sync.WaitGroup
}

func newRankLoad(url string) *rankLoad { return &rankLoad{url: url, stop: make(chan struct{})} }

func (l *rankLoad) add(rank, senders int) {
	for range senders {
		l.all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-l.stop:
					return
				default:
				}
				body := fmt.Sprintf(`{"input_ids":[%d,5,6,7,8,9],"routed_dp_rank":%d,"sampling_params":{"max_new_tokens":32,"ignore_eos":true}}`, 10+n%200, rank)
				resp, err := http.Post(l.url+"/generate", "application/json", strings.NewReader(body))
				if err != nil {
					return // the server has ended
				}
				resp.Body.Close()
			}
		})
	}
}

func (l *rankLoad) end() {
	close(l.stop)
	l.all.Wait()
}
