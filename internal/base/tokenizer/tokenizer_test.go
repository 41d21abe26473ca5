package tokenizer

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestIDs(t *testing.T) {
	id := func(tok *Tokenizer, s string) int32 {
		id, ok := tok.ID(s)
		if !ok {
			t.Errorf("no token %q", s)
		}
		return id
	}
	llama, qwen, builtin := load(t, "llama3"), load(t, "qwen3"), byteLevel(t, 512)
	tests := []struct {
		name     string
		tok      *Tokenizer
		bos, pad int32
		eos      []int32
		size     int
		family   string
		notes    int
	}{
		{"llama3", llama, id(llama, "<|begin_of_text|>"), None,
			[]int32{id(llama, "<|eot_id|>"), id(llama, "<|end_of_text|>"), id(llama, "<|eom_id|>")}, 4120, "llama3", 0},
		{"qwen3", qwen, None, id(qwen, "<|endoftext|>"), []int32{id(qwen, "<|im_end|>"), id(qwen, "<|endoftext|>")}, 4104, "qwen3", 0},
		{"builtin", builtin, 256, 258, []int32{257, 260}, 512, "chatml", 0},
	}
	for _, tt := range tests {
		if tt.tok.BOS() != tt.bos || tt.tok.PAD() != tt.pad || !slices.Equal(tt.tok.EOS(), tt.eos) || tt.tok.Size() != tt.size {
			t.Errorf("%s: bos %d, pad %d, eos %v, size %d; want %d, %d, %v, %d", tt.name,
				tt.tok.BOS(), tt.tok.PAD(), tt.tok.EOS(), tt.tok.Size(), tt.bos, tt.pad, tt.eos, tt.size)
		}
		if f := tt.tok.Chat().Family(); f != tt.family || len(tt.tok.Notes()) != tt.notes {
			t.Errorf("%s: chat family %s, notes %q; want %s and %d notes", tt.name, f, tt.tok.Notes(), tt.family, tt.notes)
		}
	}
	for _, id := range []int32{-1, 4120, 1 << 30} {
		if llama.Bytes(id) != nil || llama.IsSpecial(id) {
			t.Errorf("id %d is a token", id)
		}
	}
}

// TestSpecial checks that a BOS is added only on request.
func TestSpecial(t *testing.T) {
	llama, qwen := load(t, "llama3"), load(t, "qwen3")
	plain := llama.Encode("Hello", false)
	if got := llama.Encode("Hello", true); !slices.Equal(got, append([]int32{llama.BOS()}, plain...)) {
		t.Errorf("llama3: %v with special tokens, %v without", got, plain)
	}
	if a, b := qwen.Encode("Hello", true), qwen.Encode("Hello", false); !slices.Equal(a, b) {
		t.Errorf("qwen3: %v with special tokens, %v without", a, b)
	}
}

// FuzzRoundTrip: any bytes come back, as normalised.
func FuzzRoundTrip(f *testing.F) {
	toks := []*Tokenizer{load(f, "llama3"), load(f, "qwen3"), byteLevel(f, 512)}
	for _, s := range []string{"", "Hello, world", "e\u0301\xff", "<|im_end|> x", "\xf0\x9f\x91", strings.Repeat("ab\xc3", 40), "\u1100\u1161\u11a8", strings.Repeat("\u0301", 40)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for i, tok := range toks {
			want := s
			if tok.normalise != nil {
				want = tok.normalise(s)
			}
			if got := tok.AppendBytes(nil, tok.Encode(s, false), false); string(got) != want {
				// The text on each side of an added token is normalised separately.
				if tok.normalise == nil || tok.normalise(string(got)) != want {
					t.Errorf("tokenizer %d: %q came back as %q", i, want, got)
				}
			}
		}
	})
}

