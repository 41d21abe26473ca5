package server_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/server"
	"github.com/stepscope/stepscope/internal/testing/fakeengine"
)

// TestMetrics checks values after known requests, and that all metric names exist.
func TestMetrics(t *testing.T) {
	var mu sync.Mutex
	now := time.Unix(1700000000, 0)
	clock := func() time.Time { // each clock reading advances 5 ms
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(5 * time.Millisecond)
		return now
	}
	r := newRig(t, "abcdefgh", fakeengine.Options{DP: 2}, server.Options{EnableMetrics: true, ServedModelName: `my "model"`, Now: clock})
	r.call("POST /generate", `{"text":"hello","sampling_params":{"max_new_tokens":3}}`)
	r.call("POST /generate", `{"text":"hello","sampling_params":{"max_new_tokens":4},"stream":true}`)
	r.call("GET /health_generate", "") // not counted
	a := r.call("GET /metrics", "")
	if got := a.header.Get("Content-Type"); got != "text/plain; version=0.0.4; charset=utf-8" {
		t.Errorf("type %s", got)
	}
	model := `model_name="my \"model\"",engine_type="unified"`
	for _, want := range []string{
		`sglang:num_requests_total{` + model + `,is_streaming="false"} 1.0`,
		`sglang:num_requests_total{` + model + `,is_streaming="true"} 1.0`,
		`sglang:prompt_tokens_total{` + model + `,is_streaming="true"} 6.0`,
		`sglang:generation_tokens_total{` + model + `,is_streaming="false"} 3.0`,
		`sglang:generation_tokens_total{` + model + `,is_streaming="true"} 4.0`,
		`sglang:cached_tokens_total{` + model + `,cache_source="device"} 5.0`,
		`sglang:num_aborted_requests_total{` + model + `} 0.0`,
		`sglang:inter_token_latency_seconds_count{` + model + `} 5.0`,
		`sglang:inter_token_latency_seconds_bucket{` + model + `,le="0.004"} 0.0`,
		`sglang:inter_token_latency_seconds_bucket{` + model + `,le="0.006"} 5.0`,
		`sglang:time_to_first_token_seconds_bucket{` + model + `,is_streaming="true",le="0.1"} 1.0`,
		`sglang:e2e_request_latency_seconds_bucket{` + model + `,is_streaming="true",le="2400.0"} 1.0`,
		`sglang:e2e_request_latency_seconds_bucket{` + model + `,is_streaming="true",le="+Inf"} 1.0`,
		`sglang:prompt_tokens_histogram_sum{` + model + `} 12.0`,
		`sglang:uncached_prompt_tokens_histogram_sum{` + model + `} 7.0`,
		`sglang:num_running_reqs{` + model + `,tp_rank="0",pp_rank="0",moe_ep_rank="0",dp_rank="1"} 0.0`,
		`sglang:http_responses_total{endpoint="/generate",status_code="200",method="POST"} 2.0`,
		`sglang:fwd_occupancy{` + model + `,tp_rank="0",pp_rank="0",moe_ep_rank="0",dp_rank="0"} NaN`,
	} {
		if !strings.Contains(a.body, want+"\n") {
			t.Errorf("lacks %s", want)
		}
	}
	for name := range strings.FieldsSeq(`num_running_reqs num_queue_reqs num_grammar_queue_reqs gen_throughput cache_hit_rate decode_sum_seq_lens
		token_usage full_token_usage swa_token_usage mamba_usage num_used_tokens kv_available_tokens kv_evictable_tokens kv_used_tokens
		spec_accept_length spec_accept_rate num_retracted_reqs num_paused_reqs num_prefill_bootstrap_queue_reqs num_prefill_inflight_queue_reqs
		num_decode_prealloc_queue_reqs num_decode_transfer_queue_reqs utilization fwd_occupancy new_token_ratio is_cuda_graph
		prompt_tokens_total generation_tokens_total cached_tokens_total num_requests_total num_so_requests_total num_aborted_requests_total
		spec_verify_calls_total num_retracted_requests_total num_retracted_input_tokens_total num_retracted_output_tokens_total
		num_bootstrap_failed_reqs_total num_transfer_failed_reqs_total time_to_first_token_seconds inter_token_latency_seconds
		e2e_request_latency_seconds prompt_tokens_histogram uncached_prompt_tokens_histogram generation_tokens_histogram
		request_time_per_output_token_seconds max_total_num_tokens page_size num_pages context_len http_requests_active`) {
		if strings.Count(a.body, "# TYPE sglang:"+name+" ") != 1 {
			t.Errorf("%s does not appear exactly once", name)
		}
	}
}

