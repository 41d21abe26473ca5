// Package tokenizer converts text to token ids and back. It reads the tokenizer.json of a Hugging Face model directory,
// or the vocab.json and merges.txt of Qwen's models, for the byte-level BPE family: Llama 3, Qwen 2, Qwen 3, GPT-2 and
// similar models. The main type is [Tokenizer]. [Load] reads a Tokenizer from files. [ByteLevel] returns a Tokenizer
// that needs no files, and [Tokenizer.WriteDir] writes this Tokenizer to files.
//
// Encoding has five stages:
//
//	text ─ added tokens cut out ─ normaliser ─ pre-tokeniser ─ BPE ─ template
//
// Added tokens (<|im_start|> and the like) are found first and bypass the other stages. The pre-tokeniser splits the
// remaining text into words by a regular expression. The regular expressions of Llama 3, Qwen 2 and GPT-2 are
// recognised by their text and have hand-written scanners. Any other expression runs on a backtracking regexp engine.
// BPE then joins the bytes of each word, pair by pair, in order of merge rank. On request the template prepends BOS.
//
// The reference is the Rust library tokenizers, version 0.23. The ids are the same for all valid UTF-8, with one
// exception: NFC follows Unicode 13 in the reference and Unicode 15 in this package, so newer combining marks next to
// other marks may be ordered differently. The reference accepts only valid UTF-8. This package keeps invalid bytes:
// they count as punctuation in the pre-tokeniser, and [Tokenizer.AppendBytes] returns them unchanged.
//
// If a file needs an unsupported feature, loading fails with an error that names the location in the JSON. So every
// tokenizer that loads agrees with the reference. The only supported features are byte-level BPE models, the
// pre-tokenisers Split, ByteLevel, Digits and their sequences, the four Unicode normalisers, the post-processors
// TemplateProcessing and ByteLevel, and the decoder ByteLevel. SentencePiece-style BPE (byte_fallback, continuing
// prefixes, word suffixes, unknown tokens) and dropout are not supported. Regular expressions use the common syntax of
// Oniguruma and .NET. The character classes of unrecognised patterns follow the Unicode version of Go's unicode
// package, and \w includes two joiners. Pairs of texts, truncation and padding are not supported.
//
// All methods are safe for concurrent use, except those of a [Decoder].
package tokenizer
