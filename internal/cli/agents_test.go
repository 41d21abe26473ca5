package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
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
)

// TestAgents runs the evaluation of the tools for agents with a foreign client: the gates must hold.
func TestAgents(t *testing.T) {
	var got evaluation
	out, err := got.run(t)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if len(got.Problems) != 24 {
		t.Errorf("%d problems, want 24", len(got.Problems))
	}
	t.Logf("%s", out)
}

// TestAgentsModel runs the evaluation with a model that answers one problem five times: rightly, with a figure that no
// tool has given, with the wrong rank, without end, and rightly again.
func TestAgentsModel(t *testing.T) {
	const right = `{"kind":"late","late":[{"rank":"TP01","since":6,"cause":"device"}],"says":["TP01 is late from step 6 on: 3.32 → 1.10 ms"]}`
	model := &scripted{replies: []string{
		"So:\n" + right, strings.Replace(right, "1.10", "1.17", 1), strings.ReplaceAll(right, "TP01", "TP00"), "", right,
	}}
	server := httptest.NewServer(model)
	defer server.Close()
	var got evaluation
	out, err := got.run(t, "--only", "g_device_r1", "--url", server.URL+"/v1", "--model", "tiny")
	if err != nil || len(got.Problems) != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(out, "FLAKY_FAIL") {
		t.Errorf("2 of 5 answers are right, but the class is not FLAKY_FAIL:\n%s", out)
	}
	for n, want := range []string{"", "no result has 1.17", "blames TP00; not TP01", "over 12 calls", ""} {
		a := got.Problems[0].Answers[fmt.Sprint(n+1)]
		if why := strings.Join(a.Why, "; "); a.OK != (want == "") || !strings.Contains(why, want) {
			t.Errorf("answer %d: %v %q, want %q", n+1, a.OK, why, want)
		}
	}
}

// evaluation is what scripts/agents/evaluate.py writes.
type evaluation struct {
	Problems []struct {
		Answers map[string]struct {
			OK  bool     `json:"ok"`
			Why []string `json:"why"`
		} `json:"answers"`
	} `json:"problems"`
}

// run runs the evaluation and reads its result. It returns what the evaluation printed.
func (e *evaluation) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	python := os.Getenv("STEPSCOPE_MCP_PYTHON")
	if python == "" {
		t.Skip("set STEPSCOPE_MCP_PYTHON to a Python with the packages of scripts/clients.d/mcp.txt")
	}
	binary, err := exec.LookPath("stepscope")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "out.json")
	out, err := exec.Command(python, append([]string{"../../scripts/agents/evaluate.py", binary, "--json", file}, args...)...).CombinedOutput()
	if err == nil {
		text, readErr := os.ReadFile(file)
		if readErr != nil {
			t.Fatal(readErr)
		}
		err = json.Unmarshal(text, e)
	}
	return string(out), err
}

// scripted is a model that calls overview and then gives one of its replies, a new one for each question. With an empty
// reply, it calls overview without end.
type scripted struct {
	mu      sync.Mutex
	asked   int // number of questions
	replies []string
}

// ServeHTTP answers a request for a chat completion.
func (m *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var in struct {
		Model    string
		Messages []struct{ Role, Content string }
		Tools    []struct{ Function struct{ Name string } }
	}
	err := json.NewDecoder(r.Body).Decode(&in)
	if err == nil && len(in.Messages) == 2 {
		m.asked++
	}
	if err != nil || r.URL.Path != "/v1/chat/completions" || in.Model != "tiny" || len(in.Tools) < 10 || m.asked > len(m.replies) {
		http.Error(w, "unexpected request", http.StatusBadRequest)
		return
	}
	reply := m.replies[m.asked-1]
	message := map[string]any{"role": "assistant", "content": reply}
	if len(in.Messages) == 2 || reply == "" {
		run := regexp.MustCompile(`capture (\S+)\?`).FindStringSubmatch(in.Messages[1].Content)
		arguments, _ := json.Marshal(map[string]string{"run": run[1]})
		call := map[string]string{"name": "overview", "arguments": string(arguments)}
		message["tool_calls"] = []any{map[string]any{"id": "1", "type": "function", "function": call}}
	}
	json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": message}}})
}

// TestInspector calls tools with a second foreign client, over stdio and over HTTP.
func TestInspector(t *testing.T) {
	inspector := os.Getenv("STEPSCOPE_INSPECTOR")
	if inspector == "" {
		t.Skip("set STEPSCOPE_INSPECTOR to the mcp-inspector of the npm package @modelcontextprotocol/inspector")
	}
	traces, err := filepath.Abs("../../testdata/traces")
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	stdio := []string{"stepscope", "mcp", "--root", traces, "--run-dir", t.TempDir()} // the inspector passes no XDG_DATA_HOME
	url := startMCP(t, "--root", traces, "--listen", "--api-key-file", key)
	overHTTP := []string{url, "--transport", "http", "--header", "Authorization: Bearer secret"}
	overview := []string{"--method", "tools/call", "--tool-name", "overview", "--tool-arg", "run=graph_work"}
	for _, c := range []struct {
		name    string
		at      []string
		call    []string
		want    string
		refused bool
	}{
		{"tools", stdio, []string{"--method", "tools/list"}, `"name": "timeline"`, false},
		{"overview", stdio, overview, "TP01 is late from step 6 on", false},
		{"spans", stdio, []string{"--method", "tools/call", "--tool-name", "timeline", "--tool-arg", "run=graph_work", "rank=TP01", "step=7"}, "AllReduce", false},
		{"outside of the root", stdio, []string{"--method", "tools/call", "--tool-name", "overview", "--tool-arg", "run=../windows"}, "no such path is below the roots", true},
		{"overview by HTTP", overHTTP, overview, "TP01 is late from step 6 on", false},
		{"without the key", overHTTP[:3], overview, "", true},
	} {
		out, err := exec.Command(inspector, slices.Concat([]string{"--cli"}, c.at, c.call)...).CombinedOutput()
		if (err != nil) != c.refused || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v, want %q in:\n%s", c.name, err, c.want, out)
		}
	}
}

// startMCP starts "stepscope mcp" with arguments and returns the URL that it serves.
func startMCP(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("stepscope", append([]string{"mcp"}, args...)...)
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	line, _ := bufio.NewReader(stderr).ReadString('\n')
	_, url, found := strings.Cut(strings.TrimSpace(line), "serving the Model Context Protocol at ")
	if !found {
		t.Fatalf("mcp wrote %q", line)
	}
	return url
}
