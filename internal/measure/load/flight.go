package load

import (
	"bytes"
	"sync"
	"sync/atomic"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/base/jsonscan"
	"github.com/stepscope/stepscope/internal/measure/workload"
)

// flight is a request in progress or a conversation in progress. The rounds of a conversation run one after another.
// One goroutine runs the flight. The guard reads only the atomic fields and conn.
type flight struct {
	run   *run
	req   *workload.Request
	index int
	recs  []bench.Record // one per round
	first int            // index of recs[0] among all records of the run
	wire  []byte         // the encoded request; for a conversation, the request of the first round
	chat  []byte         // JSON list of the messages of a conversation so far, without the closing bracket

	// State of the current round:
	turn  int
	rec   *bench.Record
	began int64 // time at which this goroutine started the round
	reply reply
	find  finder
	ev    event
	zip   *unzip // nil: the body is not compressed
	body  []byte // body of a reply that is not a stream or not a success
	known int    // completion tokens so far, as reported by the server; -1: not reported
	blind bool   // an event had text but no token count
	done  bool   // [DONE] has been received
	over  bool   // nothing more to read
	text  []byte // text of the reply, JSON-escaped
	ends  []int  // length of text after each chunk
	more  bool   // native: events contain only new text

	pieces []byte // native: the texts of all events, until the mode is certain
	cache  []byte
	user   int64 // time at which the read that is being processed returned
	reads  int   // reads with tokens or text
	twins  int   // reads with several events that have tokens or text
	fresh  int   // events with tokens or text in the current read

	// Used by the guard:
	mu    sync.Mutex
	conn  *conn // nil: not in flight
	last  atomic.Int64
	phase atomic.Int32
	kill  atomic.Int32
	slot  int // index in air

	airborne, poked atomic.Int64
	texted          atomic.Bool // the first text of the round has arrived
}

// Phases of a round. Each phase has its own time limit.
const (
	sending int32 = iota
	waiting
	streaming
	closing // after [DONE]
)

// Reasons why the guard ends a flight.
const (
	alive int32 = iota
	killedIdle
	killedTotal
	killedLinger
	killedUser
)

// prepare builds the records and the encoded request, or the request of the first round of a conversation.
func (f *flight) prepare() error {
	for i := range f.recs {
		r := &f.recs[i]
		*r = bench.Record{
			Index: f.index, Turn: i,
			Scheduled: bench.Never, Released: bench.Never, Connected: bench.Never, Sent: bench.Never, Headers: bench.Never,
			FirstAny: bench.Never, First: bench.Never, Visible: bench.Never, Last: bench.Never, Done: bench.Never,
			PromptLen: f.req.PromptLen, TextLen: f.req.TextLen, VisionLen: f.req.VisionLen, AskedLen: f.req.OutputLen,
			Retokenized: -1, CachedTokens: -1, DPRank: -1,
		}
		if len(f.req.Rounds) > 0 {
			q := &f.req.Rounds[i]
			r.PromptLen, r.TextLen, r.VisionLen, r.AskedLen = q.PromptLen, q.PromptLen, 0, q.OutputLen
		}
		if f.run.opt.RequestID != nil && (f.run.target.rid || f.run.target.idHeader) {
			r.ID = f.run.opt.RequestID(f.index, i)
		}
	}
	if s := f.run.opt.Schedule; s != nil {
		f.recs[0].Scheduled = int64(s[f.index])
	} else {
		f.recs[0].Scheduled = 0
	}
	var err error
	f.wire, err = f.run.target.request(f, 0)
	return err
}

// open prepares the flight for one round.
func (f *flight) open(turn int) {
	f.turn, f.rec = turn, &f.recs[turn]
	f.restart()
}

// restart discards the state of the current round.
func (f *flight) restart() {
	f.unpacked()
	f.reply = reply{}
	f.find = finder{max: f.run.opt.MaxEvent}
	f.body, f.text, f.ends, f.pieces, f.cache = nil, nil, nil, nil, nil
	f.known, f.blind, f.done, f.over, f.more = -1, false, false, false, false
	f.phase.Store(sending)
	f.texted.Store(false)
}

