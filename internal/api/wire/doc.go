// Package wire holds the request and response types of SGLang's native HTTP API
// and of the OpenAI routes it serves, and their event streams: one copy for the
// server and for every client.
//
// Decoding is as lenient as SGLang's: integers may come as JSON strings, unknown
// fields are ignored, null is the same as absent. A value that cannot mean
// anything is refused with a [FieldError] that names the field. Field names and
// defaults follow SGLang v0.5 (python/sglang/srt/managers/io_struct.py,
// sampling_params.py and entrypoints/openai/protocol.py).
//
// Times are seconds, lengths are tokens, log probabilities are natural logarithms.
package wire
