package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/base/tokenizer"
)

// bytesOnly returns the smallest built-in tokenizer: a token for each byte and each special token, with BOS in front,
// so that lengths can be counted by hand.
func bytesOnly(t testing.TB) *Local { return builtin(t, 261) }

// builtin has made-up words after the bytes.
func builtin(t testing.TB, vocab int) *Local {
	t.Helper()
	tok, err := tokenizer.ByteLevel(vocab)
	if err != nil {
		t.Fatal(err)
	}
	return NewLocal(tok, "built-in")
}

// of returns the Spec of a data set in testdata, with the defaults of the flags.
func of(dataset, file string, change func(*Spec)) Spec {
	s := Default()
	s.Dataset, s.N = dataset, 0
	if file != "" {
		s.Path = filepath.Join("testdata", file)
	}
	if change != nil {
		change(&s)
	}
	return s
}

// build builds and collects the notes.
func build(t testing.TB, s Spec, tok Tokenizer) ([]Request, []string) {
	t.Helper()
	requests, notes, err := tryBuild(s, tok)
	if err != nil {
		t.Fatal(err)
	}
	return requests, notes
}

func tryBuild(s Spec, tok Tokenizer) (requests []Request, notes []string, err error) {
	s.Note = func(line string) { notes = append(notes, line) }
	requests, err = Build(context.Background(), s, tok)
	return requests, notes, err
}

// show formats a request in one line, for tables.
func show(r *Request) string {
	text := r.Prompt
	if r.Messages != nil {
		text = string(r.Messages)
	}
	line := fmt.Sprintf("%d>%d %s", r.PromptLen, r.OutputLen, text)
	if r.At > 0 {
		line = fmt.Sprintf("at %v: %s", r.At, line)
	}
	for _, turn := range r.Rounds {
		line += fmt.Sprintf(" | %d>%d %s%s", turn.PromptLen, turn.OutputLen, turn.Prompt, turn.Messages)
	}
	if r.Extra != nil {
		extra, _ := json.Marshal(r.Extra)
		line += " + " + string(extra)
	}
	return line
}

// sameSet compares lines regardless of their order.
func sameSet(t *testing.T, got, want []string) {
	t.Helper()
	left := map[string]int{}
	for _, g := range got {
		left[g]++
	}
	for _, w := range want {
		left[w]--
	}
	for line, n := range left {
		if n > 0 {
			t.Errorf("%d too many: %s", n, line)
		} else if n < 0 {
			t.Errorf("missing: %s", line)
		}
	}
}

