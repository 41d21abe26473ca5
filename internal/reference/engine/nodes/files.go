package nodes

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"

	"github.com/stepscope/stepscope/internal/reference/engine"
	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/mesh"
)

// Node 0 fetches the recordings of other nodes over the bulk lane. Node 0 sends
//
//	fetch    window, kind, name of the file
//	forget   window
//
// and receives the data in pieces, followed by the outcome. The data is either the compressed trace or the memory
// history, as triples of 8-byte numbers (time, address, bytes):
//
//	piece    window, bytes
//	end      window, error, records that did not fit, SHA-256 of the bytes
const (
	msgFetch byte = iota + 1
	msgPiece
	msgEnd
	msgForget
)

// Kinds of fetches.
const (
	fetchTrace byte = iota
	fetchMemory
)

const (
	pieceLen = 128 << 10
	// piecesAhead is the maximum number of pieces queued for the writer. If more pieces arrive, the connection waits.
	// The wait delays no other traffic, because the connection carries only files.
	piecesAhead = 8
)

// Files fetches recordings of other nodes, on node 0.
type Files struct {
	m    *mesh.Mesh
	ch   *mesh.Channel
	last atomic.Uint32

	mu   sync.Mutex
	open map[uint32]chan []byte
}

// NewFiles opens the channel of files on the bulk lane.
func NewFiles(m *mesh.Mesh) *Files {
	f := &Files{m: m, ch: m.Channel(filesChannel, mesh.Bulk), open: map[uint32]chan []byte{}}
	f.ch.Receive(func(_ int, frame []byte) {
		p := parser{rest: frame}
		p.byte()
		id := uint32(p.number(1<<32 - 1))
		f.mu.Lock()
		to := f.open[id]
		f.mu.Unlock()
		if to == nil {
			f.ch.Free(frame)
			return
		}
		select {
		case to <- frame:
		case <-m.Lost():
		}
	}, func(error) {})
	return f
}

// next returns the number of a new recording.
func (f *Files) next() uint32 { return f.last.Add(1) }

// fetch fetches a part of a recording and returns the number of lost records.
func (f *Files) fetch(w io.Writer, node int, id uint32, what byte, name string) (lost int64, err error) {
	in := make(chan []byte, piecesAhead)
	f.mu.Lock()
	f.open[id] = in
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.open, id)
		f.mu.Unlock()
		// After a failure, the connection's reader may be blocked on a piece that no goroutine will receive.
		for {
			select {
			case frame := <-in:
				f.ch.Free(frame)
			default:
				return
			}
		}
	}()
	msg := append(binary.AppendUvarint([]byte{msgFetch}, uint64(id)), what)
	if err := f.ch.Send(node, appendText(msg, name)); err != nil {
		return 0, err
	}
	sum := sha256.New()
	var failed error
	for {
		select {
		case frame := <-in:
			lost, done, err := f.piece(w, sum, frame)
			if err != nil && failed == nil {
				failed = fmt.Errorf("from node %d at %s: %w", node, f.m.Host(node), err)
				w = io.Discard // read the pieces in flight, so that the next fetch does not receive them
			}
			if done {
				return lost, failed
			}
		case <-f.m.Lost():
			return 0, f.m.Err()
		}
	}
}

// piece handles one frame of a file.
func (f *Files) piece(w io.Writer, sum hash.Hash, frame []byte) (lost int64, done bool, err error) {
	defer f.ch.Free(frame)
	p := parser{rest: frame}
	kind := p.byte()
	p.number(1<<32 - 1)
	if kind == msgPiece {
		sum.Write(p.rest)
		_, err := w.Write(p.rest)
		return 0, false, err
	}
	text := p.text()
	lost = int64(p.number(mostNumber))
	switch {
	case p.bad || kind != msgEnd:
		return 0, true, errMessage
	case text != "":
		return lost, true, errors.New(text)
	case !slices.Equal(p.rest, sum.Sum(nil)):
		return lost, true, errors.New("the file is corrupt: its SHA-256 differs")
	}
	return lost, true, nil
}

// recording is a window of a rank on another node.
type recording struct {
	files *Files
	node  int
	id    uint32
	lost  int64
}

var _ engine.Zipped = (*recording)(nil)

// WriteZipped writes the trace as its node compressed it.
func (r *recording) WriteZipped(w io.Writer, m device.Meta) error {
	lost, err := r.files.fetch(w, r.node, r.id, fetchTrace, m.Name)
	r.lost = max(r.lost, lost)
	return err
}

// WriteKineto writes the trace.
func (r *recording) WriteKineto(w io.Writer, m device.Meta) error {
	pr, pw := io.Pipe()
	var wg sync.WaitGroup
	wg.Go(func() { pw.CloseWithError(r.WriteZipped(pw, m)) })
	defer wg.Wait()
	defer pr.Close()
	z, err := gzip.NewReader(pr)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, z)
	return err
}

// DeviceMemory calls f for each allocation and free.
func (r *recording) DeviceMemory(f func(at int64, addr uint64, bytes int64)) error {
	var rest []byte
	_, err := r.files.fetch(writerFunc(func(p []byte) {
		rest = append(rest, p...)
		for ; len(rest) >= 24; rest = rest[24:] {
			n := func(i int) uint64 { return binary.LittleEndian.Uint64(rest[8*i:]) }
			f(int64(n(0)), n(1), int64(n(2)))
		}
	}), r.node, r.id, fetchMemory, "")
	return err
}

// Lost must be the last call for a recording, because it makes the node forget the recording.
func (r *recording) Lost() int64 {
	_ = r.files.ch.Send(r.node, binary.AppendUvarint([]byte{msgForget}, uint64(r.id)))
	return r.lost
}

type writerFunc func(p []byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}

// sender answers fetches, on nodes other than node 0.
type sender struct {
	ch *mesh.Channel
	id uint32
	// sum is the hash of all bytes sent.
	sum hash.Hash
	buf []byte
}

func (s *sender) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		take := min(len(p), pieceLen-len(s.buf))
		s.buf = append(s.buf, p[:take]...)
		p = p[take:]
		if len(s.buf) == pieceLen {
			if err := s.flush(); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}

func (s *sender) flush() error {
	s.sum.Write(s.buf)
	err := s.ch.Send(0, binary.AppendUvarint([]byte{msgPiece}, uint64(s.id)), s.buf)
	s.buf = s.buf[:0]
	return err
}

// end sends the outcome.
func (s *sender) end(err error, lost int64) {
	if err == nil {
		err = s.flush()
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	msg := appendText(binary.AppendUvarint([]byte{msgEnd}, uint64(s.id)), text)
	_ = s.ch.Send(0, binary.AppendUvarint(msg, uint64(lost)), s.sum.Sum(nil))
}
