package view

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/window"
	"github.com/stepscope/stepscope/internal/explain/worth"
	"github.com/stepscope/stepscope/internal/view/kernels"
	"github.com/stepscope/stepscope/internal/view/timeline"
	"github.com/stepscope/stepscope/trace"
)

// A Capture is one profiling window, read and explained once for all views. Nothing of it changes, so any number of
// requests may look at it.
type Capture struct {
	ID      string         // in addresses of the page
	Traces  []*trace.Trace // of the ranks of Aligned, in their order; nil of a window that was summarised
	Report  *result.Report
	Aligned *match.Aligned
	// Timeline is all ranks side by side. It is begun with the capture; who asks waits for it.
	Timeline func() (*timeline.Timeline, error)
	Kernels  *kernels.Work
	Role     string // of its server: prefill, decode; "": it does both
	// Servers are those that were recorded together, this one among them; none: it is the only one.
	Servers []Beside
	// Load is the run whose load it was recorded under; "": none.
	Load string
	// Perfetto hands the capture to Perfetto; nil: it cannot be.
	Perfetto HandOver

	worth *worth.Window
	again sync.Mutex // held by who runs steps again
}

// Beside is one of several servers that were recorded together.
type Beside struct {
	ID    string `json:"id"` // of its capture
	Title string `json:"title"`
	Name  string `json:"-"` // its own
	Role  string `json:"-"`
}

// HandOver gives a capture to Perfetto, until it is closed.
type HandOver interface {
	// Handler answers a page whose path ends in a slash, and what that asks for below. To make it may take minutes: ctx
	// bounds the wait alone.
	Handler(ctx context.Context) (http.Handler, error)
	Close()
}

// NewCapture explains a window that was read.
func NewCapture(id string, read *window.Capture, rules *kernel.Rules, force bool) (*Capture, error) {
	opt := read.Options()
	opt.Force = force
	w := read.Prepare(rules)
	rep, err := w.Analyze(opt)
	if err != nil {
		return nil, err
	}
	c := &Capture{ID: id, Report: report.Plain(rep), Aligned: w.Aligned(), worth: w.Worth()}
	c.Traces = inOrder(c.Aligned, read.Traces)
	c.Kernels = kernels.New(c.Aligned, c.Traces)
	c.Timeline = sync.OnceValues(func() (*timeline.Timeline, error) { return timeline.New(c.Traces, c.Aligned, c.Report) })
	go c.Timeline() // of a large capture it takes seconds: it is there, mostly, when the page asks for it
	return c, nil
}

// inOrder gives the traces of ranks in the order of these, which are without what was given twice.
func inOrder(a *match.Aligned, traces []*trace.Trace) (out []*trace.Trace) {
	at := 0
	for _, r := range a.Ranks {
		for at < len(traces) && traces[at].Source != r.Source {
			at++
		}
		if at == len(traces) {
			return nil
		}
		out = append(out, traces[at])
		at++
	}
	return out
}

// Head is what the page knows of a capture before it asks for any view.
type Head struct {
	ID    string   `json:"id"`
	Title string   `json:"title"`
	Ranks []string `json:"ranks"`
	Steps int      `json:"steps"`
	Span  int64    `json:"span_ns"`
	Kinds []string `json:"kinds"` // of steps, the most frequent first
	// Groups are what kernels can be added up by.
	Groups []kernels.Group `json:"groups"`
	Beside []Beside        `json:"beside"` // see Capture.Servers
	Load   string          `json:"load"`   // see Capture
	Map    string          `json:"map"`    // the measure that a map of ranks and steps begins with
}

// Title is what a capture is called.
func (c *Capture) Title() string {
	if i := slices.IndexFunc(c.Servers, func(b Beside) bool { return b.ID == c.ID }); i >= 0 {
		return c.Servers[i].Title
	}
	return cmp.Or(columns.Clean(c.Report.Source.ID), "capture")
}

