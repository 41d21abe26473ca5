package diffusion

import (
	"errors"
	"fmt"
	"sync"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/engine"
	"github.com/stepscope/stepscope/internal/reference/engine/device"
)

// Span is a window over several jobs, on every rank. A Span begins before the next stage or step of a job. It ends
// after Steps denoising steps. If Shut is called earlier, the Span ends before the next stage or step.
type Span struct {
	Steps  int // denoising steps after which the span ends; 0: the span ends when Shut is called
	Record device.RecordOptions

	began bool // recording may have begun on at least one rank
	left  int  // ranks still recording
	recs  []engine.Recording
	err   error
	done  chan struct{}
}

// Done returns a channel that is closed when the span has ended on all ranks.
func (s *Span) Done() <-chan struct{} { return s.done }

// spanState is the state of a pipeline's open Span, if there is one.
type spanState struct {
	mu     sync.Mutex
	wanted *Span
	ranks  []spanRank
}

// spanRank is a rank's recording state. Only the rank's thread uses it.
type spanRank struct {
	on, over *Span // on: currently recorded; over: recorded most recently
	steps    int
}

// Open starts a span. Only one span may be open at a time.
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

// Shut ends a span. It returns when no rank is recording the span any more.
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
	case <-s.done: // the running job has ended the span
		return nil
	case p.turn <- struct{}{}:
	}
	defer func() { <-p.turn }()
	return p.team.Each(func(i int, _ *runner, _ *device.Host) error {
		if r := &p.spans.ranks[i]; s.began && r.on == nil && r.over != s { // the job failed before this rank recorded
			r.on = s
		}
		p.follow(i, nil)
		return nil
	})
}

// recording reports whether a span is open.
func (p *Pipeline) recording() bool {
	p.spans.mu.Lock()
	defer p.spans.mu.Unlock()
	return p.spans.wanted != nil
}

// want returns the span that must record a job from now on, or nil. A job that has its own profile is not recorded by
// any span.
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

// follow makes a rank record the span want, or nothing if want is nil.
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

// endSpan ends a rank's recording.
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

// WriteSpan writes the traces of a finished span and returns notes on gaps in the traces. Each file is written
// atomically. path returns the path of a rank's file. An error lists the files that could not be written.
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
