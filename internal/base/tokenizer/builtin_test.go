package tokenizer

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func byteLevel(t testing.TB, vocab int) *Tokenizer {
	t.Helper()
	tok, err := ByteLevel(vocab)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func TestBuiltin(t *testing.T) {
	tok := byteLevel(t, 512)
	ids := tok.Encode("é<|im_end|> ba\xff", true)
	// The word is one token, everything else bytes.
	if want := []int32{256, 0xC3, 0xA9, 260, 261, 0xFF}; !slices.Equal(ids, want) {
		t.Fatalf("got %v, want %v", ids, want)
	}
	for _, c := range []struct {
		ids  []int32
		want string
	}{
		{ids, "é ba\uFFFD"},
		{[]int32{261, 262, 340}, " ba be zu"}, // one syllable: 16 consonants, 5 vowels
		{[]int32{341, 342, 511}, " baba beba fabi"},
		{[]int32{'x', 261, 's', 512}, "x bas"}, // 512 is not a token
	} {
		if got := tok.Decode(c.ids, true); got != c.want {
			t.Errorf("%v decoded to %q, want %q", c.ids, got, c.want)
		}
	}
}

// TestBuiltinWords: any vocabulary has a distinct text for each id.
func TestBuiltinWords(t *testing.T) {
	word := regexp.MustCompile(`^ ([b-z][aeiou])+$`)
	for _, vocab := range []int{261, 262, 32000, 151936} {
		tok := byteLevel(t, vocab)
		if tok.Size() != vocab {
			t.Errorf("vocab %d: size %d", vocab, tok.Size())
		}
		seen, longest := map[string]bool{}, 0
		for id := range int32(vocab) {
			text := string(tok.Bytes(id))
			if seen[text] || text == "" {
				t.Fatalf("vocab %d: id %d is %q, a duplicate", vocab, id, text)
			}
			seen[text] = true
			if id < firstWord {
				continue
			}
			if longest = max(longest, len(text)); !word.MatchString(text) || tok.IsSpecial(id) {
				t.Fatalf("vocab %d: id %d is %q, special %t; want a word", vocab, id, text, tok.IsSpecial(id))
			}
			if got, ok := tok.ID("Ġ" + text[1:]); got != id || !ok {
				t.Fatalf("vocab %d: token %q has id %d, want %d", vocab, text, got, id)
			}
		}
		if longest > len(" bababa") {
			t.Errorf("vocab %d: a word of %d bytes", vocab, longest)
		}
	}
	for _, vocab := range []int{-1, 0, 260, maxID + 1} {
		if _, err := ByteLevel(vocab); err == nil || !strings.Contains(err.Error(), "vocab_size from 261") {
			t.Errorf("vocab %d: got %v", vocab, err)
		}
	}
}

// builtinTexts are encoded by the tokenizer and by its written files.
var builtinTexts = []string{
	"", "Hello, world", " ba be zu", "naïve Привет 你好 🏁", "e\u0301\u0300", "a<|im_end|>b<|pad|><|bos|>", "<|im_start", "\t\r\n  \n",
	"\x00\x7f\u00a0\u2028", "it 's 12345", strings.Repeat("long ", 100), "Ġ Ċ",
}

var builtinMessages = []Message{{Role: "system", Content: "Be brief."}, {Role: "user", Content: " Hi\n"}, {Role: "assistant", Content: "Hello <|im_end|>"}}

func writeDir(t testing.TB, vocab int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a", "tokenizer")
	for range 2 { // the second overwrites the first
		if err := byteLevel(t, vocab).WriteDir(dir); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestWriteDir(t *testing.T) {
	dir := writeDir(t, 1000)
	want := byteLevel(t, 1000)
	got, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got.BOS() != want.BOS() || got.PAD() != want.PAD() || !slices.Equal(got.EOS(), want.EOS()) || got.Size() != want.Size() || len(got.Notes()) != 0 {
		t.Errorf("bos %d, pad %d, eos %v, size %d, notes %q", got.BOS(), got.PAD(), got.EOS(), got.Size(), got.Notes())
	}
	for id := range int32(got.Size()) {
		if string(got.Bytes(id)) != string(want.Bytes(id)) || got.IsSpecial(id) != want.IsSpecial(id) {
			t.Errorf("id %d is %q, special %t; want %q, %t", id, got.Bytes(id), got.IsSpecial(id), want.Bytes(id), want.IsSpecial(id))
		}
	}
	for _, text := range append(builtinTexts, "\xff\xc3 no UTF-8") {
		for _, special := range []bool{false, true} {
			if got, want := got.Encode(text, special), want.Encode(text, special); !slices.Equal(got, want) {
				t.Errorf("%q: got %v, want %v", text, got, want)
			}
		}
	}
	for _, opts := range []ChatOptions{{}, {NoPrompt: true}} {
		got, _ := got.Chat().Render(builtinMessages, opts)
		if want, err := want.Chat().Render(builtinMessages, opts); got != want || err != nil {
			t.Errorf("got %q\nwant %q, %v", got, want, err)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 3 {
		t.Errorf("left %v", files)
	}

	file := filepath.Join(dir, "tokenizer.json")
	for name, c := range map[string]struct {
		tok  *Tokenizer
		dir  string
		want string
	}{
		"a file in the way":       {want, file, file},
		"a file further up":       {want, filepath.Join(file, "x"), file},
		"what was written, again": {got, t.TempDir(), ""},
		"a model's own":           {load(t, "llama3"), t.TempDir(), "only the built-in one"},
		"a model's own, qwen":     {load(t, "qwen3"), t.TempDir(), "only the built-in one"},
	} {
		if err := c.tok.WriteDir(c.dir); (err != nil) != (c.want != "") || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: got %v, want …%s…", name, err, c.want)
		}
	}
}

// TestTransformers reads the directory with the library that clients use.
func TestTransformers(t *testing.T) {
	python := os.Getenv("STEPSCOPE_SGLANG_PYTHON")
	if python == "" {
		t.Skip("set STEPSCOPE_SGLANG_PYTHON to a Python that has transformers")
	}
	const vocab = 1000
	tok := byteLevel(t, vocab)
	var every []int32
	for id := range int32(vocab) {
		every = append(every, id)
	}
	ask := map[string]any{"texts": builtinTexts, "messages": builtinMessages, "ids": every}
	in, err := json.Marshal(ask)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-c", `
import json, sys
from transformers import AutoTokenizer
tok = AutoTokenizer.from_pretrained(sys.argv[1])
ask = json.load(sys.stdin)
chat = [{"role": m["Role"], "content": m["Content"]} for m in ask["messages"]]
json.dump({
    "size": [tok.vocab_size, len(tok)], "special": [tok.bos_token_id, tok.eos_token_id, tok.pad_token_id],
    "encoded": [tok.encode(t) for t in ask["texts"]],
    "bare": [tok.encode(t, add_special_tokens=False) for t in ask["texts"]],
    "each": [tok.decode([i]) for i in ask["ids"]],
    "decoded": [tok.decode(ask["ids"]), tok.decode(ask["ids"], skip_special_tokens=True)],
    "chat": [tok.apply_chat_template(chat, tokenize=False, add_generation_prompt=p) for p in (True, False)],
}, sys.stdout)`, writeDir(t, vocab))
	cmd.Env = append(os.Environ(), "HF_HUB_OFFLINE=1")
	cmd.Stdin = strings.NewReader(string(in))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	var got struct {
		Size, Special []int
		Encoded, Bare [][]int32
		Each          []string
		Decoded, Chat []string
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got.Size, got.Special) != "[1000 1000] [256 257 258]" {
		t.Errorf("sizes %v, BOS, EOS and PAD %v", got.Size, got.Special)
	}
	for i, text := range builtinTexts {
		if want := tok.Encode(text, true); !slices.Equal(got.Encoded[i], want) {
			t.Errorf("%q: got %v, want %v", text, got.Encoded[i], want)
		}
		if want := tok.Encode(text, false); !slices.Equal(got.Bare[i], want) {
			t.Errorf("%q, bare: got %v, want %v", text, got.Bare[i], want)
		}
	}
	for i, id := range every {
		if want := tok.Decode([]int32{id}, false); got.Each[i] != want {
			t.Errorf("%d: got %q, want %q", id, got.Each[i], want)
		}
	}
	for i, skip := range []bool{false, true} {
		if want := tok.Decode(every, skip); got.Decoded[i] != want {
			t.Errorf("all ids: got %q, want %q", got.Decoded[i], want)
		}
		if want, err := tok.Chat().Render(builtinMessages, ChatOptions{NoPrompt: skip}); got.Chat[i] != want || err != nil {
			t.Errorf("chat: got %q, want %q, %v", got.Chat[i], want, err)
		}
	}
}
