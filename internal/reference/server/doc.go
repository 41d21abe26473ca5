// Package server serves SGLang's HTTP API for an engine: the native routes with old and new names, the OpenAI routes,
// the profile endpoints and the metrics. It also writes the batch log. The package is independent of models and
// schedulers, because it uses them only through the [Engine] interface.
//
// A request is processed as follows. The body is decoded (package wire) and checked against the model's limits
// (prepare.go). Every sequence is submitted to the engine. For each sequence, a goroutine converts tokens to text and
// searches for stop strings (sequence.go). The handler writes new text (stream.go). The engine never waits for a
// client. A client that falls behind gets coalesced events. If the backlog exceeds a limit, the client's request is
// aborted.
//
// Times are in seconds in the API and of type time.Duration inside the package. Lengths are in tokens.
package server
