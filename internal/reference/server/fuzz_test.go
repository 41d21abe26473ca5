package server_test

import (
	"encoding/json"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/reference/server"
	"github.com/stepscope/stepscope/internal/testing/fakeengine"
)

// FuzzRoutes sends arbitrary bodies to the routes that take one. The answer is 200 or a client error, never a server
// error, and always well formed.
func FuzzRoutes(f *testing.F) {
	for i, s := range []string{
		`{"text":["a","b"],"sampling_params":{"n":2,"max_new_tokens":3,"stop":["x","yy"]},"stream":true,"return_logprob":true,"top_logprobs_num":2,"logprob_start_len":0}`,
		`{"prompt":[[1,2],[3]],"max_tokens":3,"echo":true,"logprobs":2,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`,
		`{"messages":[{"role":"user","content":"a"}],"logprobs":true,"top_logprobs":3,"n":2,"stream":true,"max_tokens":4}`,
		`{"prompt":["a"]}`, `{"tokens":[[1],[300]]}`, `{"num_steps":"3","activities":["CPU"],"profile_by_stage":true}`, `{}`, `{"rid":"a","abort_all":false}`,
	} {
		f.Add(uint8(i), s)
	}
	paths := []string{"/generate", "/v1/completions", "/v1/chat/completions", "/tokenize", "/detokenize", "/start_profile", "/stop_profile", "/abort_request"}
	e := fakeengine.New(fakeengine.Options{ContextLen: 64})
	f.Cleanup(e.Close)
	dir := f.TempDir()
	h := server.New(e, server.Options{MaxInFlight: 8, Getenv: func(name string) string {
		if name == "SGLANG_TORCH_PROFILER_DIR" {
			return dir
		}
		return ""
	}}).Handler()
	f.Fuzz(func(t *testing.T, which uint8, body string) {
		path := paths[int(which)%len(paths)]
		if path == "/start_profile" && (strings.Contains(body, "dir") || strings.Contains(body, `\u`)) {
			return // would write to a path of its choice
		}
		w := httptest.NewRecorder()
		req := httptest.NewRequest("POST", path, strings.NewReader(body))
		req.Host = "localhost"
		h.ServeHTTP(w, req)
		if w.Code != 200 && (w.Code < 400 || w.Code >= 500) {
			t.Fatalf("%s %q: status %d %s", path, body, w.Code, w.Body)
		}
		switch typ := w.Header().Get("Content-Type"); typ {
		case "application/json":
			if !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s %q: answer %s", path, body, w.Body)
			}
		case wire.ContentTypeSSE:
			er := wire.NewEventReader(w.Body, 1<<20)
			for {
				data, err := er.Next()
				if err == io.EOF {
					return
				}
				if err != nil || !json.Valid(data) {
					t.Fatalf("%s %q: event %q, %v", path, body, data, err)
				}
			}
		}
	})
}
