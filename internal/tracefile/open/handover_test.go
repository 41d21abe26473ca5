package open

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// serving is a Serve under test.
type serving struct {
	url    string
	cancel context.CancelFunc
	ended  chan error // Serve's result
}

// serve starts Serve and waits for its address.
func serve(t *testing.T, opts Options) serving {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := serving{cancel: cancel, ended: make(chan error, 1)}
	address := make(chan string, 1)
	go func() { s.ended <- Serve(ctx, opts, func(url string) { address <- url }) }()
	select {
	case s.url = <-address:
	case err := <-s.ended:
		t.Fatalf("Serve ended at once: %v", err)
	}
	return s
}

func traceFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "merged-7.trace.json.gz")
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// ask sends one request; edit may modify it.
func ask(t *testing.T, method, url, body string, edit func(*http.Request)) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if edit != nil {
		edit(req)
	}
	res, err := http.DefaultTransport.RoundTrip(req) // no redirect is followed
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(got)
}

func TestRequests(t *testing.T) {
	s := serve(t, Options{File: traceFile(t, "0123456789"), Title: `<b>"run" & co</b>`})
	defer s.cancel()
	host := func(h string) func(*http.Request) { return func(r *http.Request) { r.Host = h } }
	header := func(k, v string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(k, v) }
	}
	root := strings.TrimSuffix(s.url, "/")
	root = root[:strings.LastIndexByte(root, '/')]
	failed := `{"state":"failed","reason":"x"}`

	tests := []struct {
		name, method, url, body string
		edit                    func(*http.Request)
		status                  int
		want                    string // expected in the body
	}{
		{"page", "GET", s.url, "", nil, 200, "Open in Perfetto"},
		{"page escapes the title", "GET", s.url, "", nil, 200, "<h1>&lt;b&gt;&#34;run&#34; &amp; co&lt;/b&gt;</h1>"},
		{"trace", "GET", s.url + "trace", "", nil, 200, "0123456789"},
		{"part of the trace", "GET", s.url + "trace", "", header("Range", "bytes=2-4"), 206, "234"},
		{"through a tunnel", "GET", s.url, "", host("localhost:8000"), 200, "Open in Perfetto"},
		{"ipv6 literal", "GET", s.url, "", host("[::1]:8000"), 200, "Open in Perfetto"},
		{"rebound name", "GET", s.url + "trace", "", host("evil.example:80"), 421, "loopback"},
		{"name that looks like loopback", "GET", s.url, "", host("127.0.0.1.evil.example"), 421, "loopback"},
		{"no secret", "GET", root + "/", "", nil, 404, "not found"},
		{"wrong secret", "GET", root + "/AAAAAAAAAAAAAAAAAAAAAAAAAA/trace", "", nil, 404, "not found"},
		{"secret without slash", "GET", strings.TrimSuffix(s.url, "/"), "", nil, 404, "not found"},
		{"other file", "GET", s.url + "handover.go", "", nil, 404, "not found"},
		{"way up", "GET", s.url + "../../etc/passwd", "", nil, 404, "not found"},
		{"post to the page", "POST", s.url, "", nil, 405, "want GET"},
		{"head of the trace", "HEAD", s.url + "trace", "", nil, 405, ""},
		{"get of the report", "GET", s.url + "report", "", nil, 405, "want POST"},
		{"report of another site", "POST", s.url + "report", failed, header("Origin", "https://evil.example"), 403, "cross-origin"},
		{"report of another port", "POST", s.url + "report", failed, header("Sec-Fetch-Site", "same-site"), 403, "cross-origin"},
		{"report that is none", "POST", s.url + "report", "{", nil, 400, "report:"},
		{"report of an unknown state", "POST", s.url + "report", `{"state":"maybe"}`, nil, 400, `unknown state "maybe"`},
		{"endless report", "POST", s.url + "report", `{"reason":"` + strings.Repeat("x", 5000), nil, 400, "too large"},
		{"failure", "POST", s.url + "report", failed, nil, 204, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res, body := ask(t, tt.method, tt.url, tt.body, tt.edit)
			if res.StatusCode != tt.status || !strings.Contains(body, tt.want) {
				t.Errorf("got %d %q, want %d with %q", res.StatusCode, body, tt.status, tt.want)
			}
			if got := res.Header.Get("Cache-Control"); got != "no-store" && res.StatusCode < 400 {
				t.Errorf("Cache-Control %q, want no-store", got)
			}
		})
	}
	select {
	case err := <-s.ended:
		t.Errorf("one of these requests ended Serve: %v", err)
	default:
	}
}

