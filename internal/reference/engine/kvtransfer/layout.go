// Package kvtransfer moves the keys and values of prompts from prefill workers to decode workers over TCP
// (prefill/decode disaggregation).
//
// A prefill worker has a [Source], which listens on the bootstrap port. A decode worker has a [Sink], which dials the
// Source. A request's two workers are paired by a room, a number that the router sends to both workers with the
// request. The sink announces the room as soon as it has memory for the prompt. The source then pushes blocks layer by
// layer while the prompt is computed, followed by the first token. Finally the sink acknowledges that everything has
// arrived, and both workers release the room's memory.
//
// There is one connection, called a link, for each pair of ranks that have layers and KV heads in common. Therefore the
// two workers may be sharded differently. Links are reused by later requests. Every frame has a checksum (frame.go). A
// corrupt frame ends its room. A broken link ends the rooms that used it, and the next room dials again. A room ends
// exactly once on each worker, and only when that worker no longer reads or writes the room's memory. Therefore the
// memory's owner may reuse the memory as soon as it is notified of the end.
//
// The package handles blocks and bytes; it knows neither models nor tokens. Sizes are in bytes. Keys and values are
// sent in their memory layout.
package kvtransfer

import (
	"fmt"
	"time"
)

// Span is the range Lo ≤ i < Hi of a list.
type Span struct{ Lo, Hi int }

func (s Span) len() int { return s.Hi - s.Lo }

func (s Span) has(t Span) bool { return s.Lo <= t.Lo && t.Lo < t.Hi && t.Hi <= s.Hi }

func (s Span) and(t Span) Span { return Span{max(s.Lo, t.Lo), min(s.Hi, t.Hi)} }

// Place is a rank's part of the cache: a range of the model's layers, and a range of the KV heads of each layer.
type Place struct{ Layers, Heads Span }

// Layout describes how a worker stores keys and values. All data-parallel ranks of a worker have the same layout.
type Layout struct {
	Model  string  // describes all other properties that must be equal on both workers
	Layers int     // number of layers of the model
	Heads  int     // KV heads of the model
	Page   int     // bytes of one head's keys in one block, and also of its values
	DP     int     // data-parallel ranks
	Ranks  []Place // parts of the ranks; equal for all data-parallel ranks
}

func (l *Layout) check() error {
	if l.Layers < 1 || l.Layers > maxIndex || l.Heads < 1 || l.Heads > maxIndex || l.Page < 1 || l.Page > maxPayload/2 || l.DP < 1 || len(l.Ranks) == 0 {
		return fmt.Errorf("invalid layout: %d layers, %d heads, pages of %d bytes, %d data-parallel ranks of %d ranks",
			l.Layers, l.Heads, l.Page, l.DP, len(l.Ranks))
	}
	for i, p := range l.Ranks {
		if !(Span{0, l.Layers}).has(p.Layers) || !(Span{0, l.Heads}).has(p.Heads) {
			return fmt.Errorf("rank %d has layers %v and heads %v of %d and %d", i, p.Layers, p.Heads, l.Layers, l.Heads)
		}
	}
	return nil
}

// pair is a source's rank, a sink's rank, and the part of the cache that the source's rank sends to the sink's rank.
type pair struct {
	from, to int
	Place
}

// pairs returns the transfers that fill the cache of each rank of to exactly once. If several ranks of from have the
// same head, the first of these ranks sends the head.
func pairs(from, to *Layout) ([]pair, error) {
	if from.Model != to.Model || from.Layers != to.Layers || from.Heads != to.Heads || from.Page != to.Page {
		return nil, fmt.Errorf("the prefill worker serves a different model: %q with %d layers, %d KV heads and pages of %d bytes; this worker serves %q with %d, %d and %d",
			from.Model, from.Layers, from.Heads, from.Page, to.Model, to.Layers, to.Heads, to.Page)
	}
	var out []pair
	for d, want := range to.Ranks {
		have := map[[2]int]bool{} // layer, head
		for p, place := range from.Ranks {
			both := Place{place.Layers.and(want.Layers), place.Heads.and(want.Heads)}
			if both.Layers.len() <= 0 || both.Heads.len() <= 0 || have[[2]int{both.Layers.Lo, both.Heads.Lo}] {
				continue
			}
			for l := both.Layers.Lo; l < both.Layers.Hi; l++ {
				for h := both.Heads.Lo; h < both.Heads.Hi; h++ {
					have[[2]int{l, h}] = true
				}
			}
			out = append(out, pair{p, d, both})
		}
		if len(have) != want.Layers.len()*want.Heads.len() {
			return nil, fmt.Errorf("the prefill worker has %d of the %d layers' heads that rank %d needs", len(have), want.Layers.len()*want.Heads.len(), d)
		}
	}
	return out, nil
}

// Rank is the memory of a rank.
type Rank struct {
	// Pages returns the memory of n consecutive blocks of a layer and a KV head: n·Page bytes of keys and n·Page bytes of
	// values.
	Pages func(layer, head int, block int32, n int) (k, v []byte)
	// Span is called when a move of a request's blocks begins. The returned function is called when the move ends, with
	// the number of bytes moved. If Span is nil, moves are not reported.
	Span func(name, request string, room uint64) (end func(bytes int64))
}

func (r *Rank) span(name, request string, room uint64) func(int64) {
	if r.Span == nil {
		return func(int64) {}
	}
	return r.Span(name, request, room)
}

// Worker describes one of the two workers of a transfer.
type Worker struct {
	Layout Layout
	Ranks  [][]Rank // for each data-parallel rank: ranks in the order of Layout.Ranks
}

// Options configure a Source or a Sink. The zero value works.
type Options struct {
	Key string // must be equal on both workers
	// Bootstrap limits the time for which a worker waits until the other worker announces a room; default 300 s
	// (SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT).
	Bootstrap time.Duration
	// Waiting limits two waits; default 300 s (SGLANG_DISAGGREGATION_WAITING_TIMEOUT). A source waits at most this long
	// for the acknowledgement after everything has been computed. A sink waits at most this long, after it has
	// announced the room, until everything has arrived.
	Waiting time.Duration
	// Handshake limits the time to set up a link; default 10 s.
	Handshake time.Duration
	// Silence is the time after which a link is closed if nothing arrives or the peer accepts no data; default 15 s. An
	// idle link sends three pings in that time.
	Silence time.Duration
	// Log receives lines about broken links. The lines contain no timestamp. Any goroutine may call it.
	Log func(line string)
	// Moved is called for each room that ended without error, with the number of bytes moved and the time since the
	// first block. It must not block.
	Moved func(bytes int64, took time.Duration)
}

func (o Options) withDefaults() Options {
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	def(&o.Bootstrap, 300*time.Second)
	def(&o.Waiting, 300*time.Second)
	def(&o.Handshake, 10*time.Second)
	def(&o.Silence, 15*time.Second)
	if o.Log == nil {
		o.Log = func(string) {}
	}
	if o.Moved == nil {
		o.Moved = func(int64, time.Duration) {}
	}
	return o
}
