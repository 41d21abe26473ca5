package torch

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/pause"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/capture/signals"
	"github.com/stepscope/stepscope/trace"
)

// lookContexts samples the contexts of the running requests. It returns false if the server reports nothing about them.
func (m *member) lookContexts(ctx context.Context, reader *signals.Reader) bool {
	ctx, cancel := context.WithTimeout(ctx, lookAt)
	defer cancel()
	reader.Loads = signals.Never // see used
	s, err := reader.Read(ctx)
	if err != nil {
		return false
	}
	if n := s.Blocks; n.Size > 0 {
		m.contexts.Pool, m.contexts.Cache = int64(n.Count)*int64(n.Size), n.DType
	}
	list := contextsOf(s, m.stale())
	m.sampled(list)
	return len(list) > 0
}

func (m *member) sampled(list []trace.ContextSample) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.contexts.Samples = append(m.contexts.Samples, list...)
}

// used keeps the tokens in the KV cache that a reply of a load route reports. These routes may cost the schedulers time,
// so they are not asked for the contexts alone.
func (m *member) used(list []client.Load) {
	s := &signals.Sample{At: time.Now()}
	for i, l := range list {
		if l.Running != nil && l.Used != nil {
			dp := i
			if l.DP != nil {
				dp = *l.DP
			}
			s.Ranks = append(s.Ranks, signals.Rank{DP: dp, Running: *l.Running, Used: *l.Used})
		}
	}
	m.sampled(contextsOf(s, 0))
}

// watchContexts samples the contexts while the window may be open.
func (m *member) watchContexts(ctx context.Context) {
	reader := m.reader()
	for m.recording() && m.lookContexts(ctx, reader) && pause.For(ctx, lookAt) {
	}
}

// stale returns the number of steps since which the server's gauges may not have changed.
func (m *member) stale() int {
	most := m.kind.Row().Stale
	if most == 0 {
		return 0
	}
	var args struct {
		Every int `json:"decode_log_interval"`
	}
	json.Unmarshal(m.raw, &args)
	return cmp.Or(max(args.Every, 0), most)
}

// contextsOf returns the sum of contexts of each rank that runs requests. Each request may have got stale tokens since the
// server's count changed.
func contextsOf(s *signals.Sample, stale int) (out []trace.ContextSample) {
	for i := range s.Ranks {
		r := &s.Ranks[i]
		if !(r.Running >= 1) {
			continue
		}
		c := trace.ContextSample{At: s.At.UnixNano(), DP: r.DP, Running: int(r.Running), Low: int64(r.Running)}
		held := r.Usage * float64(max(s.Blocks.Count-1, 0)*s.Blocks.Size) // the first block is never used
		switch {
		case r.Context >= r.Running:
			c.From, c.Low, c.High = trace.ContextsGauge, int64(r.Context), int64(r.Context)+int64(stale*c.Running)
		case r.Used >= r.Running:
			c.From, c.High = trace.ContextsUsed, int64(r.Used)
		case held >= r.Running: // the last block of each request may be almost empty
			c.From, c.High = trace.ContextsBlocks, int64(math.Round(held))
			c.Low = max(c.Low, c.High-int64(c.Running*s.Blocks.Size))
		default:
			continue
		}
		out = append(out, c)
	}
	return out
}

// keepContexts writes the samples, and the sizes that bound contexts, next to the traces.
func (m *member) keepContexts(ctx context.Context, r *ServerResult) {
	c := &m.contexts
	var args struct {
		Pool  int64  `json:"max_total_num_tokens"`
		Cache string `json:"kv_cache_dtype"`
	}
	json.Unmarshal(m.raw, &args)
	c.Pool, c.Cache = cmp.Or(c.Pool, args.Pool), cmp.Or(c.Cache, args.Cache)
	var list wire.ModelList
	if m.askFor(ctx, "/v1/models", &list) && len(list.Data) > 0 {
		c.Longest = int64(list.Data[0].MaxModelLen)
	}
	r.contexts = *c
	r.AddContexts(nil)
}

// AddContexts adds samples and writes the file with all of them next to the traces, unless nothing is known. A failed
// write becomes a note.
func (r *ServerResult) AddContexts(more []trace.ContextSample) {
	c := &r.contexts
	c.Samples = slices.Concat(c.Samples, more)
	sorts.Stable(c.Samples, func(a, b trace.ContextSample) int { return cmp.Compare(a.At, b.At) })
	if !r.hasContexts() {
		return
	}
	err := atomicfile.Write(filepath.Join(r.Dir, trace.ContextsFile), func(w io.Writer) error { return json.NewEncoder(w).Encode(c) })
	if err != nil {
		r.Notes = append(r.Notes, trace.ContextsFile+" could not be written: "+err.Error())
	}
}

func (r *ServerResult) hasContexts() bool {
	c := &r.contexts
	return c.Pool > 0 || c.Longest > 0 || c.Cache != "" || len(c.Samples) > 0
}
