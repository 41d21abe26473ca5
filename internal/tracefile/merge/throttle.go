package merge

import (
	"io"
	"time"
)

// pieceBytes is the amount of text processed between two rests (Options.Rest).
const pieceBytes = 32 << 10

// throttle divides the work of one goroutine into pieces and rests after each. If rest is nil, it does nothing.
type throttle struct {
	rest  func(worked time.Duration)
	begun time.Time
	done  int // bytes processed in the current piece
}

func startThrottle(rest func(time.Duration)) throttle {
	p := throttle{rest: rest}
	p.begin()
	return p
}

// begin starts a piece. It is called after a wait for other goroutines, so that the wait does not count as work.
func (p *throttle) begin() {
	if p.rest != nil {
		p.begun, p.done = time.Now(), 0
	}
}

// did adds n bytes of processed text to the current piece and rests if the piece is complete.
func (p *throttle) did(n int) {
	if p.rest == nil {
		return
	}
	if p.done += n; p.done >= pieceBytes {
		p.rest(time.Since(p.begun))
		p.begin()
	}
}

// resting returns a reader that reads r in pieces and calls rest after each piece.
func resting(r io.Reader, rest func(time.Duration)) io.Reader {
	if rest == nil {
		return r
	}
	return restingReader{r, rest}
}

type restingReader struct {
	r    io.Reader
	rest func(worked time.Duration)
}

func (r restingReader) Read(b []byte) (int, error) {
	p := startThrottle(r.rest)
	n, err := r.r.Read(b[:min(len(b), pieceBytes)])
	p.did(pieceBytes)
	return n, err
}

// inPieces writes b to w in pieces and calls rest after each piece.
func inPieces(w io.Writer, b []byte, rest func(time.Duration)) error {
	if rest == nil {
		_, err := w.Write(b)
		return err
	}
	for len(b) > 0 {
		p := startThrottle(rest)
		n, err := w.Write(b[:min(len(b), pieceBytes)])
		if err != nil {
			return err
		}
		b = b[n:]
		p.did(pieceBytes)
	}
	return nil
}
