package chromejson

import "io"

// limits are the sizes a Scanner works with, in bytes. Tests make them tiny,
// so that every event lies across an edge.
type limits struct {
	block int // one read of the text
	// headroom before each block takes the unfinished event of the block
	// before it, so that nearly all text is scanned where it was inflated.
	headroom int
	// element bounds one event or one metadata value: beyond it the text is
	// taken for broken rather than for a very large element.
	element int
	// guess bounds the text that mending one element may look at.
	guess int
}

var defaultLimits = limits{block: 256 << 10, headroom: 32 << 10, element: 32 << 20, guess: 1 << 20}

// block is text at buf[headroom:headroom+n].
type block struct {
	buf []byte
	n   int
	err error // what ended the stream after these bytes
}

// readAhead inflates in a goroutine of its own while the scanner works on the
// block before. Blocks go round: full ones down, used ones back.
type readAhead struct {
	full chan block
	free chan []byte
	done chan struct{}
	quit chan struct{} // closed when the goroutine has ended
}

func newReadAhead(r io.Reader, lim limits) *readAhead {
	const blocks = 3
	a := &readAhead{
		full: make(chan block, blocks), free: make(chan []byte, blocks),
		done: make(chan struct{}), quit: make(chan struct{}),
	}
	for range blocks {
		a.free <- nil // allocated on first use: small files need one
	}
	go a.run(r, lim)
	return a
}

func (a *readAhead) run(r io.Reader, lim limits) {
	defer close(a.quit)
	defer close(a.full)
	for {
		var buf []byte
		select {
		case buf = <-a.free:
		case <-a.done:
			return
		}
		if buf == nil {
			buf = make([]byte, lim.headroom+lim.block)
		}
		n, err := fill(r, buf[lim.headroom:])
		select {
		case a.full <- block{buf: buf, n: n, err: err}:
		case <-a.done:
			return
		}
		if err != nil {
			return
		}
	}
}

// fill reads until p is full or the stream ends; unlike io.ReadFull it keeps
// the stream's own error.
func fill(r io.Reader, p []byte) (n int, err error) {
	for empty := 0; n < len(p); {
		m, err := r.Read(p[n:])
		n += m
		if err != nil {
			return n, err
		}
		if m == 0 {
			if empty++; empty > 100 {
				return n, io.ErrNoProgress
			}
			continue
		}
		empty = 0
	}
	return n, nil
}

// close ends the goroutine and waits for it, so that the reader below may be closed.
func (a *readAhead) close() {
	close(a.done)
	<-a.quit
}

// window is the part of the text that the scanner sees.
type window struct {
	ahead    *readAhead
	lim      limits
	buf      []byte
	pos, end int   // unread text is buf[pos:end]
	base     int64 // offset of buf[0] in the text
	readErr  error // what ended the text, when it was not its end
	gathered []byte
	own      bool // buf is gathered, not one of readAhead's
}

// text is what is unread of the buffer.
func (w *window) text() []byte { return w.buf[w.pos:w.end] }

// offset is where unread text begins in the file.
func (w *window) offset() int64 { return w.base + int64(w.pos) }

// total counts the text seen so far.
func (w *window) total() int64 { return w.base + int64(w.end) }

// more reads on, keeping all unread text. It reports false at the end.
func (w *window) more() bool {
	blk, ok := w.next()
	if !ok {
		return false
	}
	left, at := w.text(), w.offset()
	if len(left) <= w.lim.headroom {
		pos := w.lim.headroom - len(left)
		copy(blk.buf[pos:], left)
		if !w.own {
			w.recycle(w.buf)
		}
		w.buf, w.own = blk.buf, false
		w.pos, w.end = pos, w.lim.headroom+blk.n
	} else {
		// An element larger than the headroom. It is gathered in a buffer of
		// its own that doubles, for each time it is looked at from its start.
		want := 2 * len(left)
		w.gathered = append(w.gathered[:0], left...)
		if !w.own {
			w.recycle(w.buf)
		}
		for ok {
			w.gathered = append(w.gathered, blk.buf[w.lim.headroom:w.lim.headroom+blk.n]...)
			w.recycle(blk.buf)
			if len(w.gathered) >= want {
				break
			}
			blk, ok = w.next()
		}
		w.buf, w.own = w.gathered, true
		w.pos, w.end = 0, len(w.gathered)
	}
	w.base = at - int64(w.pos)
	return true
}

func (w *window) next() (block, bool) {
	blk, ok := <-w.ahead.full
	if ok && blk.err != nil && blk.err != io.EOF {
		w.readErr = blk.err
	}
	return blk, ok
}

func (w *window) recycle(buf []byte) {
	if buf == nil {
		return // before the first block
	}
	select {
	case w.ahead.free <- buf:
	default:
	}
}
