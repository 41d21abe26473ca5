// Package kvtransfer moves the keys and values of prompts from prefill workers to
// decode workers over TCP (prefill/decode disaggregation).
//
// A prefill worker has a [Source], which listens on the bootstrap port; a decode
// worker has a [Sink], which dials it. They meet in a room, a number that a router
// gave both with the request. The sink names the room when it has memory for the
// prompt; the source then pushes blocks layer by layer while the prompt is
// computed, and at last what the decode worker needs to go on: the first token.
// The sink acknowledges, and both sides let go of the memory.
//
// There is a connection, a link, for each pair of ranks that have layers and KV
// heads in common, so the two sides may be cut differently. Links are kept for
// later requests. Every frame has a checksum (frame.go). A broken one ends its
// room; a broken link ends the rooms that used it, and the next room dials anew. A
// room ends exactly once on each side, and only when nobody reads or writes its
// memory any more: whoever is told may use it for something else at once.
//
// The package knows blocks and bytes, neither models nor tokens. Sizes are in
// bytes; keys and values are moved as they lie in memory.
package kvtransfer

import (
	"fmt"
	"time"
)

// Span is the part Lo ≤ i < Hi of a list.
type Span struct{ Lo, Hi int }

func (s Span) len() int { return s.Hi - s.Lo }

func (s Span) has(t Span) bool { return s.Lo <= t.Lo && t.Lo < t.Hi && t.Hi <= s.Hi }

func (s Span) and(t Span) Span { return Span{max(s.Lo, t.Lo), min(s.Hi, t.Hi)} }

// Place is what a rank has: layers of the model, and KV heads of each.
type Place struct{ Layers, Heads Span }

// Layout says how a worker keeps keys and values. All its data-parallel ranks are
// alike.
type Layout struct {
	Model  string  // whatever else must be the same on both sides
	Layers int     // of the model
	Heads  int     // KV heads of the model
	Page   int     // bytes of the keys of one head in one block, and as many of the values
	DP     int     // data-parallel ranks
	Ranks  []Place // of each of them
}

func (l *Layout) check() error {
	if l.Layers < 1 || l.Layers > maxIndex || l.Heads < 1 || l.Heads > maxIndex || l.Page < 1 || l.Page > maxPayload/2 || l.DP < 1 || len(l.Ranks) == 0 {
		return fmt.Errorf("a layout of %d layers, %d heads, pages of %d bytes, %d data-parallel ranks of %d ranks makes no sense",
			l.Layers, l.Heads, l.Page, l.DP, len(l.Ranks))
	}
	for i, p := range l.Ranks {
		if !(Span{0, l.Layers}).has(p.Layers) || !(Span{0, l.Heads}).has(p.Heads) {
			return fmt.Errorf("rank %d has layers %v and heads %v of %d and %d", i, p.Layers, p.Heads, l.Layers, l.Heads)
		}
	}
	return nil
}

// pair is two ranks, and what goes from one to the other.
type pair struct {
	from, to int
	Place
}

// pairs says who sends what so that every rank of to has all of its place once.
// Heads that several ranks of from have are sent by the first.
func pairs(from, to *Layout) ([]pair, error) {
	if from.Model != to.Model || from.Layers != to.Layers || from.Heads != to.Heads || from.Page != to.Page {
		return nil, fmt.Errorf("the prefill worker serves another model: %q with %d layers, %d KV heads and pages of %d bytes; this one %q with %d, %d and %d",
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
	// Pages gives n consecutive blocks of a layer and a KV head: n·Page bytes of
	// keys and as many of values.
	Pages func(layer, head int, block int32, n int) (k, v []byte)
	// Span is told when blocks of a request begin to move and gives whom to tell
	// that they have, with their bytes; nil: nobody wants to know.
	Span func(name, request string, room uint64) (end func(bytes int64))
}

func (r *Rank) span(name, request string, room uint64) func(int64) {
	if r.Span == nil {
		return func(int64) {}
	}
	return r.Span(name, request, room)
}

// Worker is one side.
type Worker struct {
	Layout Layout
	Ranks  [][]Rank // of each data-parallel rank, as in Layout.Ranks
}

// Options of both sides. The zero value works.
type Options struct {
	Key string // both sides must have the same
	// Bootstrap is how long one side waits for the other to name a room; default
	// 300 s (SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT).
	Bootstrap time.Duration
	// Waiting is how long a source waits for the acknowledgement once all is
	// computed, and a sink, from naming the room, for everything; default 300 s
	// (SGLANG_DISAGGREGATION_WAITING_TIMEOUT).
	Waiting time.Duration
	// Handshake bounds the making of a link; default 10 s.
	Handshake time.Duration
	// Silence is how long a link may be silent or take nothing before it is given
	// up; default 15 s. Idle links carry a ping three times in it.
	Silence time.Duration
	// Log takes lines about links that break, without time. Any goroutine calls it.
	Log func(line string)
	// Moved is told of each room that ended well: its bytes, and how long it took
	// from the first block on. It must not block.
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
