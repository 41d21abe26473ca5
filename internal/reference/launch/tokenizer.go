package launch

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/base/tokenizer"
	"github.com/stepscope/stepscope/internal/reference/server"
)

// openTokenizer finds the model's tokenizer. It tries --tokenizer-path first and then the model's directory. If neither
// has a tokenizer, openTokenizer uses the built-in byte tokenizer and writes it to a directory, because SGLang's
// clients on this machine load the tokenizer from a directory. dir is the tokenizer's directory.
func (a *ModelArgs) openTokenizer(vocab int, log func(string)) (_ server.Tokenizer, dir string, eos []int32, err error) {
	if a.SkipTokenizer {
		return noText{}, "", nil, nil
	}
	dir = a.TokenizerPath
	if dir == "" {
		if _, err := os.Stat(filepath.Join(a.ModelPath, "tokenizer.json")); err == nil {
			dir = a.ModelPath
		}
	}
	var t *tokenizer.Tokenizer
	if dir != "" {
		t, err = tokenizer.Load(dir)
		if err == nil && t.Size() > vocab {
			err = fmt.Errorf("tokenizer %s has ids up to %d, the model's vocabulary is %d: they do not match", dir, t.Size()-1, vocab)
		}
	} else if t, err = tokenizer.ByteLevel(vocab); err != nil {
		err = fmt.Errorf("model %s has no tokenizer.json (give --tokenizer-path or --skip-tokenizer-init), and %w", a.ModelPath, err)
	} else {
		dir = publish(t, vocab, log)
	}
	if err != nil {
		return nil, "", nil, err
	}
	for _, note := range t.Notes() {
		log(note)
	}
	return text{t}, dir, t.EOS(), nil
}

// publish writes the built-in tokenizer as a Hugging Face directory.
func publish(t *tokenizer.Tokenizer, vocab int, log func(string)) (dir string) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir = filepath.Join(cache, "stepscope", fmt.Sprintf("bytes-%d", vocab))
	if err := t.WriteDir(dir); err != nil {
		log(fmt.Sprintf("cannot write the tokenizer for clients, which must supply their own: %v", err))
		return ""
	}
	return dir
}

// noText replaces the tokenizer in a server that has none.
type noText struct{}

var errNoText = wire.Refuse("text", "this server has no tokenizer (--skip-tokenizer-init): give input_ids")

func (noText) Encode(string, bool) ([]int32, error) { return nil, errNoText }
func (noText) Decode([]int32, bool) string          { return "" }
func (noText) Stream(bool) server.TextStream        { return noText{} }
func (noText) Push(int32) string                    { return "" }
func (noText) Flush() string                        { return "" }
func (noText) Bytes(int32) []byte                   { return nil }
func (noText) ChatPrompt([]wire.Message, server.ChatOptions) (string, error) {
	return "", errNoText
}

// text adapts a tokenizer to the server's interface.
type text struct{ *tokenizer.Tokenizer }

func (t text) Encode(s string, special bool) ([]int32, error) {
	return t.Tokenizer.Encode(s, special), nil
}

func (t text) Stream(skipSpecial bool) server.TextStream { return t.NewDecoder(skipSpecial) }

func (t text) ChatPrompt(messages []wire.Message, o server.ChatOptions) (string, error) {
	opts := tokenizer.ChatOptions{NoPrompt: !o.Generate || o.Continue}
	if raw, ok := o.Kwargs["enable_thinking"]; ok {
		var think bool
		if err := json.Unmarshal(raw, &think); err != nil {
			return "", wire.Refuse("chat_template_kwargs.enable_thinking", "want true or false")
		}
		opts.NoThinking = !think
	}
	list := make([]tokenizer.Message, len(messages))
	for i, m := range messages {
		list[i] = tokenizer.Message{Role: m.Role, Content: m.Content, Reasoning: m.Reasoning}
		for _, c := range m.ToolCalls {
			list[i].Calls = append(list[i].Calls, tokenizer.Call(c))
		}
	}
	prompt, err := t.Chat().Render(list, opts)
	if err != nil {
		return "", wire.Refuse("messages", "%v", err)
	}
	if o.Continue {
		// The template adds text after the last message to end the turn. Cut this text off.
		last := strings.TrimSpace(messages[len(messages)-1].Content)
		if at := strings.LastIndex(prompt, last); at >= 0 {
			prompt = prompt[:at+len(last)]
		}
	}
	return prompt, nil
}