func TestFilesOfConversations(t *testing.T) {
	for _, c := range []struct {
		name  string
		spec  Spec
		want  []string
		notes []string
	}{{
		name: "sharegpt: the first two turns; empty prompts and single turns are dropped",
		spec: of("sharegpt", "sharegpt.json", nil),
		want: []string{
			"39>51 How do I sort a list of numbers in Go?",
			"48>37 Name three rivers of Europe, please. Assistant:",
			`70>25 Brackets in a string ]}, "quoted" and a backslash \ are no structure.`,
			"23>25 Grüße aus Köln 🚲",
		},
	}, {
		name: "sharegpt: a fixed output, and a context that the longest does not fit in",
		spec: of("sharegpt", "sharegpt.json", func(s *Spec) { s.FixedOutputLen, s.ContextLen = 8, 60 }),
		want: []string{
			"39>8 How do I sort a list of numbers in Go?",
			"48>8 Name three rivers of Europe, please. Assistant:",
			"23>8 Grüße aus Köln 🚲",
		},
	}, {
		name: "sharegpt: a suffix goes in front of Assistant:",
		spec: of("sharegpt", "sharegpt.json", func(s *Spec) { s.Suffix, s.FixedOutputLen, s.ContextLen = "!", 4, 60 }),
		want: []string{
			"50>4 How do I sort a list of numbers in Go?!Assistant:",
			"49>4 Name three rivers of Europe, please. !Assistant:",
			"34>4 Grüße aus Köln 🚲!Assistant:",
			"12>4 !Assistant:",
		},
	}, {
		name: "sharegpt: the chat template without its BOS; special tokens count one each",
		spec: of("sharegpt", "sharegpt.json", func(s *Spec) { s.ChatTemplate, s.FixedOutputLen, s.ContextLen = true, 4, 46 }),
		want: []string{
			"42>4 <|im_start|>user\nGrüße aus Köln 🚲<|im_end|>\n<|im_start|>assistant\n",
			"20>4 <|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n",
		},
	}, {
		name: "custom: content or value; bad lines are skipped and counted",
		spec: of("custom", "custom.jsonl", nil),
		want: []string{
			"31>7 What is the capital of France?",
			"15>29 Count to five.",
			"25>19 What is in this picture?",
		},
		notes: []string{
			"testdata/custom.jsonl: 1 rows have an image, which is not sent",
			"testdata/custom.jsonl: 2 of the 6 rows read are unusable and were skipped, first line 2: not JSON: byte 55: unexpected end of JSON input",
		},
	}, {
		name: "longbench_v2: document, question, choices",
		spec: of("longbench_v2", "longbench.json", func(s *Spec) { s.ContextLen = 200 }),
		want: []string{"131>10 The number is two. The number is two. The number is two. \n\nQuestion: Which number is hidden in text 0?\nA. 1\nB. 2\nC. 3\nD. 4\nAnswer:"},
		notes: []string{
			"testdata/longbench.json: 1 of the 3 rows read are unusable and were skipped, first line 24: the context or the question is missing",
		},
	}, {
		name: "speed-bench: one category, repeated to make the number asked for",
		spec: of("speed-bench", "speedbench.jsonl", func(s *Spec) { s.SpeedBenchCategory, s.N = "low_entropy", 4 }),
		want: []string{
			"41>512 <|im_start|>user\nSort this list: 3 1 2.<|im_end|>\n<|im_start|>assistant\n",
			"41>512 <|im_start|>user\nSort this list: 3 1 2.<|im_end|>\n<|im_start|>assistant\n",
			"39>512 <|im_start|>user\nRepeat: one one one.<|im_end|>\n<|im_start|>assistant\n",
			"39>512 <|im_start|>user\nRepeat: one one one.<|im_end|>\n<|im_start|>assistant\n",
		},
		notes: []string{"testdata/speedbench.jsonl has 2 prompts: they are repeated to make 4 requests"},
	}} {
		t.Run(c.name, func(t *testing.T) {
			requests, notes := build(t, c.spec, bytesOnly(t))
			var got []string
			for i := range requests {
				got = append(got, show(&requests[i]))
			}
			sameSet(t, got, c.want)
			sameSet(t, notes, c.notes)
		})
	}
}

