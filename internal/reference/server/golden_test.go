package server_test

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/reference/server"
	"github.com/stepscope/stepscope/internal/testing/fakeengine"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGolden compares whole replies (status, type and body) with files. Every route is included, by its present and its
// older names.
func TestGolden(t *testing.T) {
	const params = `"sampling_params":{"max_new_tokens":4,"temperature":0}`
	groups := []struct {
		name  string
		o     server.Options
		calls []string // "METHOD /path body"
	}{
		{"generate", server.Options{}, []string{
			`POST /generate {"text":"hi",` + params + `}`,
			`PUT /generate {"text":"hi",` + params + `,"rid":"mine"}`,
			`POST /generate {"text":["a","b"],` + params + `,"rid":"two"}`,
			`POST /generate {"input_ids":[104,105],` + params + `}`,
			`POST /generate {"input_ids":[[104],[105]],"sampling_params":[{"max_new_tokens":1},{"max_new_tokens":2}]}`,
			`POST /generate {"text":"hi","sampling_params":{"max_new_tokens":2,"n":2}}`,
			`POST /generate {"text":"hi","sampling_params":{"max_new_tokens":0}}`,
			`POST /generate {"text":"hi","sampling_params":{"max_new_tokens":100}}`,
			`POST /generate {"text":"hi","sampling_params":{"max_new_tokens":100,"no_stop_trim":true,"skip_special_tokens":false}}`,
			`POST /generate {"text":"hi","sampling_params":{"max_new_tokens":20,"ignore_eos":true}}`,
			`POST /generate {"text":"hi","sampling_params":{"max_new_tokens":20,"min_new_tokens":16}}`,
			`POST /generate {"text":"hi","sampling_params":{"max_new_tokens":20,"stop":["wor","zz"]}}`,
			`POST /generate {"text":"hi","sampling_params":{"max_new_tokens":20,"stop":"wor","no_stop_trim":true}}`,
			`POST /generate {"text":"hi","sampling_params":{"max_new_tokens":20,"stop_token_ids":[44]}}`,
			`POST /generate {"text":"hi","sampling_params":{"max_new_tokens":2},"return_logprob":true}`,
			`POST /generate {"text":"hi","sampling_params":{"max_new_tokens":2},"return_logprob":true,"logprob_start_len":0,"top_logprobs_num":2,"return_text_in_logprobs":true}`,
		}},
		{"generate_stream", server.Options{}, []string{
			`POST /generate {"text":"hi",` + params + `,"stream":true}`,
			`POST /generate {"text":["hi"],"sampling_params":{"max_new_tokens":2},"stream":true}`,
			`POST /generate {"text":"hi","sampling_params":{"max_new_tokens":12,"stop":"wor"},"stream":true}`,
			`POST /generate {"text":"hi","sampling_params":{"max_new_tokens":7,"stream_interval":3},"stream":true}`,
			`POST /generate {"text":"hi","sampling_params":{"max_new_tokens":2},"stream":true,"return_logprob":true,"top_logprobs_num":1}`,
		}},
		{"generate_stream_incremental", server.Options{IncrementalOutput: true}, []string{
			`POST /generate {"text":"hi",` + params + `,"stream":true}`,
			`POST /generate {"text":"hi","sampling_params":{"max_new_tokens":2},"stream":true,"return_logprob":true,"logprob_start_len":0}`,
		}},
		{"generate_refused", server.Options{}, []string{
			`POST /generate {"text":"hi","sampling_params":{"json_schema":"{}"}}`,
			`POST /generate {"text":"hi","sampling_params":{"regex":"a"}}`,
			`POST /generate {"text":"hi","sampling_params":{"stop_regex":"a"}}`,
			`POST /generate {"text":"hi","sampling_params":{"beam_width":2}}`,
			`POST /generate {"text":"hi","image_data":"http://x/y.png"}`,
			`POST /generate {"text":"hi","lora_path":"x"}`,
			`POST /generate {"input_ids":[5,512]}`,
			`POST /generate {"text":"hi","sampling_params":{"logit_bias":{"600":1}}}`,
			`POST /generate {"text":"hi","sampling_params":{"max_new_tokens":5000}}`,
			`POST /generate {"text":"hi","top_logprobs_num":1000,"return_logprob":true}`,
			`POST /generate {"text":"hi","logprob_start_len":9}`,
			`POST /generate {"text":"hi","routed_dp_rank":3}`,
			`POST /generate {"text":["a","b"],"sampling_params":[{"n":1},{"n":2}]}`,
			`POST /generate {"text":["a","b"],"rid":["x","x"]}`,
			`POST /generate nonsense`,
			`POST /generate`,
			`GET /generate`,
		}},
		{"completions", server.Options{}, []string{
			`POST /v1/completions {"model":"m","prompt":"hi","max_tokens":3}`,
			`POST /v1/completions {"prompt":["a","b"],"max_tokens":2,"n":2,"echo":true}`,
			`POST /v1/completions {"prompt":[104,105],"max_tokens":30,"echo":true}`,
			`POST /v1/completions {"prompt":"hi","max_tokens":2,"logprobs":2}`,
			`POST /v1/completions {"prompt":"hi","max_tokens":1,"logprobs":1,"echo":true}`,
			`POST /v1/completions {"prompt":"hi","max_tokens":20,"stop":["wor"]}`,
			`POST /v1/completions {"prompt":"hi","max_tokens":1,"return_cached_tokens_details":true}`,
		}},
		{"completions_stream", server.Options{CacheReport: true}, []string{
			`POST /v1/completions {"model":"m","prompt":"hi","max_tokens":3,"stream":true}`,
			`POST /v1/completions {"prompt":"hi","max_tokens":30,"stream":true,"echo":true,"stop":", wor","stream_options":{"include_usage":true}}`,
			`POST /v1/completions {"prompt":"hi","max_tokens":2,"stream":true,"logprobs":1,"stream_options":{"continuous_usage_stats":true}}`,
			`POST /v1/completions {"prompt":"hi","max_tokens":1,"stream":true,"return_cached_tokens_details":true}`,
		}},
		{"chat", server.Options{}, []string{
			`POST /v1/chat/completions {"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":3}`,
			`POST /v1/chat/completions {"messages":[{"role":"user","content":"hi"}],"max_completion_tokens":2,"logprobs":true,"top_logprobs":1}`,
			`POST /v1/chat/completions {"messages":[{"role":"user","content":"hi"}],"max_tokens":2,"n":2,"return_cached_tokens_details":true}`,
			`POST /v1/chat/completions {"messages":[{"role":"user","content":"a"},{"role":"ASSISTANT","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},{"role":"tool","tool_call_id":"c","content":"2"}],"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"none","max_tokens":2}`,
		}},
		{"chat_stream", server.Options{}, []string{
			`POST /v1/chat/completions {"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":2,"stream":true}`,
			`POST /v1/chat/completions {"messages":[{"role":"user","content":"hi"}],"stream":true,"max_tokens":2,"logprobs":true,"stream_options":{"include_usage":true},"return_cached_tokens_details":true}`,
		}},
		{"openai_refused", server.Options{}, []string{
			`POST /v1/completions {"prompt":""}`,
			`POST /v1/completions {"prompt":"hi","suffix":"x"}`,
			`POST /v1/completions {"prompt":"hi","json_schema":"{}"}`,
			`POST /v1/completions {`,
			`POST /v1/chat/completions {"messages":[]}`,
			`POST /v1/chat/completions {"messages":[{"role":"wizard","content":"a"}]}`,
			`POST /v1/chat/completions {"messages":[{"role":"user","content":"a"}],"tools":[{"type":"function","function":{"name":"f"}}]}`,
			`POST /v1/chat/completions {"messages":[{"role":"user","content":"a"}],"response_format":{"type":"json_object"}}`,
			`POST /v1/chat/completions {"messages":[{"role":"user","content":"a"}],"chat_template_kwargs":{"chat_template":"x"}}`,
			`POST /v1/embeddings {"input":"a","model":"m"}`,
		}},
		{"info", server.Options{Args: map[string]any{"api_key": "secret", "admin_api_key": "secret", "chunked_prefill_size": 512}}, []string{
			`GET /v1/models`, `GET /v1/models/fake/model`, `GET /v1/models/other`,
			`GET /model_info`, `GET /get_model_info`, `GET /server_info`, `GET /get_server_info`,
			`GET /v1/loads`, `GET /v1/loads?include=core`, `GET /v1/loads?include=core,queues&dp_rank=0`, `GET /v1/loads?dp_rank=9`,
			`GET /v1/loads?include=nope`, `GET /v1/loads?dp_rank=x`, `GET /v1/loads?format=prometheus&include=memory`, `GET /get_load`,
			`GET /health`, `GET /health_generate`, `GET /ready`, `GET /ping`, `GET /metrics`,
			`GET /flush_cache`, `POST /flush_cache?timeout=1.5`, `POST /flush_cache?timeout=-1`, `POST /flush_cache?timeout=nan`,
			`POST /abort_request {"rid":"none"}`, `POST /abort_request {"abort_all":true}`, `POST /abort_request x`,
			`GET /nowhere`, `DELETE /health`,
		}},
		{"tokenize", server.Options{}, []string{
			`POST /tokenize {"prompt":"hé"}`, `POST /v1/tokenize {"prompt":["a",""],"add_special_tokens":false}`, `POST /tokenize {"text":"a"}`,
			`POST /tokenize {"messages":[{"role":"user","content":"a"}]}`, `POST /tokenize {}`,
			`POST /detokenize {"tokens":[256,104,105]}`, `POST /v1/detokenize {"tokens":[[104],[256,105]],"skip_special_tokens":false}`,
			`POST /detokenize {"tokens":[9999]}`, `POST /detokenize {}`,
		}},
		{"profile", server.Options{}, []string{
			`POST /stop_profile`, `POST /end_profile {}`,
			`GET /start_profile`, `POST /start_profile {"num_steps":"5","output_dir":"OUT"}`, `GET /stop_profile`,
			`POST /start_profile {"output_dir":"OUT","start_step":"15","num_steps":3,"activities":["CPU","XPU"],"profile_prefix":"pre"}`, `GET /end_profile`,
			`POST /start_profile {"output_dir":"OUT","activities":["RPD"]}`, `POST /start_profile {"output_dir":"OUT","activities":[]}`,
			`POST /start_profile {"output_dir":"OUT","profile_prefix":"a/b"}`, `POST /start_profile {"output_dir":"OUT","profile_id":".."}`,
			`POST /start_profile {"profile_by_stage":true,"profile_stages":[]}`,
			`POST /start_profile {"num_steps":"x"}`, `POST /start_profile [`,
		}},
		{"profile_null", server.Options{}, []string{`POST /start_profile null`, `POST /stop_profile`}}, // otherwise it would get their profile_id, because the clock is fixed
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			out := t.TempDir()
			g.o.Getenv = func(name string) string {
				if name == "SGLANG_TORCH_PROFILER_DIR" {
					return out
				}
				return ""
			}
			r := newRig(t, "Hello, world é!", fakeengine.Options{}, g.o)
			var text strings.Builder
			for _, call := range g.calls {
				what, body, _ := cutTwo(call)
				a := r.call(what, strings.ReplaceAll(body, "OUT", out))
				fmt.Fprintf(&text, "> %s\n< %d %s%s\n%s\n\n", call, a.status, a.header.Get("Content-Type"), extra(a.header), strings.TrimRight(a.body, "\n"))
			}
			file := filepath.Join("testdata", "golden", g.name+".txt")
			got := strings.ReplaceAll(text.String(), out, "OUT")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			diff(t, got, string(want))
		})
	}
}

// cutTwo cuts "METHOD /path body" before the body.
func cutTwo(call string) (what, body string, ok bool) {
	method, rest, _ := strings.Cut(call, " ")
	path, body, ok := strings.Cut(rest, " ")
	return method + " " + path, body, ok
}

func extra(h http.Header) (out string) {
	for _, name := range []string{"Retry-After", "Allow"} {
		if v := h.Get(name); v != "" {
			out += " " + name + ": " + v
		}
	}
	return out
}

func diff(t *testing.T, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			t.Errorf("line %d\ngot  %s\nwant %s", i+1, a, b)
			return
		}
	}
}
