package tokenizer

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// fromVocabulary builds a tokenizer.json from vocab.json, merges.txt and the added tokens in tokenizer_config.json.
// Normalisation and word splitting are defined by the tokenizer class, not by these files. So only the class of Qwen 2
// and 3 is supported. The result is the same as in transformers (convert_slow_tokenizer.py, Qwen2Converter).
func fromVocabulary(dir string) ([]byte, error) {
	vocab, err := os.ReadFile(filepath.Join(dir, "vocab.json"))
	if err != nil {
		return nil, err
	}
	pairs, err := os.ReadFile(filepath.Join(dir, "merges.txt"))
	if err != nil {
		return nil, err
	}
	var c struct {
		Class          string                `json:"tokenizer_class"`
		AddPrefixSpace bool                  `json:"add_prefix_space"`
		Added          map[string]addedToken `json:"added_tokens_decoder"`
	}
	path := filepath.Join(dir, "tokenizer_config.json")
	if err := readJSON(path, &c); err != nil {
		return nil, err
	}
	if !slices.Contains([]string{"Qwen2Tokenizer", "Qwen2TokenizerFast"}, c.Class) {
		return nil, fmt.Errorf("%s: no tokenizer.json, and vocab.json with merges.txt can be read only for tokenizer_class Qwen2Tokenizer; this is %q", dir, c.Class)
	}
	if len(c.Added) == 0 {
		return nil, fmt.Errorf("%s: no added_tokens_decoder, and no tokenizer.json beside it: the special tokens are unknown", path)
	}
	added := []addedToken{}
	for key, t := range c.Added {
		id, err := strconv.ParseInt(key, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%s: added_tokens_decoder: %q is not an id", path, key)
		}
		t.ID = int32(id)
		added = append(added, t)
	}
	slices.SortFunc(added, func(a, b addedToken) int { return int(a.ID - b.ID) })
	merges := []string{}
	for line := range strings.Lines(string(pairs)) {
		if line = strings.TrimSpace(line); line != "" && (len(merges) > 0 || !strings.HasPrefix(line, "#version:")) {
			merges = append(merges, line)
		}
	}
	byteLevel := object{"type": "ByteLevel", "add_prefix_space": c.AddPrefixSpace, "use_regex": false}
	cut := object{"type": "Split", "pattern": object{"Regex": patternQwen2}, "behavior": "Isolated"}
	return json.Marshal(object{
		"added_tokens":  added,
		"normalizer":    object{"type": "NFC"},
		"pre_tokenizer": object{"type": "Sequence", "pretokenizers": []object{cut, byteLevel}},
		"decoder":       byteLevel,
		"model":         object{"type": "BPE", "vocab": json.RawMessage(vocab), "merges": merges},
	})
}
