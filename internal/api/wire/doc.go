// Package wire holds the request and response types of SGLang's native HTTP API and of the OpenAI routes it serves, and
// their event streams. The server and all clients share it.
//
// Decoding is as lenient as SGLang's: integers may be JSON strings, unknown fields are ignored, and null means absent.
// A meaningless value is refused with a [FieldError] that names the field. Field names and defaults follow SGLang v0.5
// (python/sglang/srt/managers/io_struct.py, sampling_params.py and entrypoints/openai/protocol.py).
//
// Times are in seconds, lengths in tokens. Log probabilities are natural logarithms.
package wire
