package kvtransfer

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

const version = 1

// welcome is the first message of a source.
type welcome struct {
	Version int    `json:"version"`
	Layout  Layout `json:"layout"`
	Nonce   string `json:"nonce"`
}

// bind is the sink's answer to a welcome. It contains the source's rank that the link joins, the part of the cache that
// the link carries, and a proof that the sink knows the key.
type bind struct {
	DP    int    `json:"dp"`
	Rank  int    `json:"rank"`
	Place Place  `json:"place"`
	Proof string `json:"proof"`
}

func proof(key, nonce string) string {
	m := hmac.New(sha256.New, []byte(key))
	m.Write([]byte(nonce))
	return hex.EncodeToString(m.Sum(nil))
}

// mostSaid is the maximum size of a message of the handshake, in bytes. The limit is needed because any process can
// connect and send such messages.
const mostSaid = 1 << 20

// hear reads one message of the handshake.
func hear(r io.Reader, want kind, into any) error {
	h, err := readHeader(r, make([]byte, headerSize))
	if err != nil {
		return err
	}
	if h.bytes > mostSaid {
		return fmt.Errorf("the first message has %d bytes", h.bytes)
	}
	text, err := readPayload(r, h)
	switch {
	case err != nil:
		return err
	case h.kind == kindAbort:
		return errors.New(string(text))
	case h.kind != want:
		return fmt.Errorf("a frame of kind %d instead of %d", h.kind, want)
	}
	return json.Unmarshal(text, into)
}

func say(w io.Writer, k kind, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(message(k, 0, text))
	return err
}

// greet performs the source's part of the handshake on a new connection. To accept the link, it sends a ping.
func (s *Source) greet(c net.Conn) (b bind, err error) {
	c.SetDeadline(time.Now().Add(s.opt.Handshake))
	var nonce [16]byte
	rand.Read(nonce[:]) // cannot fail
	w := welcome{Version: version, Layout: s.w.Layout, Nonce: hex.EncodeToString(nonce[:])}
	if err = say(c, kindWelcome, w); err != nil {
		return b, err
	}
	if err = hear(c, kindBind, &b); err != nil {
		return b, err
	}
	switch {
	case !hmac.Equal([]byte(b.Proof), []byte(proof(s.opt.Key, w.Nonce))):
		err = errors.New("the decode worker has a different API key")
	case b.DP < 0 || b.DP >= len(s.w.Ranks) || b.Rank < 0 || b.Rank >= len(s.w.Ranks[0]):
		err = fmt.Errorf("there is no rank %d of data-parallel rank %d", b.Rank, b.DP)
	case !s.w.Layout.Ranks[b.Rank].Layers.has(b.Place.Layers) || !s.w.Layout.Ranks[b.Rank].Heads.has(b.Place.Heads):
		err = fmt.Errorf("rank %d does not have layers %v and heads %v", b.Rank, b.Place.Layers, b.Place.Heads)
	}
	if err != nil {
		c.Write(message(kindAbort, 0, []byte(err.Error())))
		return b, err
	}
	if err = say(c, kindPing, nil); err != nil {
		return b, err
	}
	return b, c.SetDeadline(time.Time{})
}

// dial connects to a source and reads its welcome.
func (s *Sink) dial(addr string) (net.Conn, welcome, error) {
	var w welcome
	c, err := (&net.Dialer{Timeout: s.opt.Handshake}).DialContext(s.life, "tcp", addr)
	if err != nil {
		return nil, w, fmt.Errorf("the prefill worker cannot be reached: %w", err)
	}
	stop := closeWith(s.life, c)
	defer stop()
	c.SetDeadline(time.Now().Add(s.opt.Handshake))
	err = hear(c, kindWelcome, &w)
	if err == nil && w.Version != version {
		err = fmt.Errorf("it uses protocol version %d, this worker %d", w.Version, version)
	}
	if err == nil {
		err = w.Layout.check()
	}
	if err != nil {
		c.Close()
		var slow net.Error
		if errors.As(err, &slow) && slow.Timeout() {
			err = fmt.Errorf("it sent nothing for %v", s.opt.Handshake)
		}
		return nil, w, fmt.Errorf("the prefill worker at %s: %w", addr, err)
	}
	return c, w, nil
}
