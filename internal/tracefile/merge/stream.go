package merge

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// part is one input file of the merge.
type part struct {
	*set.Head
	index  int
	label  string
	rw     rewriter
	comms  *Comms // collects the file's collectives during the merge; nil: not needed
	keep   func(*chromejson.Event) bool
	redact Redactor     // nil: no changes
	shown  []set.Member // members of Meta in the form in which header writes them
	meter  *progress.Meter
	rest   func(worked time.Duration)
	moved  int64 // ns: the file's baseTimeNanoseconds minus the output's

	full chan []byte // blocks of complete events, each event preceded by ",\n"
	free chan []byte

	// These fields are written by stream and may be read after full is closed.
	stats   chromejson.Stats
	kept    int64
	problem *set.Problem
	garbage bool
	rows    Rows
	odd     trace.Tally  // violations of invariants
	ended   []trace.Note // violations that the whole file shows
	gpu     bool         // whether the file has GPU work
	tail    []set.Member // top-level members after the events
}

// base returns the file's base name for notes in the output, because the output must not contain local paths.
func (p *part) base() string { return filepath.Base(p.File.Path) }

// stream reads the file and sends its blocks until the file or ctx ends.
func (p *part) stream(ctx context.Context) {
	defer close(p.full)
	src, err := chromejson.Open(p.File.Path)
	if err != nil {
		p.problem = set.OpenProblem(err)
		return
	}
	defer src.Close()
	s := chromejson.NewScanner(resting(src, p.rest))
	defer s.Close()
	defer func() { p.stats = s.Stats }()
	var buf []byte
	var read int64
	pace := startThrottle(p.rest)
	for n := 0; ; n++ {
		if n&0xfff == 0 && ctx.Err() != nil {
			return
		}
		kind, err := s.Next()
		if err == io.EOF {
			break
		}
		if !p.takes(s, kind) {
			continue
		}
		if p.redact != nil {
			p.redact.Event(&s.Event)
		}
		if buf == nil {
			select {
			case buf = <-p.free:
			case <-ctx.Done():
				return
			}
			if cap(buf) == 0 {
				buf = make([]byte, 0, blockBytes+blockBytes/16)
			}
			pace.begin()
		}
		before := len(buf)
		buf = append(buf, ',', '\n')
		buf = p.rw.event(buf, &s.Event)
		pace.did(len(buf) - before)
		if len(buf) >= blockBytes {
			select {
			case p.full <- buf:
				buf = nil
			case <-ctx.Done():
				return
			}
			p.meter.Reach(src.Consumed(), &read)
		}
	}
	p.finish(src, &s.Stats)
	if len(buf) > 0 {
		select {
		case p.full <- buf:
		case <-ctx.Done():
		}
	}
	p.meter.Reach(src.Consumed(), &read)
}

// finish records what the end of the file shows.
func (p *part) finish(src *chromejson.Source, st *chromejson.Stats) {
	p.problem, p.garbage = set.EndProblem(src, st), src.Garbage()
	p.gpu = p.rows.GPU()
	p.ended, p.rows = p.rows.End(p.base()), Rows{}
}

// takes reports whether the scanner's current item is an event to keep. It also records other top-level members and,
// from all events, the collectives.
func (p *part) takes(s *chromejson.Scanner, kind chromejson.Kind) bool {
	if kind == chromejson.MetaToken {
		if s.Stats.Events > 0 || !p.inHead(s.Key) {
			p.Learn(s.Key, s.Value)
			p.tail = append(p.tail, set.Member{Key: string(s.Key), Value: bytes.Clone(s.Value)})
		}
		return false
	}
	if !p.possible(&s.Event) {
		return false
	}
	if p.comms != nil {
		p.comms.Event(&s.Event)
	}
	if p.keep != nil && !p.keep(&s.Event) {
		return false
	}
	p.kept++
	return true
}

// inHead reports whether a member was read before the first event.
func (p *part) inHead(key []byte) bool {
	return slices.ContainsFunc(p.Meta, func(m set.Member) bool { return m.Key == string(key) })
}

// streamAll sends the events of all parts to the sink. It takes one block of each open part in rotation. It returns
// false if the sink has failed or ctx has ended.
func streamAll(ctx context.Context, parts []*part, s *sink) bool {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	slots := min(openFiles, len(parts))
	each := max(2, blockBudget/max(slots, 1))
	next := 0
	open := make([]*part, 0, slots)
	// The blocks belong to a slot. When a file ends, its slot and blocks pass to the next file.
	start := func(blocks chan []byte) *part {
		p := parts[next]
		next++
		p.full, p.free = make(chan []byte, each), blocks
		wg.Go(func() { p.stream(ctx) })
		return p
	}
	for len(open) < slots {
		blocks := make(chan []byte, each)
		for range each {
			blocks <- nil // a nil block is allocated on first use
		}
		open = append(open, start(blocks))
	}
	first := true
	for len(open) > 0 {
		for i := 0; i < len(open); i++ {
			p := open[i]
			var data []byte
			var ok bool
			select {
			case data, ok = <-p.full:
			case <-s.ctx.Done():
				return false
			}
			if !ok {
				blocks := p.free
				p.full, p.free = nil, nil
				if next < len(parts) {
					open[i] = start(blocks)
				} else {
					open = append(open[:i], open[i+1:]...)
				}
				i--
				continue
			}
			b := block{data: data, home: p.free}
			if first { // no comma before the very first event
				data[0], first = ' ', false
			}
			if !s.put(b) {
				return false
			}
		}
	}
	return ctx.Err() == nil
}
