package diffusion

import (
	"errors"
	"fmt"
	"sync"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/engine"
	"github.com/stepscope/stepscope/internal/reference/engine/device"
)

// Span is a window over several jobs, on every rank. It begins before the next stage or step of a job, and ends before the
// one that comes after its close, or by itself after so many denoising steps.
type Span struct {
	Steps  int // 0: until it is closed
	Record device.RecordOptions

	began bool // a rank may record
	left  int  // ranks that have not ended it
	recs  []engine.Recording
	err   error
	done  chan struct{}
}

// Done is closed when no rank records any more.
func (s *Span) Done() <-chan struct{} { return s.done }

// spanState is what a pipeline knows of its Span, if it has one.
type spanState struct {
	mu     sync.Mutex
	wanted *Span
	ranks  []spanRank
}

// spanRank is what a rank records. Its thread alone has to do with it.
type spanRank struct {
	on, over *Span // is recorded; was recorded, the last
	steps    int
}

// Open has a span recorded from now on. One at a time is.
func (p *Pipeline) Open(s *Span) error {
	p.spans.mu.Lock()
	defer p.spans.mu.Unlock()
	if p.spans.wanted != nil {
		return api.ErrProfileRunning
	}
	s.left, s.recs, s.done = len(p.spans.ranks), make([]engine.Recording, len(p.spans.ranks)), make(chan struct{})
	p.spans.wanted = s
	return nil
}

// Shut ends a span, and returns when no rank records it any more.
func (p *Pipeline) Shut(s *Span) error {
	p.spans.mu.Lock()
	if p.spans.wanted == s {
		p.spans.wanted = nil
		if !s.began {
			close(s.done)
		}
	}
	p.spans.mu.Unlock()
	select {
	case <-s.done: // by the job that is under way
		return nil
	case p.turn <- struct{}{}:
	}
	defer func() { <-p.turn }()
	return p.team.Each(func(i int, _ *runner, _ *device.Host) error {
		if r := &p.spans.ranks[i]; s.began && r.on == nil && r.over != s { // it failed before it came to the beginning
			r.on = s
		}
		p.follow(i, nil)
		return nil
	})
}

// recording tells whether a span is wanted.
func (p *Pipeline) recording() bool {
	p.spans.mu.Lock()
	defer p.spans.mu.Unlock()
	return p.spans.wanted != nil
}

// want is the span that a job is to be part of from now on. Jobs with a profile of their own are part of none.
func (p *Pipeline) want(job *Job) *Span {
	p.spans.mu.Lock()
	defer p.spans.mu.Unlock()
	s := p.spans.wanted
	if s == nil || job.Profile != nil {
		return nil
	}
	s.began = true
	return s
}

// follow has a rank record what is wanted, and nothing else.
func (p *Pipeline) follow(i int, want *Span) {
	r := &p.spans.ranks[i]
	if r.on != nil && r.on != want {
		p.endSpan(i)
	}
	if want == nil || want == r.on || want == r.over {
		return
	}
	r.on, r.steps = want, 0
	rank := p.team.Ranks()[i]
	if err := rank.Recorder.StartRecording(want.Record); err != nil {
		p.spans.mu.Lock()
		want.err = errors.Join(want.err, fmt.Errorf("record on rank %d: %w", rank.Meta.Rank, err))
		p.spans.mu.Unlock()
		p.endSpan(i)
	}
}

// stepped counts a denoising step of a rank.
func (p *Pipeline) stepped(i int) {
	r := &p.spans.ranks[i]
	if r.steps++; r.on != nil && r.steps == r.on.Steps {
		p.endSpan(i)
	}
}

// endSpan ends what a rank records.
func (p *Pipeline) endSpan(i int) {
	r := &p.spans.ranks[i]
	s := r.on
	r.on, r.over = nil, s
	rec := p.team.Ranks()[i].Recorder.StopRecording()
	p.spans.mu.Lock()
	defer p.spans.mu.Unlock()
	s.recs[i] = rec
	if s.left--; s.left == 0 {
		if p.spans.wanted == s {
			p.spans.wanted = nil
		}
		close(s.done)
	}
}

// WriteSpan writes the traces of a span that is done, each whole or not at all, and tells what they lack. path is that of
// a rank's file. An error says which are missing.
func (p *Pipeline) WriteSpan(s *Span, path func(engine.Rank) string) (paths, notes []string, err error) {
	err = s.err
	for i, rank := range p.team.Ranks() {
		if s.recs[i] == nil {
			continue
		}
		to := path(rank)
		lacks, writeErr := writeTrace(to, rank, s.recs[i])
		if writeErr == nil {
			paths = append(paths, to)
		}
		notes, err = append(notes, lacks...), errors.Join(err, writeErr)
	}
	return paths, notes, err
}
