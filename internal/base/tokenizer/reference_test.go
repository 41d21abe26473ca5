package tokenizer

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The expectations come from the Hugging Face library; see scripts/fixtures/tokenizer.py.

func load(t testing.TB, name string) *Tokenizer {
	t.Helper()
	tok, err := Load(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func readFile(t testing.TB, to any, path ...string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{"testdata"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, to); err != nil {
		t.Fatal(err)
	}
}

// reference is a row of expected.json. Without text it tests decoding only.
type reference struct {
	text  *string
	ids   []int32
	whole string // decoded
	bare  string // decoded without special tokens
}

func (r *reference) UnmarshalJSON(data []byte) error {
	row := []any{&r.text, &r.ids, &r.whole, &r.bare}
	if err := json.Unmarshal(data, &row); err != nil {
		return err
	}
	if len(row) == 2 { // both equal the text
		r.whole, r.bare = *r.text, *r.text
	}
	return nil
}

func TestReference(t *testing.T) {
	for _, name := range []string{"llama3", "qwen3"} {
		t.Run(name, func(t *testing.T) {
			tok := load(t, name)
			var rows []reference
			readFile(t, &rows, name, "expected.json")
			for _, r := range rows {
				if r.text != nil {
					if ids := tok.Encode(*r.text, false); !slices.Equal(ids, r.ids) {
						t.Errorf("Encode(%q)\n got %v %q\nwant %v %q", *r.text, ids, pieces(tok, ids), r.ids, pieces(tok, r.ids))
					}
				}
				for skip, want := range map[bool]string{false: r.whole, true: r.bare} {
					if got := tok.Decode(r.ids, skip); got != want {
						t.Errorf("Decode(%v, %t) of %q\n got %q\nwant %q", r.ids, skip, pieces(tok, r.ids), got, want)
					}
				}
			}
		})
	}
}

func pieces(tok *Tokenizer, ids []int32) (p []string) {
	for _, id := range ids {
		p = append(p, string(tok.Bytes(id)))
	}
	return p
}

// TestVariants replaces parts of the file of llama3.
func TestVariants(t *testing.T) {
	var variants []struct {
		Name   string
		Change map[string]json.RawMessage
		Cases  []reference
	}
	readFile(t, &variants, "variants.json")
	for _, v := range variants {
		t.Run(v.Name, func(t *testing.T) {
			tok, err := Parse(changed(t, v.Change))
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range v.Cases {
				ids := tok.Encode(*r.text, true)
				if !slices.Equal(ids, r.ids) {
					t.Errorf("Encode(%q)\n got %v %q\nwant %v %q", *r.text, ids, pieces(tok, ids), r.ids, pieces(tok, r.ids))
				}
				if got := tok.Decode(r.ids, false); got != r.whole {
					t.Errorf("Decode(%v)\n got %q\nwant %q", r.ids, got, r.whole)
				}
			}
		})
	}
}

// changed returns llama3/tokenizer.json with values replaced; a key "model.x" is x of the model.
func changed(t testing.TB, change map[string]json.RawMessage) []byte {
	t.Helper()
	var spec, model map[string]json.RawMessage
	readFile(t, &spec, "llama3", "tokenizer.json")
	if err := json.Unmarshal(spec["model"], &model); err != nil {
		t.Fatal(err)
	}
	for k, v := range change {
		if in, ok := strings.CutPrefix(k, "model."); ok {
			model[in] = v
		}
	}
	spec["model"], _ = json.Marshal(model)
	maps.Copy(spec, change)
	data, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
