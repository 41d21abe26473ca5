package diffusion

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/reference/engine"
	"github.com/stepscope/stepscope/internal/reference/engine/device"
)

// Pipeline generates images on all ranks, one at a time.
type Pipeline struct {
	cfg   *Config
	team  *engine.Team[*runner]
	log   func(line string)
	turn  chan struct{} // holds a value while the ranks are working
	spans spanState
}

// NewPipeline loads the ranks in parallel. The caller must close the pipeline.
func NewPipeline(c *Config, src *Sources, team engine.TeamOptions, opt Options, log func(line string)) (*Pipeline, error) {
	if err := c.CheckShard(max(team.Sizes.TP, 1)); err != nil {
		return nil, err
	}
	team.Thread = "diffusion worker"
	t, err := engine.NewTeam(team, func(at engine.Seat) (*runner, error) {
		return newRunner(c, src, at.Device, at.TPGroup, opt)
	})
	if err != nil {
		return nil, err
	}
	return &Pipeline{cfg: c, team: t, log: log, turn: make(chan struct{}, 1), spans: spanState{ranks: make([]spanRank, len(t.Ranks()))}}, nil
}

// Close stops the ranks.
func (p *Pipeline) Close() error { return p.team.Close() }

// Err returns the error that stopped a rank, or nil.
func (p *Pipeline) Err() error { return p.team.Err() }

// Job is a request for one image, with its reporting options.
type Job struct {
	Request
	ID      string
	Profile *Profile           // nil: none
	Step    func(done, of int) // called for each denoising step; may be nil
	Quiet   bool               // neither log nor annotate the job, because it is a warm-up
}

// Profile selects the parts of a job to record, on every rank.
type Profile struct {
	// Steps is the number of denoising steps to record. The first step of the job is a warm-up and is not recorded. If
	// Steps is All, every step is recorded. If AllStages is set, Steps has no effect.
	Steps     int
	AllStages bool
	Dir       string
	Record    device.RecordOptions
}

// All is the value of Profile.Steps that means every step.
const All = -1

// Result is the result of a job.
type Result struct {
	Picture *Picture
	Began   time.Time
	Total   time.Duration
	Stages  []Took
	Steps   []time.Duration
	Traces  []string // absolute path of each rank's trace
	Notes   []string // gaps in the traces
}

// Took holds the duration of a stage.
type Took struct {
	Stage
	Time time.Duration
}

// Generate generates an image. If ctx ends, Generate stops before the next step.
func (p *Pipeline) Generate(ctx context.Context, job *Job) (*Result, error) {
	log := p.log
	if job.Quiet {
		log = func(string) {}
	}
	if err := p.cfg.Check(&job.Request, p.team.Ranks()[0].Meta.Device.Memory); err != nil {
		return nil, err
	}
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	if job.Profile != nil && p.recording() {
		return nil, api.ErrProfileRunning
	}
	ranks := p.team.Ranks()
	res := &Result{}
	windows := make([]*window, len(ranks))
	if job.Profile != nil {
		log(fmt.Sprintf("Profiling request: %s for %s...", job.ID, job.what()))
		log("Starting Profiler...")
		for i := range windows {
			windows[i] = newWindow(job, ranks[i].Recorder)
		}
	}
	ends := &agreement{ctx: ctx, want: func() *Span { return p.want(job) }}
	said, allSaid := aside(log)
	err := p.team.Each(func(i int, r *runner, h *device.Host) error {
		if i == 0 { // as SGLang's worker logs it
			res.Began = time.Now()
		}
		h.Quiet(job.Quiet)
		if job.Profile != nil {
			p.follow(i, nil) // this rank may not yet have closed a span that has just ended
		}
		var pic *Picture
		err := windows[i].around(func() (err error) {
			pic, err = r.Generate(&job.Request, p.watch(i, job, res, windows[i], h, said, ends.asker(func(s *Span) { p.follow(i, s) })))
			return err
		})
		if i == 0 {
			res.Picture, res.Total = pic, time.Since(res.Began)
		}
		return err
	})
	allSaid()
	if job.Profile != nil {
		log("Stopping Profiler...")
		res.Notes = job.lacks()
		for i, w := range windows {
			if writeErr := p.write(i, w, job, res); writeErr != nil {
				log("Failed to save trace: " + writeErr.Error())
				err = cmp.Or(err, writeErr)
			}
		}
		for _, path := range res.Traces {
			log("Saved profiler traces to: " + path)
		}
	}
	return res, err
}

