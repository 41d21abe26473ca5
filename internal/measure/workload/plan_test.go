package workload

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/base/pyrand"
)

// A file with SGLang's own rows is parsed with all forms of their prompts.
func TestPlanOfSGLang(t *testing.T) {
	requests, notes := build(t, of("plan", "plan.jsonl", nil), bytesOnly(t))
	var got []string
	for i := range requests {
		got = append(got, show(&requests[i]))
	}
	want := []string{
		`2>16 Hello`,
		`3>4 `,
		`9>5 [{"role": "user", "content": "Hi <b>"}] + {"top_p":0.9}`,
		`3>6 first | 3>6 first | 0>6 second`,
		`11>7 [{"role": "user", "content": "a"}] | 11>7 [{"role": "user", "content": "a"}] | 0>7 [{"role": "user", "content": "b"}]`,
		`90>8 What is this?`,
		`9>3 count me`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !reflect.DeepEqual(requests[1].Tokens, []int32{5, 6, 7}) {
		t.Errorf("ids %v", requests[1].Tokens)
	}
	if r := requests[5]; r.TextLen != 10 || r.VisionLen != 80 || len(r.Images) != 1 {
		t.Errorf("image: %+v", r)
	}
	if requests[3].RoutingKey != "abc_20250101000000_0" {
		t.Errorf("routing key %q", requests[3].RoutingKey)
	}
	sameSet(t, notes, nil)
}

// Each data set matches its own plan.
func TestPlanThereAndBack(t *testing.T) {
	tok := bytesOnly(t)
	for _, spec := range []Spec{
		of("sharegpt", "sharegpt.json", nil),
		of("openai", "openai.jsonl", nil),
		of("agentic-trace", "agentic.json", nil),
		of("mooncake", "mooncake.jsonl", nil),
		of("plan", "plan.jsonl", nil),
		of("random", "", func(s *Spec) { s.N, s.InputLen, s.LoRANames = 4, 30, []string{"a"} }),
		of("random-ids", "", func(s *Spec) { s.N, s.InputLen, s.TokenIDs = 4, 30, true }),
		of("generated-shared-prefix", "", func(s *Spec) {
			s.Prefix.Groups, s.Prefix.PerGroup, s.Prefix.Turns, s.Prefix.SendRoutingKey = 2, 2, 3, true
		}),
		of("image", "", func(s *Spec) { s.N, s.InputLen, s.Image.Resolution = 2, 30, "8x8" }),
	} {
		t.Run(spec.Dataset, func(t *testing.T) {
			requests, _ := build(t, spec, tok)
			times, err := Schedule(len(requests), Arrivals{Rate: 9}, pyrand.NewState(1))
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "plan.jsonl")
			first := save(t, path, requests, times)
			back, err := Build(t.Context(), Spec{Dataset: "plan", Path: path}, tok)
			if err != nil {
				t.Fatal(err)
			}
			if second := save(t, path, back, nil); !bytes.Equal(first, second) {
				t.Errorf("first\n%s\nthen\n%s", first, second)
			}
			if Hash(requests, times) != Hash(back, nil) {
				t.Error("the hash differs")
			}
			for i := range requests {
				requests[i].At = times[i]
				if show(&requests[i]) != show(&back[i]) && requests[i].Messages == nil {
					t.Errorf("got  %s\nwant %s", show(&back[i]), show(&requests[i]))
				}
			}
		})
	}
}

func save(t *testing.T, path string, requests []Request, times []time.Duration) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, requests, times); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The hash covers everything that is sent except the time of day in routing keys.
func TestHash(t *testing.T) {
	base := func() ([]Request, []time.Duration) {
		requests, _ := build(t, of("plan", "plan.jsonl", nil), bytesOnly(t))
		return requests, make([]time.Duration, len(requests))
	}
	requests, times := base()
	hash := Hash(requests, times)
	for name, change := range map[string]func(r []Request, at []time.Duration){
		"prompt":   func(r []Request, _ []time.Duration) { r[0].Prompt += " " },
		"ids":      func(r []Request, _ []time.Duration) { r[1].Tokens[2]++ },
		"messages": func(r []Request, _ []time.Duration) { r[2].Messages = r[4].Messages },
		"length":   func(r []Request, _ []time.Duration) { r[0].OutputLen++ },
		"body":     func(r []Request, _ []time.Duration) { r[2].Extra = nil },
		"adapter":  func(r []Request, _ []time.Duration) { r[2].LoRA = "a" },
		"round":    func(r []Request, _ []time.Duration) { r[3].Rounds[1].Delay++ },
		"image":    func(r []Request, _ []time.Duration) { r[5].Images[0] += "A" },
		"time":     func(_ []Request, at []time.Duration) { at[6]++ },
		"order":    func(r []Request, _ []time.Duration) { r[0], r[6] = r[6], r[0] },
	} {
		requests, times := base()
		change(requests, times)
		if Hash(requests, times) == hash {
			t.Errorf("%s: the hash is the same", name)
		}
	}
	requests, times = base()
	requests[3].RoutingKey = "later"
	if Hash(requests, times) != hash {
		t.Error("the routing key changes the hash")
	}
}

func TestPlanRefusals(t *testing.T) {
	for row, want := range map[string]string{
		`{"output_len":1}`:                                "there is no prompt",
		`{"prompt":[]}`:                                   "prompt is neither",
		`{"prompt":{"a":1}}`:                              "prompt is neither",
		`{"prompt":null}`:                                 "prompt is neither",
		`{"prompt":[1,-2]}`:                               "token id -2 is negative",
		`{"prompt":[1,"a"]}`:                              "prompt: got string",
		`{"prompt":[99999999999]}`:                        "prompt: got number",
		`{"prompt":"a","output_len":-1}`:                  "a length or a time is negative",
		`{"prompt":"a","prompt_len":"two"}`:               "prompt_len: got string, want a number that fits",
		`{"prompt":["a",[{"role":"user"}],7]}`:            "rounds[2]: prompt is neither",
		`{"rounds":[{"prompt":"a"},{"prompt":["b"]}]}`:    "rounds[1]: prompt is neither",
		`{"rounds":[{"prompt":"a","delay_ns":-1}]}`:       "rounds[0]: a length or a time is negative",
		`{"prompt":"a","image_data":"data:image/png;,"}`:  "image_data: got string, want list",
		`{"prompt":"a","extra_request_body":["top_p",1]}`: "extra_request_body: got array, want object",
	} {
		path := filepath.Join(t.TempDir(), "p")
		if err := os.WriteFile(path, []byte("{\"prompt\":\"fine\"}\n\n"+row+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Build(t.Context(), Spec{Dataset: "plan", Path: path}, nil); err == nil || !strings.Contains(err.Error(), "line 3: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n got  %v\n want %s", row, err, want)
		}
	}
}
