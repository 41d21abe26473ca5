// Package wire holds the request and response types of SGLang's native HTTP API and of the OpenAI routes that SGLang
// serves. It also reads and writes the event streams of both APIs. The server and all clients use this package.
//
// Decoding is as lenient as SGLang's: integers may be JSON strings, unknown fields are ignored, and null means absent.
// If a value is invalid, the error is a [FieldError] that names the field. Field names and defaults follow SGLang v0.5
// (python/sglang/srt/managers/io_struct.py, sampling_params.py and entrypoints/openai/protocol.py).
//
// Times are in seconds, lengths in tokens. Log probabilities are natural logarithms.
package wire
