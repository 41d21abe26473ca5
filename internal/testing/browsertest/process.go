package browsertest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// browser is a browser driven by the DevTools protocol over a pipe. Each message is JSON followed by a zero byte.
type browser struct {
	stop func()

	writing sync.Mutex // held while a command is written
	out     *os.File

	mu      sync.Mutex
	id      int
	answers map[int]chan json.RawMessage
	tabs    map[string]*Tab // by session
	ended   bool
}

// one is the browser that the tests of a package share.
type one struct {
	on bool
	b  *browser
}

var shared one

// Main runs the tests of a package in one browser and returns the exit status. Starting a browser takes longer than most
// tests.
func Main(m *testing.M) int {
	shared.on = true
	status := m.Run()
	if shared.b != nil {
		shared.b.stop()
	}
	return status
}

// get returns the shared browser, or one that ends with the test.
func (o *one) get(t *testing.T, args []string) *browser {
	t.Helper()
	path := find(t)
	if o.on && len(args) == 0 {
		if o.b == nil || o.b.over() {
			if o.b != nil {
				o.b.stop()
			}
			home, err := os.MkdirTemp("", "browsertest-")
			if err != nil {
				t.Fatal(err)
			}
			if o.b, err = open(path, home, nil); err != nil {
				t.Fatal(err)
			}
		}
		return o.b
	}
	b, err := open(path, t.TempDir(), args)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.stop)
	return b
}

// Start starts a headless browser without network access, and stops it at the end of the test.
func Start(t *testing.T, args ...string) {
	t.Helper()
	stop, err := start(find(t), t.TempDir(), nil, args)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
}

// find returns the path of the browser. It skips the test if there is none.
func find(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("short: no browser")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no chromium found; install the package chromium to run this test")
	return ""
}

// start starts a browser whose profile is in home. stop also removes home.
func start(path, home string, pipes []*os.File, args []string) (stop func(), err error) {
	cmd := exec.Command(path, append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=720,700",
		"--user-data-dir=" + home,
	}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+home)
	cmd.ExtraFiles = pipes
	ends(cmd)
	cmd.WaitDelay = 5 * time.Second // the browser's helper processes may end a moment after the browser
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() {
		kill(cmd)
		cmd.Wait()
		// The helper processes still write to the browser's profile while they end.
		for range 50 {
			if os.RemoveAll(home) == nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	}, nil
}

// open starts a browser and connects to it.
func open(path, home string, args []string) (*browser, error) {
	theirIn, ourOut, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	ourIn, theirOut, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	stop, err := start(path, home, []*os.File{theirIn, theirOut}, append(args, "--remote-debugging-pipe", "about:blank"))
	theirIn.Close()
	theirOut.Close()
	if err != nil {
		return nil, err
	}
	b := &browser{out: ourOut, answers: map[int]chan json.RawMessage{}, tabs: map[string]*Tab{}}
	var reader sync.WaitGroup
	reader.Go(func() { b.read(ourIn) })
	b.stop = func() {
		stop()
		ourOut.Close()
		ourIn.Close()
		reader.Wait()
	}
	return b, nil
}

func (b *browser) over() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ended
}

// read gives the answers to those who wait for them, and the messages of pages to their tabs.
func (b *browser) read(in *os.File) {
	r := bufio.NewReader(in)
	for {
		line, err := r.ReadBytes(0)
		b.mu.Lock()
		if err != nil {
			b.ended = true
			for id, answer := range b.answers {
				close(answer)
				delete(b.answers, id)
			}
			b.mu.Unlock()
			return
		}
		var m struct {
			ID        int
			SessionID string
			Method    string
			Params    json.RawMessage
			Result    json.RawMessage
			Error     *struct{ Message string }
		}
		if json.Unmarshal(line[:len(line)-1], &m) == nil {
			tab := b.tabs[m.SessionID]
			switch {
			case m.ID != 0:
				if m.Error != nil {
					m.Result = fmt.Appendf(nil, `{"error":%q}`, m.Error.Message)
				}
				b.answers[m.ID] <- m.Result
				delete(b.answers, m.ID)
			case tab != nil && (m.Method == "Runtime.exceptionThrown" || m.Method == "Log.entryAdded"):
				tab.mu.Lock()
				tab.log = append(tab.log, string(m.Params))
				tab.mu.Unlock()
			}
		}
		b.mu.Unlock()
	}
}

// send sends a command of a session and returns a channel for its answer, which is closed if the browser ends.
func (b *browser) send(method, session string, params any) (<-chan json.RawMessage, error) {
	answer := make(chan json.RawMessage, 1)
	b.mu.Lock()
	b.id++
	id, ended := b.id, b.ended
	if !ended {
		b.answers[id] = answer
	}
	b.mu.Unlock()
	if ended {
		return nil, errors.New("the browser has ended")
	}
	message := map[string]any{"id": id, "method": method}
	if params != nil {
		message["params"] = params
	}
	if session != "" {
		message["sessionId"] = session
	}
	line, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	_, err = b.out.Write(append(line, 0))
	return answer, err
}
