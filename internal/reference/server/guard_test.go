package server_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/reference/server"
	"github.com/stepscope/stepscope/internal/testing/fakeengine"
)

func TestKeys(t *testing.T) {
	const open, wrong, user, admin = "", "Bearer nope", "Bearer user", "Bearer admin"
	for _, c := range []struct {
		name       string
		key, admin string
		call       string
		auth       string
		status     int
	}{
		{"no key required", "", "", "GET /v1/models", open, 200},
		{"no key", "user", "", "GET /v1/models", open, 401},
		{"wrong key", "user", "", "GET /v1/models", wrong, 401},
		{"not bearer", "user", "", "GET /v1/models", "user", 401},
		{"another scheme", "user", "", "GET /v1/models", "Basic user", 401},
		{"right key", "user", "", "GET /v1/models", user, 200},
		{"scheme in lower case", "user", "", "GET /v1/models", "bearer user", 200},
		{"health is open", "user", "admin", "GET /health", open, 200},
		{"health_generate is open", "user", "admin", "GET /health_generate", open, 200},
		{"metrics are open", "user", "admin", "GET /metrics", open, 200},
		{"profile requires the key", "user", "", "POST /stop_profile", open, 401},
		{"profile accepts the key", "user", "", "POST /stop_profile", user, 409},
		{"profile requires the admin key", "user", "admin", "POST /stop_profile", user, 401},
		{"profile accepts the admin key", "user", "admin", "POST /stop_profile", admin, 409},
		{"the admin key is not the user key", "user", "admin", "GET /v1/models", admin, 401},
		{"the admin key only", "", "admin", "GET /v1/models", open, 200},
		{"unknown routes do not show", "user", "", "GET /nowhere", open, 401},
		{"wrong method does not show", "user", "", "GET /generate", open, 401},
	} {
		r := newRig(t, "", fakeengine.Options{}, server.Options{APIKey: c.key, AdminAPIKey: c.admin, EnableMetrics: true})
		a := r.call(c.call, "", "Authorization", c.auth)
		if a.status != c.status {
			t.Errorf("%s: got %d, want %d", c.name, a.status, c.status)
		}
		if a.status == 401 && a.body != `{"error":"Unauthorized"}` {
			t.Errorf("%s: body %s", c.name, a.body)
		}
	}
}

// TestWebPages checks that a browser's pages cannot use a server without a key.
func TestWebPages(t *testing.T) {
	open := newRig(t, "", fakeengine.Options{}, server.Options{AllowedHosts: []string{"gpu.example"}})
	keyed := newRig(t, "", fakeengine.Options{}, server.Options{APIKey: "k"})
	for _, c := range []struct {
		name   string
		r      *rig
		header []string
		status int
	}{
		{"loopback", open, nil, 200},
		{"localhost", open, []string{"Host", "localhost:30000"}, 200},
		{"name under localhost", open, []string{"Host", "a.localhost"}, 200},
		{"IPv6", open, []string{"Host", "[::1]:30000"}, 200},
		{"SGLang's default", open, []string{"Host", "0.0.0.0:30000"}, 200},
		{"allowed name", open, []string{"Host", "GPU.example:1"}, 200},
		{"a name pointed at loopback", open, []string{"Host", "evil.example"}, 403},
		{"another address", open, []string{"Host", "192.0.2.1"}, 403},
		{"foreign page", open, []string{"Origin", "https://evil.example"}, 403},
		{"sandboxed page", open, []string{"Origin", "null"}, 403},
		{"local page", open, []string{"Origin", "http://localhost:8080"}, 200},
		{"with a key, any name is accepted", keyed, []string{"Host", "evil.example", "Authorization", "Bearer k"}, 200},
	} {
		if a := c.r.call("GET /v1/models", "", c.header...); a.status != c.status {
			t.Errorf("%s: got %d %s, want %d", c.name, a.status, a.body, c.status)
		}
	}
}

// TestActing checks that neither HEAD nor a page of another site starts a window or requests tokens, with or without a
// key.
func TestActing(t *testing.T) {
	for _, key := range []string{"", "k"} {
		r := newRig(t, "", fakeengine.Options{}, server.Options{APIKey: key})
		dir := t.TempDir()
		for _, c := range []struct {
			call, site string
			status     int
		}{
			{"HEAD /start_profile", "", 405},
			{"HEAD /flush_cache", "", 405},
			{"HEAD /v1/models", "", 200},
			{"GET /start_profile", "cross-site", 403},
			{"GET /start_profile", "same-site", 403},
			{"POST /start_profile", "Cross-Site", 403},
			{"GET /flush_cache", "cross-site", 403},
			{"POST /abort_request", "cross-site", 403},
			{"POST /generate", "cross-site", 403},
			{"GET /v1/models", "cross-site", 200},
			{"GET /profile_files", "cross-site", 200},
			{"GET /stop_profile", "", 409}, // none was started
			{"GET /flush_cache", "none", 200},
			{"POST /flush_cache", "same-origin", 200},
		} {
			a := r.call(c.call, `{"output_dir":"`+dir+`"}`, "Sec-Fetch-Site", c.site, "Authorization", "Bearer "+key)
			if a.status != c.status {
				t.Errorf("%s of a page that is %q: got %d %s, want %d", c.call, c.site, a.status, a.body, c.status)
			}
		}
	}
}

