package kvtransfer

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"sync"
)

// sourceLink is a link of the source.
type sourceLink struct {
	*link
	s     *Source
	bind  bind
	mu    sync.Mutex
	rooms map[uint64]bool // rooms that use this link
}

func (s *Source) serve(c net.Conn) {
	defer func() {
		c.Close()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
	b, err := s.greet(c)
	if errors.Is(err, io.EOF) {
		return // the peer connected only to read the welcome
	}
	if err != nil {
		s.logs.Printf(s.opt.Log, "KV transfer: refused %s: %v", c.RemoteAddr(), err)
		return
	}
	l := &sourceLink{link: newLink(c, &s.opt), s: s, bind: b, rooms: map[uint64]bool{}}
	var writer sync.WaitGroup
	writer.Go(func() { l.write(l.blocks) })
	l.read(l.frame)
	writer.Wait()
	l.mu.Lock()
	rooms := l.rooms
	l.rooms = nil
	l.mu.Unlock()
	if len(rooms) > 0 {
		s.logs.Printf(s.opt.Log, "KV transfer: %v; %d requests ended", l.why(), len(rooms))
	}
	for room := range rooms {
		s.giveUp(roomOf{b.DP, room}, l, fmt.Errorf("KV transfer failed: %w", l.why()))
	}
}

// join and leave maintain the set of rooms that use the link and therefore end with it.
func (l *sourceLink) join(room uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rooms == nil {
		return false
	}
	l.rooms[room] = true
	return true
}

func (l *sourceLink) leave(room uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.rooms, room)
}

// open is a sink's announcement of a room.
type open struct {
	Links  int `json:"links"`
	Link   int `json:"link"`
	Blocks int `json:"blocks"`
}

// frame handles one frame of the sink.
func (l *sourceLink) frame(h header) error {
	text, err := readPayload(l, h)
	if err != nil {
		return err
	}
	key := roomOf{l.bind.DP, h.room}
	switch h.kind {
	case kindPing:
	case kindOpen:
		var o open
		if err := json.Unmarshal(text, &o); err != nil {
			return err
		}
		if o.Links < 1 || o.Links > most || o.Link < 0 || o.Link >= o.Links || o.Blocks < 1 {
			return fmt.Errorf("room %d: link %d of %d, %d blocks", h.room, o.Link, o.Links, o.Blocks)
		}
		l.s.opened(key, l, o)
	case kindAck:
		l.s.acked(key)
	case kindAbort:
		l.s.giveUp(key, l, fmt.Errorf("KV transfer failed: the decode worker: %s", text))
	default:
		return fmt.Errorf("a frame of kind %d from a decode worker", h.kind)
	}
	return nil
}

// blocks writes a job of blocks, unless the job's room has ended.
func (l *sourceLink) blocks(j *blocksJob) error {
	o, w := j.out, &l.s.w
	if !o.use.begin() {
		return nil
	}
	defer o.use.end()
	r, heads := &w.Ranks[l.bind.DP][l.bind.Rank], l.bind.Place.Heads
	end := r.span(fmt.Sprintf("kv_send layer=%d", j.layer), o.request, o.key.room)
	sent, total := 0, 2*w.Layout.Page*heads.len()*len(j.blocks)
	var err error
	cut(heads, len(j.blocks), w.Layout.Page, func(head, n, first, blocks int) {
		if err != nil || o.use.over() {
			return
		}
		h := header{
			kind: kindBlocks, layer: j.layer, room: o.key.room, first: j.first + first, blocks: blocks, head: head, heads: n,
			bytes: 2 * w.Layout.Page * n * blocks,
		}
		h.last = sent+h.bytes == total
		frame := net.Buffers{nil}
		parts(r, j.layer, head, n, j.blocks[first:first+blocks], func(p []byte) error {
			h.sum = crc32.Update(h.sum, castagnoli, p)
			frame = append(frame, p)
			return nil
		})
		frame[0] = h.append(nil)
		if err = l.send(frame); err == nil {
			sent += h.bytes
		}
	})
	end(int64(sent))
	o.mu.Lock()
	o.bytes += int64(sent)
	o.mu.Unlock()
	return err
}
