package launch

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stepscope/stepscope/internal/engine/tokenizer"
	"github.com/stepscope/stepscope/internal/server"
	"github.com/stepscope/stepscope/internal/wire"
)

// openTokenizer finds the model's tokenizer: that of path if one is given, else of
// the model's directory, else the built-in one of bytes. The built-in one is
// written where clients of this machine can load it, since SGLang's do; dir is
// where the tokenizer lies.
func openTokenizer(path, modelPath string, vocab int) (t *tokenizer.Tokenizer, dir string, err error) {
	if path == "" {
		if _, err := os.Stat(filepath.Join(modelPath, "tokenizer.json")); err == nil {
			path = modelPath
		}
	}
	if path != "" {
		t, err := tokenizer.Load(path)
		if err == nil && t.Size() > vocab {
			err = fmt.Errorf("tokenizer %s has ids up to %d, the model's vocabulary is %d: they do not belong together", path, t.Size()-1, vocab)
		}
		return t, path, err
	}
	if t, err = tokenizer.ByteLevel(vocab); err != nil {
		return nil, "", fmt.Errorf("model %s has no tokenizer.json (give --tokenizer-path), and the built-in tokenizer: %w", modelPath, err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir = filepath.Join(cache, "stepscope", fmt.Sprintf("bytes-%d", vocab))
	if err := t.WriteDir(dir); err != nil {
		return t, "", nil // clients then bring their own
	}
	return t, dir, nil
}

// text is a tokenizer as the server wants it.
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
		list[i] = tokenizer.Message{Role: m.Role, Content: m.Content}
	}
	prompt, err := t.Chat().Render(list, opts)
	if err != nil {
		return "", wire.Refuse("messages", "%v", err)
	}
	if o.Continue {
		// What follows the last message ends its turn.
		last := strings.TrimSpace(messages[len(messages)-1].Content)
		if at := strings.LastIndex(prompt, last); at >= 0 {
			prompt = prompt[:at+len(last)]
		}
	}
	return prompt, nil
}