// TestRequestLog checks the lines of each level.
func TestRequestLog(t *testing.T) {
	for level, want := range map[int]struct{ has, lacks []string }{
		0: {[]string{"receive request", "finish request", "rid=id1", "prompt_tokens=7", "completion_tokens=2", "finish=length"}, []string{"secret", "temperature"}},
		1: {[]string{"sampling.temperature=0.5"}, []string{"secret"}},
		2: {[]string{"secret", `text=ab`}, nil},
	} {
		var log bytes.Buffer
		r := newRig(t, "abcdefgh", fakeengine.Options{}, server.Options{LogRequests: true, LogRequestsLevel: level, Log: slog.New(slog.NewTextHandler(&log, nil))})
		r.call("POST /generate", `{"text":"secret","sampling_params":{"max_new_tokens":2,"temperature":0.5}}`)
		for _, s := range want.has {
			if !strings.Contains(log.String(), s) {
				t.Errorf("level %d lacks %q:\n%s", level, s, log.String())
			}
		}
		for _, s := range want.lacks {
			if strings.Contains(log.String(), s) {
				t.Errorf("level %d shows %q:\n%s", level, s, log.String())
			}
		}
	}
}

// TestProfileRequest checks the profile request that results from a body and the environment.
func TestProfileRequest(t *testing.T) {
	def := api.ProfileRequest{ID: "1700000000.5", OutputDir: "/tmp", Activities: api.ActivityCPU | api.ActivityGPU,
		WithStack: true, RecordShapes: true, MemEntries: 100000}
	with := func(f func(*api.ProfileRequest)) api.ProfileRequest {
		p := def
		f(&p)
		return p
	}
	for _, c := range []struct {
		name, body string
		env        map[string]string
		want       api.ProfileRequest
	}{
		{"nothing", ``, nil, def},
		{"stock client", `{"output_dir":"/x/1.5","num_steps":"5","activities":["CPU"],"profile_by_stage":false,"merge_profiles":true,"profile_prefix":null}`, nil,
			with(func(p *api.ProfileRequest) {
				p.OutputDir, p.NumSteps, p.Activities, p.Merge = "/x/1.5", 5, api.ActivityCPU, true
			})},
		{"all", `{"start_step":"15","num_steps":2,"activities":["CPU","GPU","MEM","CUDA_PROFILER","RPD"],"with_stack":false,"record_shapes":false,"profile_prefix":"p","profile_id":"i"}`, nil,
			with(func(p *api.ProfileRequest) {
				p.StartStep, p.NumSteps, p.Prefix, p.ID, p.WithStack, p.RecordShapes = 15, 2, "p", "i", false, false
				p.Activities = api.ActivityCPU | api.ActivityGPU | api.ActivityMem | api.ActivityCUDAProfiler
			})},
		{"by stage", `{"profile_by_stage":true,"num_steps":2,"start_step":9}`, nil,
			with(func(p *api.ProfileRequest) { p.ByStage, p.NumSteps, p.Prefill, p.Decode = true, 2, true, true })},
		{"one stage", `{"profile_by_stage":true,"profile_stages":["decode"]}`, map[string]string{"SGLANG_PROFILE_V2": "true", "SGLANG_PROFILE_BY_STAGE_DECODE_MIN_BS": "4"},
			with(func(p *api.ProfileRequest) { p.ByStage, p.Decode, p.StageNames, p.DecodeMinBS = true, true, true, 4 })},
		{"environment", `{}`, map[string]string{"SGLANG_TORCH_PROFILER_DIR": "/d", "SGLANG_PROFILE_WITH_STACK": "False", "SGLANG_PROFILE_RECORD_SHAPES": "0", "SGLANG_MEM_PROFILE_MAX_ENTRIES": "7"},
			with(func(p *api.ProfileRequest) {
				p.OutputDir, p.WithStack, p.RecordShapes, p.MemEntries = "/d", false, false, 7
			})},
		{"the request cannot switch on", `{"with_stack":true,"record_shapes":true}`, map[string]string{"SGLANG_PROFILE_WITH_STACK": "false", "SGLANG_PROFILE_RECORD_SHAPES": "false"},
			with(func(p *api.ProfileRequest) { p.WithStack, p.RecordShapes = false, false })},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, "", fakeengine.Options{}, server.Options{Getenv: func(n string) string { return c.env[n] }})
			if a := r.call("POST /start_profile", c.body); a.status != 200 {
				t.Fatalf("%+v", a)
			}
			got, _ := r.engine.Profiles()
			if !reflect.DeepEqual(got, []api.ProfileRequest{c.want}) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// TestProfileFields checks that a field that SGLang does not know is refused by name and opens no window. Fields that
// SGLang knows are accepted, even those it does not use.
func TestProfileFields(t *testing.T) {
	for _, c := range []struct {
		body   string
		status int
		want   string
	}{
		{`{"num_step":5}`, 400, "num_step: unknown field; did you mean num_steps?"},
		{`{"numSteps":"5"}`, 400, "numSteps: unknown field; did you mean num_steps?"},
		{`{"NUM_STEPS":5}`, 400, "NUM_STEPS: unknown field; did you mean num_steps?"},
		{`{"output-dir":"/tmp","num_steps":5}`, 400, "output-dir: unknown field; did you mean output_dir?"},
		{`{"merge_profile":true}`, 400, "merge_profile: unknown field; did you mean merge_profiles?"},
		{`{"num_steps":5,"duration":2}`, 400, "duration: unknown field; choose from output_dir, start_step, num_steps, activities,"},
		{`{"num_steps":5,"b":1,"a":2}`, 400, "a: unknown field; choose from"},
		{`{"num_steps":5,"rid":null,"http_worker_ipc":null,"req_type":1,"new":null}`, 200, ""},
		{`{"output_dir":"/d","start_step":"1","num_steps":"5","activities":["CPU"],"profile_by_stage":false,"profile_stages":null,"with_stack":null,
			"record_shapes":true,"merge_profiles":false,"profile_prefix":"p","detailed_annotations":false,"profile_id":"1"}`, 200, ""},
	} {
		r := newRig(t, "", fakeengine.Options{}, server.Options{})
		a := r.call("POST /start_profile", c.body)
		armed, _ := r.engine.Profiles()
		if a.status != c.status || !strings.Contains(a.body, c.want) || len(armed) > 0 != (c.status == 200) {
			t.Errorf("%s: %d %s, %d windows; want %d %s", c.body, a.status, a.body, len(armed), c.status, c.want)
		}
	}
}

// TestProfileWindow drives a window through the routes.
func TestProfileWindow(t *testing.T) {
	var log bytes.Buffer
	r := newRig(t, "", fakeengine.Options{}, server.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	dir := t.TempDir()
	r.call("POST /start_profile", `{"output_dir":"`+dir+`","num_steps":"3"}`)
	if !strings.Contains(log.String(), "profile armed while no request is running: nothing is recorded until load arrives") {
		t.Errorf("an idle server is armed, and the log says %q", &log)
	}
	r.call("POST /generate", `{"text":"a","sampling_params":{"max_new_tokens":8,"ignore_eos":true}}`)
	_, results := r.engine.Profiles()
	if len(results) != 1 || !reflect.DeepEqual(results[0].Files, []string{"1700000000.5-TP-0.trace.json.gz"}) {
		t.Errorf("got %+v", results)
	}
	if a := r.call("POST /stop_profile", "{}"); a.status != 409 {
		t.Errorf("the window is closed, stop: %+v", a)
	}
}

// TestSampling checks the parameters that reach the engine.
func TestSampling(t *testing.T) {
	r := newRig(t, "", fakeengine.Options{ContextLen: 100, Capacity: 50}, server.Options{})
	seed := int64(7)
	def := api.Sampling{MaxNewTokens: 1, Temperature: 1, TopP: 1, RepetitionPenalty: 1}
	with := func(f func(*api.Sampling)) api.Sampling { s := def; f(&s); return s }
	for _, c := range []struct {
		call, body string
		want       api.Sampling
	}{
		{"/generate", `{"text":"a","sampling_params":{"max_new_tokens":1}}`, def},
		{"/generate", `{"text":"a","sampling_params":{"max_new_tokens":1,"temperature":0,"top_k":-1}}`, with(func(s *api.Sampling) { s.Temperature = 0 })},
		{"/generate", `{"text":"a","sampling_params":{"max_new_tokens":1,"top_k":5,"top_p":0.5,"min_p":0.1,"frequency_penalty":1,"presence_penalty":-1,
			"repetition_penalty":1.5,"ignore_eos":true,"stop_token_ids":[3],"logit_bias":{"4":-2},"sampling_seed":7,"min_new_tokens":1}}`,
			api.Sampling{MaxNewTokens: 1, MinNewTokens: 1, Temperature: 1, TopP: .5, TopK: 5, MinP: .1, FrequencyPenalty: 1, PresencePenalty: -1,
				RepetitionPenalty: 1.5, IgnoreEOS: true, StopTokens: []int32{3}, LogitBias: map[int32]float32{4: -2}, Seed: &seed}},
		{"/generate", `{"text":"a","sampling_params":{"max_new_tokens":null}}`, with(func(s *api.Sampling) { s.MaxNewTokens = 48 })},
		{"/v1/completions", `{"prompt":"a"}`, with(func(s *api.Sampling) { s.MaxNewTokens = 16 })},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":"a"}]}`, with(func(s *api.Sampling) { s.MaxNewTokens = 30 })},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":"a"}],"max_tokens":1,"temperature":0.5,"seed":7,"min_tokens":1}`,
			with(func(s *api.Sampling) { s.Temperature, s.Seed, s.MinNewTokens = .5, &seed, 1 })},
	} {
		if a := r.call("POST "+c.call, c.body); a.status != 200 {
			t.Fatalf("%s: %+v", c.body, a)
		}
		all := r.engine.Submitted()
		if got := all[len(all)-1].Params; !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %s\ngot  %+v\nwant %+v", c.call, c.body, got, c.want)
		}
	}
	// Samples of one prompt have different seeds.
	r.call("POST /generate", `{"text":"a","sampling_params":{"max_new_tokens":1,"n":2,"sampling_seed":7}}`)
	all := r.engine.Submitted()
	if a, b := *all[len(all)-2].Params.Seed, *all[len(all)-1].Params.Seed; a != 7 || b != 8 {
		t.Errorf("seeds %d and %d", a, b)
	}
}

// TestBatchStream checks that the interleaved events of a batch add up to the same texts as one reply.
func TestBatchStream(t *testing.T) {
	r := newRig(t, "", fakeengine.Options{}, server.Options{})
	body := `{"text":["one","two","three"],"sampling_params":{"max_new_tokens":50,"n":2},"stream":STREAM}`
	var whole []struct{ Text string }
	if err := json.Unmarshal([]byte(r.call("POST /generate", strings.Replace(body, "STREAM", "false", 1)).body), &whole); err != nil {
		t.Fatal(err)
	}
	texts := make([]string, 6)
	ended := 0
	for _, data := range events(t, r.call("POST /generate", strings.Replace(body, "STREAM", "true", 1)).body) {
		var ev struct {
			Text  string
			Index int
			Meta  struct {
				Finish *struct{ Type string } `json:"finish_reason"`
			} `json:"meta_info"`
		}
		if err := json.Unmarshal([]byte(data), &ev); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(ev.Text, texts[ev.Index]) {
			t.Errorf("%d: %q does not continue %q", ev.Index, ev.Text, texts[ev.Index])
		}
		texts[ev.Index] = ev.Text
		if ev.Meta.Finish != nil {
			ended++
		}
	}
	for i, w := range whole {
		if texts[i] != w.Text {
			t.Errorf("%d: streamed %q, whole %q", i, texts[i], w.Text)
		}
	}
	if ended != 6 || len(whole) != 6 {
		t.Errorf("%d ends, %d texts", ended, len(whole))
	}
}