// fail ends the round with a failure. If fail is called more than once, the first failure is kept.
func (f *flight) fail(why bench.Failure, text string) {
	f.over = true
	if f.rec.Failure == "" {
		f.rec.Failure, f.rec.Error = why, oneLine(text)
	}
}

// feed processes the bytes b of one read. The bytes were received at time at.
func (f *flight) feed(b []byte, at int64) {
	f.fresh = 0
	for len(b) > 0 && !f.over {
		if f.reply.state == replyDone {
			f.reply.keep = false // the server sent more data than the reply contains
			break
		}
		body, rest, err := f.reply.next(b)
		if err != nil {
			f.fail(bench.Malformed, err.Error())
			return
		}
		if f.rec.Status == 0 && f.reply.status != 0 {
			f.rec.Headers, f.rec.Status = at, f.reply.status
			f.phase.Store(streaming)
			f.last.Store(f.user)
		}
		if len(body) > 0 && f.reply.gzip {
			f.packed(body, at)
		} else if len(body) > 0 {
			f.content(body, at)
		}
		b = rest
	}
	if f.fresh > 0 {
		f.reads++
	}
	if f.fresh > 1 {
		f.twins++
	}
	if f.reply.state == replyDone {
		f.over = true
	}
	f.rec.Done = at
}

// packed processes a piece of a compressed body.
func (f *flight) packed(b []byte, at int64) {
	if f.zip == nil {
		f.zip = newUnzip()
	}
	if err := f.zip.feed(b, func(piece []byte) { f.content(piece, at) }); err != nil {
		f.fail(bench.Malformed, "the body is not valid gzip: "+err.Error())
	}
}

// unpacked ends the decompression of a body.
func (f *flight) unpacked() {
	if f.zip != nil {
		f.zip.close()
		f.zip = nil
	}
}

// content processes a piece of the reply's body.
func (f *flight) content(b []byte, at int64) {
	if f.reply.status != 200 || !f.reply.sse {
		// Only the beginning of an error reply is kept, because only the beginning is shown.
		if limit := f.run.opt.MaxEvent; f.reply.status == 200 && len(f.body)+len(b) > limit {
			f.fail(bench.Malformed, "the reply exceeds the size limit")
		} else if f.body = append(f.body, b...); f.reply.status != 200 && len(f.body) >= maxHead {
			f.over, f.reply.keep = true, false // the reply may never end
		}
		f.last.Store(f.user)
		return
	}
	for {
		data, rest, ok, tooLong := f.find.next(b)
		if tooLong {
			f.fail(bench.Malformed, "an event exceeds the size limit")
			return
		}
		if !ok {
			return
		}
		if b = rest; !f.over {
			if len(data) > 0 && !f.done {
				f.last.Store(f.user) // comments and data after [DONE] do not count as activity
			}
			if f.find.fault && !f.done {
				f.fail(bench.ServerError, wire.Reason(data))
				return
			}
			f.event(data, at)
		}
	}
}

// event processes one event of the stream.
func (f *flight) event(data []byte, at int64) {
	if f.run.opt.Tap != nil {
		kernel := at
		if at == f.user {
			kernel = 0
		}
		f.run.opt.Tap(f.index, data, kernel, f.user)
	}
	if string(data) == "[DONE]" {
		f.done = true
		f.phase.Store(closing)
		return
	}
	if f.done || len(data) == 0 {
		return
	}
	e := &f.ev
	if err := e.parse(f.run.target.family, data); err != nil {
		f.fail(bench.Malformed, "an event is not valid JSON: "+string(cutShort(data, 120)))
		return
	}
	if f.rec.FirstAny == bench.Never {
		f.rec.FirstAny = at
	}
	if e.fault {
		f.fail(bench.ServerError, jsonscan.Unquote(e.message))
		return
	}
	tokens, worth := f.count(e)
	f.facts(e)
	if !worth {
		if e.choice && f.run.target.family != native {
			f.rec.Blank = append(f.rec.Blank, at)
		}
		return
	}
	text := len(e.text) > 0 || e.ids || e.tool
	f.rec.Chunks = append(f.rec.Chunks, bench.Chunk{At: at, Tokens: tokens, Text: text || len(e.reasoning) > 0, Merged: f.fresh > 0})
	f.fresh++
	live := f.run.opt.Live
	live.Chunks.Add(1)
	live.Tokens.Add(int64(max(tokens, 0)))
	if f.keep() {
		f.keepText(e)
		f.ends = append(f.ends, len(f.text))
	}
	if !text && len(e.reasoning) == 0 {
		return
	}
	if f.rec.First == bench.Never {
		f.rec.First = at
		f.texted.Store(true)
		live.TTFT.Add(at - f.rec.Sent)
	} else {
		live.ITL.Add(at - f.rec.Last)
	}
	if text && f.rec.Visible == bench.Never {
		f.rec.Visible = at
	}
	f.rec.Last = at
}