// These keep the order of their files.
func TestFilesOfRequests(t *testing.T) {
	tok := bytesOnly(t)
	filler := strings.TrimSuffix(strings.Repeat("hi ", 128), " ") // shown as …
	const question = "Tell me a story based on this context."
	for _, c := range []struct {
		name  string
		spec  Spec
		want  []string
		notes []string
	}{{
		name: "openai: all but messages, model and lengths goes into the body; tools count",
		spec: of("openai", "openai.jsonl", nil),
		want: []string{
			`44>32 [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Hello!"}] + {"temperature":0.5}`,
			`135>256 [{"role": "user", "content": [{"type": "text", "text": "Look "}, {"type": "text", "text": "here."}]}] + {"tools":[{"type":"function","function":{"name":"clock","parameters":{"type":"object","properties":{}}}}]}`,
			`83>256 [{"role": "user", "content": "What time is it?"}, {"role": "tool", "content": 12}]`,
		},
		notes: []string{
			`1 of 3 conversations are counted without the chat template: messages[1]: content is neither a text nor a list of parts`,
			"testdata/openai.jsonl: 2 of the 5 rows read are unusable and were skipped, first line 3: there are no messages",
		},
	}, {
		name: "agentic-trace: from the third conversation on, two turns each",
		spec: of("agentic-trace", "agentic.json", func(s *Spec) { s.Offset, s.AgenticMaxTurns = 2, 2 }),
		want: []string{
			`{"role":"user","content":"List the files."}|{"role":"user","content":"main.go go.mod"} 34 33 220`,
			`{"role":"system","content":"You fix programs."},{"role":"user","content":"The test fails."}|{"role":"user","content":"Output: 1 failed"} 40 95 220`,
		},
		notes: []string{"testdata/agentic.json: 1 of the 3 rows read are unusable and were skipped, first line 43: no turn has messages"},
	}, {
		name: "mooncake: in order of time; equal hash ids make equal text",
		spec: of("mooncake", "mooncake.jsonl", nil),
		want: []string{
			"1222>52 <|im_start|>user\nRound 1: 46…47…48…" + question + "<|im_end|>\n<|im_start|>assistant\n",
			"at 500ms: 837>3 <|im_start|>user\nRound 1: 46…47…" + question + "<|im_end|>\n<|im_start|>assistant\n",
			"at 3.535s: 67>256 <|im_start|>user\nRound 1: " + question + "<|im_end|>\n<|im_start|>assistant\n",
		},
		notes: []string{"testdata/mooncake.jsonl: 3 of the 6 rows read are unusable and were skipped, first line 4: timestamp: got string, want a number that fits"},
	}, {
		name: "mooncake: two rounds at one time, the first reply made up",
		spec: of("mooncake", "mooncake.jsonl", func(s *Spec) { s.MooncakeRounds, s.N = 2, 1 }),
		want: []string{
			"837>3 <|im_start|>user\nRound 1: 46…47…" + question + "<|im_end|>\n<|im_start|>assistant\n",
			"1692>3 <|im_start|>user\nRound 1: 46…47…" + question + "<|im_end|>\n<|im_start|>assistant\nstory story story<|im_end|>\n" +
				"<|im_start|>user\nRound 2: 46…47…" + question + "<|im_end|>\n<|im_start|>assistant\n",
		},
	}} {
		t.Run(c.name, func(t *testing.T) {
			requests, notes := build(t, c.spec, tok)
			var got []string
			for i := range requests {
				if r := &requests[i]; len(r.Rounds) > 0 {
					var turns []string
					lens := ""
					for _, turn := range r.Rounds {
						turns = append(turns, compact(t, turn.Messages))
						lens += fmt.Sprintf(" %d", turn.PromptLen)
					}
					got = append(got, fmt.Sprintf("%s%s %d", strings.Join(turns, "|"), lens, r.OutputLen))
				} else {
					got = append(got, strings.ReplaceAll(show(r), filler, "…"))
				}
			}
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
			sameSet(t, notes, c.notes)
		})
	}
}

// compact returns a list of messages without white space and brackets.
func compact(t *testing.T, raw json.RawMessage) string {
	var list []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	out, _ := json.Marshal(list)
	return strings.Trim(string(out), "[]")
}

