package mesh

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// frameHead is the size of a frame's head in bytes. The head contains the length of the rest of the frame and the
// number of the channel, each as 4 bytes in little-endian order.
const frameHead = 8

// mostFrame is the maximum size of a frame, in bytes. The largest frames are logits of a large batch and activations of
// a prefill.
const mostFrame = 1 << 30

// coalesced is the maximum size, in bytes, of frames that are copied into one buffer and written with one call.
const coalesced = 32 << 10

// A word is a message on controlChannel. It consists of one byte, which gives its kind, and its arguments.
const (
	controlChannel uint32 = 0

	wordPing byte = iota // t0
	wordPong             // t0, t1, t2
	wordLost             // node, text
	wordBye              // reason
	wordBell             // no arguments; the shared memory has data
)

// link is one connection to a node.
type link struct {
	m      *Mesh
	peer   int
	lane   Lane
	c      net.Conn
	mu     sync.Mutex // held while writing
	buf    []byte
	heard  atomic.Int64 // time at which bytes last arrived, ns since start
	busy   atomic.Bool  // a frame is being handled, so nothing is being read
	close  sync.Once
	closed chan struct{}
	pongs  chan []byte // answers to pings, to be sent
	clock  estimate
	shm    *shared // shared memory of a fast lane to a node on this host; nil: none
}

var started = time.Now()

func now() int64 { return int64(time.Since(started)) }

func (m *Mesh) newLink(peer int, lane Lane, c net.Conn) *link {
	l := &link{m: m, peer: peer, lane: lane, c: c, closed: make(chan struct{}), pongs: make(chan []byte, 4)}
	l.heard.Store(now())
	return l
}

// start starts reading and monitoring the connection.
func (l *link) start() {
	l.heard.Store(now())
	l.m.wg.Go(func() {
		err := l.read(bufio.NewReaderSize(hearing{l}, 64<<10))
		l.shut()
		l.m.broken(l, err)
	})
	if s := l.shm; s != nil {
		l.m.wg.Go(func() {
			err := l.read(l)
			l.shut()
			s.unmap()
			l.m.broken(l, err)
		})
	}
	l.m.wg.Go(l.watch)
	l.m.wg.Go(l.talk)
}

func (l *link) shut() {
	l.close.Do(func() {
		close(l.closed)
		l.c.Close()
	})
}

var errGone = errors.New("the connection is closed")

var errRing = errors.New("the shared memory holds invalid data")

// send sends one frame. It uses shared memory if the link has it.
func (l *link) send(channel uint32, parts ...[]byte) error {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	if n > mostFrame {
		return fmt.Errorf("a frame of %d bytes to node %d, at most %d are allowed", n, l.peer, mostFrame)
	}
	if l.shm == nil || channel == controlChannel {
		return l.write(channel, n, parts)
	}
	s := l.shm
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-l.closed:
		return l.gone(errGone)
	default:
	}
	s.buf = binary.LittleEndian.AppendUint32(s.buf[:0], uint32(n))
	s.buf = binary.LittleEndian.AppendUint32(s.buf, channel)
	err := l.put(s.buf)
	for _, p := range parts {
		if err == nil {
			err = l.put(p)
		}
	}
	if err == nil {
		err = l.wake()
	}
	if err != nil {
		l.shut()
		return l.gone(err)
	}
	return nil
}

// gone returns the error for a sender whose connection has ended.
func (l *link) gone(err error) error {
	if lost := l.m.Err(); lost != nil {
		return lost
	}
	return &LostError{l.peer, l.m.opt.Names[l.peer], l.m.hosts[l.peer], causeText(err)}
}

func (l *link) sendWord(word []byte) error { return l.write(controlChannel, len(word), [][]byte{word}) }

