package view

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/explain/light"
	"github.com/stepscope/stepscope/internal/explain/window"
	"github.com/stepscope/stepscope/internal/testing/browsertest"
)

// captureOf analyses a capture of the repository.
func captureOf(t *testing.T, name, id string) *Capture {
	t.Helper()
	return captureAt(t, filepath.Join("..", "..", "testdata", "traces", name), id)
}

// captureAt analyses the capture in a directory.
func captureAt(t *testing.T, dir, id string) *Capture {
	t.Helper()
	in := window.Input{Paths: []string{dir}}
	read, err := in.Open(t.Context(), &progress.Console{W: io.Discard}, "reading")
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCapture(id, read, nil, false, light.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// serve serves captures for a test.
func serve(t *testing.T, o Options) (url string) {
	t.Helper()
	server := httptest.NewServer(New(o).Handler())
	t.Cleanup(server.CloseClientConnections)
	t.Cleanup(server.Close)
	return server.URL
}

// ready waits until a page shows everything its address requests, and checks that nothing failed.
func ready(t *testing.T, tab *browsertest.Tab) {
	t.Helper()
	tab.Wait(`document.documentElement.dataset.ready === "1" || document.documentElement.dataset.error !== undefined`)
	if failed := tab.Eval(`document.documentElement.dataset.error ?? ""`, false); failed != "" {
		t.Errorf("the page says %q", failed)
	}
	for _, line := range tab.Console() {
		t.Errorf("console: %s", line)
	}
}

// TestTabs: each view opens by its key and by its address, without errors.
func TestTabs(t *testing.T) {
	url := serve(t, Options{Given: []*Capture{captureOf(t, "compute_skew", "0")}, Root: t.TempDir()})
	tab := browsertest.Open(t, url, "--window-size=1280,900")
	ready(t, tab)
	titles := strings.Split(tab.Eval(`[...document.querySelectorAll("nav a")].map((a) => a.textContent).join()`, false), ",")
	if len(titles) != 8 {
		t.Fatalf("the tabs are %q", titles)
	}
	for i, title := range titles {
		key := string(rune('1' + i))
		if title == "Query" { // after Speed of light, which this capture does not have
			key = "9"
		}
		tab.Eval(`dispatchEvent(new KeyboardEvent("keydown", {key: "`+key+`"}))`, false)
		ready(t, tab)
		if got := tab.Eval(`document.querySelector("nav a[aria-current]").textContent`, false); got != title {
			t.Errorf("key %s shows %q, not %q", key, got, title)
		}
		if got := tab.Eval(`document.title`, false); !strings.HasPrefix(got, title+" · ") {
			t.Errorf("its title is %q", got)
		}
	}
	tab.Eval(`dispatchEvent(new KeyboardEvent("keydown", {key: "?"}))`, false)
	if got := tab.Eval(`document.querySelector("dialog[open]").innerText`, false); !strings.Contains(got, "show Timeline") {
		t.Errorf("the keys: %q", got)
	}
}

// TestRefusals: requests with another host name, from another page, for other files or without the key are refused.
func TestRefusals(t *testing.T) {
	handler := New(Options{Given: []*Capture{captureOf(t, "compute_skew", "0")}}).Handler()
	keyed := New(Options{Given: []*Capture{captureOf(t, "compute_skew", "0")}, APIKey: "secret"}).Handler()
	for _, c := range []struct {
		name, target string
		handler      http.Handler
		header       http.Header
		status       int
	}{
		{"the page", "http://127.0.0.1/", handler, nil, 200},
		{"what it asks for", "http://localhost:8000/api/session", handler, nil, 200},
		{"another name for this host", "http://attacker.example/api/session", handler, nil, 403},
		{"a page of another site", "http://127.0.0.1/api/session", handler, http.Header{"Origin": {"https://attacker.example"}}, 403},
		{"a file", "http://127.0.0.1/../../../../etc/passwd", handler, nil, 307}, // to /etc/passwd, which does not exist here,
		{"an encoded path", "http://127.0.0.1/%2e%2e%2f%2e%2e%2fetc%2fpasswd", handler, nil, 404},
		{"a source of the page", "http://127.0.0.1/ui/src/main.ts", handler, nil, 404},
		{"a capture by its path", "http://127.0.0.1/api/report?c=/etc/passwd", handler, nil, 404},
		{"without the key", "http://127.0.0.1/", keyed, nil, 401},
		{"with another key", "http://127.0.0.1/", keyed, http.Header{"Cookie": {"stepscope-key=wrong"}}, 401},
		{"the printed address", "http://127.0.0.1/?key=secret", keyed, nil, 303},
		{"with the key", "http://127.0.0.1/api/session", keyed, http.Header{"Cookie": {"stepscope-key=secret"}}, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", c.target, nil).WithContext(context.Background())
			for name, values := range c.header {
				r.Header[name] = values
			}
			w := httptest.NewRecorder()
			c.handler.ServeHTTP(w, r)
			if w.Code != c.status {
				t.Errorf("status %d: %s", w.Code, w.Body)
			}
			if c.status >= 400 && bytes.Contains(w.Body.Bytes(), []byte("root:")) {
				t.Error("it is the file")
			}
			if !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
				t.Errorf("headers: %v", w.Header())
			}
		})
	}
}

// TestUnits runs the unit tests of the page's functions.
func TestUnits(t *testing.T) { browsertest.Units(t, "ui/src") }
