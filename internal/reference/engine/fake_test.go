package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/testing/packedtest"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/sched"
)

const fakeVocab = 50

// fakeGroup is a data-parallel rank whose next token is a function of the last one and its position, and whose
// recorders keep the names of steps.
type fakeGroup struct {
	ranks  []Rank
	hold   func(sched.Step)
	fail   error // of recorders
	write  func() error
	lost   int64
	closed bool

	mu  sync.Mutex
	err error
}

func newFakeGroup(dp, tp int) *fakeGroup {
	g := &fakeGroup{}
	for t := range tp {
		g.ranks = append(g.ranks, Rank{
			TP: t, DP: dp, Recorder: &fakeRecorder{g: g},
			Meta: device.Meta{Rank: dp*tp + t, Process: "fake"},
		})
	}
	return g
}

func (g *fakeGroup) Ranks() []Rank { return g.ranks }
func (g *fakeGroup) Close() error  { g.closed = true; return nil }

func (g *fakeGroup) Err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

func nextToken(last int32, at int) int32 { return (last*7 + int32(at)*3 + 1) % fakeVocab }

func (g *fakeGroup) Forward(s sched.Step) ([][]float32, error) {
	if g.hold != nil {
		g.hold(s)
	}
	for _, r := range g.ranks {
		if fr := r.Recorder.(*fakeRecorder); fr.rec != nil && !fr.paused {
			rec := fr.rec
			rec.steps = append(rec.steps, fmt.Sprintf("%d:%s", s.Count, s.Batch.Mode))
			rec.names = append(rec.names, s.Name())
		}
	}
	var rows [][]float32
	for _, q := range s.Batch.Seqs {
		if q.NoLogits {
			continue
		}
		row := make([]float32, fakeVocab)
		row[nextToken(q.Tokens[len(q.Tokens)-1], q.Start+len(q.Tokens))] = 1
		rows = append(rows, row)
	}
	return rows, nil
}

// fakeTokens returns the tokens that a request gets.
func fakeTokens(input []int32, n int) []int32 {
	last := input[len(input)-1]
	var out []int32
	for i := range n {
		last = nextToken(last, len(input)+i)
		out = append(out, last)
	}
	return out
}

type fakeRecorder struct {
	g      *fakeGroup
	rec    *fakeRecording
	opt    device.RecordOptions
	paused bool
}

func (r *fakeRecorder) StartRecording(opt device.RecordOptions) error {
	if r.rec != nil {
		return errors.New("already recording")
	}
	if r.g.fail != nil {
		return r.g.fail
	}
	r.rec, r.opt = &fakeRecording{g: r.g}, opt
	return nil
}

func (r *fakeRecorder) PauseRecording(pause bool) { r.paused = pause }

func (r *fakeRecorder) StopRecording() Recording {
	rec := r.rec
	r.rec = nil
	if rec == nil {
		return nil
	}
	return rec
}

type fakeRecording struct {
	g            *fakeGroup
	steps, names []string
}

func (r *fakeRecording) Lost() int64 { return r.g.lost }

// DeviceMemory reports one block, freed after being held for as long.
func (r *fakeRecording) DeviceMemory(f func(at int64, addr uint64, bytes int64)) error {
	f(1e9, 512, 16)
	f(2e9, 512, -16)
	return nil
}

// WriteKineto writes a small trace whose events are the steps.
func (r *fakeRecording) WriteKineto(w io.Writer, m device.Meta) error {
	if r.g.write != nil {
		if err := r.g.write(); err != nil {
			return err
		}
	}
	events := []map[string]any{}
	for i, name := range r.names {
		events = append(events, map[string]any{
			"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 2, "ts": 100 * (i + 1), "dur": 50,
			"args": map[string]any{"step": r.steps[i]},
		})
	}
	return json.NewEncoder(w).Encode(map[string]any{
		"schemaVersion": 1, "traceName": m.Name, "baseTimeNanoseconds": 1000, "traceEvents": events,
		"distributedInfo": map[string]any{"rank": m.Rank},
	})
}

// readSteps returns the steps of a written trace.
func readSteps(t *testing.T, path string) []string {
	t.Helper()
	var tr struct {
		TraceEvents []struct{ Args struct{ Step string } }
	}
	if err := json.Unmarshal(packedtest.Read(t, path), &tr); err != nil {
		t.Fatal(err)
	}
	var steps []string
	for _, e := range tr.TraceEvents {
		steps = append(steps, e.Args.Step)
	}
	return steps
}

// rig is an engine on fakes.
type rig struct {
	*Engine
	groups []*fakeGroup
	mu     sync.Mutex
	lines  []string
}

// newRig starts an engine of dp times tp fake ranks.
func newRig(t *testing.T, dp, tp int, opt Options) *rig {
	t.Helper()
	r := &rig{}
	var groups []Group
	for i := range dp {
		g := newFakeGroup(i, tp)
		r.groups = append(r.groups, g)
		groups = append(groups, g)
	}
	opt.Sched.Blocks, opt.Sched.Vocab = 16, fakeVocab
	if opt.ContextLen == 0 {
		opt.ContextLen = 2000
	}
	opt.Sizes = Sizes{TP: tp, DP: dp}
	opt.Log = func(line string) {
		r.mu.Lock()
		r.lines = append(r.lines, line)
		r.mu.Unlock()
	}
	r.Engine = New(groups, opt)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		for _, g := range r.groups {
			if !g.closed {
				t.Error("a group was not closed")
			}
		}
	})
	return r
}

func (r *rig) log() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.lines, "\n")
}

// generate runs one request of n tokens to its end.
func (r *rig) generate(t *testing.T, dp, n int) {
	t.Helper()
	events, err := r.Submit(t.Context(), &api.Request{Input: []int32{1, 2, 3}, Params: api.Sampling{MaxNewTokens: n}, LogprobStart: -1, DPRank: dp})
	if err != nil {
		t.Fatal(err)
	}
	drain(events)
	// The final event is sent before the scheduler has finished the step.
	if err := r.ranks[max(dp, 0)].Idle(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func drain(events <-chan api.Event) (out []api.Event) {
	for e := range events {
		out = append(out, e)
	}
	return out
}

// window is a profile request with test defaults.
func profileIn(dir string) api.ProfileRequest {
	return api.ProfileRequest{ID: "1700000000.5", OutputDir: dir, Activities: api.ActivityCPU | api.ActivityGPU}
}

// files lists a directory.
func files(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		list[i] = filepath.Base(list[i])
	}
	slices.Sort(list)
	return list
}

// soon returns a context that ends a hanging test.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}
