package chromejson

import "io"

// limits are a Scanner's buffer sizes and limits, in bytes. Tests use tiny ones, so that every event crosses a boundary
// between blocks.
type limits struct {
	block int // size of one read
	// headroom is the space before each block for the unfinished event of the previous block. So nearly all text is
	// scanned in the buffer into which it was decompressed, without a copy.
	headroom int
	element  int // as MaxElement
	// guess is the maximum amount of text that the repair of one element may examine.
	guess int
}

// MaxElement is the maximum size of one event or metadata value in bytes. Text with a larger event or value counts as
// broken.
const MaxElement = 32 << 20

var defaultLimits = limits{block: 256 << 10, headroom: 32 << 10, element: MaxElement, guess: 1 << 20}

// block is text at buf[headroom:headroom+n].
type block struct {
	buf []byte
	n   int
	err error // the reason why the stream ended after these bytes
}

// readAhead decompresses the next block in a separate goroutine while the scanner works on the previous block. Blocks
// circulate: full blocks go to the scanner, and used blocks come back.
type readAhead struct {
	full chan block
	free chan []byte
	done chan struct{}
	quit chan struct{} // closed once the goroutine has ended
}

func newReadAhead(r io.Reader, lim limits) *readAhead {
	const blocks = 3
	a := &readAhead{
		full: make(chan block, blocks), free: make(chan []byte, blocks),
		done: make(chan struct{}), quit: make(chan struct{}),
	}
	for range blocks {
		a.free <- nil // allocated on first use, since small files need only one
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

// fill reads until p is full or the stream ends. Unlike io.ReadFull, fill returns the error of r unchanged.
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

// close stops the goroutine and waits for it, so that the underlying reader may be closed.
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
	readErr  error // error that ended the text early
	gathered []byte
	own      bool // whether buf is the buffer gathered rather than a block of readAhead
}

// text returns the unread text of the buffer.
func (w *window) text() []byte { return w.buf[w.pos:w.end] }

// offset returns the offset of the unread text in the file.
func (w *window) offset() int64 { return w.base + int64(w.pos) }

// total returns the length of the text seen so far.
func (w *window) total() int64 { return w.base + int64(w.end) }

// more appends the next text to the unread text. It returns false at the end of the text.
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
		// An element larger than the headroom goes to a separate buffer. The buffer doubles each time, because each
		// attempt scans the element from its start.
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
		return // the goroutine is still before the first block
	}
	select {
	case w.ahead.free <- buf:
	default:
	}
}
