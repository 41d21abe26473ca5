package launch_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/stepscope/stepscope/internal/api/wire"
)

// ask is a well-formed request.
type ask struct {
	path     string
	rid      string
	stream   bool
	prompts  []string // texts
	seed     int64
	n        int  // number of tokens for each
	logprobs bool // of /generate
}

func (s *site) newAsk(rnd *rand.Rand) *ask {
	a := &ask{
		path: []string{"/generate", "/generate", "/v1/completions", "/v1/chat/completions"}[rnd.IntN(4)],
		// No id is a prefix of another: /abort_request matches by prefix.
		rid:    fmt.Sprintf("ask%09d.", s.asks.Add(1)),
		stream: rnd.IntN(3) > 0, n: 1 + rnd.IntN(longest), seed: int64(rnd.IntN(2) * 7),
	}
	many := 1
	if a.path != "/v1/chat/completions" && rnd.IntN(5) == 0 {
		many = 2 + rnd.IntN(3)
	}
	for range many {
		a.prompts = append(a.prompts, texts[rnd.IntN(len(texts))])
	}
	return a
}

// body returns the body of the request.
func (a *ask) body() string {
	req := map[string]any{}
	limit := "max_tokens"
	switch a.path {
	case "/generate":
		req["text"] = one(a.prompts)
		req["sampling_params"] = sampling(a.seed, "max_new_tokens", a.n)
		if a.logprobs {
			req["return_logprob"], req["top_logprobs_num"], req["logprob_start_len"] = true, 2, 0
		}
		limit = ""
	case "/v1/completions":
		req["prompt"] = one(a.prompts)
	default:
		req["messages"] = messages(a.prompts[0])
	}
	if limit != "" {
		for k, v := range sampling(a.seed, limit, a.n) {
			req[k] = v
		}
		req["stream_options"] = map[string]bool{"include_usage": true}
	}
	req["rid"], req["stream"] = a.rid, a.stream
	text, err := json.Marshal(req)
	if err != nil {
		panic(err) // maps of strings and numbers
	}
	return string(text)
}

// one returns the only element of a list, or the list.
func one(list []string) any {
	if len(list) == 1 {
		return list[0]
	}
	return list
}

// generated is a reply or an event of /generate.
type generated struct {
	Text      string
	OutputIDs []int32 `json:"output_ids"`
	Index     int
	Meta      struct {
		Finish *struct {
			Type   string
			Length int
		} `json:"finish_reason"`
		Tokens   int     `json:"completion_tokens"`
		Logprobs [][]any `json:"output_token_logprobs"`
		Scores   [][]any `json:"input_token_logprobs"`
		Prompt   int     `json:"prompt_tokens"`
	} `json:"meta_info"`
}

// chosen is a reply or an event of the OpenAI routes.
type chosen struct {
	Choices []struct {
		Index          int
		Text           string
		Delta, Message struct{ Content string }
		Finish         string `json:"finish_reason"`
	}
	Usage *struct {
		Tokens int `json:"completion_tokens"`
	}
}

// answer is the result of a request: for each prompt its text and its end.
type answer struct {
	text, finish []string
	ids          [][]int32 // of /generate
	tokens       int       // of all prompts, as the server counts them
}

// read reads an answer to its end.
func (a *ask) read(r *bufio.Reader) (*answer, error) {
	n := len(a.prompts)
	got := &answer{text: make([]string, n), finish: make([]string, n), ids: make([][]int32, n)}
	if !a.stream {
		text, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		if a.path != "/generate" || n == 1 {
			return got, got.add(a, text)
		}
		var list []json.RawMessage
		if err := json.Unmarshal(text, &list); err != nil {
			return nil, fmt.Errorf("%w in %s", err, text)
		}
		for i, one := range list {
			if err := got.add(a, []byte(fmt.Sprintf(`{"index":%d,%s`, i, one[1:]))); err != nil {
				return nil, err
			}
		}
		return got, nil
	}
	er := wire.NewEventReader(r, 1<<20)
	for {
		data, err := er.Next()
		if err == io.EOF {
			return got, nil
		}
		if err == nil {
			err = got.add(a, data)
		}
		if err != nil {
			return nil, err
		}
	}
}

// add appends a reply or an event.
func (got *answer) add(a *ask, data []byte) error {
	if a.path == "/generate" {
		var g generated
		if err := json.Unmarshal(data, &g); err != nil || g.Index >= len(got.text) {
			return fmt.Errorf("%v in %s", err, data)
		}
		i := g.Index
		got.text[i], got.ids[i] = g.Text, g.OutputIDs
		if f := g.Meta.Finish; f != nil {
			got.finish[i] = f.Type
			got.tokens += g.Meta.Tokens
			if a.logprobs && f.Type == "length" && (len(g.Meta.Logprobs) != a.n || len(g.Meta.Scores) != g.Meta.Prompt) {
				return fmt.Errorf("%d logprobs of the output and %d of the prompt in %s", len(g.Meta.Logprobs), len(g.Meta.Scores), data)
			}
		}
		return nil
	}
	var c chosen
	if err := json.Unmarshal(data, &c); err != nil {
		return fmt.Errorf("%w in %s", err, data)
	}
	if c.Choices == nil {
		return fmt.Errorf("no choices in %s", data)
	}
	for _, ch := range c.Choices {
		got.text[ch.Index] += ch.Text + ch.Delta.Content + ch.Message.Content
		got.finish[ch.Index] += ch.Finish
	}
	if c.Usage != nil {
		got.tokens = c.Usage.Tokens
	}
	return nil
}

// judge compares the answer with the one learned.
func (got *answer) judge(s *site, a *ask) (string, error) {
	if slices.Contains(got.finish, "abort") {
		return kindAborted, nil
	}
	if a.n > longest { // everything arrived before its client could leave
		return kindLeft, nil
	}
	tok := s.engine.Tokenizer()
	for i, text := range a.prompts {
		want := s.want[prompt{text, a.path == "/v1/chat/completions", a.seed}][:a.n]
		if got.finish[i] != "length" {
			return "", fmt.Errorf("finish reason %q of %s", got.finish[i], a.body())
		}
		if a.path == "/generate" && !slices.Equal(got.ids[i], want) {
			return "", fmt.Errorf("tokens %v, want the %v of the prompt alone: %s", got.ids[i], want, a.body())
		}
		if text := tok.Decode(want, true); got.text[i] != text {
			return "", fmt.Errorf("text %q, want the %q of the prompt alone: %s", got.text[i], text, a.body())
		}
	}
	if got.tokens != a.n*len(a.prompts) {
		return "", fmt.Errorf("%d tokens of %d: %s", got.tokens, a.n*len(a.prompts), a.body())
	}
	return kindWhole, nil
}
