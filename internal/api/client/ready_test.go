package client

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestReady: a server that is not ready in time gives the reason; permanent errors are reported at once.
func TestReady(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	hs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/loading":
			http.Error(w, "loading weights", http.StatusServiceUnavailable)
		case "/soon":
			if asked.Add(1) == 1 {
				http.Error(w, "loading weights", http.StatusServiceUnavailable)
			}
		case "/key":
			http.Error(w, "who is it", http.StatusUnauthorized)
		case "/stuck":
			<-r.Context().Done()
		default:
			http.NotFound(w, r)
		}
	}))
	defer hs.Close()
	for _, tt := range []struct {
		url, path string
		limit     time.Duration
		waits     int
		want      string // "": ready
	}{
		{hs.URL, "/soon", time.Minute, 1, ""},
		{hs.URL, "/elsewhere", time.Minute, 0, ""},
		{hs.URL, "/loading", 100 * time.Millisecond, 1, "the server is not ready after 100ms: GET " + hs.URL + "/loading: 503 Service Unavailable: loading weights"},
		{hs.URL, "/loading", 1100 * time.Millisecond, 1, "loading weights"},
		{hs.URL, "/stuck", 100 * time.Millisecond, 1, "the server is not ready after 100ms: GET " + hs.URL + "/stuck: context deadline exceeded"},
		{"http://127.0.0.1:9", "/", 100 * time.Millisecond, 1, "connection refused"},
		{hs.URL, "/key", time.Minute, 0, "401 Unauthorized: who is it (give --api-key)"},
	} {
		waits := 0
		err := (&Server{URL: tt.url}).Ready(t.Context(), tt.path, tt.limit, func(error) { waits++ })
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) || waits != tt.waits {
			t.Errorf("%s: %v, %d messages of waiting; want %q, %d", tt.path, err, waits, tt.want, tt.waits)
		}
	}
}

// TestReadyWorkers checks that a router is ready when all its workers are, and that an error names the others.
func TestReadyWorkers(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	hs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		second := "false"
		if asked.Add(1) > 1 {
			second = "true"
		}
		switch r.URL.Path {
		case "/soon/workers":
			io.WriteString(w, `{"workers":[{"url":"http://a:1","is_healthy":true},{"url":"http://b:2","is_healthy":`+second+`}]}`)
		case "/never/workers":
			io.WriteString(w, `{"workers":[{"url":"http://a:1","is_healthy":true},{"url":"http://b:2","is_healthy":false}]}`)
		case "/key/workers":
			http.Error(w, "who is it", http.StatusUnauthorized)
		case "/other/workers":
			http.Error(w, "not you", http.StatusForbidden)
		default:
			http.NotFound(w, r)
		}
	}))
	defer hs.Close()
	for _, tt := range []struct {
		path  string
		n     int
		limit time.Duration
		waits int
		want  string // "": ready
	}{
		{"/soon", 2, time.Minute, 1, ""},
		{"/never", 1, time.Minute, 0, ""},
		{"/never", 2, 100 * time.Millisecond, 1, "the router is not ready after 100ms: 1 of 2 workers are ready; not ready: http://b:2"},
		{"/never", 3, 100 * time.Millisecond, 1, "1 of 3 workers are ready; not ready: http://b:2"},
		{"/key", 1, time.Minute, 0, "401 Unauthorized: who is it (give --api-key)"},
		{"/other", 1, time.Minute, 0, "403 Forbidden: not you (the key of --api-key"},
		{"/server", 1, time.Minute, 0, "is no router that lists its workers: "},
	} {
		waits := 0
		err := (&Server{URL: hs.URL + tt.path}).ReadyWorkers(t.Context(), tt.n, tt.limit, func(error) { waits++ })
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) || waits != tt.waits {
			t.Errorf("%s: %v, %d messages of waiting; want %q, %d", tt.path, err, waits, tt.want, tt.waits)
		}
	}
}
