// Package browsertest drives a headless Chromium in tests. It opens pages, evaluates scripts in the pages, and takes
// screenshots.
package browsertest

import (
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

// Tab is one page of a browser.
type Tab struct {
	t       *testing.T
	browser *browser
	session string // "": the browser itself

	mu  sync.Mutex
	log []string // console messages and exceptions
}

// Open opens url in a browser of its own or, in a package whose tests run by Main, in a tab of its own with its own
// storage. Open starts a browser if it is given args for it.
func Open(t *testing.T, url string, args ...string) *Tab {
	t.Helper()
	b := shared.get(t, args)
	root := &Tab{t: t, browser: b}
	var own struct{ BrowserContextID string }
	root.Call("Target.createBrowserContext", nil, &own)
	t.Cleanup(func() {
		b.send("Target.disposeBrowserContext", "", map[string]any{"browserContextId": own.BrowserContextID})
	})
	var created struct{ TargetID string }
	root.Call("Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": own.BrowserContextID}, &created)
	var attached struct{ SessionID string }
	root.Call("Target.attachToTarget", map[string]any{"targetId": created.TargetID, "flatten": true}, &attached)
	tab := &Tab{t: t, browser: b, session: attached.SessionID}
	b.mu.Lock()
	b.tabs[tab.session] = tab
	b.mu.Unlock()
	t.Cleanup(func() {
		b.mu.Lock()
		delete(b.tabs, tab.session)
		b.mu.Unlock()
	})
	tab.Call("Runtime.enable", nil, nil)
	tab.Call("Log.enable", nil, nil)
	tab.Call("Page.enable", nil, nil) // without this, the script is not added to new documents
	tab.Call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": labels}, nil)
	tab.Show(url)
	return tab
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

// Call sends one command and waits for its answer.
func (b *Tab) Call(method string, params, result any) {
	b.t.Helper()
	answer, err := b.browser.send(method, b.session, params)
	if err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	select {
	case got, ok := <-answer:
		switch {
		case !ok:
			b.t.Fatalf("%s: the browser has ended", method)
		case result != nil:
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
