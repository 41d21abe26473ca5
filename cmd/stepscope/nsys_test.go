//go:build linux && (amd64 || arm64) && !static

package main

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/capture/nsys"
	"github.com/stepscope/stepscope/internal/testing/sqlitedb"
)

// TestMain makes the test binary stepscope when one starts it so.
func TestMain(m *testing.M) {
	if os.Getenv("STEPSCOPE_TEST_MAIN") != "" {
		main()
	}
	os.Exit(m.Run())
}

// output is what a process has written so far.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// profiled is a server under a real nsys profile.
type profiled struct {
	*testing.T
	nsys, dir, url string
	cmd            *exec.Cmd
	log            output
}

// profile starts "serve" of a model of four layers on two ranks under nsys profile and waits until it listens. The test
// skips where there is no nsys, in STEPSCOPE_NSYS or in PATH.
func profile(t *testing.T, options, serve []string) *profiled {
	t.Helper()
	tool, err := exec.LookPath(cmp.Or(os.Getenv("STEPSCOPE_NSYS"), "nsys"))
	if err != nil {
		t.Skip("there is no nsys: give its path as STEPSCOPE_NSYS")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &profiled{T: t, nsys: tool, dir: t.TempDir()}
	args := slices.Concat([]string{"profile", "-t", "nvtx", "--sample=none", "--cpuctxsw=none", "-f", "true", "-o", p.path("report")}, options,
		// A shell tells the pid, which nsys keeps to itself.
		[]string{"sh", "-c", `echo $$ >"$0" && exec "$@"`, p.path("pid"), exe, "serve", "--model-path", "builtin:llama-tiny",
			"--tp-size", "2", "--port", "0", "--max-running-requests", "4", "--max-total-tokens", "4096", "--enable-layerwise-nvtx-marker"}, serve)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	p.cmd = exec.CommandContext(ctx, tool, args...)
	p.cmd.Env = append(os.Environ(), "STEPSCOPE_TEST_MAIN=1", "XDG_CACHE_HOME="+p.dir)
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.WaitDelay = &p.log, &p.log, time.Second
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil { // the test failed before end
			p.signal(syscall.SIGKILL)
			cancel()
			p.cmd.Wait()
		}
		cancel()
	})
	at := regexp.MustCompile(`Listening on (http://\S+)`)
	for range 3000 {
		if m := at.FindStringSubmatch(p.log.String()); m != nil {
			p.url = m[1]
			return p
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("the server does not listen:\n%s", &p.log)
	return nil
}

func (p *profiled) path(name string) string { return filepath.Join(p.dir, name) }

// signal sends one to the server.
func (p *profiled) signal(s syscall.Signal) {
	text, _ := os.ReadFile(p.path("pid"))
	if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
		syscall.Kill(pid, s)
	}
}

// post sends a request that must succeed.
func (p *profiled) post(path, body string) {
	p.Helper()
	resp, err := http.Post(p.url+path, "application/json", strings.NewReader(body))
	if err != nil {
		p.Fatalf("%v\n%s", err, &p.log)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		p.Fatalf("%s: %s %s %v", path, resp.Status, text, err)
	}
}

// generate has a prompt of three tokens go through one prefill step and seven decode steps.
func (p *profiled) generate() {
	p.post("/generate", `{"input_ids": [1, 2, 3], "sampling_params": {"max_new_tokens": 8, "ignore_eos": true}}`)
}

// event is a row of NVTX_EVENTS.
type event struct {
	kind, start, end, thread int64
	domain, text             string
}

// The kinds of rows.
const threadName, pushPop, startEnd = 39, 59, 60

// end ends the server by a signal and returns what nsys recorded, in the order of the calls.
func (p *profiled) end(s syscall.Signal) []event {
	p.Helper()
	p.signal(s)
	if err := p.cmd.Wait(); err != nil {
		p.Fatalf("nsys: %v\n%s", err, &p.log)
	}
	if _, _, err := nsys.At(p.nsys, os.TempDir()).Settle(p.Context(), nsys.ParseGenerated(p.log.String()), p.path("report.nsys-rep")); err != nil {
		p.Fatalf("%v\n%s", err, &p.log)
	}
	export := exec.Command(p.nsys, "export", "--type=sqlite", "-f", "true", "--quiet=true", "-o", p.path("report.sqlite"), p.path("report.nsys-rep"))
	if out, err := export.CombinedOutput(); err != nil {
		p.Fatalf("nsys export: %v\n%s\n%s", err, out, &p.log)
	}
	db, err := sqlitedb.Open(p.path("report.sqlite"))
	if err != nil {
		p.Fatal(err)
	}
	defer db.Close()
	// 75 is the row that names a domain.
	rows, err := db.Query(`select e.eventType, e.start, coalesce(e."end", 0), e.globalTid,
		coalesce((select d.text from NVTX_EVENTS d where d.eventType = 75 and d.domainId = e.domainId), ''),
		coalesce(e.text, (select value from StringIds where id = e.textId), '')
		from NVTX_EVENTS e where e.eventType != 75 order by e.start, e."end" desc`)
	if err != nil {
		p.Fatal(err)
	}
	defer rows.Close()
	var out []event
	for rows.Next() {
		var e event
		if err := rows.Scan(&e.kind, &e.start, &e.end, &e.thread, &e.domain, &e.text); err != nil {
			p.Fatal(err)
		}
		out = append(out, e)
	}
	if err := rows.Err(); err != nil {
		p.Fatal(err)
	}
	return out
}

