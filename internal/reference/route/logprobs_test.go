package route

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestLogprobs checks that log probabilities of the prompt come from the prefill worker if the decode worker has none.
// Otherwise replies stay unchanged to the byte.
func TestLogprobs(t *testing.T) {
	const one = `{"text":"p","meta_info":{"id":"p","input_token_logprobs":[[null,1,null],[-0.5,2,null]],"input_top_logprobs":[[[-0.5,2,null]]]}}`
	const two = `[` + one + `,{"meta_info":{"input_token_logprobs":[[-1,9,null]],"input_top_logprobs":null}}]`
	events := func(list ...string) string { return "data: " + strings.Join(list, "\n\ndata: ") + "\n\n" }
	for _, c := range []struct {
		name            string
		body            string
		prefill, decode string
		want            string // of the client
	}{
		{"one", `{"text":"x","return_logprob":true}`, one, `{"text":"d", "meta_info":{"id":"d","input_token_logprobs":[],"input_top_logprobs":[],"x":1e3}}`,
			`{"meta_info":{"id":"d","input_token_logprobs":[[null,1,null],[-0.5,2,null]],"input_top_logprobs":[[[-0.5,2,null]]],"x":1e3},"text":"d"}`},
		{"the decode worker has them", `{"text":"x","return_logprob":true}`, one, `{"text":"d", "meta_info":{"input_token_logprobs":[[-3,1,null]]}}`,
			`{"text":"d", "meta_info":{"input_token_logprobs":[[-3,1,null]]}}`},
		{"nobody asked", `{"text":"x"}`, one, `{"text":"d", "meta_info":{"input_token_logprobs":[]}}`, `{"text":"d", "meta_info":{"input_token_logprobs":[]}}`},
		{"the prefill worker has none", `{"text":"x","return_logprob":true}`, `{"meta_info":{}}`, `{"text":"d", "meta_info":{"input_token_logprobs":[]}}`, `{"text":"d", "meta_info":{"input_token_logprobs":[]}}`},
		{"no JSON", `{"text":"x","return_logprob":true}`, "oops", `{"text":`, `{"text":`},
		{"a batch", `{"text":["x","y"],"return_logprob":[true,true]}`, two, `[{"meta_info":{"input_token_logprobs":[]}},{"meta_info":{"input_token_logprobs":[]}}]`,
			`[{"meta_info":{"input_token_logprobs":[[null,1,null],[-0.5,2,null]]}},{"meta_info":{"input_token_logprobs":[[-1,9,null]]}}]`},
		{"a stream", `{"text":"x","return_logprob":true,"stream":true}`, events(one, "[DONE]"),
			events(`{"text":"a","meta_info":{"input_token_logprobs":[]}}`, `{"text":"ab","meta_info":{"input_token_logprobs":[]}}`, "[DONE]"),
			events(`{"meta_info":{"input_token_logprobs":[[null,1,null],[-0.5,2,null]]},"text":"a"}`, `{"meta_info":{"input_token_logprobs":[[null,1,null],[-0.5,2,null]]},"text":"ab"}`, "[DONE]")},
		{"a stream of a batch", `{"text":["x","y"],"return_logprob":true,"stream":true}`, events(`{"index":1,"meta_info":{"input_token_logprobs":[[-1,9,null]]}}`, `{"index":0,"meta_info":{"input_token_logprobs":[[-2,8,null]]}}`, "[DONE]"),
			events(`{"index":0,"meta_info":{"input_token_logprobs":[]}}`, `{"index":1,"meta_info":{"input_token_logprobs":[]}}`),
			events(`{"index":0,"meta_info":{"input_token_logprobs":[[-2,8,null]]}}`, `{"index":1,"meta_info":{"input_token_logprobs":[[-1,9,null]]}}`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			says := func(text string, wait time.Duration) http.HandlerFunc {
				return func(rw http.ResponseWriter, _ *http.Request) {
					time.Sleep(wait)
					if strings.HasPrefix(text, "data:") {
						rw.Header().Set("Content-Type", "text/event-stream")
						for _, b := range []byte(text) { // usually one packet per byte
							rw.Write([]byte{b})
							http.NewResponseController(rw).Flush()
						}
						return
					}
					fmt.Fprint(rw, text)
				}
			}
			p, d := newSide(t, says(c.prefill, 20*time.Millisecond)), newSide(t, says(c.decode, 0))
			r := newRig(t, Options{Workers: pairs([]*side{p}, []*side{d})})
			if got := r.call("POST /generate", c.body); got.status != 200 || got.body != c.want {
				t.Errorf("%d %s\nwant %s", got.status, got.body, c.want)
			}
			eventually(t, "nothing is counted as running", func() bool { return r.rt.inFlight() == 0 })
		})
	}
}

// FuzzLogprobs checks that JSON stays JSON, and that no input panics.
func FuzzLogprobs(f *testing.F) {
	f.Add([]byte(`{"index":0,"meta_info":{"input_token_logprobs":[[-1,9,null]]}}`), []byte(`{"meta_info":{"input_token_logprobs":[]}}`))
	f.Add([]byte("data: {\"index\":1}\n\ndata: [DONE]\n\n"), []byte(`[{"meta_info":null},null,{}]`))
	f.Add([]byte(`[]`), []byte(`{"index":"x","meta_info":{"input_token_logprobs": [ ]}}`))
	f.Fuzz(func(t *testing.T, prefill, decode []byte) {
		out := promptLogprobs(prefill).into(decode)
		if json.Valid(decode) != json.Valid(out) {
			t.Errorf("%q becomes %q", decode, out)
		}
	})
}
