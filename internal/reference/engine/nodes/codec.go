package nodes

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/model"
)

// A message begins with a byte that gives its kind. On the channel of a replica, node 0 sends
//
//	step     the step                  answered by done
//	start    rank, window, options     answered by done
//	stop     rank, window
//	pause    rank, 0 or 1
//
// and the other nodes answer
//
//	done     error, fatal error, rows of logits, elements of a row; padding to 8; float32
//
// Numbers are unsigned varints. A text is its length, followed by its bytes.
const (
	msgStep byte = iota + 1
	msgStart
	msgStop
	msgPause
	msgDone
)

var errMessage = errors.New("a message is truncated or has another version")

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// step is a forward step as sent to other nodes.
type step struct {
	name, requests string
	batch          model.Batch
}

// Flags of a sequence.
const (
	flagAll = 1 << iota
	flagNone
)

func appendStep(b []byte, s *step) []byte {
	b = append(b, msgStep, byte(s.batch.Mode))
	b = appendText(b, s.name)
	b = appendText(b, s.requests)
	b = binary.AppendUvarint(b, uint64(len(s.batch.Seqs)))
	for i := range s.batch.Seqs {
		q := &s.batch.Seqs[i]
		flags := byte(0)
		if q.WantAll {
			flags |= flagAll
		}
		if q.NoLogits {
			flags |= flagNone
		}
		b = binary.AppendUvarint(append(b, flags), uint64(q.Start))
		for _, list := range [...][]int32{q.Tokens, q.Blocks} {
			b = binary.AppendUvarint(b, uint64(len(list)))
			for _, v := range list {
				b = binary.AppendUvarint(b, uint64(uint32(v)))
			}
		}
	}
	return b
}

// parser reads a message. If a field is missing, the parser sets bad and returns zeros for this field and all later
// fields.
type parser struct {
	rest []byte
	bad  bool
}

func (p *parser) number(most int) int {
	v, n := binary.Uvarint(p.rest)
	if n <= 0 || v > uint64(most) {
		p.bad, p.rest = true, nil
		return 0
	}
	p.rest = p.rest[n:]
	return int(v)
}

func (p *parser) byte() byte {
	if len(p.rest) == 0 {
		p.bad = true
		return 0
	}
	b := p.rest[0]
	p.rest = p.rest[1:]
	return b
}

func (p *parser) text() string {
	n := p.number(len(p.rest))
	if n > len(p.rest) {
		p.bad = true
		return ""
	}
	s := string(p.rest[:n])
	p.rest = p.rest[n:]
	return s
}

// list reads a list of numbers. Each number occupies at least one byte.
func (p *parser) list() []int32 {
	out := make([]int32, 0, p.number(len(p.rest)))
	for range cap(out) {
		out = append(out, int32(p.number(1<<32-1)))
	}
	return out
}

const mostNumber = 1 << 40

// parseStep reads a step message without its first byte, msgStep.
func parseStep(text []byte) (*step, error) {
	p := &parser{rest: text}
	s := &step{}
	s.batch.Mode = model.Mode(p.byte() & 1)
	s.name, s.requests = p.text(), p.text()
	s.batch.Seqs = make([]model.Seq, 0, p.number(len(p.rest)))
	for range cap(s.batch.Seqs) {
		flags := p.byte()
		s.batch.Seqs = append(s.batch.Seqs, model.Seq{
			WantAll: flags&flagAll != 0, NoLogits: flags&flagNone != 0,
			Start: p.number(mostNumber), Tokens: p.list(), Blocks: p.list(),
		})
	}
	if p.bad || len(p.rest) > 0 {
		return nil, errMessage
	}
	return s, nil
}

// answer is a node's answer to a step or to the start of a recording.
type answer struct {
	err, fatal string
	rows       [][]float32
}

// parts returns the message of an answer.
func (a *answer) parts() [][]byte {
	width := 0
	if len(a.rows) > 0 {
		width = len(a.rows[0])
	}
	head := appendText(appendText([]byte{msgDone}, a.err), a.fatal)
	head = binary.AppendUvarint(binary.AppendUvarint(head, uint64(len(a.rows))), uint64(width))
	for len(head)%8 != 0 {
		head = append(head, 0)
	}
	parts := [][]byte{head}
	for _, row := range a.rows {
		parts = append(parts, device.Bytes(row))
	}
	return parts
}

// parseAnswer reads a complete frame, which must be aligned to 8 bytes. The returned rows are slices of the frame.
func parseAnswer(frame []byte) (*answer, error) {
	p := &parser{rest: frame}
	if p.byte() != msgDone {
		return nil, errMessage
	}
	a := &answer{err: p.text(), fatal: p.text()}
	n, width := p.number(len(frame)), p.number(len(frame))
	if p.bad {
		return nil, errMessage
	}
	at := (len(frame) - len(p.rest) + 7) &^ 7
	if n == 0 {
		return a, nil
	}
	if width == 0 || len(frame)-at != 4*n*width {
		return nil, fmt.Errorf("%w: %d rows of %d", errMessage, n, width)
	}
	all := device.Floats(frame[at:])
	for i := range n {
		a.rows = append(a.rows, all[i*width:][:width:width])
	}
	return a, nil
}