// FuzzDecoder: a stream gives the same text as the whole, and its output never changes.
func FuzzDecoder(f *testing.F) {
	toks := []*Tokenizer{load(f, "llama3"), load(f, "qwen3")}
	f.Add([]byte{0, 1, 2, 3}, false)
	f.Add([]byte("\x01\x10\x00\xf0\x00\x9f\x00\x91\x10\x01"), true)
	f.Fuzz(func(t *testing.T, raw []byte, skip bool) {
		for _, tok := range toks {
			var ids []int32
			for pair := range slices.Chunk(raw, 2) {
				id := int32(pair[0]) // mostly a single byte
				if len(pair) == 2 && pair[1] < 64 {
					id |= int32(pair[1]) << 8
				}
				ids = append(ids, id)
			}
			d := tok.NewDecoder(skip)
			var got strings.Builder
			for _, id := range ids {
				text := d.Push(id)
				if !utf8.ValidString(text) {
					t.Errorf("Push(%d) returned %q", id, text)
				}
				got.WriteString(text)
			}
			got.WriteString(d.Flush())
			if want := tok.Decode(ids, skip); got.String() != want {
				t.Errorf("%v: streamed %q, whole %q", ids, got.String(), want)
			}
			if want := string(bytes.ToValidUTF8(tok.AppendBytes(nil, ids, skip), nil)); strings.ReplaceAll(got.String(), "\uFFFD", "") != strings.ReplaceAll(want, "\uFFFD", "") {
				t.Errorf("%v: streamed %q, but the bytes are %q", ids, got.String(), want)
			}
		}
	})
}

// TestDecoderHoldsBack: when Push returns text.
func TestDecoderHoldsBack(t *testing.T) {
	tok := byteLevel(t, 512)
	tests := []struct {
		name string
		ids  []int32
		want []string // results of each Push, then of Flush
	}{
		{"two bytes", []int32{0xC3, 0xA9}, []string{"", "é", ""}},
		{"four bytes", []int32{0xF0, 0x9F, 0x91, 0x8D}, []string{"", "", "", "👍", ""}},
		{"cut off", []int32{0xF0, 0x9F}, []string{"", "", "\uFFFD"}},
		{"broken off", []int32{0xF0, 0x9F, 'a'}, []string{"", "", "\uFFFDa", ""}},
		{"never", []int32{0xFF, 0xC0}, []string{"\uFFFD", "\uFFFD", ""}},
		{"surrogate", []int32{0xED, 0xA0, 0x80}, []string{"", "\uFFFD\uFFFD", "\uFFFD", ""}},
		{"across a special token", []int32{0xC3, 257, 0xA9}, []string{"", "", "é", ""}},
	}
	for _, tt := range tests {
		d := tok.NewDecoder(true)
		var got []string
		for _, id := range tt.ids {
			got = append(got, d.Push(id))
		}
		if got = append(got, d.Flush()); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestMerge compares the two ways of merging with each other and with the definition: join the leftmost pair of the
// lowest rank.
func TestMerge(t *testing.T) {
	m := &load(t, "llama3").model
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		word := make([]byte, 2+rnd.IntN(shortWord-2))
		for i := range word {
			word[i] = " etaoinshrdlu"[rnd.IntN(13)]
		}
		want := mergePlainly(m, string(word))
		if got := m.mergeShort(nil, string(word)); !slices.Equal(got, want) {
			t.Fatalf("mergeShort(%q) = %v, want %v", word, got, want)
		}
		if got := m.mergeLong(nil, string(word)); !slices.Equal(got, want) {
			t.Fatalf("mergeLong(%q) = %v, want %v", word, got, want)
		}
	}
}

func mergePlainly(m *model, word string) (ids []int32) {
	for _, b := range []byte(word) {
		ids = append(ids, m.byteID[b])
	}
	for {
		at, low := 0, uint64(noMerge)
		for i := range len(ids) - 1 {
			if v := m.merges.get(ids[i], ids[i+1]); v < low {
				at, low = i, v
			}
		}
		if low == noMerge {
			return ids
		}
		ids[at] = mergedID(low)
		ids = slices.Delete(ids, at+1, at+2)
	}
}

// TestLongWord: a word of a megabyte, which a quadratic merge would not finish.
func TestLongWord(t *testing.T) {
	tok := load(t, "llama3")
	s := strings.Repeat("thelicenseisthework", 1<<20/19)
	if got := tok.Decode(tok.Encode(s, false), false); got != s {
		t.Error("a long word did not come back")
	}
}

// TestConcurrent is for the race detector, and for the cache as it fills.
func TestConcurrent(t *testing.T) {
	tok := load(t, "qwen3")
	var texts []string
	for i := range 200 {
		texts = append(texts, strings.Repeat("licence ", i%7)+strings.Repeat("xy", i)+" the end")
	}
	done := make(chan string)
	for range 4 {
		go func() {
			bad := ""
			for range 20 {
				for _, s := range texts {
					if tok.Decode(tok.Encode(s, true), true) != s {
						bad = s
					}
				}
			}
			done <- bad
		}()
	}
	for range 4 {
		if bad := <-done; bad != "" {
			t.Errorf("%q did not come back", bad)
		}
	}
}
