package merge

import (
	"context"
	"io"
	"runtime"
	"time"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/sync/errgroup"
)

// The data flow:
//
//	file 0: inflate → scan, rewrite → blocks ─┐
//	file 1: inflate → scan, rewrite → blocks ─┼→ in turn → compress (all cores) → in order → out
//	…up to openFiles at a time                ─┘
//
// Blocks are taken from the open files in a fixed rotation, so the output does not depend on the number of cores or on
// timing. All buffers are reused; memory does not grow with the input.
const (
	openFiles   = 8
	blockBytes  = 512 << 10 // JSON bytes per gzip member
	blockBudget = 24        // total number of blocks, shared by the open files
	// A block grows if an event is larger than the block. A block larger than keepBytes is not reused.
	keepBytes = 2 * blockBytes
)

type block struct {
	data []byte
	home chan<- []byte // receives data for reuse after it has been written
}

// sink writes blocks in order. Unless plain is set, each block becomes one gzip member.
type sink struct {
	w     io.Writer
	level int
	plain bool
	rest  func(worked time.Duration)

	jobs  chan *job
	queue chan *job
	spare chan *job
	g     *errgroup.Group
	ctx   context.Context // context of g: ends when a worker or the writer fails, with that error as its cause
}

type job struct {
	block
	out  memory
	done chan error
}

// memory is an io.Writer that appends to a slice.
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
			j.home <- data // never blocks: the channel can hold all blocks of its owner
		}
		j.block = block{}
		s.spare <- j
	}
}

// put passes the next block to the sink. It returns false if the sink has failed.
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

// close ends the sink. It waits until all blocks are written.
func (s *sink) close() error {
	close(s.jobs)
	close(s.queue)
	return s.g.Wait()
}
