package route

import (
	"encoding/json"
	"testing"
)

func TestPrompt(t *testing.T) {
	for body, want := range map[string]string{
		`{"text":"a \" b","stream":true}`:                `"a \" b"`,
		`{"sampling_params":{"text":"no"},"text":"yes"}`: `"yes"`,
		`{"text":null,"input_ids":[1, 2]}`:               `[1, 2]`,
		`{"messages":[{"content":"]}"}]}`:                `[{"content":"]}"}]`,
		`{"model":"m"}`:                                  ``,
		`no json`:                                        ``,
	} {
		if got := string(prompt([]byte(body))); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

// FuzzScan checks that the scanner never panics, and finds in valid objects the same members as encoding/json.
func FuzzScan(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1}`, ` {"text" : "x\\" , "b":[{"c":"}"}], "d":-1.5e3 } `, `{"a":"\"`, `{"a":[1,[2]]}`, `[`, `{"a":tru}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		prompt(body)
		batch(body)
		seen := map[string]string{}
		end, n, ok := scanObject(body, func(key, value []byte) { seen[string(key)] = string(value) })
		out, err := bootstrap(body, &worker{host: "h"})
		if ok != (err == nil) {
			t.Fatalf("ok %v, but bootstrap says %v", ok, err)
		}
		var want map[string]json.RawMessage
		if json.Unmarshal(body, &want) != nil || want == nil {
			return
		}
		if !ok || body[end] != '}' || n < len(want) {
			t.Fatalf("%d members to byte %d (ok %v), want %d", n, end, ok, len(want))
		}
		for key, value := range want {
			if got, plain := seen[key]; plain && got != string(value) {
				t.Errorf("%q is %s, want %s", key, got, value)
			}
		}
		if !json.Valid(out) {
			t.Errorf("bootstrap makes %s", out)
		}
	})
}
