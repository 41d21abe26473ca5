package load

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// reply parses one HTTP/1.1 response incrementally.
type reply struct {
	state  replyState
	head   []byte // start of a head that arrives in pieces
	status int
	reason string
	sse    bool   // text/event-stream
	gzip   bool   // the body is compressed
	moved  string // Location
	keep   bool   // the connection can be reused
	left   int64
	digits int
	quiet  int // length of the current line of the trailer
}

type replyState uint8

const (
	inHead replyState = iota
	inLength
	inClose
	inChunkSize
	inChunkExt
	inChunk
	inChunkEnd
	inTrailer
	replyDone
)

const maxHead = 64 << 10

var errNotHTTP = errors.New("the reply is not HTTP/1.1")

// next consumes part of b. It returns a piece of the reply's body, which may be empty, and the rest of b. The caller
// repeats next until the rest is empty or the reply is done.
func (r *reply) next(b []byte) (body, rest []byte, err error) {
	switch r.state {
	case inHead:
		return r.header(b)
	case inLength, inChunk:
		n := min(r.left, int64(len(b)))
		r.left -= n
		if r.left == 0 {
			r.state = replyDone
			if r.digits >= 0 {
				r.state = inChunkEnd
			}
		}
		return b[:n:n], b[n:], nil
	case inClose:
		return b, nil, nil
	case inChunkSize, inChunkExt:
		return nil, r.chunkSize(b), r.chunkError()
	case inChunkEnd:
		i := 0
		if b[0] == '\r' {
			i++
		}
		if i < len(b) {
			if b[i] != '\n' {
				return nil, nil, errors.New("a body chunk does not end at its announced size")
			}
			i++
			r.state, r.left, r.digits = inChunkSize, 0, 0
		}
		return nil, b[i:], nil
	case inTrailer:
		for i, c := range b {
			switch c {
			case '\r':
			case '\n':
				if r.quiet == 0 {
					r.state = replyDone
					return nil, b[i+1:], nil
				}
				r.quiet = 0
			default:
				r.quiet++
			}
		}
		return nil, nil, nil
	}
	return nil, b, nil
}

// chunkSize parses the hexadecimal size of a chunk. It sets r.digits to -1 if the size is malformed.
func (r *reply) chunkSize(b []byte) []byte {
	for i, c := range b {
		switch {
		case c == '\n':
			if r.digits == 0 {
				r.digits = -1
				return nil
			}
			r.state = inChunk
			if r.left == 0 {
				r.state, r.quiet = inTrailer, 0
			}
			return b[i+1:]
		case r.state == inChunkExt || c == '\r':
		case c == ';' || c == ' ':
			r.state = inChunkExt
		default:
			d := hexDigit(c)
			if d < 0 || r.digits >= 15 {
				r.digits = -1
				return nil
			}
			r.left = r.left<<4 | int64(d)
			r.digits++
		}
	}
	return nil
}

func (r *reply) chunkError() error {
	if r.digits < 0 {
		return errors.New("the size of a body chunk is not a hexadecimal number")
	}
	return nil
}

func hexDigit(c byte) rune {
	switch {
	case c-'0' <= 9:
		return rune(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return -1
}

// header parses the status line and the header fields.
func (r *reply) header(b []byte) (body, rest []byte, err error) {
	had := len(r.head)
	r.head = append(r.head, b...)
	if n := min(len(r.head), len("HTTP/1.")); string(r.head[:n]) != "HTTP/1."[:n] {
		return nil, nil, fmt.Errorf("%w: it begins %q", errNotHTTP, cutShort(r.head, 40))
	}
	end, size := bytes.Index(r.head, []byte("\r\n\r\n")), 4
	if lf := bytes.Index(r.head, []byte("\n\n")); lf >= 0 && (end < 0 || lf < end) {
		end, size = lf, 2
	}
	if end < 0 {
		if len(r.head) > maxHead {
			return nil, nil, fmt.Errorf("%w: its header is longer than %d bytes", errNotHTTP, maxHead)
		}
		return nil, nil, nil
	}
	rest = b[end+size-had:]
	head := r.head[:end]
	r.head = nil
	line, fields, _ := bytes.Cut(head, []byte{'\n'})
	line = bytes.TrimSuffix(line, []byte{'\r'})
	version, status, _ := bytes.Cut(line, []byte{' '})
	code, reason, _ := bytes.Cut(status, []byte{' '})
	if r.status, err = strconv.Atoi(string(code)); err != nil || r.status < 100 || r.status > 999 {
		return nil, nil, fmt.Errorf("%w: its first line is %q", errNotHTTP, cutShort(line, 80))
	}
	if r.status < 200 {
		r.status = 0
		return nil, rest, nil // after 100 Continue, the final reply follows
	}
	r.reason = string(reason)
	r.keep = string(version) != "HTTP/1.0"
	return nil, rest, r.fields(fields)
}

func (r *reply) fields(fields []byte) error {
	r.state, r.digits = inClose, -1
	chunked := false
	for len(fields) > 0 {
		var line []byte
		line, fields, _ = bytes.Cut(fields, []byte{'\n'})
		name, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			n, err := strconv.ParseInt(string(value), 10, 63)
			if err != nil || n < 0 {
				return fmt.Errorf("%w: Content-Length is %q", errNotHTTP, cutShort(value, 40))
			}
			r.state, r.left = inLength, n
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			if chunked = bytes.EqualFold(value, []byte("chunked")); !chunked {
				return fmt.Errorf("%w that was asked for: Transfer-Encoding is %q", errNotHTTP, cutShort(value, 40))
			}
		case bytes.EqualFold(name, []byte("Location")):
			r.moved = string(value)
		case bytes.EqualFold(name, []byte("Content-Encoding")):
			r.gzip = bytes.EqualFold(value, []byte("gzip"))
		case bytes.EqualFold(name, []byte("Connection")):
			r.keep = r.keep && !bytes.EqualFold(value, []byte("close"))
		case bytes.EqualFold(name, []byte("Content-Type")):
			r.sse = len(value) >= 17 && bytes.EqualFold(value[:17], []byte("text/event-stream"))
		}
	}
	switch {
	case chunked:
		r.state, r.left, r.digits = inChunkSize, 0, 0
	case r.status == 204 || r.status == 304 || r.state == inLength && r.left == 0:
		r.state = replyDone
	case r.state == inClose:
		r.keep = false
	}
	return nil
}

// cutShort returns at most n bytes, for a message.
func cutShort(b []byte, n int) []byte {
	if len(b) > n {
		return b[:n]
	}
	return b
}
