// Package browsertest drives a headless Chromium in tests. It opens pages, evaluates scripts in the pages, and takes
// screenshots.
package browsertest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Start starts a headless browser without network access, and stops it at the end of the test.
func Start(t *testing.T, pipes []*os.File, args ...string) {
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
	cmd.WaitDelay = 5 * time.Second // the browser's helper processes may end a moment after the browser
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Cancel()
		cmd.Wait()
		// The helper processes still write to the browser's profile while they end. With t.TempDir, this would make the
		// test fail.
		for range 50 {
			if os.RemoveAll(home) == nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
}

// Tab is one page of a browser, driven by the DevTools protocol over a pipe. Each message is JSON followed by a zero
// byte.
type Tab struct {
	t       *testing.T
	out     *os.File
	session string

	mu      sync.Mutex
	id      int
	answers map[int]chan json.RawMessage
	log     []string // console messages and exceptions
}

// Open starts a browser and opens url in it.
func Open(t *testing.T, url string, args ...string) *Tab {
	t.Helper()
	theirIn, ourOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ourIn, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	b := &Tab{t: t, out: ourOut, answers: map[int]chan json.RawMessage{}}
	var reader sync.WaitGroup
	t.Cleanup(func() { // runs after the browser has stopped
		ourOut.Close()
		ourIn.Close()
		reader.Wait()
	})
	Start(t, []*os.File{theirIn, theirOut}, append(args, "--remote-debugging-pipe", "about:blank")...)
	theirIn.Close()
	theirOut.Close()
	reader.Go(func() { b.read(ourIn) })

	var created struct{ TargetID string }
	b.Call("Target.createTarget", map[string]any{"url": "about:blank"}, &created)
	var attached struct{ SessionID string }
	b.Call("Target.attachToTarget", map[string]any{"targetId": created.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	b.Call("Runtime.enable", nil, nil)
	b.Call("Log.enable", nil, nil)
	b.Call("Page.enable", nil, nil) // without this, the script is not added to new documents
	b.Call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": labels}, nil)
	b.Show(url)
	return b
}

// Show navigates to another page.
func (b *Tab) Show(url string) {
	b.t.Helper()
	b.Call("Page.navigate", map[string]any{"url": url}, nil)
}

// Size sets the page's viewport, in CSS pixels.
func (b *Tab) Size(width, height int) {
	b.t.Helper()
	b.Call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// Scheme sets the page's colour scheme, light or dark.
func (b *Tab) Scheme(scheme string) {
	b.t.Helper()
	b.Call("Emulation.setEmulatedMedia", map[string]any{
		"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}},
	}, nil)
}

// Picture returns a PNG of the viewport, or, if whole is set, of the entire page.
func (b *Tab) Picture(whole bool) []byte {
	b.t.Helper()
	b.Call("Page.bringToFront", nil, nil) // a page in the background is not drawn
	var shot struct{ Data []byte }
	b.Call("Page.captureScreenshot", map[string]any{"captureBeyondViewport": whole}, &shot)
	return shot.Data
}

// PDF returns the page as printed.
func (b *Tab) PDF() []byte {
	b.t.Helper()
	var printed struct{ Data []byte }
	b.Call("Page.printToPDF", map[string]any{"preferCSSPageSize": true}, &printed)
	return printed.Data
}

func (b *Tab) read(in *os.File) {
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

// Call sends one command and waits for its answer.
func (b *Tab) Call(method string, params, result any) {
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
	case <-time.After(2 * time.Minute):
		b.t.Fatalf("%s: no answer from the browser", method)
	}
}

// Eval evaluates a JavaScript expression in the page and returns the string value. If the value is a promise, Eval
// awaits it. If gesture is set, the evaluation counts as a click by the user.
func (b *Tab) Eval(expression string, gesture bool) string {
	b.t.Helper()
	var got struct {
		Result           struct{ Value any }
		ExceptionDetails *struct{ Exception struct{ Description string } }
	}
	b.Call("Runtime.evaluate", map[string]any{"expression": expression, "userGesture": gesture, "awaitPromise": true}, &got)
	if e := got.ExceptionDetails; e != nil {
		return e.Exception.Description
	}
	return fmt.Sprint(got.Result.Value)
}

// Wait polls until the expression is true.
func (b *Tab) Wait(expression string) {
	b.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for b.Eval(expression, false) != "true" {
		if time.Now().After(deadline) {
			b.t.Fatalf("never true: %s\npage: %s\nconsole: %q", expression, b.Eval("document.body.innerText", false), b.Console())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Console returns the messages and errors that the page's scripts and the browser have logged.
func (b *Tab) Console() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.log...)
}

// Shoot writes screenshots of the page to dir, in the light and in the dark colour scheme. If dir is empty, Shoot does
// nothing.
func (b *Tab) Shoot(dir, name string) {
	b.t.Helper()
	if dir == "" {
		return
	}
	for _, scheme := range []string{"light", "dark"} {
		b.Scheme(scheme)
		if err := os.WriteFile(filepath.Join(dir, name+"-"+scheme+".png"), b.Picture(false), 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
}

// Module returns a script that binds a TypeScript module to a name. It is for pages that do not load the module
// themselves.
func Module(t *testing.T, path, name string) string {
	t.Helper()
	out, err := exec.Command("go", "tool", "esbuild", path, "--bundle", "--format=iife", "--global-name="+name, "--log-level=error").Output()
	if err != nil {
		t.Fatalf("bundle %s: %v", path, err)
	}
	return string(out)
}

// Units runs the files below dir whose names end in .test.ts with node's own test runner. These files test functions
// that need no page.
func Units(t *testing.T, dir string) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node found; install the package nodejs to run this test")
	}
	var tests []string
	if err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".test.ts") {
			tests = append(tests, path)
		}
		return err
	}); err != nil || len(tests) == 0 {
		t.Fatalf("%d tests in %s: %v", len(tests), dir, err)
	}
	out := t.TempDir()
	bundle := append([]string{"tool", "esbuild", "--bundle", "--platform=node", "--outdir=" + out, "--log-level=error"}, tests...)
	if text, err := exec.Command("go", bundle...).CombinedOutput(); err != nil {
		t.Fatalf("bundle: %v\n%s", err, text)
	}
	text, err := exec.CommandContext(t.Context(), node, "--test", out).CombinedOutput()
	if err != nil || !strings.Contains(string(text), "# pass ") || strings.Contains(string(text), "# tests 0") {
		t.Errorf("%v\n%s", err, text)
	}
}
