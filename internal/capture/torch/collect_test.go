package torch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/capture/collect"
)

const tp2 = `{"tp_size":2,"version":"0.5.9","api_key":"secret","internal_states":[{"admin_api_key":"secret"}]}`

// run makes a window on fakes and collects it.
func run(t *testing.T, w Window, o Options, fakes ...*fake) (*Result, error) {
	t.Helper()
	var targets []Target
	for _, f := range fakes {
		targets = append(targets, Target{URL: f.url})
	}
	return runOn(t, w, o, targets)
}

func runOn(t *testing.T, w Window, o Options, targets []Target) (*Result, error) {
	t.Helper()
	if w.OutputDir == "" {
		w.OutputDir = t.TempDir()
	}
	s, err := Start(t.Context(), targets, w, o)
	if err != nil {
		t.Fatal(err)
	}
	return s.Collect(t.Context(), filepath.Join(t.TempDir(), "local"))
}

// TestCollect checks a window of two ranks whose files are written as SGLang writes them: one after the other, the last
// in parts.
func TestCollect(t *testing.T) {
	f := newFake(t, false, tp2)
	second := func(bytes int) {
		path := filepath.Join(f.body["output_dir"].(string), "9-TP-1.trace.json.gz")
		if err := os.WriteFile(path, traceOf(1, 2)[:bytes], 0o644); err != nil {
			t.Error(err)
		}
	}
	f.begin = func(dir string) { f.write(dir, "9-TP-0.trace.json.gz") }
	s, err := Start(t.Context(), []Target{{URL: f.url}}, Window{OutputDir: t.TempDir(), NumSteps: 3}, patient(Options{Log: func(line string) {
		if strings.Contains(line, "TP-0.trace") {
			second(100)
		}
	}}))
	if err != nil {
		t.Fatal(err)
	}
	looks := 0
	s.members[0].src = &countingSource{s.members[0].src, func() {
		if looks++; looks == 8 {
			second(len(traceOf(1, 2)))
		}
	}}
	local := t.TempDir()
	res, err := s.Collect(t.Context(), local)
	if err != nil {
		t.Fatal(err)
	}
	r := res.Servers[0]
	if got := bases(r.Traces); got != "9-TP-0.trace.json.gz 9-TP-1.trace.json.gz" || res.Incomplete() || looks < 8 {
		t.Errorf("%s after %d looks: %+v", got, looks, r)
	}
	if filepath.Base(r.Merged) != "merged-9.trace.json.gz" || collect.Whole(t.Context(), r.Merged) != nil {
		t.Errorf("merged %q", r.Merged)
	}
	args, err := os.ReadFile(filepath.Join(local, "server_args.json"))
	if err != nil || !strings.Contains(string(args), `"tp_size":2`) || strings.Contains(string(args), "secret") || strings.Contains(string(args), "\n") {
		t.Errorf("server_args.json: %s, %v", args, err)
	}
	if f.called() != "start" {
		t.Errorf("a window that should close by itself is open: %s", f.called())
	}
}

// countingSource reports each listing.
type countingSource struct {
	collect.Source
	look func()
}

func (c *countingSource) List(ctx context.Context) ([]collect.File, error) {
	c.look()
	return c.Source.List(ctx)
}

