package cli

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestRedirects: a server that answers with a redirect gets no request of a verb passed on. The error shows where it leads
// and what to give, and the other server sees no key, nor anything else.
func TestRedirects(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization")+r.Header.Get("Cookie")+r.Header.Get("X-Key"))
		mu.Unlock()
	}))
	defer other.Close()
	to := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}
	all := httptest.NewServer(http.HandlerFunc(to))
	defer all.Close()

	real, _, stop := serving(t, "serve", "--model-path", "builtin:llama-tiny", "--port", "0", "--enable-metrics", "--api-key", "secret")
	defer stop()
	at, err := url.Parse(real)
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(at)
	posts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			to(w, r)
			return
		}
		pass.ServeHTTP(w, r)
	}))
	defer posts.Close()

	key := []string{"--api-key", "secret"}
	headers := []string{"--api-key", "secret", "--admin-api-key", "secret", "--header", "Cookie=secret", "--header", "X-Key=secret"}
	load := []string{"--num-prompts", "2", "--random-input-len", "8", "--random-output-len", "4", "--warmup-requests", "0", "--no-store"}
	for _, c := range []struct {
		what string
		url  string
		args [][]string
	}{
		{"send asks for the model first", all.URL, [][]string{{"send"}, key}},
		{"the request of send", posts.URL, [][]string{{"send", "--max-new-tokens", "2"}, key}},
		{"a benchmark waits for the server first", all.URL, [][]string{{"bench", "serving"}, key, load}},
		{"the requests of a benchmark", posts.URL, [][]string{{"bench", "serving", "--dataset-name", "random-ids"}, key, load}},
		{"its profile", posts.URL, [][]string{{"bench", "serving", "--dataset-name", "random-ids", "--profile"}, key, load}},
		{"batches", all.URL, [][]string{{"bench", "one-batch-server", "--batch-size", "1", "--input-len", "8", "--output-len", "4"}, key}},
		{"a load of pictures", all.URL, [][]string{{"bench", "diffusion", "--num-prompts", "1"}, key}},
		{"a profile asks what the server is", all.URL, [][]string{{"profile", "--no-store"}, headers}},
		{"arming a profile", posts.URL, [][]string{{"profile", "--no-store", "--wait", "0"}, headers}},
		{"starting a profile", posts.URL, [][]string{{"profile", "start"}, headers}},
		{"stopping a profile", posts.URL, [][]string{{"profile", "stop"}, headers}},
		{"a watch", all.URL, [][]string{{"watch", "--no-store"}, headers}},
		{"the steps of nsys", all.URL, [][]string{{"nsys", "start", "--steps", "2"}, key}},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		log := &syncBuffer{}
		e := newEnv(strings.NewReader(""), log, log)
		args := append(slices.Concat(c.args...), "--url", c.url)
		status := e.main(ctx, args)
		cancel()
		for _, want := range []string{"the server answers with a redirect (307 Temporary Redirect) to " + other.URL + "/", ": give " + other.URL + " as --url"} {
			if status != exitFailed || !strings.Contains(strings.Join(strings.Fields(log.String()), " "), want) { // tables wrap
				t.Errorf("%s: status %d, want %d and %q:\n%s", c.what, status, exitFailed, want, log)
			}
		}
	}

	address, _, end := viewing(t, "--url", all.URL, "--server-api-key", "secret", "--run-dir", t.TempDir())
	res, err := http.Get(address + "api/live")
	if err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 1<<16)
	var got string
	for !strings.Contains(got, "answers with a redirect") {
		n, err := res.Body.Read(text)
		if got += string(text[:n]); err != nil {
			t.Errorf("view: %v, %s", err, got)
			break
		}
	}
	res.Body.Close()
	end()
	mu.Lock()
	defer mu.Unlock()
	if len(seen) > 0 {
		t.Errorf("the other server got %q", seen)
	}
}
