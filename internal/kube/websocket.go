package kube

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Operation codes of frames (RFC 6455, section 5.2).
const (
	opMore   = 0
	opText   = 1
	opBinary = 2
	opClose  = 8
	opPing   = 9
	opPong   = 10
)

const (
	mostMessage = 16 << 20         // bytes; kubelets send at most 32 KiB
	pingEvery   = 15 * time.Second // keeps load balancers from closing a connection on which a slow server answers nothing
	mostSilence = 4                // unanswered pings after which the peer counts as dead
)

// accepts is the text that RFC 6455 appends to a key.
const accepts = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

// socket is the client's side of a websocket.
type socket struct {
	conn    io.ReadWriteCloser
	r       *bufio.Reader
	write   sync.Mutex
	unheard atomic.Int32 // pings since the last frame
	dead    atomic.Bool
	once    sync.Once
	done    chan struct{}
}

// open opens a websocket to a path, with one of the subprotocols. Only the handshake ends with ctx.
func (c *Client) open(ctx context.Context, path string, query url.Values, protocols ...string) (*socket, error) {
	var nonce [16]byte
	rand.Read(nonce[:]) // never returns an error
	key := base64.StdEncoding.EncodeToString(nonce[:])
	res, err := c.do(ctx, path, query, http.Header{
		"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {key},
		"Sec-Websocket-Protocol": {strings.Join(protocols, ", ")},
	}, http.StatusSwitchingProtocols)
	if err != nil {
		return nil, err
	}
	conn, ok := res.Body.(io.ReadWriteCloser)
	sum := sha1.Sum([]byte(key + accepts))
	if !ok || res.Header.Get("Sec-Websocket-Accept") != base64.StdEncoding.EncodeToString(sum[:]) {
		res.Body.Close()
		return nil, errors.New("the API server's answer is no websocket handshake")
	}
	if protocol := res.Header.Get("Sec-Websocket-Protocol"); !slices.Contains(protocols, protocol) {
		res.Body.Close()
		return nil, fmt.Errorf("the API server offers the websocket protocol %q, not %s", protocol, strings.Join(protocols, " or "))
	}
	s := newSocket(conn)
	go s.keepAlive()
	return s, nil
}

func newSocket(conn io.ReadWriteCloser) *socket {
	return &socket{conn: conn, r: bufio.NewReaderSize(conn, 64<<10), done: make(chan struct{})}
}

// keepAlive sends pings until the socket is closed. It closes the socket if the peer does not answer.
func (s *socket) keepAlive() {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.done:
			return
		case <-tick.C:
		}
		if s.unheard.Add(1) > mostSilence {
			s.dead.Store(true)
			s.Close()
			return
		}
		_ = s.send(opPing, nil, nil) // a reader notices that the connection is closed
	}
}

// Close closes the connection.
func (s *socket) Close() error {
	var err error
	s.once.Do(func() {
		close(s.done)
		err = s.conn.Close()
	})
	return err
}

// send sends a frame whose payload consists of two parts.
func (s *socket) send(op byte, head, body []byte) error {
	n := len(head) + len(body)
	frame := make([]byte, 0, n+14)
	frame = append(frame, 0x80|op)
	switch {
	case n < 126:
		frame = append(frame, 0x80|byte(n))
	case n < 1<<16:
		frame = binary.BigEndian.AppendUint16(append(frame, 0x80|126), uint16(n))
	default:
		frame = binary.BigEndian.AppendUint64(append(frame, 0x80|127), uint64(n))
	}
	var mask [4]byte
	rand.Read(mask[:])
	frame = append(frame, mask[:]...)
	at := len(frame)
	frame = append(append(frame, head...), body...)
	for i := range frame[at:] {
		frame[at+i] ^= mask[i&3]
	}
	s.write.Lock()
	defer s.write.Unlock()
	_, err := s.conn.Write(frame)
	return err
}

// next returns the next message, appended to buf[:0]. It returns io.EOF after an orderly end, and answers pings.
func (s *socket) next(buf []byte) ([]byte, error) {
	message := buf[:0]
	for begun := false; ; {
		last, op, n, err := s.header()
		if err != nil {
			return nil, s.broken(err)
		}
		control := op >= opClose
		switch {
		case control && (n > 125 || !last), op > opBinary && !control, op > opPong:
			return nil, errors.New("websocket: not a valid frame")
		case !control && begun != (op == opMore):
			return nil, errors.New("websocket: parts of messages are mixed")
		case n > mostMessage || !control && len(message)+int(n) > mostMessage:
			return nil, fmt.Errorf("websocket: a message exceeds %d bytes", mostMessage)
		}
		if control {
			var payload [125]byte
			if _, err := io.ReadFull(s.r, payload[:n]); err != nil {
				return nil, s.broken(err)
			}
			if err := s.control(op, payload[:n]); err != nil {
				return nil, err
			}
			continue
		}
		at := len(message)
		for left := int(n); left > 0; { // memory grows with the data that arrives
			part := min(left, 64<<10)
			message = append(message, make([]byte, part)...)
			if _, err := io.ReadFull(s.r, message[at:]); err != nil {
				return nil, s.broken(err)
			}
			at, left = len(message), left-part
		}
		if begun = true; last {
			return message, nil
		}
	}
}

// control handles a ping, a pong or a close.
func (s *socket) control(op byte, payload []byte) error {
	switch op {
	case opPing:
		return s.send(opPong, payload, nil)
	case opClose:
		_ = s.send(opClose, payload[:min(len(payload), 2)], nil) // the peer may be gone
		if len(payload) < 2 {
			return io.EOF
		}
		if code := binary.BigEndian.Uint16(payload); code != 1000 && code != 1001 {
			return fmt.Errorf("websocket: closed with code %d %s", code, payload[2:])
		}
		return io.EOF
	}
	return nil
}

// broken returns the cause for which the connection ended without a close.
func (s *socket) broken(err error) error {
	if s.dead.Load() {
		return fmt.Errorf("no answer for %v", pingEvery*mostSilence)
	}
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// header reads the header of a frame, and the mask, which servers must not use.
func (s *socket) header() (last bool, op byte, n uint64, err error) {
	var b [8]byte
	if _, err = io.ReadFull(s.r, b[:2]); err != nil {
		return
	}
	s.unheard.Store(0)
	if b[0]&0x70 != 0 || b[1]&0x80 != 0 {
		err = errors.New("websocket: the server's frame is masked or has an extension")
		return
	}
	last, op, n = b[0]&0x80 != 0, b[0]&15, uint64(b[1])
	switch n {
	case 126:
		_, err = io.ReadFull(s.r, b[:2])
		n = uint64(binary.BigEndian.Uint16(b[:2]))
	case 127:
		_, err = io.ReadFull(s.r, b[:8])
		n = binary.BigEndian.Uint64(b[:8])
	}
	return
}