// count returns the number of new tokens in e; -1: unknown. The result worth reports whether e contains tokens or text.
func (f *flight) count(e *event) (tokens int, worth bool) {
	text := len(e.text) > 0 || len(e.reasoning) > 0 || e.ids || e.tool
	if len(f.rec.Chunks) == 0 && f.rec.Chunks == nil && (text || e.completion > 0) {
		// Allocate the chunks once per request, so that no event needs an allocation. The slice grows later only if the
		// server sends several events per token.
		f.rec.Chunks = make([]bench.Chunk, 0, min(f.rec.AskedLen+2, 1<<16))
	}
	before := max(f.known, 0)
	if e.completion >= 0 {
		f.known = max(e.completion, f.known)
	}
	switch {
	case e.completion < 0:
		f.blind = f.blind || text
		return -1, text
	case !e.choice || f.blind:
		return -1, text // the count is the total of the reply, not the count of this event
	case f.run.target.family == native:
		// The text is cumulative, so an event without a new token has no new text.
		n := f.known - before
		return n, n > 0
	default:
		n := f.known - before
		return n, n > 0 || text
	}
}

// facts copies the data about the request that e contains to the record: token counts, cache details, finish reason.
func (f *flight) facts(e *event) {
	if e.prompt > 0 {
		f.rec.PromptLen = e.prompt
	}
	if e.cached >= 0 {
		f.rec.CachedTokens = e.cached
	}
	if e.dpRank >= 0 {
		f.rec.DPRank = e.dpRank
	}
	if f.run.opt.CacheReport && len(e.details) > 0 {
		f.cache = append(f.cache[:0], e.details...)
	}
	if len(e.finish) > 0 {
		f.rec.Finish = string(e.finish)
		if f.rec.Finish == "abort" {
			f.fail(bench.ServerError, "aborted: "+jsonscan.Unquote(e.message))
		}
	}
}

// keep reports whether the text of the reply is needed after the round.
func (f *flight) keep() bool {
	return f.run.opt.KeepText || f.run.opt.Retokenize != nil || f.turn+1 < len(f.recs)
}

// keepText appends the text of e to f.text without unescaping it. Concatenated JSON-escaped pieces remain valid.
func (f *flight) keepText(e *event) {
	f.text = append(f.text, e.reasoning...)
	if f.run.target.family == native && !f.more {
		f.whole(e.text)
	} else {
		f.text = append(f.text, e.text...)
	}
}

// whole stores the text t of an event. If the server streams incrementally, t is only the new text; otherwise t is all
// text of the reply so far. If t does not begin with the text of the previous event, the server streams incrementally.
// Until enough text has matched to rule out a coincidence, whole also keeps the individual pieces.
func (f *flight) whole(t []byte) {
	const sure = 64
	if len(f.text) < sure {
		f.pieces = append(f.pieces, t...)
	}
	switch {
	case bytes.HasPrefix(t, f.text):
		f.text = append(f.text, t[len(f.text):]...)
	case len(f.text) < sure:
		f.text, f.more = f.pieces, true
	default:
		f.text, f.more = append(f.text, t...), true
	}
}
