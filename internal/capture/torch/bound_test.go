package torch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"time"

	"github.com/stepscope/stepscope/internal/api/servers"
	"github.com/stepscope/stepscope/internal/base/private"
)

// TestBound checks that each window ends by itself if the server accepts a number of steps, and that otherwise a
// warning precedes the recording.
func TestBound(t *testing.T) {
	ms := int64(time.Millisecond)
	for _, c := range []struct {
		what   string
		kind   Kind
		w      Window
		steps  []stretch // of the server, before the window
		told   int
		beyond string // warning; "": none
	}{
		{"a number of steps", servers.SGLang, Window{NumSteps: 7}, nil, 7, ""},
		{"a time, on a server without step times", servers.SGLang, Window{For: 2 * time.Second}, nil, 2000 + 100, ""},
		{"a time, with steps of 30 and 20 ms", servers.SGLang, Window{For: 2 * time.Second}, []stretch{{took: 30 * ms}, {took: 20 * ms}}, 400 + 100, ""},
		{"a time, on stepscope serve", servers.Stepscope, Window{For: time.Second}, nil, 10000 + 100, ""},
		{"no end", servers.SGLang, Window{}, nil, 0, "a window without a number of steps does not end by itself"},
		{"vLLM does not count steps", servers.VLLM, Window{NumSteps: 7}, nil, 7, "vLLM does not end windows by itself"},
	} {
		l := &log{}
		m := &member{Target: Target{URL: "http://a:1"}, kind: c.kind, w: c.w, stretches: c.steps, o: &Options{Log: l.add}}
		if got := m.bound(); got != c.told {
			t.Errorf("%s: told %d steps, want %d", c.what, got, c.told)
		}
		m.sayUnbounded()
		want := ""
		if c.beyond != "" {
			want = "http://a:1: " + c.beyond + ": if stepscope is killed before it closes this window, close it with: stepscope profile stop --url http://a:1"
		}
		if got := strings.Join(l.lines, "\n"); got != want {
			t.Errorf("%s: said %q, want %q", c.what, got, want)
		}
	}
}

// TestOpened checks that a window on vLLM is refused while one that stepscope left open is known: vLLM ignores a second
// start without an error.
func TestOpened(t *testing.T) {
	dir, kept := t.TempDir(), filepath.Join(t.TempDir(), "sessions")
	f := newVLLM(t, dir)
	o := quick(Options{Sessions: kept, Timeout: 1 << 40})
	start := func() (*Session, error) {
		return Start(t.Context(), []Target{{URL: f.url}}, Window{OutputDir: dir, NumSteps: 4}, o)
	}
	s, err := start()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := start(); err == nil || !strings.Contains(err.Error(), "has had a window open there since") {
		t.Errorf("while one is being recorded: %v", err)
	}

	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	file := s.members[0].openFile()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	killed := strings.Replace(string(text), fmt.Sprintf(`"pid":%d`, os.Getpid()), fmt.Sprintf(`"pid":%d`, gone.Process.Pid), 1)
	if err := os.WriteFile(file, []byte(killed), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := start(); err == nil || !strings.Contains(err.Error(), "was not closed, and vLLM does not end windows by itself: close it with: stepscope profile stop --url "+f.url) {
		t.Errorf("with one left open: %v", err)
	}
	if f.called() != "start" {
		t.Errorf("calls: %s", f.called())
	}
	if _, _, err := StopAll(t.Context(), []Target{{URL: f.url}}, o); err != nil {
		t.Fatal(err)
	}
	if s, err = start(); err != nil {
		t.Fatalf("after the stop: %v", err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the window is closed, but recorded as open")
	}
}

// TestOpenedSGLang checks that a window left open by a killed stepscope is closed first: SGLang 0.5.17 loses a window
// that is requested while another is recorded, and answers 200.
func TestOpenedSGLang(t *testing.T) {
	dir, kept := t.TempDir(), filepath.Join(t.TempDir(), "sessions")
	f := newFake(t, false, `{"tp_size":1}`)
	o := quick(Options{Sessions: kept, Timeout: 1 << 40})
	var said []string
	o.Log = func(line string) { said = append(said, line) }
	s := &Session{o: o.withDefaults(), w: Window{OutputDir: dir, NumSteps: 4}}
	if err := s.connect(t.Context(), []Target{{URL: f.url}}); err != nil {
		t.Fatal(err)
	}
	m := s.members[0]
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	host, _ := os.Hostname()
	if err := private.Write(m.openFile(), opened{m.URL, m.o.Now(), gone.Process.Pid, host}); err != nil {
		t.Fatal(err)
	}
	if err := m.noteOpen(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(said, "\n"); !strings.Contains(got, "was not closed: closing it") || f.called() != "stop" {
		t.Errorf("said %q, calls %s", got, f.called())
	}
}