// TestCollectTrouble checks that missing files are named and the others are fetched.
func TestCollectTrouble(t *testing.T) {
	for _, c := range []struct {
		name  string
		info  string
		w     Window
		begin func(*fake, string)
		end   func(*fake, string)
		// outcome
		traces, missing, broken, note string
		calls                         string
	}{
		{name: "a rank is missing", info: tp2, w: Window{NumSteps: 3},
			begin:  func(f *fake, d string) { f.write(d, "9-TP-0.trace.json.gz"); f.open = false },
			traces: "9-TP-0.trace.json.gz", missing: "TP01", note: "some ranks had not finished", calls: "start stop"},
		{name: "a rank of another node", info: `{"tp_size":2,"nnodes":2}`, w: Window{NumSteps: 3},
			begin:  func(f *fake, d string) { f.write(d, "9-TP-0.trace.json.gz"); f.open = false },
			traces: "9-TP-0.trace.json.gz", missing: "TP01", note: "has 2 nodes", calls: "start stop"},
		{name: "an idle replica", info: `{"tp_size":1,"dp_size":2}`, w: Window{NumSteps: 3},
			begin:  func(f *fake, d string) { f.write(d, "9-TP-0-DP-0.trace.json.gz") },
			end:    func(f *fake, d string) { f.write(d, "9-TP-0-DP-1.trace.json.gz") },
			traces: "9-TP-0-DP-0.trace.json.gz 9-TP-0-DP-1.trace.json.gz", note: "some ranks had not finished", calls: "start stop"},
		{name: "cut off", info: tp2, w: Window{NumSteps: 3},
			begin: func(f *fake, d string) {
				f.write(d, "9-TP-0.trace.json.gz", "9-TP-1.trace.json.gz")
				os.Truncate(filepath.Join(d, "9-TP-1.trace.json.gz"), 100)
				f.open = false
			},
			traces: "9-TP-0.trace.json.gz 9-TP-1.trace.json.gz", missing: "TP01", broken: "9-TP-1.trace.json.gz: incomplete: it is cut off or damaged", calls: "start stop"},
		{name: "never closes", info: tp2, w: Window{NumSteps: 3},
			end:    func(f *fake, d string) { f.write(d, "9-TP-0.trace.json.gz", "9-TP-1.trace.json.gz") },
			traces: "9-TP-0.trace.json.gz 9-TP-1.trace.json.gz", note: "had not closed by itself after 500ms", calls: "start stop"},
		{name: "until stop", info: tp2, w: Window{},
			end:    func(f *fake, d string) { f.write(d, "9-TP-0.trace.json.gz", "9-TP-1.trace.json.gz") },
			traces: "9-TP-0.trace.json.gz 9-TP-1.trace.json.gz", calls: "start stop"},
		{name: "only prefill came", info: `{"tp_size":1}`, w: Window{NumSteps: 3, ByStage: true},
			begin:  func(f *fake, d string) { f.write(d, "9-TP-0-EXTEND.trace.json.gz") },
			traces: "9-TP-0-EXTEND.trace.json.gz", missing: "TP00 decode", calls: "start stop"},
		{name: "newer names of stages", info: `{"tp_size":1}`, w: Window{NumSteps: 3, ByStage: true, Prefix: "run"},
			begin: func(f *fake, d string) {
				f.write(d, "run-9-TP-0-prefill.trace.json.gz", "run-9-TP-0-decode.trace.json.gz")
			},
			traces: "run-9-TP-0-decode.trace.json.gz run-9-TP-0-prefill.trace.json.gz", calls: "start"},
		{name: "an old server names TP alone", info: `{"tp_size":1,"dp_size":2}`, w: Window{NumSteps: 3},
			begin:  func(f *fake, d string) { f.write(d, "9-TP-0.trace.json.gz") },
			traces: "9-TP-0.trace.json.gz", calls: "start"},
		{name: "snapshots of memory", info: tp2, w: Window{NumSteps: 3, Activities: []string{"MEM"}},
			begin: func(f *fake, d string) { f.write(d, "9-TP-0-memory.pickle", "9.5-TP-1-memory.pickle") },
			calls: "start"},
		{name: "an outer profiler", info: tp2, w: Window{NumSteps: 3, Activities: []string{"CUDA_PROFILER"}}, calls: "start"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, false, c.info)
			if c.begin != nil {
				f.begin = func(d string) { c.begin(f, d) }
			}
			if c.end != nil {
				f.end = func(d string) { c.end(f, d) }
			}
			res, err := run(t, c.w, quick(Options{}), f)
			if err != nil {
				t.Fatal(err)
			}
			r := res.Servers[0]
			if got := bases(r.Traces); got != c.traces {
				t.Errorf("traces %q, want %q", got, c.traces)
			}
			if got := strings.Join(r.Missing, " "); got != c.missing || res.Incomplete() != (c.missing != "") {
				t.Errorf("missing %q, want %q", got, c.missing)
			}
			if got := strings.Join(r.Broken, " "); !strings.HasPrefix(got, c.broken) || (got == "") != (c.broken == "") {
				t.Errorf("broken %q, want %q", got, c.broken)
			}
			if got := strings.Join(r.Notes, "; "); !strings.Contains(got, c.note) || c.note == "" && c.missing == "" && got != "" {
				t.Errorf("notes %q, want %q", got, c.note)
			}
			if f.called() != c.calls {
				t.Errorf("calls %q, want %q", f.called(), c.calls)
			}
			for _, path := range slices.Concat(r.Traces, r.Other) {
				if _, err := os.Stat(path); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestCollectNothing checks that a window without any file is an error with the reason and a remedy.
func TestCollectNothing(t *testing.T) {
	metrics := "# HELP x\nsglang:generation_tokens_total{model_name=\"m {x}\"} 5\nsglang:num_running_reqs 0\n"
	for _, c := range []struct {
		name, info string
		set        func(*fake)
		want, hint string
	}{
		{"no traffic, by the metrics", tp2, func(f *fake) { f.answer("GET /metrics", 200, metrics) },
			"there was no forward step in 500ms: send load to the server, or give --probe", "is running no forward step, so there is nothing to record: send load to it"},
		{"no traffic, by the load", tp2, func(f *fake) { f.answer("GET /get_load", 200, `[{"dp_rank":0,"num_reqs":0}]`) },
			"there was no forward step in 500ms", "is running no forward step"},
		{"unknown load", tp2, func(*fake) {}, "left no trace in ", "does not report whether it has work"},
		{"written elsewhere", tp2, func(f *fake) { f.begin = func(string) { f.open = false } },
			"the server says that it is not recording, but there is no trace in ", ""},
		{"vLLM's directory", "", func(f *fake) { f.answer("GET /version", 200, `{"version":"0.15.0"}`) },
			"give --output-dir, the directory that vLLM was started with", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, false, c.info)
			c.set(f)
			l := &log{}
			_, err := run(t, Window{NumSteps: 3}, quick(Options{Log: l.add}), f)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %q", err, c.want)
			}
			if !l.has(c.hint) {
				t.Errorf("said %q, want %q", l.lines, c.hint)
			}
			if f.isOpen() {
				t.Error("the server is still recording")
			}
		})
	}
}

