package merge

import (
	"context"
	"io"
	"runtime"
	"time"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/sync/errgroup"
)

// The way of the bytes:
//
//	file 0: inflate → scan, rewrite → blocks ─┐
//	file 1: inflate → scan, rewrite → blocks ─┼→ in turn → compress (all cores) → in order → out
//	…up to openFiles at a time                ─┘
//
// Blocks are taken from the open files in fixed turn, so the output is the
// same whatever the number of cores and whoever is faster. Every buffer goes
// round; nothing grows with the input.
const (
	openFiles   = 8
	blockBytes  = 512 << 10 // of JSON: one gzip member each
	blockBudget = 24        // blocks in existence, shared by the open files
	// A block grows for an event larger than itself, and is then not kept.
	keepBytes = 2 * blockBytes
)

type block struct {
	data []byte
	home chan<- []byte // where data goes when it is written
}

// sink takes blocks in order and writes them, compressed as one gzip member
// each unless plain.
type sink struct {
	w     io.Writer
	level int
	plain bool
	rest  func(worked time.Duration)

	jobs  chan *job
	queue chan *job
	spare chan *job
	g     *errgroup.Group
	ctx   context.Context // of g: ends when a worker or the writer fails, which is its cause
}

type job struct {
	block
	out  memory
	done chan error
}

// memory is a growing io.Writer.
type memory struct{ b []byte }

func (m *memory) Write(p []byte) (int, error) {
	m.b = append(m.b, p...)
	return len(p), nil
}

func newSink(ctx context.Context, w io.Writer, level int, plain bool, rest func(time.Duration)) *sink {
	workers := min(runtime.GOMAXPROCS(0), 16)
	if rest != nil {
		workers = 1
	}
	s := &sink{
		w: w, level: level, plain: plain, rest: rest,
		jobs: make(chan *job), queue: make(chan *job, workers+1), spare: make(chan *job, workers+3),
	}
	for range cap(s.spare) {
		s.spare <- &job{done: make(chan error, 1)}
	}
	s.g, s.ctx = errgroup.WithContext(ctx)
	if !plain {
		for range workers {
			s.g.Go(s.compress)
		}
	}
	s.g.Go(s.write)
	return s
}

func (s *sink) compress() error {
	var z *gzip.Writer
	for {
		var j *job
		select {
		case j = <-s.jobs:
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
		if j == nil {
			return nil
		}
		j.out.b = j.out.b[:0]
		if z == nil {
			var err error
			if z, err = gzip.NewWriterLevel(&j.out, s.level); err != nil {
				return err
			}
		} else {
			z.Reset(&j.out)
		}
		err := inPieces(z, j.data, s.rest)
		if err == nil {
			err = z.Close()
		}
		j.done <- err
	}
}

func (s *sink) write() error {
	for {
		var j *job
		select {
		case j = <-s.queue:
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
		if j == nil {
			return nil
		}
		out := j.data
		if !s.plain {
			select {
			case err := <-j.done:
				if err != nil {
					return err
				}
			case <-s.ctx.Done():
				return s.ctx.Err()
			}
			out = j.out.b
		}
		if _, err := s.w.Write(out); err != nil {
			return err
		}
		if j.home != nil {
			data := j.data[:0]
			if cap(data) > keepBytes {
				data = nil
			}
			j.home <- data // never full: it holds all blocks of its owner
		}
		j.block = block{}
		s.spare <- j
	}
}

// put hands over the next block; it reports false when the sink has failed.
func (s *sink) put(b block) bool {
	var j *job
	select {
	case j = <-s.spare:
	case <-s.ctx.Done():
		return false
	}
	j.block = b
	if !s.plain {
		select {
		case s.jobs <- j:
		case <-s.ctx.Done():
			return false
		}
	}
	select {
	case s.queue <- j:
	case <-s.ctx.Done():
		return false
	}
	return true
}

// close ends the sink and waits until all is written.
func (s *sink) close() error {
	close(s.jobs)
	close(s.queue)
	return s.g.Wait()
}
