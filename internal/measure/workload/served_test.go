package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/base/tokenizer"
	"github.com/stepscope/stepscope/internal/reference/server"
	"github.com/stepscope/stepscope/internal/testing/fakeengine"
)

// ours is our own server, whose fake engine uses bytes as tokens.
func ours(t *testing.T) string {
	engine := fakeengine.New(fakeengine.Options{})
	s := httptest.NewServer(server.New(engine, server.Options{}).Handler())
	t.Cleanup(func() { s.Close(); engine.Close() })
	return s.URL
}

// vllm imitates vLLM: the text of a reply is "prompt", lists of texts are rejected, and the model's name is required.
// It counts calls.
func vllm(t *testing.T, tok *tokenizer.Tokenizer) (url string, calls *atomic.Int64) {
	calls = new(atomic.Int64)
	mux := http.NewServeMux()
	type asked struct {
		Model    string
		Prompt   *string
		Messages json.RawMessage
		Tokens   []int32
		Special  *bool `json:"add_special_tokens"`
	}
	handle := func(route string, answer func(asked) any) {
		mux.HandleFunc("POST "+route, func(w http.ResponseWriter, r *http.Request) {
			calls.Add(1)
			var a asked
			if err := json.NewDecoder(r.Body).Decode(&a); err != nil || a.Model != "m" {
				http.Error(w, "no such model\nat all", http.StatusNotFound)
				return
			}
			if r.Header.Get("Authorization") != "Bearer key" {
				http.Error(w, `{"error":"Unauthorized"}`, http.StatusUnauthorized)
				return
			}
			json.NewEncoder(w).Encode(answer(a))
		})
	}
	handle("/tokenize", func(a asked) any {
		var ids []int32
		if a.Messages != nil {
			messages, _ := parseMessages(a.Messages)
			text, _ := tok.Chat().Render(messages, tokenizer.ChatOptions{})
			ids = tok.Encode(text, false)
		} else {
			ids = tok.Encode(*a.Prompt, a.Special == nil || *a.Special)
		}
		return map[string]any{"tokens": append([]int32{}, ids...), "count": len(ids), "max_model_len": 4096, "token_strs": nil}
	})
	handle("/detokenize", func(a asked) any { return map[string]any{"prompt": tok.Decode(a.Tokens, false)} })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL, calls
}

// at returns a server to which these headers are sent.
func at(url string, header http.Header) *client.Server {
	return &client.Server{URL: url, Header: header}
}

var key = http.Header{"Authorization": {"Bearer key"}}

func TestServedByOurServer(t *testing.T) {
	tok := NewServed(at(ours(t), nil), "")
	texts := []string{"Grüße", "", "two words"}
	ids, err := tok.Encode(t.Context(), texts, false)
	if err != nil {
		t.Fatal(err)
	}
	back, err := tok.Decode(t.Context(), ids, true)
	if err != nil || !slices.Equal(back, texts) {
		t.Errorf("%q, %v", back, err)
	}
	spec := of("random", "", func(s *Spec) { s.N, s.InputLen, s.RangeRatio = 20, 90, 1 })
	requests, _ := build(t, spec, tok)
	for _, r := range requests {
		again, err := tok.Encode(t.Context(), []string{r.Prompt}, true)
		if err != nil || len(again[0]) != 90 || r.PromptLen != 90 {
			t.Errorf("%d tokens, reported as %d, %v: %q", len(again[0]), r.PromptLen, err, r.Prompt)
		}
	}
	chats, _ := build(t, of("openai", "openai.jsonl", nil), tok)
	if chats[0].PromptLen < len("Be short.Hello!") {
		t.Errorf("a chat of %d tokens", chats[0].PromptLen)
	}
}

// A local tokenizer and the same one behind a server give the same lengths.
func TestServedByVLLM(t *testing.T) {
	local := tokenizers(t)["llama3"]
	url, calls := vllm(t, local.tok)
	tok := NewServed(at(url, key), "m")
	for _, spec := range []Spec{
		of("sharegpt", "sharegpt.json", nil),
		of("sharegpt", "sharegpt.json", func(s *Spec) { s.ChatTemplate = true }),
		of("openai", "openai.jsonl", nil),
		of("mooncake", "mooncake.jsonl", nil),
		of("speed-bench", "speedbench.jsonl", nil),
	} {
		want, _ := build(t, spec, local)
		got, _ := build(t, spec, tok)
		if spec.Dataset == "openai" { // a role that only the server can render
			want, got = want[:2], got[:2]
		}
		if Hash(want, nil) != Hash(got, nil) {
			t.Errorf("%s\ngot  %s\nwant %s", spec.Dataset, show(&got[0]), show(&want[0]))
		}
	}
	before := calls.Load()
	if _, err := tok.Encode(t.Context(), []string{"same", "same"}, true); err != nil {
		t.Fatal(err)
	}
	if _, err := tok.Encode(t.Context(), []string{"same"}, true); err != nil {
		t.Fatal(err)
	}
	if n := calls.Load() - before; n > 2 {
		t.Errorf("one text was requested %d times", n)
	}
	requests, notes := build(t, of("random", "", func(s *Spec) { s.N, s.InputLen, s.RangeRatio = 10, 300, 1 }), tok)
	for _, r := range requests {
		if n := len(local.tok.Encode(r.Prompt, true)); n != 300 || r.PromptLen != 300 {
			t.Errorf("%d tokens, reported as %d", n, r.PromptLen)
		}
	}
	if len(notes) != 1 {
		t.Errorf("%q", notes)
	}
}

