// Package server serves SGLang's HTTP API for an engine: its native routes with old and new names, the OpenAI routes,
// the profile endpoints, metrics and the batch log. It is independent of models and schedulers: it uses them only
// through the [Engine] interface.
//
// A request is processed as follows. The body is decoded (package wire) and checked against the model's limits
// (prepare.go). Every sequence is submitted to the engine. A goroutine for each sequence turns tokens into text and
// looks for stop strings (sequence.go). The handler writes new text (stream.go). The engine never waits for a client. A
// client that falls behind gets coalesced events, and its request is aborted when the backlog exceeds a limit.
//
// Times are seconds on the wire and time.Duration inside. Lengths are in tokens.
package server
