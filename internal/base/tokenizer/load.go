package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Load reads the tokenizer of a model. path is the model directory or the tokenizer.json in it. Load also reads
// tokenizer_config.json, generation_config.json, config.json and chat_template.jinja if they exist in the directory.
// For Qwen's models vocab.json and merges.txt can replace tokenizer.json.
func Load(path string) (*Tokenizer, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		path = filepath.Join(path, "tokenizer.json")
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && info.IsDir() {
		vocab := filepath.Join(filepath.Dir(path), "vocab.json")
		if _, missing := os.Stat(vocab); missing == nil {
			path = vocab
			data, err = fromVocabulary(filepath.Dir(path))
		}
	}
	if err != nil {
		return nil, err
	}
	t, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := t.configure(filepath.Dir(path)); err != nil {
		return nil, err
	}
	return t, nil
}

// namedToken is a token in tokenizer_config.json: a string, an object whose field content is the string, or null.
type namedToken struct {
	set  bool // whether the field is present in the file, even if it is null
	text string
}

func (n *namedToken) UnmarshalJSON(data []byte) error {
	n.set = true
	if len(data) > 0 && data[0] == '{' {
		var o struct{ Content string }
		err := json.Unmarshal(data, &o)
		n.text = o.Content
		return err
	}
	return json.Unmarshal(data, &n.text)
}

// namedTokens is a list of tokens, or an object that maps names to tokens.
type namedTokens []namedToken

func (n *namedTokens) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		var named map[string]namedToken
		err := json.Unmarshal(data, &named)
		*n = slices.Collect(maps.Values(named))
		return err
	}
	return json.Unmarshal(data, (*[]namedToken)(n))
}

// idList is a field for ids in generation_config.json or config.json: one id, a list of ids, or null.
type idList []int32

func (l *idList) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '[' {
		return json.Unmarshal(data, (*[]int32)(l))
	}
	var id *int32
	err := json.Unmarshal(data, &id)
	if id != nil {
		*l = idList{*id}
	}
	return err
}

type tokenizerConfig struct {
	BOS          namedToken      `json:"bos_token"`
	EOS          namedToken      `json:"eos_token"`
	PAD          namedToken      `json:"pad_token"`
	UNK          namedToken      `json:"unk_token"`
	SEP          namedToken      `json:"sep_token"`
	CLS          namedToken      `json:"cls_token"`
	MASK         namedToken      `json:"mask_token"`
	Additional   namedTokens     `json:"additional_special_tokens"`
	Extra        namedTokens     `json:"extra_special_tokens"`
	ChatTemplate json.RawMessage `json:"chat_template"`
}

type modelConfig struct {
	BOS idList `json:"bos_token_id"`
	EOS idList `json:"eos_token_id"`
	PAD idList `json:"pad_token_id"`
}

// configure takes BOS and PAD from the first file that sets them. A setting in tokenizer_config.json takes precedence
// over the model's files. So a tokenizer without BOS (Qwen's has null) has no BOS even if config.json has an id for it.
// EOS is the union of the ids in all files, because chat models list further ids in generation_config.json.
func (t *Tokenizer) configure(dir string) error {
	var tc tokenizerConfig
	var models [2]modelConfig
	if err := readJSON(filepath.Join(dir, "tokenizer_config.json"), &tc); err != nil {
		return err
	}
	for i, name := range []string{"generation_config.json", "config.json"} {
		if err := readJSON(filepath.Join(dir, name), &models[i]); err != nil {
			return err
		}
	}
	named := func(n namedToken, what string) (int32, error) {
		if n.text == "" {
			return None, nil
		}
		id, ok := t.ids[n.text]
		if !ok {
			return None, fmt.Errorf("%s: %s %q is not a token of the vocabulary",
				filepath.Join(dir, "tokenizer_config.json"), what, n.text)
		}
		return id, nil
	}
	first := func(n namedToken, what string, a, b idList) (int32, error) {
		if ids := append(slices.Clone(a), b...); !n.set && len(ids) > 0 {
			return ids[0], nil
		}
		return named(n, what)
	}
	var err error
	if t.bos, err = first(tc.BOS, "bos_token", models[0].BOS, models[1].BOS); err != nil {
		return err
	}
	if t.pad, err = first(tc.PAD, "pad_token", models[0].PAD, models[1].PAD); err != nil {
		return err
	}
	eos, err := named(tc.EOS, "eos_token")
	if err != nil {
		return err
	}
	for _, id := range append(append([]int32{eos}, models[0].EOS...), models[1].EOS...) {
		if id != None && !slices.Contains(t.eos, id) {
			t.eos = append(t.eos, id)
		}
	}
	for _, n := range slices.Concat([]namedToken{tc.BOS, tc.EOS, tc.UNK, tc.SEP, tc.PAD, tc.CLS, tc.MASK}, tc.Additional, tc.Extra) {
		if id, ok := t.ids[n.text]; ok && n.text != "" {
			t.named = append(t.named, id)
		}
	}
	template, err := chatTemplate(dir, tc.ChatTemplate)
	if err != nil {
		return err
	}
	t.chat = newChat(template, string(t.Bytes(t.bos)))
	if t.chat.note != "" {
		t.notes = append(t.notes, t.chat.note)
	}
	return nil
}

// chatTemplate returns the template's text, or "" if there is none. A separate file, as in newer models, takes
// precedence over tokenizer_config.json.
func chatTemplate(dir string, raw json.RawMessage) (string, error) {
	own, err := os.ReadFile(filepath.Join(dir, "chat_template.jinja"))
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return string(own), err
	}
	if isNull(raw) {
		return "", nil
	}
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return one, nil
	}
	var several []struct{ Name, Template string }
	if err := json.Unmarshal(raw, &several); err != nil {
		return "", fmt.Errorf("%s: chat_template is neither a string nor a list of named templates", filepath.Join(dir, "tokenizer_config.json"))
	}
	for _, c := range several {
		if c.Name == "default" {
			return c.Template, nil
		}
	}
	return "", nil
}

// readJSON decodes a file into to. If the file does not exist, to stays unchanged.
func readJSON(path string, to any) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("%s: %w", path, jsonError(err))
	}
	return nil
}
