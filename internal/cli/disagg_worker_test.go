package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// worker is a server that is a process of its own.
type worker struct {
	t    *testing.T
	args []string
	cmd  *exec.Cmd
	log  syncBuffer
	url  string
	port string // bootstrap port of a prefill worker
}

// startWorker starts serve; it is killed at the end of the test.
func startWorker(t *testing.T, args ...string) *worker {
	t.Helper()
	w := &worker{t: t, args: append([]string{"serve", "--model", "builtin:llama-tiny", "--port", "0", "--max-total-tokens", "16384", "--enable-metrics"}, args...)}
	w.start()
	t.Cleanup(func() {
		w.kill()
		if t.Failed() {
			t.Logf("serve %s wrote:\n%s", strings.Join(args, " "), &w.log)
		}
	})
	return w
}

var listening = regexp.MustCompile(`(?:decode servers connect to \S+:(\d+)|Listening on (http://\S+))`)

func (w *worker) start() {
	w.t.Helper()
	w.cmd = exec.Command("stepscope", w.args...)
	w.cmd.Env = append(os.Environ(), "SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT=5", "SGLANG_DISAGGREGATION_WAITING_TIMEOUT=20")
	stderr, err := w.cmd.StderrPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		fmt.Fprintln(&w.log, lines.Text())
		m := listening.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		if m[1] != "" {
			w.port = m[1]
			continue
		}
		w.url = m[2]
		go func() {
			for lines.Scan() {
				fmt.Fprintln(&w.log, lines.Text())
			}
		}()
		return
	}
	w.t.Fatalf("%v ended before it listened:\n%s", w.args, &w.log)
}

// kill is kill -9.
func (w *worker) kill() {
	w.cmd.Process.Signal(syscall.SIGKILL)
	w.cmd.Wait()
}

// again starts a worker that was killed, at its old ports.
func (w *worker) again() {
	_, port, _ := strings.Cut(strings.TrimPrefix(w.url, "http://"), ":")
	w.args = append(w.args, "--port", port)
	if w.port != "" {
		w.args = append(w.args, "--disaggregation-bootstrap-port", w.port)
	}
	w.start()
}

// holds tells how many tokens of KV cache requests hold, and how many requests
// there are in any queue.
func (w *worker) holds() (total int) {
	w.t.Helper()
	resp, err := http.Get(w.url + "/v1/loads")
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	var l struct {
		Loads []struct {
			Used    int            `json:"num_used_tokens"`
			Running int            `json:"num_running_reqs"`
			Waiting int            `json:"num_waiting_reqs"`
			Disagg  map[string]any `json:"disaggregation"`
		} `json:"loads"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&l); err != nil {
		w.t.Fatal(err)
	}
	for _, r := range l.Loads {
		total += r.Used + r.Running + r.Waiting
		for name, v := range r.Disagg {
			if n, ok := v.(float64); ok && strings.HasSuffix(name, "_queue_reqs") {
				total += int(n)
			}
		}
	}
	return total
}

func (w *worker) free() {
	w.t.Helper()
	soon(w.t, w.url+" holds nothing", func() bool { return w.holds() == 0 })
}

func soon(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never came true: %s", what)
		}
	}
}

var rooms atomic.Int64

// pair posts a request to a prefill and a decode worker, as a router does, and
// returns the decode worker's status and reply; status 0: none. The prefill worker
// is met at port. begun is told when a stream is well under way.
func pair(p, d *worker, port, body string, begun func()) (status int, text string) {
	sent := fmt.Sprintf(`{%s,"bootstrap_host":"127.0.0.1","bootstrap_port":%s,"bootstrap_room":%d}`, body, port, rooms.Add(1))
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() { generate(ctx, p.url, sent, nil) })
	status, text = generate(ctx, d.url, sent, begun)
	wg.Wait()
	return status, text
}

const short = `"text":"one two three four","sampling_params":{"temperature":0,"max_new_tokens":16,"ignore_eos":true}`

// works has two workers serve a request.
func works(t *testing.T, p, d *worker) {
	t.Helper()
	if status, text := pair(p, d, p.port, short, nil); status != 200 || !strings.Contains(text, `"completion_tokens":16`) {
		t.Errorf("%d %s", status, text)
	}
}

// generate posts to a server or router and gives status and reply; status 0: the
// connection broke. begun is told once, when some events of a stream are there.
func generate(ctx context.Context, url, body string, begun func()) (status int, text string) {
	req, err := http.NewRequestWithContext(ctx, "POST", url+"/generate", strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	var all []byte
	buf := make([]byte, 4096)
	for {
		n, err := resp.Body.Read(buf)
		all = append(all, buf[:n]...)
		if begun != nil && bytes.Count(all, []byte("data: ")) > 5 {
			begun()
			begun = nil
		}
		if err == io.EOF {
			return resp.StatusCode, string(all)
		}
		if err != nil {
			return 0, string(all) + err.Error()
		}
	}
}
