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
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/light"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/window"
	"github.com/stepscope/stepscope/internal/explain/worth"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/internal/view/kernels"
	"github.com/stepscope/stepscope/internal/view/timeline"
	"github.com/stepscope/stepscope/trace"
)

// Capture is one profiling window, which is read and explained once for all views. It is immutable, so requests may use
// it concurrently.
type Capture struct {
	ID      string         // ID of the capture in the page's addresses
	Traces  []*trace.Trace // in the order of Aligned's ranks; nil for a summarised window
	Report  *result.Report
	Aligned *match.Aligned
	// Timeline returns the timeline of all ranks. NewCapture starts to compute the timeline, and callers wait until it
	// is ready.
	Timeline func() (*timeline.Timeline, error)
	Kernels  *kernels.Work
	Role     string // role of the server: prefill or decode; "": both
	// Servers lists the captures that were recorded together, including this one. It is empty if this is the only one.
	Servers []Beside
	// Load is the benchmark run during which the window was recorded; "": none.
	Load string
	// Run is the stored run that has the capture; nil: none.
	Run *runs.Run
	// Watched has the verdicts of the watch that recorded the window.
	Watched []Watched
	// Perfetto opens the capture in Perfetto; nil: this is not possible.
	Perfetto HandOver

	worth *worth.Window
	again sync.Mutex // held while steps are replayed, and while the database is written

	looking      sync.Once
	looked       *report.Overview // see overview
	counterparts *match.Counterparts
	compared     int // number of ops that alone has compared
}

// Watched is a verdict of a watch in words, as the terminal showed it.
type Watched struct {
	Says string   `json:"says"` // one sentence
	More []string `json:"more"` // the lines that explain it
}

// Beside is one of several servers recorded together.
type Beside struct {
	ID    string `json:"id"` // id of the server's capture
	Title string `json:"title"`
	Name  string `json:"-"` // name of the server
	Role  string `json:"-"`
}

// HandOver serves a capture to Perfetto until it is closed.
type HandOver interface {
	// Handler serves a page whose path ends in a slash, and the files below it. The first call may take minutes. If ctx
	// ends, Handler stops waiting, but preparation continues.
	Handler(ctx context.Context) (http.Handler, error)
	Close()
}

// NewCapture explains a window.
func NewCapture(id string, read *window.Capture, rules *kernel.Rules, force bool, limits light.Options) (*Capture, error) {
	opt := read.Options()
	opt.Force, opt.Light = force, limits.Or(opt.Light)
	w := read.Prepare(rules)
	rep, err := w.Analyze(opt)
	if err != nil {
		return nil, err
	}
	c := &Capture{ID: id, Report: report.Plain(rep), Aligned: w.Aligned(), worth: w.Worth()}
	c.Traces = inOrder(c.Aligned, read.Traces)
	c.Kernels = kernels.New(c.Aligned, c.Traces)
	c.Timeline = sync.OnceValues(func() (*timeline.Timeline, error) {
		t, err := timeline.New(c.Traces, c.Aligned, c.Report)
		if err == nil {
			t.Sampled(timeline.Samples{GPUs: read.GPUs, Contexts: read.Light.Contexts, Loads: read.Loads})
		}
		return t, err
	})
	go c.Timeline() // takes seconds for a large capture, but is usually done before the page requests it
	return c, nil
}

// inOrder returns the traces in the order of a's ranks, without the traces of ranks given twice.
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

// Head is the information about a capture that the page needs before it requests any view.
type Head struct {
	ID    string   `json:"id"`
	Title string   `json:"title"`
	Ranks []string `json:"ranks"`
	Steps int      `json:"steps"`
	Span  int64    `json:"span_ns"`
	Kinds []string `json:"kinds"` // kinds of steps, the most frequent first
	// Groups are the available groupings of kernels.
	Groups []kernels.Group `json:"groups"`
	Beside []Beside        `json:"beside"` // see Capture.Servers
	Load   string          `json:"load"`   // see Capture.Load
	Light  bool            `json:"light"`  // there are pictures of the speed of light, or the reason why not
	Map    string          `json:"map"`    // initial measure of the heatmap of ranks and steps
	Fixes  []fix           `json:"fixes"`  // settings that remove the causes of findings
}