func TestRefusals(t *testing.T) {
	t.Setenv("HF_HUB_CACHE", t.TempDir())
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	set := func(dataset, path string) Spec { return of(dataset, "", func(s *Spec) { s.Path = path }) }
	for _, c := range []struct {
		name string
		spec Spec
		want string
	}{
		{"no path", set("sharegpt", ""), "data set sharegpt: --dataset-path is not set: give ShareGPT_V3_unfiltered_cleaned_split.json, from the Hugging Face data set anon8231489123/ShareGPT_Vicuna_unfiltered (nothing is downloaded), or use --dataset-name random-ids, which needs none"},
		{"no file", set("mooncake", "x.jsonl"), "data set mooncake: --dataset-path x.jsonl: no such file: give FAST25-release/traces/conversation_trace.jsonl of https://github.com/kvcache-ai/Mooncake (nothing is downloaded)"},
		{"a directory", set("openai", dir), "is a directory: give a file of yours"},
		{"empty", set("custom", file("empty", " \n")), "empty: is empty"},
		{"not JSON", set("custom", file("csv", "a,b\n1,2\n")), `csv: is neither a JSON list nor JSON lines: it begins with 'a'`},
		{"a list cut off", set("sharegpt", file("cut", "[\n{\"conversations\":\n[{\"value\":\"a")), "cut: the list is not closed: the file ends at line 3"},
		{"a list closed wrongly", set("sharegpt", file("wrong", "[{}\n}")), "wrong: line 2: '}' where an item or ']' is expected"},
		{"all rows bad", set("openai", file("bad", "{\n\"messages\": 1}\n{\"messages\": 2}\n")), "bad: no row can be used: line 1: not JSON: byte 1: unexpected end of JSON input"},
		{"no rows that fit", set("sharegpt", file("few", `[{"conversations":[]}]`)), "no request is left"},
		{"no conversations", set("agentic-trace", file("none", `{"a":[1],"b":{}}`)), `none: has no "conversations"`},
		{"conversations that are not a list", set("agentic-trace", file("nolist", `{"conversations":1}`)), `nolist: "conversations" is not a list`},
		{"a bad plan is not sent", set("plan", file("plan", "{\"prompt\":\"a\"}\n{\"prompt\":1}\n")), "plan: line 2: prompt is neither a text nor a list of token ids, messages or turns"},
		{"mmmu", set("mmmu", ""), "data set mmmu: not supported: MMMU is published as Parquet"},
		{"an unknown name", set("sharegtp", ""), `unknown --dataset-name "sharegtp": give one of sharegpt, custom, openai,`},
		{"too short outputs", of("sharegpt", "sharegpt.json", func(s *Spec) { s.FixedOutputLen = 3 }), "--sharegpt-output-len 3 is too small"},
		{"an invalid ratio", of("random", "", func(s *Spec) { s.N, s.RangeRatio = 1, 1.5 }), "--random-range-ratio 1.5 must be from 0 to 1"},
		{"no prompts", of("random", "", nil), "--num-prompts 0 must be from 1 to"},
		{"a typing error", of("random", "", func(s *Spec) { s.N, s.InputLen = 1, 1<<40 }), "--random-input-len 1099511627776 must be from 1 to 16777216"},
		{"zipf without alpha", of("generated-shared-prefix", "", func(s *Spec) { s.Prefix.Distribution = "zipf" }), "zipf needs --gsp-zipf-alpha"},
		{"alpha without zipf", of("generated-shared-prefix", "", func(s *Spec) { s.Prefix.ZipfAlpha = 1 }), "--gsp-zipf-alpha works only with"},
		{"turns without a chat backend", of("generated-shared-prefix", "", func(s *Spec) { s.Prefix.Turns, s.Prefix.Groups, s.Backend = 2, 1, "sglang" }), "conversations of several turns need a chat backend, not sglang"},
		{"messages without a chat backend", of("openai", "openai.jsonl", func(s *Spec) { s.Backend = "vllm" }), "messages need a chat backend, not vllm"},
		{"ids of texts", of("sharegpt", "sharegpt.json", func(s *Spec) { s.TokenIDs = true }), "--tokenize-prompt does not work with data set sharegpt"},
		{"a seed that numpy rejects", of("sharegpt", "sharegpt.json", func(s *Spec) { s.Seed = -1 }), "--seed -1 must be from 0 to 4294967295"},
		{"ids of turns", of("generated-shared-prefix", "", func(s *Spec) { s.TokenIDs, s.Prefix.Turns = true, 2 }), "--tokenize-prompt works only with --gsp-num-turns 1"},
		{"one adapter", of("sharegpt", "sharegpt.json", func(s *Spec) { s.LoRADistribution, s.LoRANames = "skewed", []string{"a"} }), "needs two or more adapters"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := tryBuild(c.spec, bytesOnly(t))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			} else if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than a line: %q", err)
			}
		})
	}
}

func TestTemplateWithoutTokenizer(t *testing.T) {
	_, _, err := tryBuild(of("sharegpt", "sharegpt.json", func(s *Spec) { s.ChatTemplate = true }), nil)
	if err == nil || !strings.Contains(err.Error(), "there is no chat template: give a model directory as --tokenizer") {
		t.Error(err)
	}
}
