package tokenizer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestVocabulary: a vocabulary and merges give the same tokens as the tokenizer.json of the model, or an error that
// names the missing parts.
func TestVocabulary(t *testing.T) {
	var whole struct {
		AddedTokens []addedToken `json:"added_tokens"`
		Model       fileModel
	}
	readFile(t, &whole, "qwen3", "tokenizer.json")
	dir := t.TempDir()
	write := func(name string, v any) {
		t.Helper()
		data, err := json.Marshal(v)
		if text, ok := v.(string); ok {
			data = []byte(text)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	fails := func(want string) {
		t.Helper()
		if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
	fails("tokenizer.json: no such file")
	write("vocab.json", whole.Model.Vocab)
	fails("merges.txt: no such file")
	var lines strings.Builder
	lines.WriteString("#version: 0.2\n")
	for _, m := range whole.Model.Merges {
		lines.WriteString(m[0] + " " + m[1] + "\r\n")
	}
	write("merges.txt", lines.String())
	fails(`this is ""`)
	write("tokenizer_config.json", object{"tokenizer_class": "Qwen2Tokenizer"})
	fails("no added_tokens_decoder")
	added := map[string]addedToken{}
	for _, tok := range whole.AddedTokens {
		added[strconv.Itoa(int(tok.ID))] = tok
	}
	write("tokenizer_config.json", object{"tokenizer_class": "Qwen2Tokenizer", "eos_token": "<|im_end|>", "added_tokens_decoder": added})
	got, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := load(t, "qwen3")
	if !slices.Equal(got.EOS(), want.EOS()[:1]) || got.Size() != want.Size() {
		t.Errorf("EOS %v, %d tokens; want %v, %d", got.EOS(), got.Size(), want.EOS(), want.Size())
	}
	var rows []reference
	readFile(t, &rows, "qwen3", "expected.json")
	for _, r := range rows {
		if r.text != nil {
			if ids := got.Encode(*r.text, false); !slices.Equal(ids, r.ids) {
				t.Errorf("Encode(%q) is %v; want %v", *r.text, ids, r.ids)
			}
		}
		if text := got.Decode(r.ids, true); text != r.bare {
			t.Errorf("Decode(%v) is %q; want %q", r.ids, text, r.bare)
		}
	}
	write("merges.txt", "a b c")
	fails("is not two tokens")
}