// outlines draws the pushed ranges of each thread, a line each: steps by their text, modules by their path, indented by
// how deep they lie. Keys are the threads' names.
func outlines(events []event) map[string]string {
	names := map[int64]string{}
	open := map[int64][]int64{} // ends
	out := map[string]string{}
	for _, e := range events {
		switch e.kind {
		case threadName:
			names[e.thread] = e.text
		case pushPop:
			stack := open[e.thread]
			for len(stack) > 0 && stack[len(stack)-1] < e.end {
				stack = stack[:len(stack)-1]
			}
			text := e.text
			if _, rest, ok := strings.Cut(text, "{'Module': 'model."); ok {
				text, _, _ = strings.Cut(rest, "'")
			}
			out[names[e.thread]] += strings.Repeat(" ", len(stack)) + text + "\n"
			open[e.thread] = append(stack, e.end)
		}
	}
	return out
}

// network is the outline of one forward pass of the model of four layers.
func network(indent string) string {
	lines := []string{"model", " model.embed_tokens"}
	for _, i := range []string{"0", "1", "2", "3"} {
		lines = append(lines, " model.layers."+i)
		for _, m := range []string{
			"  input_layernorm", "  self_attn", "   self_attn.qkv_proj", "   self_attn.rotary_emb", "   self_attn.attn", "   self_attn.o_proj",
			"  post_attention_layernorm", "  mlp", "   mlp.gate_up_proj", "   mlp.act_fn", "   mlp.down_proj",
		} {
			path := strings.TrimLeft(m, " ")
			lines = append(lines, m[:len(m)-len(path)]+"model.layers."+i+"."+path)
		}
	}
	lines = append(lines, " model.norm", "logits_processor")
	return indent + strings.Join(lines, "\n"+indent) + "\n"
}

func (p *profiled) wantOutlines(events []event, want string) {
	p.Helper()
	got := outlines(events)
	for _, rank := range []string{"scheduler TP0 DP0 PP0", "scheduler TP1 DP0 PP0"} {
		if got[rank] != want {
			p.Errorf("thread %q has %d lines:\n%s\nwant %d:\n%s", rank, strings.Count(got[rank], "\n"), got[rank], strings.Count(want, "\n"), want)
		}
	}
	if len(got) != 2 {
		p.Errorf("ranges on %d threads, want one for each of two ranks", len(got))
	}
}

// TestNsysEager: with --disable-cuda-graph a report has every step and every module call of both ranks, up to the last,
// and nothing else.
func TestNsysEager(t *testing.T) {
	p := profile(t, nil, []string{"--disable-cuda-graph"})
	var want string
	for range 2 {
		p.post("/flush_cache", "")
		p.generate()
		want += "step[EXTEND bs=1 toks=3]\n" + network(" ") + strings.Repeat("step[DECODE bs=1]\n"+network(" "), 7)
	}
	p.wantOutlines(p.end(syscall.SIGTERM), want)
}

// TestNsysGraphs: a graph has ranges where it is captured and none where it is replayed. The window of CUDA_PROFILER is
// a range as well, beside the traces that it can be recorded with.
func TestNsysGraphs(t *testing.T) {
	p := profile(t, nil, []string{"--cuda-graph-bs", "1", "2"})
	p.post("/start_profile", `{"output_dir": "`+p.path("traces")+`", "activities": ["CPU", "GPU", "CUDA_PROFILER"], "num_steps": 3}`)
	p.generate()
	events := p.end(syscall.SIGINT)
	p.wantOutlines(events, network("")+network("")+"step[EXTEND bs=1 toks=3]\n"+network(" ")+strings.Repeat("step[DECODE bs=1]\n", 7))
	if files, _ := filepath.Glob(p.path("traces/*.trace.json.gz")); len(files) != 2 {
		t.Errorf("traces %q, want one of each rank", files)
	}
	if n := len(inside(t, events)); n != 2*3+len(strings.Fields(network("")))*2 {
		t.Errorf("%d ranges in the window of three steps", n)
	}
}

// inside are the pushed ranges that lie in the window of CUDA_PROFILER, of which there is one.
func inside(t *testing.T, events []event) (out []event) {
	t.Helper()
	windows := slices.DeleteFunc(slices.Clone(events), func(e event) bool { return e.kind != startEnd })
	if len(windows) != 1 || windows[0].text != "cudaProfilerApi" || windows[0].domain != "stepscope" {
		t.Fatalf("start/end ranges %+v, want one of CUDA_PROFILER", windows)
	}
	for _, e := range events {
		if e.kind == pushPop && e.start >= windows[0].start && e.end <= windows[0].end {
			out = append(out, e)
		}
	}
	return out
}

// TestNsysCaptureRange: nsys can wait for the window of CUDA_PROFILER, which writes no traces of its own.
func TestNsysCaptureRange(t *testing.T) {
	p := profile(t, []string{"-c", "nvtx", "-p", "cudaProfilerApi@stepscope", "--capture-range-end=stop"}, []string{"--disable-cuda-graph"})
	p.post("/start_profile", `{"output_dir": "`+p.path("traces")+`", "activities": ["CUDA_PROFILER"], "start_step": 3, "num_steps": 4}`)
	p.generate()
	p.generate()
	events := p.end(syscall.SIGTERM)
	p.wantOutlines(events, strings.Repeat("step[DECODE bs=1]\n"+network(" "), 4))
	if n := len(inside(t, events)); n != 2*4*(1+len(strings.Fields(network("")))) {
		t.Errorf("%d ranges in the window", n)
	}
	if _, err := os.Stat(p.path("traces")); err == nil {
		t.Error("CUDA_PROFILER alone made a directory for traces")
	}
	for _, want := range []string{"] Call cudaProfilerStart\n", "] Call cudaProfilerStop\n"} {
		if strings.Count(p.log.String(), want) != 1 {
			t.Errorf("the log lacks %q:\n%s", want, &p.log)
		}
	}
}
