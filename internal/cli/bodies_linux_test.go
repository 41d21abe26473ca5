package cli

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// spawned is a server as a process of its own.
type spawned struct {
	*exec.Cmd
	url string
	log func() string // what it has said so far
}

// spawn starts it and waits until it listens.
func spawn(t *testing.T, args ...string) *spawned {
	t.Helper()
	cmd := exec.Command("stepscope", args...)
	cmd.Dir = t.TempDir()
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	var log syncBuffer
	listens := make(chan string, 1)
	go func() {
		defer close(listens)
		lines := bufio.NewScanner(said)
		for lines.Scan() {
			fmt.Fprintln(&log, lines.Text())
			if m := regexp.MustCompile(`Listening on (http://\S+)`).FindStringSubmatch(lines.Text()); m != nil {
				listens <- m[1]
			}
		}
	}()
	url, ok := <-listens
	if !ok {
		t.Fatalf("%q does not listen:\n%s", args, log.String())
	}
	return &spawned{cmd, url, log.String}
}

// memory is what /proc says of it, in MiB.
func (s *spawned) memory(t *testing.T, what string) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	kib := 0
	if m := regexp.MustCompile(what + `:\s+(\d+) kB`).FindSubmatch(text); m != nil {
		fmt.Sscan(string(m[1]), &kib)
	}
	return kib >> 10
}

// TestLargeBodies: whatever many clients send at once to whichever route, the memory of all their bodies is bounded
// (docs/servers.md has what was measured), each is answered, and afterwards the memory is the system's again.
func TestLargeBodies(t *testing.T) {
	if testing.Short() {
		t.Skip("sends a gigabyte")
	}
	server := spawn(t, "serve", "--model-path", "builtin:llama-tiny", "--port", "0", "--max-total-tokens", "4096")
	router := spawn(t, "route", "--worker-urls", server.url, "--port", "0")
	large := strings.Repeat("y ", 15<<20)
	bodies := map[string][]string{
		"/generate":            {`{"text":"`, large, `"}`},
		"/v1/completions":      {`{"prompt":[`, strings.Repeat(`"",`, 8<<20), `""]}`},
		"/v1/chat/completions": {`{"messages":[{"role":"user","content":"`, large, `"}]}`},
		"/tokenize":            {`{"prompt":"`, large, `"}`},
		"/start_profile":       {`{"profile_id":"`, large, `"}`},
		"/generate?params":     {`{"text":"a","sampling_params":[`, strings.Repeat(`{},`, 8<<20), `{}]}`},
	}
	for _, s := range []struct {
		*spawned
		most int // MiB above what it had
	}{{server, 2048}, {router, 1024}} {
		before := s.memory(t, "VmRSS")
		var all sync.WaitGroup
		for path, parts := range bodies {
			for i := range 3 {
				all.Go(func() {
					readers := make([]io.Reader, len(parts))
					for i := range parts {
						readers[i] = strings.NewReader(parts[i])
					}
					req, err := http.NewRequest("POST", s.url+path, io.MultiReader(readers...))
					if err != nil {
						t.Error(err)
						return
					}
					if i > 0 { // else in chunks, of a length that is not known before
						req.ContentLength = int64(len(strings.Join(parts, "")))
					}
					resp, err := http.DefaultClient.Do(req)
					if err != nil {
						return // refused before it was all sent
					}
					text, _ := io.ReadAll(resp.Body)
					resp.Body.Close()
					switch resp.StatusCode {
					case 400, 413, 503:
					default:
						t.Errorf("%s: %d %.200s", path, resp.StatusCode, text)
					}
				})
			}
		}
		all.Wait()
		if rose := s.memory(t, "VmHWM") - before; rose > s.most {
			t.Errorf("%s: the bodies took %d MiB, want at most %d", s.Args[1], rose, s.most)
		} else {
			t.Logf("%s: %d MiB, and %d more at the most", s.Args[1], before, rose)
		}
		// The collector runs after two minutes at the latest, however little is allocated.
		for end := time.Now().Add(4 * time.Minute); s.memory(t, "VmRSS") > before+200; {
			if status, text := call(t, "GET", s.url+"/v1/models", ""); status != 200 {
				t.Fatalf("afterwards: %d %s", status, text)
			}
			if time.Now().After(end) {
				t.Fatalf("%s: afterwards it holds %d MiB, before %d", s.Args[1], s.memory(t, "VmRSS"), before)
			}
		}
	}
}
