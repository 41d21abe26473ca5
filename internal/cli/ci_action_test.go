package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"
)

// action is what action.yml says, as far as the test runs it.
type action struct {
	Inputs map[string]struct{ Description, Default string }
	Runs   struct {
		Steps []struct {
			Name, ID, If, Uses, Shell, Run string
			Env                            map[string]string
		}
	}
}

func readAction(t *testing.T) (a action) {
	t.Helper()
	text, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestActionInputs: inputs reach scripts through the environment alone, so that no text of a pull request is run.
func TestActionInputs(t *testing.T) {
	a := readAction(t)
	used := map[string]bool{}
	for _, s := range a.Runs.Steps {
		if strings.Contains(s.Run, "${{") {
			t.Errorf("step %q: an expression in its script", s.Name)
		}
		for _, text := range append(slices.Collect(maps.Values(s.Env)), s.If) {
			for _, m := range regexp.MustCompile(`inputs\.([\w-]+)`).FindAllStringSubmatch(text, -1) {
				used[m[1]] = true
			}
		}
	}
	for name := range a.Inputs {
		if !used[name] {
			t.Errorf("no step uses the input %s", name)
		}
	}
	for name := range used {
		if _, ok := a.Inputs[name]; !ok {
			t.Errorf("there is no input %s", name)
		}
	}
}

// comments is a fake of the three routes of GitHub's API for comments.
type comments struct {
	mu     sync.Mutex
	bodies []string
	status int // of writes; 0: they succeed
}

func (c *comments) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var in struct{ Body string }
	if text, err := io.ReadAll(r.Body); err == nil && len(text) > 0 {
		_ = json.Unmarshal(text, &in)
	}
	if r.Header.Get("Authorization") != "Bearer secret" {
		http.Error(w, `{"message": "Bad credentials"}`, http.StatusUnauthorized)
		return
	}
	if r.Method != http.MethodGet && c.status != 0 {
		http.Error(w, `{"message": "Resource not accessible by integration"}`, c.status)
		return
	}
	var id int
	switch _, err := fmt.Sscanf(r.URL.Path, "/repos/octo/engine/issues/comments/%d", &id); {
	case r.Method == http.MethodPatch && err == nil && id >= 1 && id <= len(c.bodies):
		c.bodies[id-1] = in.Body
	case r.URL.Path != "/repos/octo/engine/issues/7/comments":
		http.NotFound(w, r)
	case r.Method == http.MethodPost:
		c.bodies = append(c.bodies, in.Body)
		w.WriteHeader(http.StatusCreated)
	default:
		list := []map[string]any{}
		for i, b := range c.bodies {
			list = append(list, map[string]any{"id": i + 1, "body": b})
		}
		_ = json.NewEncoder(w).Encode(list)
	}
}