// write writes one frame of n bytes to the connection.
func (l *link) write(channel uint32, n int, parts [][]byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = binary.LittleEndian.AppendUint32(l.buf[:0], uint32(n))
	l.buf = binary.LittleEndian.AppendUint32(l.buf, channel)
	var err error
	if n <= coalesced {
		for _, p := range parts {
			l.buf = append(l.buf, p...)
		}
		_, err = l.c.Write(l.buf)
	} else {
		all := append(net.Buffers{l.buf}, parts...)
		_, err = all.WriteTo(l.c)
	}
	if err != nil {
		// Close the connection. As a result, the reader notifies the mesh, and the sender gets the cause as an error.
		l.shut()
		return l.gone(err)
	}
	return nil
}

// farewell sends a goodbye and closes the link.
func (l *link) farewell(word []byte) {
	_ = l.c.SetWriteDeadline(time.Now().Add(time.Second))
	_ = l.send(controlChannel, word)
	l.shut()
}

// hearing records when bytes arrive.
type hearing struct{ l *link }

func (h hearing) Read(p []byte) (int, error) {
	n, err := h.l.c.Read(p)
	if n > 0 {
		h.l.heard.Store(now())
	}
	return n, err
}

// read handles frames until the connection ends.
func (l *link) read(r io.Reader) error {
	var head [frameHead]byte
	for {
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return err
		}
		n, id := binary.LittleEndian.Uint32(head[:]), binary.LittleEndian.Uint32(head[4:])
		if n > mostFrame {
			return fmt.Errorf("sent a frame of %d bytes: its stream is corrupt", n)
		}
		frame := l.m.frames.get(int(n))
		if _, err := io.ReadFull(r, frame); err != nil {
			return err
		}
		l.busy.Store(true)
		if id == controlChannel {
			l.word(frame)
			l.m.frames.put(frame)
		} else {
			l.m.channel(id, l.lane).take(l.peer, frame)
		}
		l.heard.Store(now())
		l.busy.Store(false)
	}
}

func (l *link) word(frame []byte) {
	if len(frame) == 0 {
		return
	}
	rest := frame[1:]
	switch frame[0] {
	case wordPing:
		if len(rest) == 8 {
			select { // a reader must not write, because two writing readers could wait for each other
			case l.pongs <- binary.LittleEndian.AppendUint64(append([]byte{wordPong}, rest...), uint64(l.m.opt.Now())):
			default:
			}
		}
	case wordPong:
		if len(rest) == 24 {
			t := func(i int) int64 { return int64(binary.LittleEndian.Uint64(rest[8*i:])) }
			l.clock.add(t(0), t(1), t(2), l.m.opt.Now())
		}
	case wordLost:
		if len(rest) >= 2 {
			l.m.lostBy(int(binary.LittleEndian.Uint16(rest)), string(rest[2:]))
		}
	case wordBell:
		if l.shm != nil {
			select {
			case l.shm.bell <- struct{}{}:
			default:
			}
		}
	case wordBye:
		l.m.bye(l.peer, string(rest))
	}
}

// beats is the number of pings per Options.Silence.
const beats = 5

// talk sends pings and answers the peer's pings.
func (l *link) talk() {
	tick := time.NewTicker(l.m.opt.Silence / beats)
	defer tick.Stop()
	stamp := func(word []byte) []byte { return binary.LittleEndian.AppendUint64(word, uint64(l.m.opt.Now())) }
	for {
		var err error
		select {
		case <-l.closed:
			return
		case word := <-l.pongs:
			err = l.send(controlChannel, stamp(word))
		case <-tick.C:
			err = l.send(controlChannel, stamp([]byte{wordPing}))
		}
		if err != nil {
			return
		}
	}
}

// watch ends the connection if nothing arrives from the peer for Options.Silence.
func (l *link) watch() {
	silence := l.m.opt.Silence
	tick := time.NewTicker(silence / beats)
	defer tick.Stop()
	for last := now(); ; {
		select {
		case <-l.closed:
			return
		case <-tick.C:
		}
		at := now()
		if at-last > int64(silence)/2 { // this process itself was suspended
			l.heard.Store(at)
		}
		last = at
		if at-l.heard.Load() > int64(silence) && !l.busy.Load() {
			l.m.lose(l.peer, fmt.Sprintf("no sign of life for %v", silence))
			l.shut()
			return
		}
	}
}