func TestBodyLimits(t *testing.T) {
	r := newRig(t, "", fakeengine.Options{ContextLen: 16}, server.Options{MaxBodyBytes: 100000, BodyTimeout: 100 * time.Millisecond})
	for _, path := range []string{"/generate", "/v1/completions", "/v1/chat/completions", "/tokenize", "/start_profile", "/stop_profile", "/abort_request", "/v1/embeddings"} {
		a := r.call("POST "+path, `{"x":"`+strings.Repeat("y", 100000)+`"}`)
		if a.status != 413 || !strings.Contains(a.body, "larger than 100000 bytes") {
			t.Errorf("%s: got %d %s", path, a.status, a.body)
		}
	}
	for _, c := range []struct{ body, want string }{
		{`{"text":"` + strings.Repeat("y", 20) + `"}`, "The input (21 tokens) is longer than the model's context length (16 tokens)."},
		{`{"text":"` + strings.Repeat("y", 50000) + `"}`, "50000 bytes of text cannot fit the context length of 16 tokens"},
	} {
		if a := r.call("POST /generate", c.body); a.status != 400 || !strings.Contains(a.body, c.want) {
			t.Errorf("got %d %s", a.status, a.body)
		}
	}
	// Bodies that never arrive: refused by the handlers that read them, and no connection is held.
	for path, want := range map[string]string{"/generate": "400", "/health": "405", "/nowhere": "404", "/flush_cache": "400"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{")
		answer, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 "+want) {
			t.Errorf("%s: got %q, %v", path, answer, err)
		}
		conn.Close()
	}
}

// TestHealth checks that a probe needs a token or a step, and that a full engine and a sick one are distinguished.
func TestHealth(t *testing.T) {
	stuck := newRig(t, "", fakeengine.Options{Pace: time.Hour}, server.Options{HealthTimeout: 50 * time.Millisecond})
	for path, want := range map[string]int{"/health": 200, "/health_generate": 503} {
		if a := stuck.call("GET "+path, ""); a.status != want || a.body != "" {
			t.Errorf("stuck engine, %s: got %d %q, want %d", path, a.status, a.body, want)
		}
	}
	// The queue is full, but the engine makes steps.
	busy := newRig(t, "", fakeengine.Options{Pace: time.Millisecond, MaxRunning: 1, MaxQueue: 1}, server.Options{})
	busy.open("/generate", endless)
	ctx2, _ := http.NewRequest("POST", busy.url+"/generate", strings.NewReader(strings.Replace(endless, `"stream":true,`, "", 1)))
	go http.DefaultClient.Do(ctx2)
	eventually(t, "the queue is full", func() bool { return busy.engine.Busy() == 2 })
	if a := busy.call("GET /health_generate", ""); a.status != 200 {
		t.Errorf("busy engine: got %d", a.status)
	}
	busy.call("POST /abort_request", `{"abort_all":true}`)

	sick := newRig(t, "", fakeengine.Options{}, server.Options{Getenv: func(string) string { return "TRUE" }})
	if a := sick.call("GET /health", ""); a.status != 200 || len(sick.engine.Submitted()) != 1 {
		t.Errorf("probe by /health: got %d after %d requests", a.status, len(sick.engine.Submitted()))
	}
	sick.engine.SetHealth(errors.New("rank 3 does not answer"))
	for _, path := range []string{"/health", "/health_generate", "/ready"} {
		if a := sick.call("GET "+path, ""); a.status != 503 {
			t.Errorf("sick engine, %s: got %d", path, a.status)
		}
	}
}

// TestManyTexts checks that texts of many megabytes are refused, and that few large ones are processed at once if many
// clients send them: the memory of the server is a bounded multiple of that of one text.
func TestManyTexts(t *testing.T) {
	r := newRig(t, "", fakeengine.Options{}, server.Options{})
	for _, call := range []struct{ path, body string }{
		{"/tokenize", `{"prompt":"` + strings.Repeat("y", 5<<20) + `"}`},
		{"/v1/detokenize", `{"tokens":[` + strings.Repeat("1,", 3<<20) + `1]}`},
	} {
		if a := r.call("POST "+call.path, call.body); a.status != 413 || !strings.Contains(a.body, "larger than 4194304 bytes, the limit of this route") {
			t.Errorf("%s: got %d %.200s", call.path, a.status, a.body)
		}
	}
	words := 1 << 20
	if testing.Short() { // the race detector makes each of them wait too long for its turn
		words = 1 << 18
	}
	text := `{"prompt":"` + strings.Repeat("y ", words) + `"}`
	statuses := make(chan int)
	for range 8 {
		go func() {
			res, err := http.Post(r.url+"/tokenize", "application/json", strings.NewReader(text))
			if err != nil {
				statuses <- 0
				return
			}
			io.Copy(io.Discard, res.Body)
			res.Body.Close()
			statuses <- res.StatusCode
		}()
	}
	for range 8 {
		if status := <-statuses; status != 200 {
			t.Errorf("one of eight at once: %d", status)
		}
	}
	// All turns are over.
	if a := r.call("POST /tokenize", `{"prompt":"x"}`); a.status != 200 {
		t.Errorf("got %d %s", a.status, a.body)
	}
}
