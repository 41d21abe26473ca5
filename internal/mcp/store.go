package mcp

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/explain/brief"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/window"
	"github.com/stepscope/stepscope/internal/measure/system"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/trace"
)

// analysis is the result for one run or capture.
type analysis struct {
	*brief.Capture
	run   *runs.Run // nil: a path without a run
	paths []string
}

// report returns the report of the named server. Without a name, it returns the first report.
func (a *analysis) report(server string) (*result.Report, error) {
	var names []string
	for i := range a.Servers {
		s := &a.Servers[i]
		if s.Report == nil {
			continue
		}
		if server == "" || server == s.Name {
			return s.Report, nil
		}
		names = append(names, clean(s.Name))
	}
	if len(names) == 0 {
		return nil, errors.New("no server of this capture could be explained: overview says why")
	}
	return nil, fmt.Errorf("no server %q in this capture; there are: %s", clean(server), strings.Join(names, ", "))
}

// store keeps analyses and traces in memory, the most recently used first. If several requests need the same capture,
// it is analysed once.
type store struct {
	most int64 // limit of the estimated size, in bytes

	mu     sync.Mutex
	size   int64
	recent list.List // of *item, the most recently used first
	items  map[string]*list.Element
	making map[string]*making
}

// item is one value of the store.
type item struct {
	key   string
	bytes int64
	value any
}

// making is a value that some request computes.
type making struct {
	done  chan struct{}
	value any
	err   error
}

func newStore(most int64) *store {
	return &store{most: most, items: map[string]*list.Element{}, making: map[string]*making{}}
}

// get returns the value for key, and computes it with create if it is not stored. create returns the value and its
// estimated size in bytes.
func (s *store) get(ctx context.Context, key string, create func() (any, int64, error)) (any, error) {
	for {
		s.mu.Lock()
		if e, ok := s.items[key]; ok {
			s.recent.MoveToFront(e)
			s.mu.Unlock()
			return e.Value.(*item).value, nil
		}
		m, waits := s.making[key]
		if !waits {
			m = &making{done: make(chan struct{})}
			s.making[key] = m
		}
		s.mu.Unlock()
		if !waits {
			return s.create(key, m, create)
		}
		select {
		case <-m.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if errors.Is(m.err, context.Canceled) || errors.Is(m.err, context.DeadlineExceeded) {
			continue // the other request ended early
		}
		return m.value, m.err
	}
}

// create computes a value and stores it.
func (s *store) create(key string, m *making, create func() (any, int64, error)) (value any, err error) {
	var bytes int64
	m.err = errors.New("the analysis failed") // if create panics
	defer func() {
		s.mu.Lock()
		delete(s.making, key)
		if m.err == nil {
			s.items[key] = s.recent.PushFront(&item{key, bytes, m.value})
			s.size += bytes
			for s.size > s.most && s.recent.Len() > 1 {
				old := s.recent.Remove(s.recent.Back()).(*item)
				delete(s.items, old.key)
				s.size -= old.bytes
			}
		}
		s.mu.Unlock()
		close(m.done)
	}()
	m.value, bytes, m.err = create()
	return m.value, m.err
}

// stamp identifies the content of paths by the names, sizes and times of their files, so that a changed capture is
// analysed again. The time of a file's directory changes with the files beside it.
func stamp(paths ...string) string {
	b := sha256.New()
	for _, path := range paths {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		if st, err := os.Stat(path); err == nil && !st.IsDir() {
			if dir, err := os.Stat(filepath.Dir(path)); err == nil {
				fmt.Fprintln(b, dir.ModTime().UnixNano())
			}
		}
		filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // analysing the path reports this
			}
			if st, err := os.Stat(p); err == nil && !st.IsDir() {
				fmt.Fprintf(b, "%q %d %d\n", p, st.Size(), st.ModTime().UnixNano())
			}
			return nil
		})
	}
	return hex.EncodeToString(b.Sum(nil))
}

// warnings collects the messages of an analysis.
type warnings struct {
	mu    sync.Mutex
	lines []string
}

// Write implements io.Writer.
func (w *warnings) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for line := range strings.Lines(string(p)) {
		w.lines = append(w.lines, clean(strings.TrimPrefix(strings.TrimSpace(line), "stepscope: ")))
	}
	return len(p), nil
}

// analyse returns the analysis of a run or path.
func (s *Server) analyse(ctx context.Context, ref string) (*analysis, error) {
	path, err := s.roots.find(ref)
	if err != nil {
		return nil, err
	}
	v, err := s.store.get(ctx, "report\n"+path+"\n"+stamp(path), func() (any, int64, error) {
		var said warnings
		say := &progress.Console{W: &said}
		opt := &system.Options{Say: say, Read: s.reading}
		got, run, err := opt.Explain(ctx, s.roots.runs, path)
		if err != nil {
			return nil, 0, errors.Join(err, said.err())
		}
		a := &analysis{got, run, []string{path}}
		if run != nil {
			if traces := run.Traces(); len(traces) > 0 {
				a.paths = traces
			} else {
				a.paths = run.Reports()
			}
		}
		return a, a.bytes(), nil
	})
	if err != nil {
		return nil, err
	}
	return v.(*analysis), nil
}

// err returns the collected messages as one error; nil: there are none.
func (w *warnings) err() error {
	if len(w.lines) == 0 {
		return nil
	}
	return errors.New(strings.Join(w.lines[:min(len(w.lines), 3)], "; "))
}

// bytes estimates the size of the analysis in memory.
func (a *analysis) bytes() (sum int64) {
	const row = 1 << 10 // a row of a table, with its strings
	for i := range a.Servers {
		if r := a.Servers[i].Report; r != nil {
			sum += row * int64(100+len(r.Steps)*(1+len(r.Source.Ranks))+len(r.Kernels)+len(r.Gaps)+len(r.Times)+len(r.Collectives))
		}
	}
	if a.Requests != nil {
		sum += row * int64(len(a.Requests.TTFT.Cases)+len(a.Requests.ITL.Cases))
	}
	return sum
}

// traces returns the traces of a capture, which are needed for single spans.
func (s *Server) traces(ctx context.Context, paths []string) ([]*trace.Trace, error) {
	v, err := s.store.get(ctx, "traces\n"+strings.Join(paths, "\n")+"\n"+stamp(paths...), func() (any, int64, error) {
		var said warnings
		in := window.Input{Paths: paths, Read: s.reading}
		c, err := in.Open(ctx, &progress.Console{W: &said}, "timeline")
		if err != nil {
			return nil, 0, err
		}
		bytes := int64(0)
		for _, t := range c.Traces {
			bytes += 64*int64(len(t.Spans)) + 64*int64(len(t.Ops)) + 64*int64(t.Strings.Len())
		}
		return c.Traces, bytes, nil
	})
	if err != nil {
		return nil, err
	}
	return v.([]*trace.Trace), nil
}