func (c *Capture) head() Head {
	src := &c.Report.Source
	h := Head{ID: c.ID, Title: c.Title(), Ranks: []string{}, Steps: len(c.Report.Steps), Span: src.SpanNS, Groups: c.Kernels.Groups(), Beside: append([]Beside{}, c.Servers...), Load: c.Load, Map: timeline.Telling(c.Report)}
	for _, name := range src.Ranks {
		h.Ranks = append(h.Ranks, columns.Clean(name))
	}
	counts := map[string]int{}
	for i := range c.Report.Steps {
		counts[c.Report.Steps[i].Kind]++
	}
	h.Kinds = slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(counts[b]-counts[a], strings.Compare(a, b)) })
	if h.Kinds == nil {
		h.Kinds = []string{}
	}
	return h
}

// mostOpened is how many runs stay open beside what was given: a capture of a million events is some 100 MB.
const mostOpened = 3

// captures are those that were given, and runs that the page asked for.
type captures struct {
	open func(context.Context, string) (*Capture, error)

	mu     sync.Mutex
	given  int // of all, those that stay
	all    []*Capture
	means  map[string]string // the captures' own ids, by those that they were opened by
	single sync.Mutex        // one is opened at a time: each takes all processors
}

func newCaptures(given []*Capture, open func(context.Context, string) (*Capture, error)) *captures {
	s := &captures{open: open, given: len(given), all: slices.Clone(given), means: map[string]string{}}
	for _, c := range given {
		run, _, _ := SplitID(c.ID)
		s.means[run] = c.ID
	}
	return s
}

// SplitID takes apart the id of a capture of one of several servers, RUN:SERVER; several is false for that of a capture that
// is the only one.
func SplitID(id string) (run, server string, several bool) { return strings.Cut(id, ":") }

// find gives a capture that is there; an empty id is the first. One that was opened becomes the newest.
func (s *captures) find(id string) *Capture {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own, ok := s.means[id]; ok {
		id = own
	}
	at := slices.IndexFunc(s.all, func(c *Capture) bool { return c.ID == id })
	if id == "" && len(s.all) > 0 {
		at = 0
	}
	if at < 0 {
		return nil
	}
	c := s.all[at]
	if at >= s.given {
		s.all = append(slices.Delete(s.all, at, at+1), c)
	}
	return c
}

// get gives a capture, and opens the run of that id if it is none that is there.
func (s *captures) get(ctx context.Context, id string) (*Capture, error) {
	if c := s.find(id); c != nil {
		return c, nil
	}
	if id == "" || s.open == nil {
		return nil, errStatus{http.StatusNotFound, fmt.Errorf("there is no capture %q here", id)}
	}
	s.single.Lock()
	defer s.single.Unlock()
	if c := s.find(id); c != nil { // somebody else's turn has opened it
		return c, nil
	}
	c, err := s.open(ctx, id)
	if err != nil {
		return nil, err
	}
	if c.ID != id {
		s.mu.Lock()
		s.means[id] = c.ID
		s.mu.Unlock()
		if was := s.find(c.ID); was != nil { // it was there by its own id
			release([]*Capture{c})
			return was, nil
		}
	}
	var old []*Capture
	s.mu.Lock()
	s.all = append(s.all, c)
	if len(s.all) > s.given+mostOpened {
		old = slices.Clone(s.all[s.given : s.given+1])
		s.all = slices.Delete(s.all, s.given, s.given+1)
	}
	s.mu.Unlock()
	release(old)
	return c, nil
}

// close lets all go.
func (s *captures) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	release(s.all)
}

// release removes what hand-overs of captures hold outside of memory.
func release(all []*Capture) {
	for _, c := range all {
		if c.Perfetto != nil {
			c.Perfetto.Close()
		}
	}
}

// of makes a handler of one capture's: the parameter c says which.
func (s *Server) of(answer func(*Capture, *http.Request) (any, error)) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		c, err := s.captures.get(r.Context(), r.FormValue("c"))
		if err != nil {
			return nil, err
		}
		return answer(c, r)
	}
}