func TestServedErrors(t *testing.T) {
	url, _ := vllm(t, bytesOnly(t).tok)
	reply := func(body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }))
		t.Cleanup(s.Close)
		return s.URL
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	for _, c := range []struct {
		name string
		tok  *Served
		want string
	}{
		{"no such model", NewServed(at(url, key), "x"), "/tokenize: 404 Not Found: no such model"},
		{"no key", NewServed(at(url, nil), "m"), "/tokenize: 401 Unauthorized: Unauthorized (give --api-key)"},
		{"no server", NewServed(at(gone.URL, nil), ""), "connection refused"},
		{"not JSON", NewServed(at(reply("<html>"), nil), ""), "/tokenize: this is a web server, not an LLM server, or it does not forward this route to one (200 OK): correct the URL"},
		{"no tokens", NewServed(at(reply("{}"), nil), ""), "/tokenize: the reply has no list of tokens"},
		{"other tokens", NewServed(at(reply(`{"tokens":["a"]}`), nil), ""), "tokens: got string, want a number that fits"},
	} {
		if _, err := c.tok.Encode(t.Context(), []string{"a"}, true); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
	if _, err := NewServed(at(reply("{}"), nil), "").Decode(t.Context(), [][]int32{{1}}, true); err == nil || !strings.Contains(err.Error(), "/detokenize: the reply has no text") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tok := range []Tokenizer{NewServed(at(url, key), "m"), bytesOnly(t)} {
		if _, err := Build(ctx, of("random", "", func(s *Spec) { s.N = 2 }), tok); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: interrupted, but %v", tok, err)
		}
	}
}

func TestResolve(t *testing.T) {
	const llama = "../../base/tokenizer/testdata/llama3"
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "tokenizer.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	// naming returns a server that reports the location of its tokenizer as SGLang does, with or without /tokenize
	naming := func(route, path string, tokenize bool) string {
		tok := bytesOnly(t)
		url, _ := vllm(t, tok.tok)
		mux := http.NewServeMux()
		mux.HandleFunc("GET "+route, func(w http.ResponseWriter, _ *http.Request) {
			json.NewEncoder(w).Encode(map[string]string{"tokenizer_path": path, "model_path": "org/name"})
		})
		if tokenize {
			mux.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
				req, _ := http.NewRequest("POST", url+r.URL.Path, r.Body)
				req.Header = r.Header
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				defer resp.Body.Close()
				var v any
				json.NewDecoder(resp.Body).Decode(&v)
				json.NewEncoder(w).Encode(v)
			})
		}
		s := httptest.NewServer(mux)
		t.Cleanup(s.Close)
		return s.URL
	}
	for _, c := range []struct {
		name string
		from Sources
		want string // type
		why  string
		err  string
	}{
		{"the flag comes first", Sources{Flag: llama, Server: at(naming("/model_info", broken, true), nil)}, "*workload.Local", "the tokenizer in " + llama, ""},
		{"a Hugging Face name is not a directory", Sources{Flag: "meta-llama/Llama-3.1-8B"}, "", "", "--tokenizer meta-llama/Llama-3.1-8B: no such directory or no tokenizer.json in it: give a directory on this machine (nothing is downloaded)"},
		{"an invalid tokenizer", Sources{Flag: broken}, "", "", "--tokenizer " + broken + ": tokenizer: "},
		{"named by /model_info", Sources{Server: at(naming("/model_info", llama, true), nil)}, "*workload.Local", llama + ", as reported by the server", ""},
		{"the route's old name", Sources{Server: at(naming("/get_model_info", llama, true), nil)}, "*workload.Local", llama + ", as reported by the server", ""},
		{"named, but on another machine", Sources{Server: at(naming("/model_info", "/no/such/dir", true), key), Model: "m"}, "*workload.Served", "the tokenizer of http://", ""},
		{"named, but not readable", Sources{Server: at(naming("/model_info", broken, true), key), Model: "m"}, "*workload.Served", broken, ""},
		{"the server has no /tokenize", Sources{Server: at(naming("/model_info", "", false), nil)}, "workload.Estimate", "/tokenize: 40", ""},
		{"lengths must be exact", Sources{Server: at(naming("/model_info", "", false), nil), Need: true}, "", "", "no tokenizer: no --tokenizer; POST http://"},
		{"no source", Sources{}, "workload.Estimate", "an estimate of one token per 4 characters (no --tokenizer)", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			tok, why, err := Resolve(t.Context(), c.from)
			switch {
			case c.err != "":
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v, want %s", err, c.err)
				}
			case err != nil:
				t.Error(err)
			case reflect.TypeOf(tok).String() != c.want || !strings.Contains(why, c.why):
				t.Errorf("got %T (%s), want %s (%s)", tok, why, c.want, c.why)
			}
		})
	}
}
