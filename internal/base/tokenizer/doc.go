// Package tokenizer turns text into token ids and back, as the tokenizer.json
// of a Hugging Face model directory says, or vocab.json and merges.txt of Qwen's
// models, for the byte-level BPE family: Llama 3, Qwen 2, Qwen 3, GPT-2 and
// others built the same way. Its main type is [Tokenizer]; [Load] reads one, [ByteLevel] is one without any file, and
// [Tokenizer.WriteDir] writes that one as files.
//
// Encoding goes through five stages:
//
//	text ─ added tokens cut out ─ normaliser ─ pre-tokeniser ─ BPE ─ template
//
// Added tokens (<|im_start|> and the like) are found first and never reach the
// other stages. The pre-tokeniser cuts the rest into words by a regular
// expression; the patterns of Llama 3, Qwen 2 and GPT-2 are recognised by their
// text and run as hand-written scanners, all others run on a backtracking
// regexp engine. BPE then joins the bytes of each word, pair by pair, in order
// of merge rank. The template puts BOS in front when it is asked for.
//
// The reference is the Rust library tokenizers, version 0.23: ids are the same
// for all valid UTF-8, with one exception: its NFC is of Unicode 13, this one of
// 15, so marks that came between and stand beside another mark may be put in
// another order. That library cannot be given other text; here bytes that
// are no UTF-8 are kept, count as punctuation for the pre-tokeniser, and come
// back unchanged from [Tokenizer.AppendBytes].
//
// What a file asks for and this package lacks is an error that names the place
// in the JSON, so a tokenizer that loads is one that agrees with the reference.
// Lacking are: models but BPE, SentencePiece-style BPE (byte_fallback,
// continuing prefixes, word suffixes, unknown tokens), dropout, pre-tokenisers
// but Split, ByteLevel, Digits and sequences of them, normalisers but the four
// Unicode forms, post-processors but TemplateProcessing and ByteLevel, and
// decoders but ByteLevel. Regular expressions use the syntax that is common to
// Oniguruma and .NET; the classes of unrecognised patterns are of the Unicode
// version of Go's unicode package, and \w takes in two joiners. Pairs of texts, truncation and padding are
// not done.
//
// All methods are safe for concurrent use, but those of a [Decoder].
package tokenizer
