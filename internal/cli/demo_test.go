package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// run runs a verb with a store of its own and gives what it printed.
func run(t *testing.T, ctx context.Context, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	e := newEnv(strings.NewReader(""), &out, &errs)
	status = e.main(ctx, args)
	return status, out.String(), errs.String()
}

// homes gives a test runs of its own.
func homes(t *testing.T) {
	t.Helper()
	t.Setenv("XDG_DATA_HOME", t.TempDir())
}

// demoRun is a command line, and whom it must blame, and for what.
type demoRun struct{ args, rank, why string }

var demos = []demoRun{
	{"demo", "", ""},
	{"demo --slow-rank 1", "TP01-DP00", "from step 4 on: it does extra work"},
	{"demo --slow-rank 2 --cause device", "TP00-DP01", "from step 4 on: its GPU runs the same"},
}

var blamed = regexp.MustCompile(`(?m)^(HIGH|MEDIUM|LOW) +(\S+) is late (.*)`)

// wrong tells what is not true of what the demo printed.
func (d demoRun) wrong(out string) (list []string) {
	found := d.rank == ""
	for _, m := range blamed.FindAllStringSubmatch(out, -1) {
		if m[2] == d.rank && strings.HasPrefix(m[3], d.why) {
			found = true
		} else if d.rank == "" && (strings.Contains(m[3], "does extra work") || strings.Contains(m[3], "its GPU runs")) {
			list = append(list, fmt.Sprintf("%s blames %s", d.args, m[0]))
		}
	}
	if !found {
		list = append(list, fmt.Sprintf("%s does not say that %s is late %s:\n%s", d.args, d.rank, d.why, out))
	}
	return list
}

// TestDemo: what the demo finds is true, where its ranks have their cores: a rank whose
// threads others keep from running is late indeed, and its kernels take longer, which no
// trace tells from work. So a finding that is wrong counts where others had no more than
// mayLack of the cores while the demo asked for them; else the demo runs again.
func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: each demo serves and explains for seconds")
	}
	homes(t)
	const tries, mayLack = 3, 0.25
	runs := 0
	for _, c := range demos {
		t.Run(c.args, func(t *testing.T) {
			var wrong []string
			for range tries {
				var status int
				var out, errs string
				lacked := coresLacked(func() { status, out, errs = run(t, t.Context(), strings.Fields(c.args)...) })
				if status != exitOK || !strings.Contains(out, "64 requests in ") {
					t.Fatalf("%s ended with %d:\n%s%s", c.args, status, errs, out)
				}
				runs++
				t.Logf("in a quarter of a second up to %.0f %% of the cores went to others", 100*lacked)
				if wrong = c.wrong(out); wrong == nil {
					return
				}
				if lacked <= mayLack {
					t.Fatal(strings.Join(wrong, "\n"))
				}
			}
			t.Skipf("no demo of %d had the cores that it asked for; this machine is too busy to judge: %s", tries, strings.Join(wrong, "\n"))
		})
	}
	dirs, _ := filepath.Glob(filepath.Join(os.Getenv("XDG_DATA_HOME"), "stepscope", "runs", "*-demo-*"))
	if len(dirs) != runs {
		t.Fatalf("%d demos left the runs %q", runs, dirs)
	}
	for _, name := range []string{"manifest.json", "records.jsonl.zst", "summary.json", "server.log", "derived/findings.html", "derived/load.html"} {
		if _, err := os.Stat(filepath.Join(dirs[0], name)); err != nil {
			t.Error(err)
		}
	}
	if traces, _ := filepath.Glob(filepath.Join(dirs[0], "traces", "*-TP-?-DP-?.trace.json.gz")); len(traces) != 4 {
		t.Errorf("traces %q", traces)
	}
	// What it says to type next can be typed.
	_, out, _ := run(t, t.Context(), "demo", "--run-dir", t.TempDir())
	next := regexp.MustCompile(`(?m)  stepscope (analyze .*)$`).FindAllStringSubmatch(out, -1)
	if len(next) != 2 {
		t.Errorf("what to type next:\n%s", out)
	}
	for _, m := range next {
		if status, out, errs := run(t, t.Context(), strings.Fields(m[1])...); status != exitOK {
			t.Errorf("%s: status %d\n%s%s", m[1], status, errs, out)
		}
	}
	// With --no-store all is said, and nothing left.
	if status, out, errs := run(t, t.Context(), "demo", "--no-store"); status != exitOK || !strings.Contains(out, "Nothing was stored") || strings.Contains(out, "trace open") {
		t.Errorf("--no-store: status %d\n%s%s", status, errs, out)
	}
	if dirs, _ := filepath.Glob(filepath.Join(os.Getenv("XDG_DATA_HOME"), "stepscope", "runs", "*-demo-*")); len(dirs) != runs {
		t.Errorf("--no-store left %q", dirs)
	}
	for args, want := range map[string]string{
		"--slow-rank 4": "there are ranks 0 to 3",
		"--cause host":  "--cause needs --slow-rank: the late rank",
	} {
		status, out, errs := run(t, t.Context(), append([]string{"demo"}, strings.Fields(args)...)...)
		if status != exitUsage || !strings.Contains(errs, want) {
			t.Error(args, status, out, errs)
		}
	}
}