// aside logs lines concurrently with the work, so that a slow terminal does not delay an image. done waits until all
// are logged.
func aside(log func(string)) (say func(string), done func()) {
	const room = 64 // more than the number of lines logged for an image
	lines, over := make(chan string, room), make(chan struct{})
	go func() {
		defer close(over)
		for line := range lines {
			log(line)
		}
	}()
	return func(line string) { lines <- line }, func() { close(lines); <-over }
}

// watch returns a rank's watcher. The watcher of every rank controls the rank's window. The watcher of the first rank
// also measures all durations.
func (p *Pipeline) watch(i int, job *Job, res *Result, w *window, h *device.Host, log func(string), stop func() error) watcher {
	first := i == 0
	return watcher{
		Stop: stop,
		Stage: func(s Stage) func() {
			if !first {
				return func() {}
			}
			log(fmt.Sprintf("[%s] started...", s.Name))
			begun := time.Now()
			return func() {
				took := time.Since(begun)
				res.Stages = append(res.Stages, Took{s, took})
				if s == denoising && len(res.Steps) > 0 {
					log(fmt.Sprintf("[%s] average time per step: %.4f seconds", s.Name, took.Seconds()/float64(len(res.Steps))))
				}
				log(fmt.Sprintf("[%s] finished in %.4f seconds", s.Name, took.Seconds()))
			}
		},
		Step: func(n int) func() {
			ended := w.step(n, h)
			begun := time.Now()
			return func() {
				if first {
					res.Steps = append(res.Steps, time.Since(begun))
					if job.Step != nil {
						job.Step(n+1, job.Steps)
					}
				}
				ended()
				p.stepped(i)
			}
		},
	}
}

// write writes a rank's trace of a job.
func (p *Pipeline) write(i int, w *window, job *Job, res *Result) error {
	rank := p.team.Ranks()[i]
	if w.err != nil {
		return fmt.Errorf("record on rank %d: %w", rank.Meta.Rank, w.err)
	}
	if w.rec == nil {
		return nil
	}
	path, err := filepath.Abs(filepath.Join(job.Profile.Dir, fmt.Sprintf("%s-%s-global-rank%d.trace.json.gz", job.ID, job.mode(), rank.Meta.Rank)))
	if err != nil {
		return err
	}
	notes, err := writeTrace(path, rank, w.rec)
	if err != nil {
		return err
	}
	res.Traces, res.Notes = append(res.Traces, path), append(res.Notes, notes...)
	return nil
}

// writeTrace writes a rank's recording atomically and returns notes on its gaps.
func writeTrace(path string, rank engine.Rank, rec engine.Recording) (notes []string, err error) {
	meta := rank.Meta
	meta.Name = path
	err = atomicfile.New(path, func(out io.Writer) error { return engine.WriteTrace(out, rec, meta) })
	if n := rec.Lost(); n > 0 {
		notes = []string{fmt.Sprintf("rank %d: %d records did not fit; record fewer steps", meta.Rank, n)}
	}
	return notes, err
}

// agreement makes all ranks stop at the same point and makes them begin and end a Span at the same points. The first
// rank that arrives at a point decides for all ranks. Without an agreement, a rank that continues would wait in a
// collective for a rank that has stopped.
type agreement struct {
	ctx  context.Context
	want func() *Span

	mu       sync.Mutex
	verdicts []verdict
}

// verdict is the decision at one point.
type verdict struct {
	err  error
	span *Span
}

// asker returns the function by which a rank obtains the decision at the point that it has reached. Every rank must
// call its function at the same points.
func (a *agreement) asker(follow func(*Span)) func() error {
	at := 0
	next := func() verdict {
		a.mu.Lock()
		defer a.mu.Unlock()
		if at == len(a.verdicts) {
			a.verdicts = append(a.verdicts, verdict{context.Cause(a.ctx), a.want()})
		}
		at++
		return a.verdicts[at-1]
	}
	return func() error {
		v := next()
		follow(v.span)
		return v.err
	}
}
