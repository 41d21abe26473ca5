package load

import (
	"bufio"
	"compress/gzip"
	"io"
)

// unzip decompresses a body that arrives in pieces. Servers send compressed streams although the client does not ask
// for them if a proxy in between compresses all replies.
type unzip struct {
	in   chan []byte // compressed pieces
	out  chan []byte // decompressed pieces; nil: more input is needed
	rest []byte
	done bool  // out is closed
	err  error // valid if done; nil: the compressed data are complete
}

func newUnzip() *unzip {
	u := &unzip{in: make(chan []byte), out: make(chan []byte)}
	go func() {
		defer close(u.out)
		in := bufio.NewReader(u)
		z, err := gzip.NewReader(in)
		for err == nil {
			z.Multistream(false)
			for err == nil {
				piece := make([]byte, 16<<10)
				var n int
				if n, err = z.Read(piece); n > 0 {
					u.out <- piece[:n]
				}
			}
			// Another member may follow; whatever else follows is ignored.
			if next, _ := in.Peek(2); err == io.EOF && string(next) == "\x1f\x8b" {
				err = z.Reset(in)
			}
		}
		if err != io.EOF {
			u.err = err
		}
	}()
	<-u.out // the first request for input
	return u
}

// Read passes the next input to the decompressor.
func (u *unzip) Read(p []byte) (int, error) {
	if len(u.rest) == 0 {
		u.out <- nil
		b, ok := <-u.in
		if !ok {
			return 0, io.ErrUnexpectedEOF
		}
		u.rest = b
	}
	n := copy(p, u.rest)
	u.rest = u.rest[n:]
	return n, nil
}

// feed decompresses b and calls each for the pieces of the result. It ignores all bytes after the compressed data.
func (u *unzip) feed(b []byte, each func([]byte)) error {
	if u.done {
		return u.err
	}
	u.in <- b
	for piece := range u.out {
		if piece == nil {
			return nil
		}
		each(piece)
	}
	u.done = true
	return u.err
}

// close ends the decompression. The body may be incomplete.
func (u *unzip) close() {
	close(u.in)
	for range u.out {
	}
}
