package open

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// chromium starts a headless browser without a network, and ends it with the test.
func chromium(t *testing.T, pipes []*os.File, args ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("short: no browser")
	}
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no chromium found; install the package chromium to run this test")
	}
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), path, append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=720,700",
		"--user-data-dir=" + home,
	}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+home)
	cmd.ExtraFiles = pipes
	ends(cmd)
	cmd.WaitDelay = 5 * time.Second // its helpers may outlive it by a moment
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Cancel()
		cmd.Wait()
		// The helpers still write to the profile while they end, which t.TempDir would count as a failure.
		for range 50 {
			if os.RemoveAll(home) == nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
}

// A tab is one page of a browser, driven by the DevTools protocol over a pipe: messages are JSON, ended by a zero byte.
type tab struct {
	t       *testing.T
	out     *os.File
	session string

	mu      sync.Mutex
	id      int
	answers map[int]chan json.RawMessage
	log     []string // console messages and exceptions
}

// newTab starts a browser and opens url in it.
func newTab(t *testing.T, url string, args ...string) *tab {
	t.Helper()
	theirIn, ourOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ourIn, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	b := &tab{t: t, out: ourOut, answers: map[int]chan json.RawMessage{}}
	var reader sync.WaitGroup
	t.Cleanup(func() { // runs after the browser was ended
		ourOut.Close()
		ourIn.Close()
		reader.Wait()
	})
	chromium(t, []*os.File{theirIn, theirOut}, append(args, "--remote-debugging-pipe", "about:blank")...)
	theirIn.Close()
	theirOut.Close()
	reader.Go(func() { b.read(ourIn) })

	var created struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &created)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": created.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	b.call("Runtime.enable", nil, nil)
	b.call("Log.enable", nil, nil)
	b.call("Page.navigate", map[string]any{"url": url}, nil)
	return b
}

func (b *tab) read(in *os.File) {
	r := bufio.NewReader(in)
	for {
		line, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m struct {
			ID     int
			Method string
			Params json.RawMessage
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if json.Unmarshal(line[:len(line)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		switch {
		case m.ID != 0:
			if m.Error != nil {
				m.Result = fmt.Appendf(nil, `{"error":%q}`, m.Error.Message)
			}
			b.answers[m.ID] <- m.Result
		case m.Method == "Runtime.exceptionThrown", m.Method == "Log.entryAdded":
			b.log = append(b.log, string(m.Params))
		}
		b.mu.Unlock()
	}
}

// call sends one command and waits for its answer.
func (b *tab) call(method string, params, result any) {
	b.t.Helper()
	b.mu.Lock()
	b.id++
	id, answer := b.id, make(chan json.RawMessage, 1)
	b.answers[id] = answer
	b.mu.Unlock()
	message := map[string]any{"id": id, "method": method}
	if params != nil {
		message["params"] = params
	}
	if b.session != "" {
		message["sessionId"] = b.session
	}
	line, err := json.Marshal(message)
	if err == nil {
		_, err = b.out.Write(append(line, 0))
	}
	if err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	select {
	case got := <-answer:
		if result != nil {
			if err := json.Unmarshal(got, result); err != nil {
				b.t.Fatalf("%s: %v", method, err)
			}
		}
	case <-time.After(time.Minute):
		b.t.Fatalf("%s: no answer from the browser", method)
	}
}

// eval returns the string that a JavaScript expression has in the page. With gesture it counts as a person's click.
func (b *tab) eval(expression string, gesture bool) string {
	b.t.Helper()
	var got struct {
		Result struct{ Value any }
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "userGesture": gesture}, &got)
	return fmt.Sprint(got.Result.Value)
}

// wait polls until the expression is true.
func (b *tab) wait(expression string) {
	b.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for b.eval(expression, false) != "true" {
		if time.Now().After(deadline) {
			b.t.Fatalf("never true: %s\npage: %s\nconsole: %q", expression, b.eval("document.body.innerText", false), b.console())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (b *tab) console() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.log...)
}

// shoot writes a picture of the page in light and in dark to dir, if there is one.
func (b *tab) shoot(dir, name string) {
	b.t.Helper()
	if dir == "" {
		return
	}
	b.call("Page.bringToFront", nil, nil) // a page behind another is not drawn
	for _, scheme := range []string{"light", "dark"} {
		b.call("Emulation.setEmulatedMedia", map[string]any{
			"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}},
		}, nil)
		var shot struct{ Data string }
		b.call("Page.captureScreenshot", nil, &shot)
		png, err := base64.StdEncoding.DecodeString(shot.Data)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name+"-"+scheme+".png"), png, 0o644)
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
}
