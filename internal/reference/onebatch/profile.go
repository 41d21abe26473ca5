package onebatch

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/klauspost/compress/gzip"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/measure/batch"
	"github.com/stepscope/stepscope/internal/reference/engine"
	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/set"
)

// Profile selects the recorded steps of a batch: the prefill and a number of consecutive decode steps. Only the first
// rank is recorded.
type Profile struct {
	Dir, Prefix string
	Stage       string // api.Prefill, api.Decode, or "all"
	CPU, GPU    bool
	Shapes      bool
	NoStack     bool
	Start       int // first decode step, from 0; negative: half the output length
	Steps       int // decode steps
}

// Check creates the directory and tests that it is writable. It is called before the model is loaded.
func (p *Profile) Check() error {
	if err := atomicfile.TryDir(p.Dir); err != nil {
		return fmt.Errorf("cannot write traces: %w", err)
	}
	return nil
}

func (p *Profile) has(stage string) bool { return p != nil && (p.Stage == stage || p.Stage == "all") }

// steps returns the decode steps to record, as a half-open range. If there is only one decode step, that step is
// recorded, because half the output length would lie beyond that step.
func (p *Profile) steps(c batch.Case) (from, to int) {
	if !p.has(api.Decode) {
		return -1, -1
	}
	from = p.Start
	if from < 0 {
		from = min(c.Output/2, max(c.Output-2, 0))
	}
	return from, from + p.Steps
}

// Path returns the file of a stage's trace.
func (p *Profile) Path(c batch.Case, stage string) string {
	return filepath.Join(p.Dir, fmt.Sprintf("%s_%s_%s.trace.json.gz", p.Prefix, c.Name(), stage))
}

// window is a stage that is being recorded. A nil window records nothing.
type window struct {
	ctx   context.Context // its end cancels the reading of the written trace
	p     *Profile
	b     *Bench
	c     batch.Case
	stage string
	rank  engine.Rank
}

func (p *Profile) begin(ctx context.Context, b *Bench, c batch.Case, stage string) (*window, error) {
	if !p.has(stage) {
		return nil, nil
	}
	w := &window{ctx, p, b, c, stage, b.Ranks.Ranks()[0]}
	err := w.rank.Recorder.StartRecording(device.RecordOptions{CPU: p.CPU, GPU: p.GPU, Stack: !p.NoStack, Shapes: p.Shapes})
	if err != nil {
		return nil, fmt.Errorf("start recording the %s: %w", stage, err)
	}
	return w, nil
}

// end writes the trace and prints its path and the table of operators. A non-nil err means that the stage has failed.
// In that case end writes no trace and returns err.
func (w *window) end(err error) error {
	if w == nil {
		return err
	}
	rec := w.rank.Recorder.StopRecording()
	if err != nil || rec == nil {
		return err
	}
	path := w.p.Path(w.c, w.stage)
	meta := w.rank.Meta
	meta.Name = path
	err = atomicfile.Write(path, func(f io.Writer) error {
		z := gzip.NewWriter(f)
		if err := rec.WriteKineto(z, meta); err != nil {
			return err
		}
		return z.Close()
	})
	if err != nil {
		return fmt.Errorf("write the trace of the %s: %w", w.stage, err)
	}
	if n := rec.Lost(); n > 0 {
		w.b.Warn("%s: %d records did not fit; record fewer steps", path, n)
	}
	traces, err := read.ReadFile(w.ctx, set.File{Path: path}, read.Options{})
	if err != nil {
		return fmt.Errorf("read the trace back: %w", err)
	}
	for _, t := range traces {
		if _, err := fmt.Fprintln(w.b.Out, Operators(t, w.p.GPU).String()); err != nil {
			return err
		}
	}
	if w.b.Saved != nil {
		w.b.Saved(w.c, w.stage, path)
	}
	_, err = fmt.Fprintf(w.b.Out, "torch profiler chrome trace for %s saved to %s\n", w.stage, path)
	return err
}
