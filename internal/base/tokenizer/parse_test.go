package tokenizer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestUnsupported: errors name the place of unsupported features.
func TestUnsupported(t *testing.T) {
	tests := []struct{ name, key, value, want string }{
		{"model type", "model", `{"type":"Unigram","vocab":{}}`, `model: type "Unigram" is not supported`},
		{"no model", "model", `null`, "model: is missing"},
		{"byte fallback", "model.byte_fallback", `true`, "model: byte_fallback is not supported"},
		{"dropout", "model.dropout", `0.1`, "model: dropout is not supported"},
		{"prefix", "model.continuing_subword_prefix", `"##"`, `model: continuing_subword_prefix "##"`},
		{"suffix", "model.end_of_word_suffix", `"</w>"`, `model: end_of_word_suffix "</w>"`},
		{"vocab of words", "model.vocab", `{"the":0}`, `model: vocab has no token "Ā" for the byte 0x00`},
		{"wrong type", "model.vocab", `{"a":"b"}`, "model: vocab: has a string where int32 is expected"},
		{"negative id", "model.vocab", `{"a":-4}`, `model: vocab: token "a" has id -4`},
		{"huge id", "model.vocab", `{"a":2000000000}`, `model: vocab: token "a" has id 2000000000`},
		{"merge of three", "model.merges", `["a b c"]`, `merges[0]: "a b c" is not two tokens`},
		{"merge of unknown", "model.merges", `[["a","zzzz"]]`, `model: merges[0]: "zzzz" is not in the vocab`},
		{"merge to unknown", "model.merges", `[["!","Ā"]]`, `model: merges[0]: "!Ā" is not in the vocab`},
		{"normalizer", "normalizer", `{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Lowercase"}]}`,
			`normalizer.normalizers[1]: type "Lowercase" is not supported`},
		{"added token", "added_tokens", `[{"id":7,"content":"<x>","special":true}]`, `added_tokens[0]: id 7 is both`},
		{"pre-tokenizer", "pre_tokenizer", `{"type":"Sequence","pretokenizers":[{"type":"Metaspace"}]}`,
			`pre_tokenizer.pretokenizers[0]: type "Metaspace" is not supported`},
		{"no byte level", "pre_tokenizer", `{"type":"Digits"}`, "pre_tokenizer: has no ByteLevel"},
		{"behind byte level", "pre_tokenizer", `{"type":"Sequence","pretokenizers":[{"type":"ByteLevel"},{"type":"Digits"}]}`,
			`pre_tokenizer.pretokenizers[1]: "Digits" follows ByteLevel`},
		{"behavior", "pre_tokenizer", `{"type":"Split","pattern":{"Regex":"a"},"behavior":"Odd"}`, `behavior "Odd" of Split`},
		{"pattern", "pre_tokenizer", `{"type":"Split","pattern":{"Regex":"a(?"},"behavior":"Isolated"}`, "pre_tokenizer: pattern of Split: "},
		{"no pattern", "pre_tokenizer", `{"type":"Split","behavior":"Isolated"}`, "has neither Regex nor String"},
		{"post-processor", "post_processor", `{"type":"BertProcessing"}`, `post_processor: type "BertProcessing" is not supported`},
		{"template", "post_processor", `{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"x"}}],"special_tokens":{}}`,
			`single[0] names "x", which special_tokens lacks`},
		{"template without text", "post_processor", `{"type":"TemplateProcessing","single":[]}`, "single has Sequence A 0 times"},
		{"decoder", "decoder", `{"type":"Metaspace"}`, `decoder: type "Metaspace" is not supported`},
		{"no decoder", "decoder", `null`, "decoder: is missing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse(changed(t, map[string]json.RawMessage{tt.key: json.RawMessage(tt.value)}))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v\nwant …%s…", err, tt.want)
			}
		})
	}
}

func TestNotes(t *testing.T) {
	tok, err := Parse(changed(t, map[string]json.RawMessage{"truncation": json.RawMessage(`{"max_length":5}`), "padding": json.RawMessage(`{}`)}))
	if err != nil {
		t.Fatal(err)
	}
	if len(tok.Notes()) != 2 {
		t.Errorf("got %q, want a note on truncation and one on padding", tok.Notes())
	}
}

