package wire

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func ptr[T any](v T) *T { return &v }

func TestDecodeGenerate(t *testing.T) {
	def := SamplingParams{MaxNewTokens: ptr(DefaultMaxNewTokens)}
	for _, c := range []struct {
		name, body string
		want       GenerateRequest
	}{
		{"text", `{"text":"hi"}`, GenerateRequest{Text: One("hi")}},
		{"texts", `{"text":["a","b"],"rid":["x","y"]}`, GenerateRequest{Text: Many("a", "b"), RID: Many("x", "y")}},
		{"ids", `{"input_ids":[1, 2,3]}`, GenerateRequest{InputIDs: One([]int32{1, 2, 3})}},
		{"odd ids", `{"input_ids":["1",2.0]}`, GenerateRequest{InputIDs: One([]int32{1, 2})}},
		{"batch of ids", `{"input_ids":[[1],[2,3]],"stream":true}`, GenerateRequest{InputIDs: Many([]int32{1}, []int32{2, 3}), Stream: true}},
		{"null is absent", `{"text":"a","input_ids":null,"rid":null,"sampling_params":null,"stream":null}`, GenerateRequest{Text: One("a")}},
		{"params", `{"text":"a","sampling_params":{}}`, GenerateRequest{Text: One("a"), SamplingParams: One(def)}},
		{"no limit", `{"text":"a","sampling_params":{"max_new_tokens":null}}`, GenerateRequest{Text: One("a"), SamplingParams: One(SamplingParams{})}},
		{"ints as strings", `{"text":"a","sampling_params":{"max_new_tokens":"5","temperature":"0.5","n":"2"},"top_logprobs_num":"3","return_logprob":"true"}`,
			GenerateRequest{Text: One("a"), SamplingParams: One(SamplingParams{MaxNewTokens: ptr(5), Temperature: ptr(.5), N: ptr(2)}),
				TopLogprobsNum: One(3), ReturnLogprob: One(true)}},
		{"one stop string", `{"text":"a","sampling_params":{"stop":"x","stop_token_ids":[7],"max_new_tokens":1}}`,
			GenerateRequest{Text: One("a"), SamplingParams: One(SamplingParams{Stop: []string{"x"}, StopTokenIDs: []int32{7}, MaxNewTokens: ptr(1)})}},
		{"params for each", `{"text":["a","b"],"sampling_params":[{"max_new_tokens":1},{"max_new_tokens":2}],"return_logprob":[true,false]}`,
			GenerateRequest{Text: Many("a", "b"), SamplingParams: Many(SamplingParams{MaxNewTokens: ptr(1)}, SamplingParams{MaxNewTokens: ptr(2)}),
				ReturnLogprob: Many(true, false)}},
		{"older name of the rank", `{"text":"a","data_parallel_rank":"1"}`, GenerateRequest{Text: One("a"), DPRank: ptr(1)}},
		{"unknown fields", `{"text":"a","lora_path":null,"new_thing":[1]}`,
			GenerateRequest{Text: One("a"), Extra: map[string]json.RawMessage{"new_thing": json.RawMessage("[1]")}}},
		{"case counts", `{"text":"a","Stream":true}`, GenerateRequest{Text: One("a"), Extra: map[string]json.RawMessage{"Stream": json.RawMessage("true")}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got GenerateRequest
			if err := Decode([]byte(c.body), &got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name string
		dst  func() json.Unmarshaler
		body string
		want string // the whole error
	}{
		{"empty", gen, ``, `the body is empty, want a JSON object`},
		{"cut", gen, `{"text":`, `the body is not valid JSON: unexpected end of JSON input at byte 8`},
		{"two values", gen, `{} {}`, `the body is not valid JSON: invalid character '{' after top-level value at byte 4`},
		{"not UTF-8", gen, "{\"text\":\"\xff\"}", `the body is not valid UTF-8`},
		{"NaN", gen, `{"text":"a","sampling_params":{"temperature":NaN}}`, `the body is not valid JSON: invalid character 'N' looking for beginning of value at byte 46`},
		{"a list", gen, `[1]`, `want an object, got a list`},
		{"null", gen, `null`, `want an object, got null`},
		{"neither", gen, `{}`, `text or input_ids is needed`},
		{"both", gen, `{"text":"a","input_ids":[1]}`, `give text or input_ids, not both`},
		{"no batch", gen, `{"text":[]}`, `the batch is empty`},
		{"no ids", gen, `{"input_ids":[]}`, `input_ids: is empty`},
		{"one without ids", gen, `{"input_ids":[[1],[]]}`, `input_ids: [1] is empty`},
		{"text is a number", gen, `{"text":5}`, `text: want a string, got a number`},
		{"a text is a number", gen, `{"text":["a",5]}`, `text[1]: want a string, got a number`},
		{"negative id", gen, `{"input_ids":[1,-2]}`, `input_ids[1]: -2 is not a token id`},
		{"huge id", gen, `{"input_ids":[9999999999]}`, `input_ids[0]: 9999999999 is not a token id`},
		{"id in a batch", gen, `{"input_ids":[[1],[2,"x"]]}`, `input_ids[1][1]: want an integer, got "x"`},
		{"a fraction", gen, `{"text":"a","sampling_params":{"max_new_tokens":1.5}}`, `sampling_params.max_new_tokens: want an integer, got 1.5`},
		{"boolean as integer", gen, `{"text":"a","sampling_params":{"max_new_tokens":true}}`, `sampling_params.max_new_tokens: want an integer, got true`},
		{"below zero", gen, `{"text":"a","sampling_params":{"temperature":-1}}`, `sampling_params.temperature: must be at least 0, got -1`},
		{"too large", gen, `{"text":"a","sampling_params":{"temperature":1e999}}`, `sampling_params.temperature: want a finite number, got 1e999`},
		{"top_p 0", gen, `{"text":"a","sampling_params":{"top_p":0}}`, `sampling_params.top_p: must be in (0, 1], got 0`},
		{"top_k 0", gen, `{"text":"a","sampling_params":{"top_k":0}}`, `sampling_params.top_k: must be -1 (off) or at least 1, got 0`},
		{"min_p", gen, `{"text":"a","sampling_params":{"min_p":2}}`, `sampling_params.min_p: must be in [0, 1], got 2`},
		{"penalty", gen, `{"text":"a","sampling_params":{"frequency_penalty":-3}}`, `sampling_params.frequency_penalty: must be in [-2, 2], got -3`},
		{"repetition", gen, `{"text":"a","sampling_params":{"repetition_penalty":0}}`, `sampling_params.repetition_penalty: must be in (0, 2], got 0`},
		{"min over max", gen, `{"text":"a","sampling_params":{"max_new_tokens":2,"min_new_tokens":3}}`, `sampling_params.min_new_tokens: must be in [0, max_new_tokens(2)], got 3`},
		{"n", gen, `{"text":"a","sampling_params":{"n":0}}`, `sampling_params.n: must be in [1, 128], got 0`},
		{"second params", gen, `{"text":["a","b"],"sampling_params":[{},{"n":"x"}]}`, `sampling_params[1].n: want an integer, got "x"`},
		{"bias key", gen, `{"text":"a","sampling_params":{"logit_bias":{"x":1}}}`, `sampling_params.logit_bias.x: want a token id as the key`},
		{"too many stops", gen, `{"text":"a","sampling_params":{"stop":["` + strings.Repeat(`x","`, 32) + `x"]}}`, `sampling_params.stop: at most 32 stop strings are allowed, got 33`},
		{"list for one", gen, `{"text":"a","return_logprob":[true,false]}`, `return_logprob: has 2 entries for a batch of 1`},
		{"short list", gen, `{"text":["a","b"],"rid":["x"]}`, `rid: has 1 entries for a batch of 2`},
		{"boolean", gen, `{"text":"a","stream":"maybe"}`, `stream: want true or false, got "maybe"`},
		{"long value is cut", gen, `{"text":"a","stream":"` + strings.Repeat("é", 40) + `"}`, `stream: want true or false, got "` + strings.Repeat("é", 19) + `…`},

		{"no prompt", cmpl, `{}`, `prompt: is needed`},
		{"empty prompt", cmpl, `{"prompt":["",""]}`, `Prompt cannot be empty`},
		{"mixed prompt", cmpl, `{"prompt":["a",1]}`, `prompt[1]: want a string, got a number`},
		{"prompt object", cmpl, `{"prompt":{}}`, `prompt: want a list of token ids, got an object`},
		{"max_tokens", cmpl, `{"prompt":"a","max_tokens":0}`, `max_tokens: must be positive, got 0`},
		{"min_tokens", cmpl, `{"prompt":"a","max_tokens":1,"min_tokens":2}`, `min_tokens: must be in [0, max_new_tokens(1)], got 2`},
		{"format", cmpl, `{"prompt":"a","response_format":{"type":"x"}}`, `response_format.type: unknown format "x"`},
		{"no messages", chat, `{"messages":[]}`, `messages: Messages cannot be empty.`},
		{"unknown role", chat, `{"messages":[{"role":"wizard","content":"a"}]}`, `messages[0].role: unknown role "wizard": give user, system, assistant, tool, function, developer, latest_reminder, root`},
		{"no content", chat, `{"messages":[{"role":"user","content":null}]}`, `messages[0].content: is needed`},
		{"call of nothing", chat, `{"messages":[{"role":"assistant","tool_calls":[{"type":"function"}]}]}`, `messages[0].tool_calls[0].function: is needed`},
		{"arguments", chat, `{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{"}}]}]}`, `messages[0].tool_calls[0].function.arguments: Assistant tool call function.arguments must be valid JSON.`},
		{"arguments, a list", chat, `{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":[1]}}]}]}`, `messages[0].tool_calls[0].function.arguments: Assistant tool call function.arguments must be a JSON object.`},
		{"tools", chat, `{"messages":[{"role":"user","content":"a"}],"tools":[{"type":"function","function":{"name":"f"}}]}`, `tools: this server does not call tools (it has neither a tool-call parser nor constrained decoding): give tool_choice "none"`},
		{"tools, required", chat, `{"messages":[{"role":"user","content":"a"}],"tools":[{"function":{"name":"f"}}],"tool_choice":"required"}`, `tool_choice: tool calls need constrained decoding, which this server lacks: give "none"`},
		{"tools, named", chat, `{"messages":[{"role":"user","content":"a"}],"tool_choice":{"type":"function","function":{"name":"f"}}}`, `tool_choice: tool calls need constrained decoding, which this server lacks: give "none"`},
		{"tools, how", chat, `{"messages":[{"role":"user","content":"a"}],"tool_choice":"any"}`, `tool_choice: want none, auto, required or an object, got "any"`},
		{"tools, without name", chat, `{"messages":[{"role":"user","content":"a"}],"tools":[{"function":{}}],"tool_choice":"none"}`, `tools[0].function.name: is needed`},
		{"no role", chat, `{"messages":[{"content":"a"}]}`, `messages[0].role: is needed`},
		{"image", chat, `{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, `messages[0].content[0].type: "image_url" parts are not supported by this server, only text`},
		{"stages", prof, `{"profile_stages":["prefil"]}`, `profile_stages: [0] must be prefill or decode, got "prefil"`},
		{"num_steps", prof, `{"num_steps":"many"}`, `num_steps: want an integer, got "many"`},
		{"negative step", prof, `{"start_step":-1}`, `start_step: must be at least 0, got -1`},
		{"activities", prof, `{"activities":"CPU"}`, `activities: want a list, got a string`},
		{"tokenize nothing", tok, `{}`, `give exactly one of prompt and messages`},
		{"detokenize nothing", detok, `{}`, `tokens: is needed`},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Decode([]byte(c.body), c.dst())
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %v", err, c.want)
			}
			if _, ok := err.(*FieldError); err != nil && !ok {
				t.Errorf("%T is not a *FieldError", err)
			}
		})
	}
}

func gen() json.Unmarshaler   { return new(GenerateRequest) }
func cmpl() json.Unmarshaler  { return new(CompletionRequest) }
func chat() json.Unmarshaler  { return new(ChatRequest) }
func prof() json.Unmarshaler  { return new(ProfileRequest) }
func tok() json.Unmarshaler   { return new(TokenizeRequest) }
func detok() json.Unmarshaler { return new(DetokenizeRequest) }

func TestDecodeOpenAI(t *testing.T) {
	var c CompletionRequest
	body := `{"model":"m","prompt":[[1,2],[3]],"best_of":1,"max_tokens":"7","logprobs":2,"stream":true,"temperature":0.0,"ignore_eos":true,
		"stream_options":{"include_usage":true},"return_cached_tokens_details":true,"seed":4}`
	if err := Decode([]byte(body), &c); err != nil {
		t.Fatal(err)
	}
	want := CompletionRequest{
		Common: Common{Model: "m", Stream: true, StreamOptions: StreamOptions{IncludeUsage: true}, CachedDetails: true,
			Sampling: SamplingParams{MaxNewTokens: ptr(7), Temperature: ptr(0.), IgnoreEOS: true, Seed: ptr(int64(4))},
			Extra:    map[string]json.RawMessage{"best_of": json.RawMessage("1")}},
		IDs: Many([]int32{1, 2}, []int32{3}), Logprobs: ptr(2),
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}

	var ch ChatRequest
	body = `{"messages":[{"role":"system","content":"be"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
		{"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":[1,2.50,{}],\"ö\":{\"b\":null,\"<\":\"\\n\"}}"}}]},
		{"role":"tool","tool_call_id":"c","content":"2"}],"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"none",
		"max_tokens":3,"max_completion_tokens":5,"response_format":{"type":"json_object"},"chat_template_kwargs":{"enable_thinking":false}}`
	if err := Decode([]byte(body), &ch); err != nil {
		t.Fatal(err)
	}
	wantChat := ChatRequest{
		Common: Common{Sampling: SamplingParams{MaxNewTokens: ptr(5), JSONSchema: `{"type":"object"}`}},
		Messages: []Message{{Role: "system", Content: "be"}, {Role: "user", Content: "a b"},
			{Role: "assistant", Reasoning: "hm", ToolCalls: []ToolCall{{"f", `{"a": [1, 2.50, {}], "ö": {"b": null, "<": "\n"}}`}}}, {Role: "tool", Content: "2"}},
		TemplateKwargs: map[string]json.RawMessage{"enable_thinking": json.RawMessage("false")},
	}
	if !reflect.DeepEqual(ch, wantChat) {
		t.Errorf("got  %+v\nwant %+v", ch, wantChat)
	}
}

// TestDecodeProfile decodes the requests of the stock clients.
func TestDecodeProfile(t *testing.T) {
	body := `{"output_dir":"/tmp/1.5","num_steps":"5","activities":["CPU","GPU"],"profile_by_stage":false,"merge_profiles":true,
		"profile_prefix":null,"start_step":"15","with_stack":false,"roofline_annotations":true,"detailed_annotations":true,"rid":"a","http_worker_ipc":null,"req_type":1,"num_step":5}`
	var got ProfileRequest
	if err := Decode([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	want := ProfileRequest{OutputDir: ptr("/tmp/1.5"), NumSteps: ptr(5), StartStep: ptr(int64(15)), Activities: []string{"CPU", "GPU"},
		MergeProfiles: true, WithStack: ptr(false), Detailed: true, Unknown: []string{"num_step", "roofline_annotations"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestRequestsReadBack checks the requests that clients encode against the decoder.
func TestRequestsReadBack(t *testing.T) {
	for _, req := range []any{
		&GenerateRequest{Text: Many("a", "b"), SamplingParams: One(SamplingParams{MaxNewTokens: ptr(3), Stop: []string{"x"}}), Stream: true},
		&GenerateRequest{InputIDs: One([]int32{1, 2}), RID: One("r"), LogprobStartLen: One(0), ReturnLogprob: One(true)},
		&ProfileRequest{OutputDir: ptr("d"), NumSteps: ptr(2), Activities: []string{"CPU"}},
		&CompletionRequest{Common: Common{Model: "m", Stream: true, Sampling: SamplingParams{MaxNewTokens: ptr(4), Temperature: ptr(0.), Seed: ptr(int64(3)), MinNewTokens: 1},
			StreamOptions: StreamOptions{IncludeUsage: true}, Extra: map[string]json.RawMessage{"best_of": json.RawMessage("1")}}, Text: One("a"), Echo: true, Logprobs: ptr(0)},
		&CompletionRequest{Common: Common{Sampling: SamplingParams{MaxNewTokens: ptr(16)}}, IDs: Many([]int32{1}, []int32{2})},
		&ChatRequest{Common: Common{Sampling: SamplingParams{Stop: []string{"x"}, IgnoreEOS: true}}, Messages: []Message{{Role: "user", Content: "a"}}, Logprobs: true, TopLogprobs: 2},
		&ChatRequest{Common: Common{RID: "r", Sampling: SamplingParams{MaxNewTokens: ptr(4)}}, Messages: []Message{{Role: "user", Content: "a", Name: "n"}}, ContinueFinal: true,
			TemplateKwargs: map[string]json.RawMessage{"k": json.RawMessage("1")}},
		&AbortRequest{RID: "x"},
		&TokenizeRequest{Prompt: One("a"), AddSpecialTokens: ptr(false)},
		&DetokenizeRequest{Tokens: Many([]int32{1}, []int32{2})},
	} {
		text, err := json.Marshal(req)
		if err != nil {
			t.Fatal(err)
		}
		got := reflect.New(reflect.TypeOf(req).Elem()).Interface()
		if err := Decode(text, got.(json.Unmarshaler)); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if !reflect.DeepEqual(got, req) {
			t.Errorf("%s\ngot  %+v\nwant %+v", text, got, req)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"text":"a","sampling_params":{"max_new_tokens":"5","stop":["x"]},"rid":["a"]}`, `{"input_ids":[[1,2],[3]],"stream":true}`,
		`{"prompt":[1,2],"logprobs":1}`, `{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}`,
		`{"num_steps":"5","activities":["CPU"],"profile_stages":["decode"]}`, `{"tokens":[[1]]}`, `{"rid":"x"}`, `{"text":[1,{}],"x":`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, dst := range []json.Unmarshaler{gen(), cmpl(), chat(), prof(), tok(), detok(), new(AbortRequest)} {
			err := Decode(body, dst)
			if err == nil {
				// An accepted request can be used without inspecting the body.
				switch r := dst.(type) {
				case *GenerateRequest:
					for i := range r.Batch() {
						p := r.SamplingParams.At(i, SamplingParams{})
						if err := p.Check(); err != nil {
							t.Errorf("accepted %q: %v", body, err)
						}
					}
				case *CompletionRequest:
					if r.Text.IsZero() == r.IDs.IsZero() {
						t.Errorf("accepted %q without one prompt", body)
					}
				}
				continue
			}
			if _, ok := err.(*FieldError); !ok {
				t.Errorf("%q: %T %v is not a *FieldError", body, err, err)
			}
			if strings.Contains(err.Error(), "Go struct") || strings.Contains(err.Error(), "Go value") {
				t.Errorf("%q: %v mentions Go", body, err)
			}
		}
	})
}

// Many is a field that holds a list.
func Many[T any](v ...T) OneOrMany[T] { return OneOrMany[T]{Many: true, Values: v} }