// Title returns the title of the capture for display.
func (c *Capture) Title() string {
	if i := slices.IndexFunc(c.Servers, func(b Beside) bool { return b.ID == c.ID }); i >= 0 {
		return c.Servers[i].Title
	}
	return cmp.Or(columns.Clean(c.Report.Source.ID), "capture")
}

func (c *Capture) head() Head {
	src := &c.Report.Source
	h := Head{ID: c.ID, Title: c.Title(), Ranks: []string{}, Steps: len(c.Report.Steps), Span: src.SpanNS, Groups: c.Kernels.Groups(), Beside: append([]Beside{}, c.Servers...), Load: c.Load, Light: c.Report.Light.Model != "", Map: timeline.Telling(c.Report), Fixes: c.fixes()}
	for _, name := range src.Ranks {
		h.Ranks = append(h.Ranks, columns.Clean(name))
	}
	counts := map[string]int{}
	for i := range c.Report.Steps {
		counts[c.Report.Steps[i].Kind]++
	}
	h.Kinds = sorts.Sorted(maps.Keys(counts), func(a, b string) int { return cmp.Or(counts[b]-counts[a], strings.Compare(a, b)) })
	if h.Kinds == nil {
		h.Kinds = []string{}
	}
	return h
}

// mostOpened is the number of opened runs that are kept in memory in addition to the given captures. A capture of a
// million events takes about 100 MB.
const mostOpened = 3

// captures holds the captures given at the start, and captures of runs that the page opened.
type captures struct {
	open func(context.Context, string) (*Capture, error)

	mu     sync.Mutex
	given  int // number of given captures, the first in all, which are never evicted
	all    []*Capture
	means  map[string]string // capture ids by the ids used to open them
	single sync.Mutex        // held while a run is opened, since opening uses all processors
}

func newCaptures(given []*Capture, open func(context.Context, string) (*Capture, error)) *captures {
	s := &captures{open: open, given: len(given), all: slices.Clone(given), means: map[string]string{}}
	for _, c := range given {
		run, _, _ := SplitID(c.ID)
		s.means[run] = c.ID
	}
	return s
}

// SplitID splits the id RUN:SERVER of a capture of one of several servers. several is false for the id of a single
// capture.
func SplitID(id string) (run, server string, several bool) { return strings.Cut(id, ":") }

// find returns the loaded capture with the given id, or the first capture if id is empty. An opened capture becomes the
// most recently used one.
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

// get returns the capture with the given id. If it is not loaded, get opens the run with that id.
func (s *captures) get(ctx context.Context, id string) (*Capture, error) {
	if c := s.find(id); c != nil {
		return c, nil
	}
	if id == "" || s.open == nil {
		return nil, errStatus{http.StatusNotFound, fmt.Errorf("there is no capture %q here", id)}
	}
	s.single.Lock()
	defer s.single.Unlock()
	if c := s.find(id); c != nil { // another request opened it while this one waited
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
		if was := s.find(c.ID); was != nil { // already loaded under its own id
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

// close releases all captures.
func (s *captures) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	release(s.all)
}

// release closes the Perfetto hand-overs of captures, which hold resources outside memory.
func release(all []*Capture) {
	for _, c := range all {
		if c.Perfetto != nil {
			c.Perfetto.Close()
		}
	}
}

// of returns a handler that calls answer with the capture that the parameter c selects.
func (s *Server) of(answer func(*Capture, *http.Request) (any, error)) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		c, err := s.captures.get(r.Context(), r.FormValue("c"))
		if err != nil {
			return nil, err
		}
		return answer(c, r)
	}
}
