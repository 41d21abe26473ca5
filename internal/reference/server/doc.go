// Package server puts SGLang's HTTP API in front of an engine: its native routes
// with old and new names, the OpenAI routes, the profile endpoints, metrics and
// the batch log. It knows no model and no scheduler; what it needs of them is the
// [Engine] interface.
//
// A request takes this way: the body is decoded (package wire) and checked
// against the model's limits (prepare.go), every sequence is submitted to the
// engine, a goroutine for each sequence turns tokens into text and looks for stop
// strings (sequence.go), and the handler writes what is new (stream.go). The
// engine never waits for a client: a reader that falls behind gets coalesced
// events, and is aborted when its backlog grows past a bound.
//
// Times are seconds on the wire and time.Duration inside, lengths are tokens.
package server
