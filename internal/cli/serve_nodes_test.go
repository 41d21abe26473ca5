package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// node is one process of a server that runs in several.
type node struct {
	cmd *exec.Cmd
	log *syncBuffer
}

// startNode starts a node of a server by a command line; more begins it, as
// "ip netns exec NAME" does.
func startNode(t *testing.T, more []string, args ...string) *node {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	line := append(append(more, "stepscope"), args...)
	n := &node{cmd: exec.CommandContext(ctx, line[0], line[1:]...), log: &syncBuffer{}}
	n.cmd.Stderr = n.log
	n.cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir())
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = n.cmd.Process.Kill()
		_ = n.cmd.Wait()
	})
	return n
}

// ends waits until the node ends and tells its status.
func (n *node) ends(t *testing.T) int {
	t.Helper()
	if err := n.cmd.Wait(); n.cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return n.cmd.ProcessState.ExitCode()
}

// listens waits until node 0 serves and tells where.
func (n *node) listens(t *testing.T) string {
	t.Helper()
	at := regexp.MustCompile(`Listening on (http://\S+)`)
	for range 600 {
		if m := at.FindStringSubmatch(n.log.String()); m != nil {
			return m[1]
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("node 0 does not listen:\n%s", n.log)
	return ""
}

func freeAddr(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// nodes starts a server of several nodes on loopback.
func nodes(t *testing.T, n int, args ...string) []*node {
	t.Helper()
	addr := freeAddr(t)
	var out []*node
	for i := range n {
		out = append(out, startNode(t, nil, append([]string{"serve", "--model-path", "builtin:llama-tiny", "--port", "0", "--max-total-tokens", "8192",
			"--nnodes", fmt.Sprint(n), "--node-rank", fmt.Sprint(i), "--dist-init-addr", addr}, args...)...))
	}
	return out
}

// streaming begins a reply of so many tokens and gives its lines, once some have come.
func streaming(t *testing.T, url string, tokens int) *bufio.Scanner {
	t.Helper()
	resp, err := http.Post(url+"/generate", "application/json",
		strings.NewReader(fmt.Sprintf(`{"text":"hello","stream":true,"sampling_params":{"max_new_tokens":%d,"ignore_eos":true}}`, tokens)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for range 20 {
		if !lines.Scan() {
			t.Fatal("the reply ended at its beginning")
		}
	}
	return lines
}

// TestNodesGreedy: the greedy tokens of real processes are those of transformers, 64
// steps of batches of 1 and 8, as those of one process are.
func TestNodesGreedy(t *testing.T) {
	for _, c := range []struct {
		model, over string
		args        []string
	}{
		{"llama", "off", []string{"--tp-size", "2"}},
		{"qwen3", "auto", []string{"--pp-size", "2", "--dp-size", "2"}},
		{"qwen2", "off", []string{"--dp-size", "2"}},
		{"qwen3moe", "auto", []string{"--tp-size", "2", "--ep-size", "2"}},
	} {
		t.Run(strings.Join(append([]string{c.model}, c.args...), " "), func(t *testing.T) {
			dir := filepath.Join("..", "reference", "engine", "model", "testdata", c.model)
			var want struct{ Prompts, Tokens [][]int32 }
			text, err := os.ReadFile(filepath.Join(dir, "reference.json"))
			if err == nil {
				err = json.Unmarshal(text, &want)
			}
			if err != nil {
				t.Fatal(err)
			}
			// Products of bf16 pairs, which auto takes for bf16 weights, round as GPUs do.
			url := nodes(t, 2, append(c.args, "--model-path", dir, "--dtype", "float32", "--skip-tokenizer-init", "--dist-shm", c.over)...)[0].listens(t)
			for _, batch := range []int{1, 8} {
				body, err := json.Marshal(map[string]any{
					"input_ids": want.Prompts[:batch], "sampling_params": map[string]any{"max_new_tokens": 64, "temperature": 0, "ignore_eos": true},
				})
				if err != nil {
					t.Fatal(err)
				}
				resp, err := http.Post(url+"/generate", "application/json", bytes.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				var got []struct {
					IDs []int32 `json:"output_ids"`
				}
				err = json.NewDecoder(resp.Body).Decode(&got)
				resp.Body.Close()
				if err != nil || len(got) != batch || len(want.Tokens[0]) != 64 {
					t.Fatalf("%d replies to %d prompts: %v", len(got), batch, err)
				}
				for i := range got {
					if !slices.Equal(got[i].IDs, want.Tokens[i]) {
						t.Errorf("batch of %d, prompt %d:\n%v\nwant\n%v", batch, i, got[i].IDs, want.Tokens[i])
					}
				}
			}
		})
	}
}

// TestNodeLost: a node that is killed or stopped in mid-stream ends the others, and
// the reply under way, with its name.
func TestNodeLost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		victim int
		signal syscall.Signal
		want   string
	}{
		{"kill -9 of another node", 1, syscall.SIGKILL, `rank 1 at \S+ lost: its process has ended or the connection was closed`},
		{"kill -9 of node 0", 0, syscall.SIGKILL, `rank 0 at \S+ lost: its process has ended or the connection was closed`},
		{"a node that says nothing more", 2, syscall.SIGSTOP, `rank 2 at \S+ lost: no sign of life for 5s`},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := nodes(t, 3, "--pp-size", "3", "--json-model-override-args", `{"num_hidden_layers":3}`)
			lines := streaming(t, all[0].listens(t), 4000)
			if err := all[c.victim].cmd.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			want := regexp.MustCompile(c.want)
			if c.victim != 0 {
				told := false
				for lines.Scan() {
					told = told || strings.Contains(lines.Text(), `"error"`) && want.MatchString(lines.Text())
				}
				if !told {
					t.Errorf("the reply ends without %q: %v", c.want, lines.Err())
				}
			}
			for i, n := range all {
				if i == c.victim {
					continue
				}
				if status := n.ends(t); status != exitFailed || !want.MatchString(n.log.String()) {
					t.Errorf("node %d ended with %d and without %q:\n%s", i, status, c.want, n.log)
				}
			}
		})
	}
}

// TestNodesEnd: told to end, the nodes finish what runs and leave in order, whoever
// is told first.
func TestNodesEnd(t *testing.T) {
	t.Parallel()
	all := nodes(t, 2, "--tp-size", "2")
	url := all[0].listens(t)
	lines := streaming(t, url, 500)
	for i := len(all) - 1; i >= 0; i-- {
		if err := all[i].cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	last := ""
	for lines.Scan() {
		if lines.Text() != "" {
			last = lines.Text()
		}
	}
	if last != "data: [DONE]" {
		t.Errorf("the reply ends with %q, %v", last, lines.Err())
	}
	for i, n := range all {
		if status := n.ends(t); status != exitOK {
			t.Errorf("node %d ended with %d:\n%s", i, status, n.log)
		}
	}
}

// TestNodesDisagree: nodes that do not fit say so in one line and end.
func TestNodesDisagree(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	serve := []string{"serve", "--model-path", "builtin:llama-tiny", "--port", "0", "--max-total-tokens", "4096", "--tp-size", "2", "--nnodes", "2"}
	for _, c := range []struct {
		name   string
		args   []string
		status int
		want   string
	}{
		{"no address", nil, exitUsage, `--dist-init-addr "": with --nnodes give HOST:PORT of node 0`},
		{"too many nodes", []string{"--nnodes", "3", "--dist-init-addr", "127.0.0.1:1"}, exitUsage, "cannot be spread evenly"},
		{"no such rank", []string{"--node-rank", "2", "--dist-init-addr", "127.0.0.1:1"}, exitUsage, "--node-rank 2: with --nnodes 2, give 0 to 1"},
		{"nobody comes", []string{"--dist-init-addr", freeAddr(t), "--dist-timeout", "1"}, exitFailed, "node 1 (rank 1) did not join at "},
		{"nobody is there", []string{"--node-rank", "1", "--dist-init-addr", freeAddr(t), "--dist-timeout", "1"}, exitFailed, "node 0 cannot be reached at --dist-init-addr "},
		{"a peer that accepts and says nothing", []string{"--node-rank", "1", "--dist-init-addr", silent.Addr().String(), "--dist-timeout", "1"}, exitFailed, "accepts the connection but does not answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, _, errs := run(t, t.Context(), append(serve, c.args...)...)
			if status != c.status || !strings.Contains(errs, c.want) {
				t.Errorf("status %d, want %d with %q:\n%s", status, c.status, c.want, errs)
			}
		})
	}
	t.Run("another model", func(t *testing.T) {
		addr := freeAddr(t)
		first := startNode(t, nil, append(serve, "--dist-init-addr", addr)...)
		other := startNode(t, nil, append(serve, "--dist-init-addr", addr, "--node-rank", "1", "--json-model-override-args", `{"rms_norm_eps": 0.01}`)...)
		want := regexp.MustCompile(`stepscope: node 1 at \S+ cannot join: model \w+, node 0 has \w+\n`)
		for _, n := range []*node{first, other} {
			if status := n.ends(t); status != exitFailed || !want.MatchString(n.log.String()) {
				t.Errorf("ended with %d:\n%s", status, n.log)
			}
		}
	})
}
