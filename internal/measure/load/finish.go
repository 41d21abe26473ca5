package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/base/jsonscan"
)

// Error texts of requests that did not end or were not sent.
const (
	interrupted = "the run was interrupted"
	neverSent   = "never sent: " + interrupted
)

// errKilled is the error of a read that was ended by the guard.
var errKilled = errors.New("ended by the guard")

// land records the outcome of a round that has ended. The argument err is the reason why the round ended; nil: the
// reply was complete.
func (f *flight) land(err error) {
	r := f.rec
	f.unpacked()
	if time.Duration(r.Done-f.began) > f.run.opt.Timeout { // the reply ended before the guard's next tick
		f.kill.CompareAndSwap(alive, killedTotal)
	}
	switch f.kill.Load() {
	case killedUser:
		f.fail(f.run.cut(r.Sent != bench.Never))
	case killedTotal:
		f.fail(bench.Timeout, fmt.Sprintf("not finished within %v", f.run.opt.Timeout))
	case killedIdle:
		switch {
		case r.Sent == bench.Never:
			f.fail(bench.Timeout, "the server does not accept the request")
		case r.Headers == bench.Never:
			f.fail(bench.Timeout, fmt.Sprintf("no reply within %v", f.run.opt.HeaderTimeout))
		default:
			f.fail(bench.Timeout, fmt.Sprintf("no data for %v in the middle of the reply", f.run.opt.EventTimeout))
		}
	}
	if r.Failure == "" {
		f.judge(err)
	}
	f.unseen()
	f.lengths()
	if f.keep() {
		r.Text = jsonscan.Unquote(f.text)
		f.split()
	}
	if f.cache != nil {
		// A malformed object of cache details does not make the request fail.
		_ = json.Unmarshal(f.cache, &r.CachedDetails)
	}
}

// judge determines whether a round that was not ended by the guard has failed.
func (f *flight) judge(err error) {
	r, re := f.rec, &f.reply
	if r.Status == 0 {
		why := "the server closed the connection without a reply"
		if err != nil && !errors.Is(err, io.EOF) {
			why = "no reply: " + err.Error()
		}
		f.fail(bench.Reset, why)
		return
	}
	if r.Status != 200 {
		why := wire.Redirected(r.Status, f.run.opt.BaseURL, f.run.target.Path, re.moved)
		if why == "" {
			why = fmt.Sprintf("%d %s: %s", r.Status, re.reason, wire.Reason(f.body))
		}
		f.fail(bench.Failure(fmt.Sprintf("http_%d", r.Status)), why)
		return
	}
	whole := re.state == replyDone || re.state == inClose && errors.Is(err, io.EOF)
	if !re.sse {
		if !whole {
			f.fail(bench.Cut, "the connection ended in the middle of the reply")
			return
		}
		f.single()
		return
	}
	done, half := f.find.end()
	f.done = f.done || done
	switch enough := f.known >= 0 && f.known >= r.AskedLen; {
	case half && !f.done:
		f.fail(bench.Cut, "the stream ended inside an event")
	case !whole && !f.done:
		f.fail(bench.Cut, "the connection ended in the middle of the stream")
	case len(r.Chunks) == 0 && f.known <= 0:
		f.fail(bench.Empty, "the stream had no token")
	case r.Finish == "" && !enough && !f.run.target.loose:
		f.fail(bench.Cut, fmt.Sprintf("the stream ended without a finish reason after %d events", len(r.Chunks)))
	}
}

// single processes a reply that is not a stream. The reply counts as one chunk, which was received at the time of the
// reply's last byte.
func (f *flight) single() {
	r, e := f.rec, &f.ev
	if err := e.parse(f.run.target.family, f.body); err != nil {
		f.fail(bench.Malformed, "the reply is neither an event stream nor a JSON object: "+string(cutShort(f.body, 120)))
		return
	}
	if e.fault {
		f.fail(bench.ServerError, jsonscan.Unquote(e.message))
		return
	}
	if data := map[family]string{embeddings: "embedding", images: "image"}[f.run.target.family]; data != "" {
		f.facts(e)
		if !e.data {
			f.fail(bench.Empty, "the reply has no "+data)
		}
		return
	}
	tokens, worth := f.count(e)
	f.facts(e)
	if !worth {
		f.fail(bench.Empty, "the reply has no token")
		return
	}
	visible := len(e.text) > 0 || e.ids || e.tool
	text := visible || len(e.reasoning) > 0
	r.Held = true
	r.Chunks = append(r.Chunks[:0], bench.Chunk{At: r.Done, Tokens: tokens, Text: text})
	r.FirstAny = r.Done
	if text {
		r.First, r.Last = r.Done, r.Done
		f.run.opt.Live.TTFT.Add(r.Done - r.Sent)
	}
	if visible {
		r.Visible = r.Done
	}
	f.run.opt.Live.Chunks.Add(1)
	f.run.opt.Live.Tokens.Add(int64(max(tokens, 0)))
	if f.keep() {
		f.keepText(e)
	}
}

// unseen sets the times of the first and the last token of a reply whose tokens have no text. A model may generate only
// special tokens, or only the first bytes of a character.
func (f *flight) unseen() {
	r := f.rec
	if r.Failure != "" || r.First != bench.Never || f.known <= 0 {
		return
	}
	r.First, r.Last = r.Done, r.Done // used if no event reports tokens: all tokens had arrived by the end of the reply
	if i := slices.IndexFunc(r.Chunks, func(c bench.Chunk) bool { return c.Tokens > 0 }); i >= 0 {
		r.First, r.Last = r.Chunks[i].At, r.Chunks[len(r.Chunks)-1].At
	}
}

// lengths sets the output length if the length can be determined without a tokenizer.
func (f *flight) lengths() {
	r := f.rec
	switch {
	case f.run.target.family == embeddings:
		r.OutputLen, r.OutputFrom = 0, bench.FromServer
	case f.known >= 0:
		r.OutputLen, r.OutputFrom = f.known, bench.FromServer
	default:
		r.OutputFrom = bench.FromChunks
		for _, c := range r.Chunks {
			if c.Text {
				r.OutputLen++
			}
		}
	}
}

// oneLine converts any text to one printable line.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\ufffd")), " ")
	if r := []rune(s); len(r) > 400 {
		s = string(r[:400]) + "…"
	}
	return s
}
