package load

import (
	"encoding/json"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/measure/workload"
)

// made returns the header fields and body sent for a request.
func made(t *testing.T, opt Options, q workload.Request) (head, body string) {
	t.Helper()
	opt.BaseURL = "http://127.0.0.1:1"
	opt.defaults()
	tg, err := newTarget(t.Context(), &opt)
	if err != nil {
		t.Fatal(err)
	}
	f := &flight{run: &run{opt: &opt, target: tg}, req: &q, recs: make([]bench.Record, 1)}
	if err := f.prepare(); err != nil {
		t.Fatal(err)
	}
	head, body, _ = strings.Cut(string(f.wire), "\r\n\r\n")
	return head, body
}

// TestBodies compares the bodies with those of SGLang's bench_serving.
func TestBodies(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	plain := Options{Model: "m", Stream: true, IgnoreEOS: true, LogprobStartLen: -1}
	with := func(change func(*Options)) Options { o := plain; change(&o); return o }
	hi := workload.Request{Prompt: "hi \"you\"", OutputLen: 7}
	ids := workload.Request{Tokens: []int32{5, 6}, OutputLen: 7}
	picture := workload.Request{Prompt: "what?", Images: []string{"data:a", "data:b"}, OutputLen: 7}
	adapter := workload.Request{Prompt: "hi", LoRA: "ad", OutputLen: 7}
	extra := workload.Request{Prompt: "hi", OutputLen: 7, Extra: map[string]json.RawMessage{"a": raw("1"), "temperature": raw("0.5")}}
	for _, c := range []struct {
		name    string
		backend string
		opt     Options
		req     workload.Request
		want    string
	}{
		{"native", "sglang", plain, hi, `{"text":"hi \"you\"","sampling_params":{"temperature":0.0,"max_new_tokens":7,"ignore_eos":true},"stream":true,"lora_path":null,"return_logprob":false,"return_routed_experts":false,"logprob_start_len":-1}`},
		{"native, ids, logprobs", "sglang-native", with(func(o *Options) {
			o.ReturnLogprob, o.TopLogprobs, o.TokenIDsLogprob, o.TopP, o.Temperature, o.Stream = true, 2, []int{9}, 0.9, 0.7, false
		}), ids, `{"input_ids":[5,6],"sampling_params":{"temperature":0.7,"max_new_tokens":7,"ignore_eos":true,"top_p":0.9},"stream":false,"lora_path":null,"return_logprob":true,"return_routed_experts":false,"logprob_start_len":-1,"top_logprobs_num":2,"token_ids_logprob":[9]}`},
		{"native, images, adapter, id", "sglang", with(func(o *Options) { o.RequestID = func(int, int) string { return "r1" } }),
			workload.Request{Prompt: "p", Images: []string{"data:a"}, LoRA: "ad", OutputLen: 7}, `{"rid":"r1","text":"p","sampling_params":{"temperature":0.0,"max_new_tokens":7,"ignore_eos":true},"stream":true,"lora_path":"ad","return_logprob":false,"return_routed_experts":false,"logprob_start_len":-1,"image_data":["data:a"]}`},
		{"native, extras override fields", "sglang", with(func(o *Options) {
			o.ExtraBody = map[string]json.RawMessage{"sampling_params": raw(`{"n":2}`), "a": raw("0"), "b": raw("2")}
		}), extra, `{"text":"hi","sampling_params":{"n":2},"stream":true,"lora_path":null,"return_logprob":false,"return_routed_experts":false,"logprob_start_len":-1,"a":1,"b":2,"temperature":0.5}`},
		{"completions", "sglang-oai", plain, hi, `{"model":"m","prompt":"hi \"you\"","best_of":1,"max_tokens":7,"stream":true,"temperature":0.0,"ignore_eos":true}`},
		{"completions, ids, logprobs, cache", "sglang-oai", with(func(o *Options) { o.ReturnLogprob, o.TopLogprobs, o.CacheReport = true, 3, true }), ids,
			`{"model":"m","prompt":[5,6],"best_of":1,"max_tokens":7,"stream":true,"temperature":0.0,"ignore_eos":true,"logprobs":3,"return_cached_tokens_details":true}`},
		{"completions, images", "lmdeploy", plain, picture, `{"model":"m","prompt":"what?","best_of":1,"max_tokens":7,"stream":true,"temperature":0.0,"ignore_eos":true,"image_data":["data:a","data:b"]}`},
		{"completions, adapter overrides extras", "vllm", with(func(o *Options) { o.ExtraBody = map[string]json.RawMessage{"model": raw(`"x"`)} }), adapter,
			`{"model":"ad","lora_path":"ad","prompt":"hi","best_of":1,"max_tokens":7,"stream":true,"temperature":0.0,"ignore_eos":true}`},
		{"completions, extras replace defaults", "vllm", with(func(o *Options) { o.ExtraBody = map[string]json.RawMessage{"ignore_eos": raw("null")} }), extra,
			`{"model":"m","prompt":"hi","best_of":1,"max_tokens":7,"stream":true,"temperature":0.5,"ignore_eos":null,"a":1}`},
		{"completions, server counts", "vllm", with(func(o *Options) {
			o.ContinuousUsage, o.ExtraBody = true, map[string]json.RawMessage{"stream_options": raw(`{"include_usage":false}`)}
		}), hi, `{"model":"m","prompt":"hi \"you\"","best_of":1,"max_tokens":7,"stream":true,"temperature":0.0,"ignore_eos":true,"stream_options":{"include_usage":false,"continuous_usage_stats":true}}`},
		{"chat", "vllm-chat", plain, hi, `{"model":"m","messages":[{"role":"user","content":"hi \"you\""}],"max_completion_tokens":7,"stream":true,"temperature":0.0,"ignore_eos":true}`},
		{"chat, images before text", "sglang-oai-chat", plain, picture, `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:a"}},{"type":"image_url","image_url":{"url":"data:b"}},{"type":"text","text":"what?"}]}],"max_completion_tokens":7,"stream":true,"temperature":0.0,"ignore_eos":true}`},
		{"chat, messages unchanged", "lmdeploy-chat", plain, workload.Request{Messages: raw(`[{"role":"system","content":"s"}]`), OutputLen: 7},
			`{"model":"m","messages":[{"role":"system","content":"s"}],"max_completion_tokens":7,"stream":true,"temperature":0.0,"ignore_eos":true}`},
		{"embeddings", "sglang-embedding", plain, adapter, `{"input":"hi","model":"ad","lora_path":"ad"}`},
		{"images", Images, plain, extra, `{"model":"m","prompt":"hi","a":1,"temperature":0.5}`},
		{"trt", "trt", plain, hi, `{"accumulate_tokens":true,"text_input":"hi \"you\"","temperature":0.000001,"top_p":1.0,"max_tokens":7,"stream":true,"min_length":7,"end_id":1048576}`},
		{"trt, EOS ends", "trt", with(func(o *Options) { o.IgnoreEOS = false }), hi, `{"accumulate_tokens":true,"text_input":"hi \"you\"","temperature":0.000001,"top_p":1.0,"max_tokens":7,"stream":true}`},
		{"truss has no adapters and no logprobs", "truss", with(func(o *Options) { o.ReturnLogprob, o.TopLogprobs = true, 3 }), adapter,
			`{"model":"m","prompt":"hi","temperature":0.0,"best_of":1,"max_tokens":7,"stream":true,"ignore_eos":true}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.opt.Backend = c.backend
			head, got := made(t, c.opt, c.req)
			var g, w any
			if err := json.Unmarshal([]byte(got), &g); err != nil {
				t.Fatalf("%v: %s", err, got)
			}
			if err := json.Unmarshal([]byte(c.want), &w); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(g, w) {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
			if b, err := backend(c.backend); err != nil || !strings.HasPrefix(head, "POST "+b.Path+" HTTP/1.1\r\n") {
				t.Errorf("head %q, %v", head, err)
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		return func(k string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == k {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	id := func(int, int) string { return "r1" }
	usual := map[string]string{"Host": "127.0.0.1:1", "Accept": "*/*", "Content-Type": "application/json", "User-Agent": "stepscope"}
	for _, c := range []struct {
		name string
		opt  Options
		key  string
		want map[string]string
	}{
		{"none", Options{Backend: "sglang"}, "", nil},
		{"OpenAI's key first", Options{Backend: "sglang", Getenv: env("OPENAI_API_KEY", "K", "API_KEY", "L")}, "", map[string]string{"Authorization": "Bearer K"}},
		{"the other key unchanged", Options{Backend: "sglang", Getenv: env("API_KEY", "L")}, "", map[string]string{"Authorization": "L"}},
		{"the user's own header wins", Options{Backend: "sglang", Getenv: env("API_KEY", "L"), Header: map[string]string{"authorization": "mine", "X-A": "1"}}, "", map[string]string{"authorization": "mine", "X-A": "1"}},
		{"routing key", Options{Backend: "sglang"}, "g1", map[string]string{"X-SMG-Routing-Key": "g1"}},
		{"vLLM request id", Options{Backend: "vllm", RequestID: id}, "", map[string]string{"X-Request-Id": "r1"}},
		{"one connection per request", Options{Backend: "vllm", NewConnPerRequest: true}, "", map[string]string{"Connection": "close"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			head, body := made(t, c.opt, workload.Request{Prompt: "p", RoutingKey: c.key})
			got := map[string]string{}
			for _, line := range strings.Split(head, "\r\n")[1:] {
				name, value, _ := strings.Cut(line, ": ")
				got[name] = value
			}
			want := maps.Clone(usual)
			maps.Copy(want, c.want)
			want["Content-Length"] = strconv.Itoa(len(body))
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// TestRefused checks that invalid plans and options are rejected with a reason.
func TestRefused(t *testing.T) {
	one := []workload.Request{{Prompt: "p"}}
	for _, c := range []struct {
		name string
		opt  Options
		reqs []workload.Request
		want string
	}{
		{"backend", Options{Backend: "gserver", BaseURL: "http://h:1"}, one, `load: no backend "gserver": the backends are lmdeploy, lmdeploy-chat, openai, openai-chat, sglang`},
		{"address", Options{Backend: "vllm", BaseURL: "localhost:8000"}, one, `load: base URL "localhost:8000" is not http://host:port`},
		{"host", Options{Backend: "vllm", BaseURL: "http://no.such.host.invalid:1"}, one, "load: lookup no.such.host.invalid"},
		{"two requests in a header", Options{Backend: "vllm", BaseURL: "http://127.0.0.1:1", Header: map[string]string{"A": "b\r\nC: d"}}, one, `load: header "A": "b\r\nC: d" cannot be sent`},
		{"a wrong body length", Options{Backend: "vllm", BaseURL: "http://127.0.0.1:1", Header: map[string]string{"content-length": "1"}}, one, "load: header content-length cannot be set by users"},
		{"no requests", Options{Backend: "vllm", BaseURL: "http://127.0.0.1:1"}, nil, "load: the plan has no requests"},
		{"conversation without a chat backend", Options{Backend: "vllm", BaseURL: "http://127.0.0.1:1"}, []workload.Request{{Rounds: make([]workload.Round, 2)}}, "load: request 0: backend vllm does not support conversations: use a chat backend"},
		{"ids for a chat backend", Options{Backend: "vllm-chat", BaseURL: "http://127.0.0.1:1"}, []workload.Request{{Tokens: []int32{1}}}, "load: request 0: a chat backend takes text, not token ids"},
		{"messages for completions", Options{Backend: "vllm", BaseURL: "http://127.0.0.1:1"}, []workload.Request{{Messages: json.RawMessage("[]")}}, "load: request 0: backend vllm does not accept chat messages: use a chat backend"},
		{"invalid options", Options{Backend: "vllm", BaseURL: "http://127.0.0.1:1", Stream: true, IncludeUsage: true, ExtraBody: map[string]json.RawMessage{"stream_options": json.RawMessage("3")}}, one, "load: request 0: stream_options is 3, not an object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Run(t.Context(), c.reqs, c.opt); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v, want %s…", err, c.want)
			}
		})
	}
}
