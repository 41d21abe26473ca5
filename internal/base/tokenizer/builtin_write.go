package tokenizer

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
)

// builtinChat is the Jinja template of newChat("", "").
const builtinChat = `{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}` +
	`{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}`

// WriteDir writes the tokenizer returned by [ByteLevel] as a Hugging Face directory, for clients that load the
// tokenizer of their server. [Load] and transformers' AutoTokenizer can read the directory. WriteDir creates dir if
// needed. Each file is either complete or absent. WriteDir refuses any other tokenizer, because such a tokenizer
// already has a directory.
func (t *Tokenizer) WriteDir(dir string) error {
	if t.bos != firstSpecial || t.ids[bosToken] != firstSpecial || t.model.merges.n > 0 || len(t.steps) != 1 {
		return fmt.Errorf("write tokenizer %s: only the built-in one can be written; copy the files of others", dir)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("write the built-in tokenizer: %w", err)
	}
	for name, content := range map[string]any{
		"tokenizer.json": t.builtinFile(),
		"tokenizer_config.json": object{
			"tokenizer_class":              "PreTrainedTokenizerFast",
			"bos_token":                    bosToken,
			"eos_token":                    eosToken,
			"pad_token":                    padToken,
			"clean_up_tokenization_spaces": false,
			"chat_template":                builtinChat,
		},
		"generation_config.json": object{"bos_token_id": t.bos, "eos_token_id": t.eos, "pad_token_id": t.pad},
	} {
		err := atomicfile.Write(filepath.Join(dir, name), func(w io.Writer) error {
			enc := json.NewEncoder(w)
			enc.SetEscapeHTML(false)
			return enc.Encode(content)
		})
		if err != nil {
			return fmt.Errorf("write the built-in tokenizer: %w", err)
		}
	}
	return nil
}

type object map[string]any

// builtinFile returns the contents of tokenizer.json. The vocabulary includes the special tokens, because otherwise
// transformers would give them different ids.
func (t *Tokenizer) builtinFile() object {
	var added []object
	for _, token := range specials {
		added = append(added, object{
			"id": t.ids[token], "content": token, "special": true,
			"single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
		})
	}
	bos := object{"SpecialToken": object{"id": bosToken, "type_id": 0}}
	text := func(id string, typ int) object { return object{"Sequence": object{"id": id, "type_id": typ}} }
	byteLevel := object{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}
	return object{
		"version": "1.0", "truncation": nil, "padding": nil,
		"added_tokens":  added,
		"normalizer":    nil,
		"pre_tokenizer": byteLevel,
		"post_processor": object{
			"type":           "TemplateProcessing",
			"single":         []object{bos, text("A", 0)},
			"pair":           []object{bos, text("A", 0), bos, text("B", 1)},
			"special_tokens": object{bosToken: object{"id": bosToken, "ids": t.prefix, "tokens": []string{bosToken}}},
		},
		"decoder": byteLevel,
		"model": object{
			"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": nil, "end_of_word_suffix": nil,
			"fuse_unk": false, "byte_fallback": false, "ignore_merges": true,
			"vocab": t.ids, "merges": []string{},
		},
	}
}