func TestHeaders(t *testing.T) {
	s := serve(t, Options{File: traceFile(t, "x")})
	defer s.cancel()
	res, body := ask(t, "GET", s.url, "", nil)
	_, nonce, _ := strings.Cut(body, `nonce="`)
	nonce, _, _ = strings.Cut(nonce, `"`)
	want := map[string]string{
		"Content-Type":                 "text/html; charset=utf-8",
		"Cross-Origin-Opener-Policy":   "unsafe-none",
		"Cross-Origin-Resource-Policy": "same-origin",
		"X-Content-Type-Options":       "nosniff",
		"Referrer-Policy":              "no-referrer",
		"Content-Security-Policy": "default-src 'none'; script-src 'nonce-" + nonce + "'; style-src 'nonce-" + nonce + "'; " +
			"img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	}
	for k, v := range want {
		if got := res.Header.Get(k); got != v {
			t.Errorf("page: %s is %q, want %q", k, got, v)
		}
	}
	if _, again := ask(t, "GET", s.url, "", nil); strings.Contains(again, nonce) {
		t.Error("two answers share a nonce")
	}

	res, _ = ask(t, "GET", s.url+"trace", "", nil)
	want = map[string]string{
		"Content-Type":        "application/octet-stream",
		"Content-Length":      "1",
		"Content-Disposition": "attachment; filename=merged-7.trace.json.gz",
		"Content-Encoding":    "", // otherwise the browser would decompress it
	}
	for k, v := range want {
		if got := res.Header.Get(k); got != v {
			t.Errorf("trace: %s is %q, want %q", k, got, v)
		}
	}
}

func TestDoneEndsServe(t *testing.T) {
	s := serve(t, Options{File: traceFile(t, "x")})
	if res, _ := ask(t, "POST", s.url+"report", `{"state":"done"}`, nil); res.StatusCode != http.StatusNoContent {
		t.Errorf("status %d, want 204", res.StatusCode)
	}
	if err := <-s.ended; err != nil {
		t.Errorf("got %v, want nil", err)
	}
	if _, err := http.Get(s.url); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("after the end: %v, want a refused connection", err)
	}
}

func TestLinger(t *testing.T) {
	s := serve(t, Options{File: traceFile(t, "x"), Linger: time.Hour})
	for range 2 { // a second report is harmless
		ask(t, "POST", s.url+"report", `{"state":"done"}`, nil)
	}
	if res, _ := ask(t, "GET", s.url, "", nil); res.StatusCode != 200 {
		t.Errorf("page has status %d while lingering", res.StatusCode)
	}
	s.cancel()
	if err := <-s.ended; err != nil {
		t.Errorf("interrupted after success: got %v, want nil", err)
	}
}

func TestInterrupted(t *testing.T) {
	file := traceFile(t, "x")
	s := serve(t, Options{File: file})
	s.cancel()
	if err := <-s.ended; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v, want context.Canceled and the file", err)
	}

	s = serve(t, Options{File: file})
	ask(t, "POST", s.url+"report", `{"state":"failed","reason":"no network"}`, nil)
	s.cancel()
	if err := <-s.ended; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "no network") {
		t.Errorf("got %v, want context.Canceled and the reason of the page", err)
	}
}

func TestTraceVanishes(t *testing.T) {
	file := traceFile(t, "x")
	s := serve(t, Options{File: file})
	defer s.cancel()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if res, body := ask(t, "GET", s.url+"trace", "", nil); res.StatusCode != 500 || !strings.Contains(body, "no such file") {
		t.Errorf("got %d %q", res.StatusCode, body)
	}
}

// TestBadFiles: unusable files are reported before a socket is opened.
func TestBadFiles(t *testing.T) {
	dir := t.TempDir()
	tests := []struct{ name, file, want string }{
		{"missing", filepath.Join(dir, "no.json"), "no such file"},
		{"empty", traceFile(t, ""), "the file is empty"},
		{"directory", dir, "it is a directory"},
		{"device", os.DevNull, "not a regular file"},
	}
	if os.Getuid() != 0 { // root can read everything
		secret := traceFile(t, "x")
		if err := os.Chmod(secret, 0); err != nil {
			t.Fatal(err)
		}
		tests = append(tests, struct{ name, file, want string }{"unreadable", secret, "permission denied"})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := Serve(t.Context(), Options{File: tt.file, Listen: func(string, string) (net.Listener, error) {
				t.Error("opened a socket")
				return nil, net.ErrClosed
			}}, nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Count(err.Error(), tt.file) != 1 {
				t.Errorf("got %v, want %q and the file's name once", err, tt.want)
			}
		})
	}
}

func TestListen(t *testing.T) {
	var asked string
	err := Serve(t.Context(), Options{File: traceFile(t, "x"), Listen: func(network, addr string) (net.Listener, error) {
		asked = network + " " + addr
		return net.Listen("tcp", "0.0.0.0:0")
	}}, func(string) { t.Error("served beyond loopback") })
	if asked != "tcp 127.0.0.1:0" {
		t.Errorf("asked to listen on %q", asked)
	}
	if err == nil || !strings.Contains(err.Error(), "not a loopback address") {
		t.Errorf("got %v, want a refusal", err)
	}
}

func TestDroppedCommandsAreLogged(t *testing.T) {
	var log strings.Builder
	s := serve(t, Options{
		File:     traceFile(t, "x"),
		Commands: []Command{{"a", nil}, {"b", []string{strings.Repeat("x", maxLink)}}, {"c", nil}},
		Log:      slog.New(slog.NewTextHandler(&log, nil)),
	})
	s.cancel()
	<-s.ended
	if !strings.Contains(log.String(), "kept=1 dropped=2 limit_bytes=8000") {
		t.Errorf("log: %s", log.String())
	}
}