// TestCollectInterrupted checks that an interrupt stops the profilers, including one that is only armed, which SGLang
// cannot cancel but replace.
func TestCollectInterrupted(t *testing.T) {
	for _, c := range []struct {
		w     Window
		calls string
	}{
		{Window{NumSteps: 5}, "start stop"},
		{Window{NumSteps: 5, StartStep: 100}, "start stop start stop"},
	} {
		f := newFake(t, false, tp2)
		ctx, cancel := context.WithCancel(t.Context())
		f.routes["GET /metrics"] = func(w http.ResponseWriter, r *http.Request) {
			if f.called() == "" { // one look before it is armed
				http.NotFound(w, r)
				return
			}
			if c.w.StartStep > 0 {
				f.mu.Lock()
				f.open = false // armed: a stop reports that nothing is being recorded
				f.mu.Unlock()
			}
			cancel()
		}
		c.w.OutputDir = t.TempDir()
		s, err := Start(ctx, []Target{{URL: f.url}}, c.w, patient(Options{}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Collect(ctx, t.TempDir()); !errors.Is(err, context.Canceled) || f.isOpen() || f.called() != c.calls {
			t.Errorf("%v, open %t, calls %s, want %s", err, f.isOpen(), f.called(), c.calls)
		}
	}
}

// TestCollectSeveral checks that prefill and decode servers have separate directories and wait only for their own
// stage, and that one failure does not affect the others.
func TestCollectSeveral(t *testing.T) {
	var targets []Target
	var fakes []*fake
	for i, role := range []string{api.Prefill, api.Prefill, api.Decode} {
		f := newFake(t, false, `{"tp_size":1}`)
		stage := map[string]string{api.Prefill: "EXTEND", api.Decode: "DECODE"}[role]
		f.begin = func(d string) {
			f.write(d, "9-TP-0-"+stage+".trace.json.gz")
			f.open = false
		}
		targets = append(targets, Target{URL: f.url, Role: role, Name: fmt.Sprintf("node%d", i)})
		fakes = append(fakes, f)
	}
	w := Window{NumSteps: 2, ByStage: true}
	res, err := runOn(t, w, patient(Options{}), targets)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"prefill-node0/9-TP-0-EXTEND.trace.json.gz", "prefill-node1/9-TP-0-EXTEND.trace.json.gz", "decode-node2/9-TP-0-DECODE.trace.json.gz"} {
		if r := res.Servers[i]; len(r.Traces) != 1 || r.Traces[0] != filepath.Join(res.Dir, want) || len(r.Missing) > 0 {
			t.Errorf("%+v, want %s", r, want)
		}
		if dir := fakes[i].body["output_dir"].(string); filepath.Base(dir) != filepath.Dir(want) {
			t.Errorf("the server received %s", dir)
		}
	}
	fakes[1].begin = func(string) { fakes[1].open = false }
	res, err = runOn(t, w, quick(Options{}), targets)
	if err != nil || !res.Incomplete() || res.Servers[1].Problem == "" || len(res.Servers[0].Traces)+len(res.Servers[2].Traces) != 2 {
		t.Errorf("%v, %+v", err, res)
	}
	if _, err := Start(t.Context(), targets, Window{OutputDir: "/out"}, Options{Probe: true}); err == nil || !strings.Contains(err.Error(), "the URL of the router") {
		t.Errorf("tiny requests for a prefill server: %v", err)
	}
}

// TestCollectBudget checks that files that exceed the budget end the window on all servers, and that a merged file
// counts.
func TestCollectBudget(t *testing.T) {
	size := int64(len(traceOf(0, 2)))
	for _, c := range []struct {
		most   int64
		ok     bool
		merged bool
	}{{3 * size / 2, false, false}, {5 * size / 2, true, false}, {100 * size, true, true}} {
		a, b := newFake(t, false, tp2), newFake(t, false, tp2) // b stays open until it is stopped
		a.begin = func(dir string) { a.write(dir, "9-TP-0.trace.json.gz", "9-TP-1.trace.json.gz"); a.open = false }
		fakes := []*fake{a}
		if !c.ok {
			fakes = append(fakes, b)
		}
		o := patient(Options{Budget: collect.NewBudget(c.most)})
		o.Fetch, _ = collect.ParseTemplate("cat {path}", "")
		res, err := run(t, Window{NumSteps: 3}, o, fakes...)
		if c.ok != (err == nil) || !c.ok && !errors.Is(err, collect.ErrBudget) || b.isOpen() {
			t.Errorf("%d bytes: %v, open %t", c.most, err, b.isOpen())
		}
		if c.ok && (res.Servers[0].Merged != "") != c.merged {
			t.Errorf("%d bytes: %+v", c.most, res.Servers[0])
		}
	}
}

// TestResume checks that one process can start a session and another can stop and collect it.
func TestResume(t *testing.T) {
	f := newFake(t, false, tp2)
	f.end = func(d string) { f.write(d, "9-TP-0.trace.json.gz", "9-TP-1.trace.json.gz") }
	root := t.TempDir()
	s, err := Start(t.Context(), []Target{{URL: f.url, Header: http.Header{"Authorization": {"Bearer secret"}}}}, Window{OutputDir: root}, quick(Options{}))
	if err != nil {
		t.Fatal(err)
	}
	dir, kept := filepath.Join(root, s.ID), filepath.Join(t.TempDir(), "sessions")
	if err := s.Save(kept, dir); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(dir); err != nil || st.Mode() != fs.ModeDir|fs.ModeSticky|0o777 {
		t.Errorf("a session in the servers' directory: %v, %v", st.Mode(), err)
	}
	if text, _ := os.ReadFile(sessionFile(kept, s.ID)); strings.Contains(string(text), "secret") {
		t.Errorf("a key was written: %s", text)
	}
	for what, ref := range map[string]string{"its id": s.ID, "its directory": dir, "that, written another way": dir + "/../" + s.ID + "/"} {
		if saved, err := FindSaved(kept, ref); err != nil || saved.ID != s.ID || saved.Dir != dir {
			t.Errorf("by %s: %v", what, err)
		}
	}
	saved, err := FindSaved(kept, s.ID)
	if err != nil {
		t.Fatal(err)
	}
	res, err := saved.Resume(Target{}, quick(Options{})).Collect(t.Context(), dir)
	if err != nil || len(res.Servers[0].Traces) != 2 || f.called() != "start stop" {
		t.Errorf("%v, %+v, %s", err, res, f.called())
	}
	if err := saved.Forget(); err != nil {
		t.Error(err)
	}
	if _, err := FindSaved(kept, dir); err == nil || !strings.Contains(err.Error(), "you started no session there") {
		t.Error(err)
	}
}

// TestSavedOfOthers checks that the destination of a key is never read from a file that another user could have
// written: neither in the directory of the servers nor in a sessions directory that others can write to.
func TestSavedOfOthers(t *testing.T) {
	f := newFake(t, false, tp2)
	root := t.TempDir()
	s, err := Start(t.Context(), []Target{{URL: f.url}}, Window{OutputDir: root}, quick(Options{}))
	if err != nil {
		t.Fatal(err)
	}
	dir, kept := filepath.Join(root, s.ID), filepath.Join(t.TempDir(), "sessions")
	if err := s.Save(kept, dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(sessionFile(kept, s.ID))
	if err != nil {
		t.Fatal(err)
	}
	theirs := bytes.ReplaceAll(text, []byte(f.url), []byte("http://theirs:1"))
	if err := os.WriteFile(filepath.Join(dir, "session.json"), theirs, 0o644); err != nil {
		t.Fatal(err)
	}
	if saved, err := FindSaved(kept, dir); err != nil || saved.Servers[0].URL != f.url {
		t.Errorf("a file among the traces: %v", err)
	}
	if saved, err := FindSaved(t.TempDir(), dir); err == nil {
		t.Errorf("a file among the traces is accepted: %+v", saved)
	}
	if err := os.Chmod(kept, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{s.ID, dir} {
		if _, err := FindSaved(kept, ref); err == nil || !strings.Contains(err.Error(), "is not trusted: its mode is 0777") {
			t.Errorf("a directory that others can write to: %v", err)
		}
	}
	if err := s.Save(kept, dir); err == nil {
		t.Error("a session is kept where others can change it")
	}
}

// TestCollectFetch checks that files are fetched by a command, and that a broken command is reported before anything is
// recorded.
func TestCollectFetch(t *testing.T) {
	f := newFake(t, false, tp2)
	f.begin = func(d string) { f.write(d, "9-TP-0.trace.json.gz", "9-TP-1.trace.json.gz") }
	through := func(read string) *collect.Template {
		tmpl, err := collect.ParseTemplate(read, "")
		if err != nil {
			t.Fatal(err)
		}
		return tmpl
	}
	res, err := run(t, Window{NumSteps: 3}, patient(Options{Fetch: through("env HOST={host} cat {path}")}), f)
	if err != nil || res.Incomplete() || len(res.Servers[0].Traces) != 2 {
		t.Errorf("%v, %+v", err, res)
	}
	for read, want := range map[string]string{
		"stepscope-no-such-program cat {path}": "its directory cannot be listed: stepscope-no-such-program ls -ln /",
		"false {host} cat {path}":              "its directory cannot be listed: false 127.0.0.1 ls -ln /",
	} {
		_, err := Start(t.Context(), []Target{{URL: f.url}}, Window{OutputDir: "/out"}, Options{Fetch: through(read)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := Start(t.Context(), []Target{{URL: f.url}}, Window{OutputDir: "/a b"}, Options{Fetch: through("cat {path}")}); err == nil || !strings.Contains(err.Error(), "cannot be fetched") {
		t.Errorf("a directory that a shell could misinterpret: %v", err)
	}
	if f.called() != "start" {
		t.Errorf("calls %s", f.called())
	}
}