// workflow runs the action's steps as a runner would, but for those that use other actions. It returns the outputs of
// the step "gate", the exit status of the job, and what the steps print.
func workflow(t *testing.T, dir, api string, inputs map[string]string) (outputs map[string]string, status int, said string) {
	t.Helper()
	a := readAction(t)
	outputs = map[string]string{}
	value := func(expr string) string {
		return regexp.MustCompile(`\$\{\{ (.*?) \}\}`).ReplaceAllStringFunc(expr, func(m string) string {
			m = strings.TrimSuffix(strings.TrimPrefix(m, "${{ "), " }}")
			if name, ok := strings.CutPrefix(m, "inputs."); ok {
				if v, ok := inputs[name]; ok {
					return v
				}
				if d := a.Inputs[name].Default; !strings.Contains(d, "${{") {
					return d
				}
				return ""
			}
			name, _ := strings.CutPrefix(m, "steps.gate.outputs.")
			return outputs[name]
		})
	}
	event := filepath.Join(dir, "event.json")
	if err := os.WriteFile(event, []byte(`{"pull_request": {"number": 7}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	failed := false
	for _, s := range a.Runs.Steps {
		if s.Uses != "" || failed && !strings.HasPrefix(s.If, "always()") || s.If != "" && outputs["status"] == "" || s.Name == "comment" && inputs["comment"] == "false" {
			continue
		}
		out := filepath.Join(dir, "output")
		if err := os.WriteFile(out, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", s.Run) // as GitHub calls it
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GITHUB_ACTIONS=true", "GITHUB_OUTPUT="+out, "GITHUB_PATH="+filepath.Join(dir, "path"), "GITHUB_STEP_SUMMARY="+filepath.Join(dir, "summary"), "GITHUB_REPOSITORY=octo/engine",
			"GITHUB_API_URL="+api, "GITHUB_EVENT_PATH="+event, "GITHUB_SERVER_URL=https://github.example", "GITHUB_RUN_ID=5", "RUNNER_TEMP="+dir)
		for name, expr := range s.Env {
			cmd.Env = append(cmd.Env, name+"="+value(expr))
		}
		text, err := cmd.CombinedOutput()
		said += string(text)
		if err != nil && !failed {
			failed, status = true, cmd.ProcessState.ExitCode()
		}
		if s.ID == "gate" {
			text, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
				name, v, _ := strings.Cut(line, "=")
				outputs[name] = v
			}
		}
	}
	return outputs, status, said
}

// TestAction runs the steps of the action against two servers of one build, and then with a new build that is slower:
// 0, 4, and one comment that is edited. A token that may only read, as for pull requests of forks, is no failure.
func TestAction(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: loads three servers")
	}
	serve := func(sleep string) string { // for each kernel, so that tokens come one by one on a busy machine
		url, _, stop := serving(t, "serve", "--port", "0", "--model-path", "builtin:llama-tiny", "--max-total-tokens", "4096", "--device-fault", "rank=0,from=1,to=100000000,kernel_sleep="+sleep)
		t.Cleanup(func() { stop() })
		return url
	}
	base, same, slow := serve("200us"), serve("200us"), serve("3ms")

	api := &comments{bodies: []string{"first", "text of a user\n<!-- stepscope:gate -->"}}
	hub := httptest.NewServer(api)
	defer hub.Close()
	inputs := map[string]string{
		"version": "installed", "token": "secret", "base-url": base,
		"bench-args": "--dataset-name random-ids --num-prompts 12 --random-input-len 16 --random-output-len 4 --random-range-ratio 1 --max-concurrency 1 --seed 1 --quiet",
	}
	for _, c := range []struct {
		name, url, failOn, comment string
		write                      int // status of the API for writes
		status                     int
		verdict                    string
		comments                   int
	}{
		{"the same build", same, "failed>50%", "auto", 0, 0, "no regression by failed", 3},
		{"a slow build", slow, "tpot.median>60%", "auto", 0, 4, "REGRESSION: 1 figure", 3},
		{"a fork", slow, "tpot.median>60%", "auto", 403, 4, "REGRESSION: 1 figure", 3},
		{"a comment is wanted", same, "failed>50%", "true", 403, 1, "", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := maps.Clone(inputs)
			in["url"], in["fail-on"], in["comment"], api.status = c.url, c.failOn, c.comment, c.write
			dir := t.TempDir()
			outputs, status, said := workflow(t, dir, hub.URL, in)
			if status != c.status || !strings.Contains(outputs["verdict"], c.verdict) {
				t.Fatalf("status %d, want %d; outputs %v\n%s", status, c.status, outputs, said)
			}
			summary, err := os.ReadFile(filepath.Join(dir, "summary"))
			if err != nil || !bytes.Contains(summary, []byte("| TPOT, median |")) {
				t.Errorf("summary: %v\n%s", err, summary)
			}
			api.mu.Lock()
			defer api.mu.Unlock()
			if len(api.bodies) != c.comments {
				t.Fatalf("%d comments, want %d: %q", len(api.bodies), c.comments, api.bodies)
			}
			last := api.bodies[len(api.bodies)-1]
			if c.write == 0 && (!strings.HasPrefix(last, "<!-- stepscope:gate -->\n") || !strings.Contains(last, c.verdict)) {
				t.Errorf("comment: %s", last)
			}
		})
	}
}

// TestActionLint checks the workflow of the guide, and the action that it uses, with actionlint. It needs
// STEPSCOPE_ACTIONLINT, its program.
func TestActionLint(t *testing.T) {
	program := os.Getenv("STEPSCOPE_ACTIONLINT")
	if program == "" {
		t.Skip("no actionlint: set STEPSCOPE_ACTIONLINT")
	}
	guide, err := os.ReadFile("../../docs/guides/compare-in-ci.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(guide), "```yaml\n# .github/workflows/speed.yml\n")
	text, _, end := strings.Cut(text, "```")
	if !ok || !end {
		t.Fatal("the guide has no workflow")
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".github", "workflows"), 0o755); err != nil {
		t.Fatal(err)
	}
	copied, err := os.ReadFile("../../action.yml")
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, "stepscope"), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "stepscope", "action.yml"), copied, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	lint := func(workflow string) (string, error) {
		files := map[string]string{".github/workflows/speed.yml": workflow, ".github/actionlint.yaml": "self-hosted-runner:\n  labels: [gpu]\n"}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(program, "-no-color", "-shellcheck=", ".github/workflows/speed.yml")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if err := exec.Command("git", "init", "-q", dir).Run(); err != nil { // actionlint looks for the root of a repository
		t.Fatal(err)
	}
	text = strings.ReplaceAll(text, "stepscope/stepscope@v0", "./stepscope")
	if out, err := lint(text); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := lint(strings.Replace(text, "fail-on:", "fail-at:", 1)); err == nil || !strings.Contains(out, `"fail-at" is not defined`) {
		t.Errorf("a wrong input is not found: %v\n%s", err, out)
	}
}
