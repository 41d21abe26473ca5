package kvtransfer

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
)

// FuzzSink sends a sink valid and invalid source traffic. It must not panic, and must write only the blocks of its
// rooms.
func FuzzSink(f *testing.F) {
	block := header{kind: kindBlocks, layer: 1, room: 5, blocks: 2, head: 0, heads: 4, bytes: 2 * testPage * 8, last: true}
	f.Add(block.append(nil))
	f.Add(append(block.append(nil), make([]byte, block.bytes)...))
	f.Add(message(kindEnd, 5, []byte("x")))
	f.Add(append(message(kindPing, 0, nil), message(kindAbort, 5, []byte("why"))...))
	f.Add([]byte(strings.Repeat("GET / HTTP/1.1\r\n", 9)))
	f.Fuzz(func(t *testing.T, data []byte) {
		st := newStore(1, 1, 1, 2)
		before := fmt.Sprint(st.at(0, 0, 0, 0), st.at(0, 3, 3, testBlocks-1))
		s, err := NewSink(st.w, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		here, there := net.Pipe()
		go func() { there.Write(data); there.Close() }()
		l := &sinkLink{link: newLink(here, &s.opt), s: s, pair: pair{Place: st.w.Layout.Ranks[0]}, rooms: map[uint64]*arrival{}}
		ended := 0
		in := &Incoming{s: s, room: 5, blocks: []int32{2, 3}, ended: func([]byte, error) { ended++ }, links: []*sinkLink{l}, left: 1}
		l.mates = in.links
		l.rooms[5] = &arrival{in: in, next: make([]int, testLayers*testHeads)}
		l.run()
		if ended != 1 {
			t.Errorf("the room ended %d times", ended)
		}
		if after := fmt.Sprint(st.at(0, 0, 0, 0), st.at(0, 3, 3, testBlocks-1)); after != before {
			t.Error("blocks of others were written")
		}
	})
}

// FuzzSource sends a source valid and invalid sink traffic.
func FuzzSource(f *testing.F) {
	f.Add(message(kindOpen, 5, []byte(`{"links":1,"link":0,"blocks":2}`)))
	f.Add(append(message(kindOpen, 5, []byte(`{"links":2,"link":1,"blocks":2}`)), message(kindAck, 5, nil)...))
	f.Add(message(kindAbort, 5, []byte("why")))
	f.Add(message(kindAbort, 6, []byte("why")))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := NewSource(newStore(1, 1, 1, 2).w, Options{})
		if err != nil {
			t.Fatal(err)
		}
		here, there := net.Pipe()
		go func() { there.Write(data); there.Close() }()
		go io.Copy(io.Discard, there)
		ended := make(chan error, 2)
		s.Expect(0, 5, "", 2, Events{Opened: func() {}, Ended: func(err error) { ended <- err }})
		l := &sourceLink{link: newLink(here, &s.opt), s: s, rooms: map[uint64]bool{}}
		l.read(l.frame)
		s.Close()
		<-ended
		if len(ended) != 0 {
			t.Error("the room ended twice")
		}
	})
}
