package cli

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestExamples runs what the help of each verb and the README tell people to
// type, in a directory that has what they name.
func TestExamples(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no shell")
	}
	dir := t.TempDir()
	profile := filepath.Join(dir, "profile")
	for _, name := range []string{"profile", "before", "after", "capture", "traces", "profiles", "sglang", "vllm"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(captures, "graph_work"))); err != nil {
			t.Fatal(err)
		}
	}
	for rank := range 2 {
		file := filepath.Join(profile, fmt.Sprintf("1763750000.graph_work-TP-%d.trace.json.gz", rank))
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"run", "profiles/1763750000", "profiles/1763760000"} {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-TP-%d.trace.json.gz", name, rank)), data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	var out strings.Builder
	if Main([]string{"trace", "merge", profile, "-o", filepath.Join(dir, "merged-run.trace.json.gz")}, nil, &out, &out) != exitOK {
		t.Fatal(out.String())
	}
	if err := os.Mkdir(filepath.Join(dir, "dumps"), 0o777); err != nil {
		t.Fatal(err)
	}
	for i, name := range strings.Fields("before after base one two a1 a2 a3 a4 dumps/b1 dumps/b2 dumps/b3 dumps/b4") {
		dump := fmt.Sprintf(`{"total_duration_ms": %d, "steps": [{"name": "DenoisingStage", "duration_ms": 90}], "denoise_steps_ms": []}`, 1000+i)
		if err := os.WriteFile(filepath.Join(dir, name+".json"), []byte(dump), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	model := filepath.Join(dir, "config.json") // that of graph_work, see the test compare_captures
	if err := os.WriteFile(model, []byte(`{"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 6, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 64000, "torch_dtype": "bfloat16"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	testdata, err := filepath.Abs(filepath.Dir(captures))
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{"README": string(readme)}
	for _, verb := range []string{"analyze", "compare", "trace merge", "trace check", "trace cut", "trace export", "trace open"} {
		var help strings.Builder
		Main(append(strings.Fields(verb), "--help"), nil, &help, io.Discard)
		pages[verb] = help.String()
	}
	command := regexp.MustCompile(`(?m)^    (?:go run \./cmd/|bin/)?(stepscope .*)`)
	for name, page := range pages {
		found := command.FindAllStringSubmatch(page, -1)
		if len(found) < 2 {
			t.Errorf("%s has %d examples", name, len(found))
		}
		for _, m := range found {
			if strings.HasPrefix(m[1], "stepscope serve") || strings.Contains(m[1], "HOST") || strings.Contains(m[1], "--on slurm") {
				continue // ends when it is told to; wants a server: TestServe, TestBenchServing; wants a cluster
			}
			if args, ok := strings.CutPrefix(m[1], "stepscope "); ok && slices.ContainsFunc(demos, func(d demoRun) bool { return d.args == args }) {
				continue // TestDemo runs it
			}
			line := strings.NewReplacer("/tmp/profile", "profile", "testdata/", testdata+"/", "/models/Qwen3-8B", model).Replace(m[1])
			t.Run(m[1], func(t *testing.T) { typed(t, dir, line) })
		}
	}
}

// typed runs a line by the shell; a "trace open" gets the visit that it waits
// for.
func typed(t *testing.T, dir, line string) {
	var stderr strings.Builder
	cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
	cmd.Dir, cmd.Stderr = dir, &stderr
	cmd.Env = append(os.Environ(), "BROWSER=true")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(stdout)
	first, _ := r.ReadString('\n')
	if strings.Contains(line, "trace open") {
		res, err := http.Post(strings.TrimSpace(first)+"report", "application/json", strings.NewReader(`{"state":"done"}`))
		if err != nil {
			t.Error(err)
		} else {
			res.Body.Close()
		}
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil || first == "" && !strings.Contains(line, ">") {
		t.Errorf("%v, stdout %q, stderr %q", err, first, &stderr)
	}
}

// TestTasks types the example of each heading of the list of verbs, and what help has for clients, with a server there.
func TestTasks(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a server is loaded and recorded")
	}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no shell")
	}
	dir := t.TempDir()
	t.Setenv("XDG_DATA_HOME", filepath.Join(dir, "data"))
	t.Setenv("SGLANG_TORCH_PROFILER_DIR", filepath.Join(dir, "windows"))
	if err := os.CopyFS(filepath.Join(dir, "capture"), os.DirFS(filepath.Join(captures, "graph_work"))); err != nil {
		t.Fatal(err)
	}
	serve := strings.Fields(strings.TrimPrefix(tasks["Serve"], "stepscope "))
	url := startServe(t, serve[1:]...).url
	t.Setenv("STEPSCOPE_URL", url)
	fill := strings.NewReplacer(" URL", " "+url, " DIR", " capture", "report.html", "page.html").Replace
	recorded := make(chan struct{})
	go func() { // waits for the load
		defer close(recorded)
		typed(t, dir, fill(tasks["Record"]))
	}()
	for _, task := range []string{"Measure", "Explain", "Traces", "Runs", "This program"} {
		typed(t, dir, fill(tasks[task]))
	}
	<-recorded
	typed(t, dir, "stepscope send --max-new-tokens 64 --stream")
}
