package chromejson

import "io"

const (
	blockSize = 256 << 10
	// headroom before each block takes the unfinished event of the block
	// before it, so that nearly all text is scanned where it was inflated.
	headroom = 32 << 10
	// maxElement bounds one event or one metadata value: beyond it the text
	// is taken for broken rather than for a very large element.
	maxElement = 32 << 20
)

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

func newReadAhead(r io.Reader) *readAhead {
	const blocks = 3
	a := &readAhead{
		full: make(chan block, blocks), free: make(chan []byte, blocks),
		done: make(chan struct{}), quit: make(chan struct{}),
	}
	for range blocks {
		a.free <- nil // allocated on first use: small files need one
	}
	go a.run(r)
	return a
}

func (a *readAhead) run(r io.Reader) {
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
			buf = make([]byte, headroom+blockSize)
		}
		n, err := fill(r, buf[headroom:])
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