// TestBenchServing measures a server: table, line of JSON, page, traces and run.
func TestBenchServing(t *testing.T) {
	homes(t)
	t.Chdir(t.TempDir())
	url, log, stop := serving(t, "serve", "--model", "builtin:llama-tiny", "--port", "0", "--max-total-tokens", "8192", "--enable-metrics")
	defer func() {
		if status := stop(); status != exitOK {
			t.Errorf("the server ended with %d:\n%s", status, log)
		}
	}()
	bench := func(args ...string) (int, string, string) {
		return run(t, t.Context(), append([]string{"bench", "serving", "--url", url, "--dataset-name", "random", "--random-input", "40", "--random-output", "12", "--disable-tqdm"}, args...)...)
	}
	status, out, errs := bench("--num-prompt", "96", "--request-rate", "100", "--profile", "--profile-num-steps", "4", "--slo", "ttft:60000", "--html", "b.html", "--repeat", "2", "--metrics", "vllm")
	if status != exitOK {
		t.Fatalf("status %d:\n%s%s", status, errs, out)
	}
	for _, want := range []string{"Serving Benchmark Result", "Successful requests:                     96", "100.0 % of requests meet all objectives", "Run 2 of 2"} {
		if !strings.Contains(out+errs, want) {
			t.Errorf("lacks %q:\n%s%s", want, errs, out)
		}
	}
	// On a busy machine the requests come so fast that all steps may be of one kind, which is said.
	if !regexp.MustCompile(`1 rank · 4 (\w+ )?steps`).MatchString(out) {
		t.Errorf("no 4 steps are shown:\n%s%s", errs, out)
	}
	// Nothing is written where one is but what was asked for, a page and beside it that of the window: the line of SGLang's client is in the run.
	if left, _ := filepath.Glob("*"); !slices.Equal(left, []string{"b-capture.html", "b.html"}) {
		t.Errorf("in the working directory: %q", left)
	}
	text, err := os.ReadFile(lastRun(t).Path("result.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	type record struct {
		Completed int     `json:"completed"`
		TTFT      float64 `json:"mean_ttft_ms"`
		Window    *struct {
			Whole struct {
				TTFT float64 `json:"mean_ttft_ms"`
			} `json:"whole_run"`
		} `json:"profile_window"`
	}
	all := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	if len(all) != 2 {
		t.Fatalf("%d lines for two runs", len(all))
	}
	// The window stands in the first line alone.
	var profiled, plain record
	if err := json.Unmarshal(all[0], &profiled); err != nil || profiled.Completed != 96 || profiled.Window == nil || profiled.Window.Whole.TTFT <= 0 {
		t.Errorf("%v, %s", err, all[0])
	}
	if err := json.Unmarshal(all[1], &plain); err != nil || plain.Completed != 96 || plain.TTFT <= 0 || plain.Window != nil {
		t.Errorf("%v, %+v", err, plain)
	}
	if page, err := os.ReadFile("b.html"); err != nil || !bytes.Contains(page, []byte("</html>")) || !bytes.Contains(page, []byte(`<a href="b-capture.html">the analysis of `+url+`</a>`)) {
		t.Errorf("the page does not lead to that of its window: %v", err)
	}
	if page, err := os.ReadFile("b-capture.html"); err != nil || !bytes.Contains(page, []byte("<h1>Analysis of ")) {
		t.Error(err)
	}
	if _, out, _ := run(t, t.Context(), "runs", "list"); !strings.Contains(out, "bench serving") || !strings.Contains(out, "complete") {
		t.Error(out)
	}

	// Objectives that too few requests meet are a regression, but the run is kept whole.
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"--slo ttft:60000 --fail", exitOK, ""},
		{"--slo ttft:0.001 --fail 95%", exitRegression, "goodput: 0 % of 8 requests met ttft:0.001 ms, below the required 95.0 %: ttft over 1.00 µs in 8 of them (0, 1, 2, 3, 4, …; request "},
		{"--fail --slo ttft:0.001", exitRegression, "0 % of 8 requests met ttft:0.001 ms, below the required 100 %: "},
		{"--slo ttft:0.001,tpot:60000", exitOK, ""},
		{"--fail", exitUsage, "--fail needs --slo or --goodput: limits such as ttft:500,tpot:50"},
		{"--slo ttft:500 --fail 95", exitUsage, "--fail 95: give a share such as 5% or 0.05: did you mean 95%?"},
		{"--slo ttft:500 --fail=101%", exitUsage, "--fail 101%: no more than 100% of the requests can meet --slo"},
	} {
		status, out, errs := bench(append([]string{"--num-prompts", "8", "--output-file", filepath.Join(t.TempDir(), "fail.jsonl")}, strings.Fields(c.args)...)...)
		if status != c.status || !strings.Contains(errs, c.want) || (status != exitUsage) != strings.Contains(errs, "run kept: ") {
			t.Errorf("%s: status %d, want %d with %q:\n%s%s", c.args, status, c.status, c.want, errs, out)
		}
	}

	// Interrupted, it prints what it has and leaves a whole run.
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(3*time.Second, cancel)
	var b bytes.Buffer
	e := newEnv(strings.NewReader(""), &b, io.Discard)
	status = e.main(ctx, []string{"bench", "serving", "--url", url, "--dataset-name", "random", "--random-input", "8", "--random-output", "8", "--num-prompts", "4000", "--request-rate", "20", "--disable-tqdm"})
	if status != exitInterrupted || !strings.Contains(b.String(), "Serving Benchmark Result") {
		t.Errorf("status %d:\n%s", status, b.String())
	}
	if _, out, _ := run(t, t.Context(), "runs", "list"); !strings.Contains(out, "interrupted") {
		t.Error(out)
	}

	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"--backend", "nvllm"}, exitUsage, "--backend nvllm: there are lmdeploy, "},
		{[]string{"--request-rate=-1"}, exitUsage, "want requests per second or inf"},
		{[]string{"--profile", "--pd-separated", "--profile-prefill-url", "http://a:1", "--profile-decode-url", "http://b:1"}, exitUsage, "prefill and decode cannot be profiled at once"},
		{[]string{"--ready-workers", "2", "--ready-check-timeout-sec", "0"}, exitUsage, "--ready-workers waits for workers"},
		{[]string{"--profile", "--pd-separated"}, exitUsage, "--pd-separated: give --profile-prefill-url or --profile-decode-url"},
		{[]string{"--slo", "speed:3"}, exitUsage, "--slo: "},
		{[]string{"--dataset-name", "sharegpt"}, exitFailed, "ShareGPT_V3_unfiltered_cleaned_split.json"},
		{[]string{"--output-file", "no/such/dir/x.jsonl"}, exitFailed, "there is no directory"},
		{[]string{"--url", "http://127.0.0.1:9", "--ready-check-timeout-sec", "0"}, exitFailed, "ask the server for its model: GET http://127.0.0.1:9/v1/models: "},
		{[]string{"--url", "http://127.0.0.1:9", "--ready-check-timeout-sec", "1"}, exitFailed, "the server is not ready after 1s"},
	} {
		status, out, errs := bench(slices.Concat([]string{"--num-prompts", "2"}, c.args)...)
		if status != c.status || !strings.Contains(errs, c.want) {
			t.Errorf("%q: status %d, want %d with %q:\n%s%s", c.args, status, c.status, c.want, errs, out)
		}
	}
	// What measured nothing left no file of results; a directory gets one by SGLang's name.
	if left, _ := filepath.Glob("*.jsonl"); len(left) != 0 {
		t.Errorf("files of results: %q", left)
	}
	if status, out, errs := bench("--num-prompts", "2", "--no-store", "--output-file", "."); status != exitOK {
		t.Errorf("status %d:\n%s%s", status, errs, out)
	}
	if left, _ := filepath.Glob("sglang_*_2_40_12.jsonl"); len(left) != 1 {
		t.Errorf("files of results: %q", left)
	}
}
