package workload

import (
	"context"
	_ "embed"
	"hash/fnv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Estimate replaces a missing tokenizer. It counts four characters as one token, which is about the average of English.
// The token ids of an Estimate mean nothing to a server, so prompts must be sent as text. Random prompts consist of
// common words of three letters. Each of these words is one token in every common byte-level BPE, so the estimate is
// nearly exact for random prompts.
type Estimate struct{}

const charsPerToken = 4

// commonWords are English words of three letters.
//
//go:embed words.txt
var commonWords string

var (
	estimateWords = sync.OnceValue(func() []string { return strings.Fields(commonWords) })
	estimateIDs   = sync.OnceValue(func() map[string]int32 {
		ids := map[string]int32{}
		for i, w := range estimateWords() {
			ids[" "+w] = int32(i)
		}
		return ids
	})
)

func (Estimate) String() string { return "an estimate of one token per 4 characters" }

// Encode implements [Tokenizer].
func (Estimate) Encode(_ context.Context, texts []string, _ bool) ([][]int32, error) {
	out := make([][]int32, len(texts))
	for i, text := range texts {
		ids := make([]int32, 0, len(text)/charsPerToken+1)
		for len(text) > 0 {
			end := 0
			for range charsPerToken {
				_, n := utf8.DecodeRuneInString(text[end:])
				end += n
			}
			ids = append(ids, estimateID(text[:end]))
			text = text[end:]
		}
		out[i] = ids
	}
	return out, nil
}

// estimateID returns the id of a word, or a stable hash of any other text.
func estimateID(text string) int32 {
	if id, ok := estimateIDs()[text]; ok {
		return id
	}
	h := fnv.New32a()
	h.Write([]byte(text))
	return int32(h.Sum32() % uint32(len(estimateWords())))
}

// Decode implements [Tokenizer].
func (Estimate) Decode(_ context.Context, ids [][]int32, _ bool) ([]string, error) {
	words, out := estimateWords(), make([]string, len(ids))
	for i, row := range ids {
		var b strings.Builder
		for _, id := range row {
			b.WriteString(" " + words[uint32(id)%uint32(len(words))])
		}
		out[i] = b.String()
	}
	return out, nil
}

// Vocabulary implements [Tokenizer].
func (Estimate) Vocabulary(context.Context) (*Vocabulary, error) {
	ids := make([]int32, len(estimateWords()))
	for i := range ids {
		ids[i] = int32(i)
	}
	return &Vocabulary{Text: ids, Words: ids}, nil
}