// TestLoad varies the files beside tokenizer.json.
func TestLoad(t *testing.T) {
	spec := changed(t, nil)
	tests := []struct {
		name     string
		files    map[string]string
		wantErr  string
		bos, pad int32
		eos      []int32
		family   string
		notes    int
	}{
		{name: "nothing", bos: None, pad: None, family: "chatml", notes: 1},
		{name: "model config only", files: map[string]string{"config.json": `{"bos_token_id":5,"eos_token_id":[6,7],"pad_token_id":null}`},
			bos: 5, pad: None, eos: []int32{6, 7}, family: "chatml", notes: 1},
		{name: "tokenizer says null", files: map[string]string{"config.json": `{"bos_token_id":5}`, "tokenizer_config.json": `{"bos_token":null}`},
			bos: None, pad: None, family: "chatml", notes: 1},
		{name: "named templates", files: map[string]string{"tokenizer_config.json": `{"chat_template":[{"name":"tool_use","template":"x"},
			{"name":"default","template":"<|start_header_id|><|eot_id|>"}]}`}, bos: None, pad: None, family: "llama3"},
		{name: "unknown template", files: map[string]string{"chat_template.jinja": "[INST]"}, bos: None, pad: None, family: "chatml", notes: 1},
		{name: "unknown token", files: map[string]string{"tokenizer_config.json": `{"eos_token":"</s>"}`},
			wantErr: `tokenizer_config.json: eos_token "</s>" is not a token of the vocabulary`},
		{name: "broken", files: map[string]string{"generation_config.json": `{`}, wantErr: "generation_config.json: unexpected end"},
		{name: "template of another type", files: map[string]string{"tokenizer_config.json": `{"chat_template":5}`}, wantErr: "chat_template is neither"},
		{name: "tokenizer broken", files: map[string]string{"tokenizer.json": `{"model":{"type":"WordPiece"}}`}, wantErr: `tokenizer.json: model: type "WordPiece"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write := func(name, text string) {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			write("tokenizer.json", string(spec))
			for name, text := range tt.files {
				write(name, text)
			}
			tok, err := Load(dir)
			if tt.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) || !strings.Contains(err.Error(), dir) {
					t.Fatalf("got %v\nwant …%s…, with the path", err, tt.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if tok.BOS() != tt.bos || tok.PAD() != tt.pad || !slices.Equal(tok.EOS(), tt.eos) || tok.Chat().Family() != tt.family || len(tok.Notes()) != tt.notes {
				t.Errorf("bos %d, pad %d, eos %v, family %s, notes %q", tok.BOS(), tok.PAD(), tok.EOS(), tok.Chat().Family(), tok.Notes())
			}
		})
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none")); !os.IsNotExist(err) {
		t.Errorf("no such directory: got %v", err)
	}
}

// FuzzParse: no file causes a panic, and a parsed one can encode and decode.
func FuzzParse(f *testing.F) {
	vocab := map[string]int32{"ab": 256}
	for b, r := range byteToRune {
		vocab[string(r)] = int32(b)
	}
	v, _ := json.Marshal(vocab)
	small := `{"added_tokens":[{"id":257,"content":"<x>","special":true,"lstrip":true}],"normalizer":{"type":"NFC"},` +
		`"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"String":"ab"},"behavior":"MergedWithNext"},{"type":"ByteLevel"}]},` +
		`"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<x>"}},{"Sequence":{"id":"A"}}],"special_tokens":{"<x>":{"ids":[257]}}},` +
		`"decoder":{"type":"ByteLevel"},"model":{"type":"BPE","merges":["a b"],"vocab":` + string(v) + `}}`
	if _, err := Parse([]byte(small)); err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(small))
	f.Add([]byte(`{"model":{"merges":[["a"]]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		tok, err := Parse(data)
		if err != nil {
			return
		}
		tok.Decode(tok.Encode("ab <x> x\n1é\xff", true), false)
	})
}
