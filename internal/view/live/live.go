// Package live shows servers while they run, to any number of pages at once, and records windows of them.
//
// Servers are asked only while somebody looks on. What they said, and how far a capture is, goes to the pages as
// server-sent events: "hello" with all that is known, then "sample" and "capture".
package live

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/httpguard"
	"github.com/stepscope/stepscope/internal/base/pause"
	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/capture/signals"
	"github.com/stepscope/stepscope/internal/capture/torch"
)

const (
	every    = time.Second
	patience = 10 * time.Second // that a server may take to answer
	kept     = 600              // samples of a server that a page that comes later is shown: ten minutes and more
	mostLook = 32               // pages that look on at once
)

// Options say what is shown.
type Options struct {
	Targets []torch.Target
	// Tails are the logs of targets, by their places, whose batch lines tell what a server does not tell itself; nil: there
	// is none. A target without a URL has nothing but its log.
	Tails map[int]*signals.Tail
	// Record records so many forward steps of all targets and keeps them as a run, whose id it gives. It ends early, and
	// leaves no profiler recording, when its context does. nil: nothing can be recorded.
	Record func(ctx context.Context, steps int, say *progress.Console, p *torch.Progress) (run string, err error)
	// Watched: somebody else follows the servers, so often, and tells of them; there are no Targets. 0: nobody does.
	Watched time.Duration
}

// A reader takes samples of one server.
type reader interface {
	Read(ctx context.Context) (*signals.Sample, error)
	Forget()
}

// Live shows servers. Run it for as long as it is served.
type Live struct {
	servers []*server
	record  func(context.Context, int, *progress.Console, *torch.Progress) (string, error)
	every   time.Duration
	watched bool

	mu      sync.Mutex
	pages   []chan event
	looked  chan struct{} // closed when a page comes that finds none
	ctx     context.Context
	capture *capture
	marks   []*Mark
	work    sync.WaitGroup // captures
}

// server is one that is shown.
type server struct {
	Name string `json:"name"`
	URL  string `json:"url"`
	Role string `json:"role"`

	at      int           // its place
	reader  reader        // nil: there is but a log
	tail    *signals.Tail // nil: there is none
	last    *signals.Sample
	samples []*Sample // the last of them; under Live.mu
}

// New shows servers, which are not asked before Run.
func New(o Options) *Live {
	l := &Live{record: o.Record, every: cmp.Or(o.Watched, every), watched: o.Watched > 0, looked: make(chan struct{})}
	for i, t := range o.Targets {
		name := t.Name
		if name == "" {
			name = t.URL
		}
		s := &server{Name: columns.Clean(name), URL: columns.Clean(t.URL), Role: t.Role, at: i, tail: o.Tails[i]}
		if t.URL != "" {
			s.reader = signals.NewReader(t.URL, t.Header)
		}
		l.servers = append(l.servers, s)
	}
	return l
}

// Routes are those of the page: what goes on, and the start and the end of a capture.
func (l *Live) Routes() []httpguard.Route {
	return []httpguard.Route{
		httpguard.At("GET", "/api/live", httpguard.Key, l.stream),
		httpguard.At("POST", "/api/live/capture", httpguard.Key, l.begin),
		httpguard.At("POST", "/api/live/stop", httpguard.Key, l.stop),
	}
}

// Run asks the servers while a page looks on, until ctx ends and a capture under way has been closed.
func (l *Live) Run(ctx context.Context) {
	l.mu.Lock()
	l.ctx = ctx
	var followers sync.WaitGroup
	for _, s := range l.servers {
		if s.reader != nil || s.tail != nil {
			followers.Go(func() { l.follow(ctx, s) })
		}
	}
	l.mu.Unlock()
	followers.Wait()
	l.work.Wait()
}

// follow takes samples of a server.
func (l *Live) follow(ctx context.Context, s *server) {
	if s.tail != nil {
		defer s.tail.Follow(ctx)()
	}
	for l.someone(ctx) {
		began := time.Now()
		var now *signals.Sample
		var err error
		if s.reader != nil {
			limited, cancel := context.WithTimeout(ctx, patience)
			now, err = s.reader.Read(limited)
			cancel()
		}
		if s.tail != nil {
			now, err = s.tail.Join(now, err)
		}
		if ctx.Err() != nil {
			return
		}
		l.tell(s, s.sample(now, err))
		pause.For(ctx, l.every-time.Since(began))
	}
}

// someone waits until a page looks on; false: ctx has ended.
func (l *Live) someone(ctx context.Context) bool {
	for {
		l.mu.Lock()
		n, looked := len(l.pages), l.looked
		l.mu.Unlock()
		if ctx.Err() != nil {
			return false
		}
		if n > 0 {
			return true
		}
		select {
		case <-looked:
		case <-ctx.Done():
		}
	}
}

// tell keeps a sample and hands it to all pages.
func (l *Live) tell(s *server, x *Sample) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep(s, x)
}

// keep is tell for who holds the lock.
func (l *Live) keep(s *server, x *Sample) {
	// Of a watch that looks more often than that, one of each second is kept, and the last.
	if n := len(s.samples); l.every < every && n > 1 && s.samples[n-1].At-s.samples[n-2].At < every.Milliseconds() {
		s.samples = s.samples[:n-1]
	}
	if s.samples = append(s.samples, x); len(s.samples) > kept {
		s.samples = slices.Delete(s.samples, 0, len(s.samples)-kept)
	}
	l.publish(event{"sample", x})
}

// event is one for pages.
type event struct {
	name string
	data any // as JSON
}

// publish hands an event to all pages; one that takes none is let go, and comes again by itself. The lock is held.
func (l *Live) publish(e event) {
	l.pages = slices.DeleteFunc(l.pages, func(page chan event) bool {
		select {
		case page <- e:
			return false
		default:
			close(page)
			return true
		}
	})
}

// hello is what a page that comes is told at first.
type hello struct {
	Servers []*server `json:"servers"`
	Every   int64     `json:"every_ms"`
	Samples []*Sample `json:"samples"` // of all servers, each in its order
	Records bool      `json:"records"` // windows can be recorded
	Capture *Capture  `json:"capture"` // the last; null: there was none
	Watched bool      `json:"watched"` // somebody follows the servers, whoever looks on
	Marks   []*Mark   `json:"marks"`   // in the order of time
}

// first is what a page is told at first. The lock is held.
func (l *Live) first() *hello {
	first := &hello{Servers: slices.Clone(l.servers), Every: l.every.Milliseconds(), Samples: []*Sample{}, Records: l.record != nil, Watched: l.watched, Marks: slices.Clone(l.marks)}
	for _, s := range l.servers {
		first.Samples = append(first.Samples, s.samples...)
	}
	if l.capture != nil {
		first.Capture = l.capture.now()
	}
	if first.Servers == nil {
		first.Servers = []*server{}
	}
	if first.Marks == nil {
		first.Marks = []*Mark{}
	}
	return first
}

// enter lets a page look on; nil: too many do.
func (l *Live) enter() (page chan event, first *hello) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pages) >= mostLook {
		return nil, nil
	}
	first = l.first()
	if page = make(chan event, 64); len(l.pages) == 0 {
		close(l.looked)
		l.looked = make(chan struct{})
	}
	l.pages = append(l.pages, page)
	return page, first
}

// leave lets a page go.
func (l *Live) leave(page chan event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.pages, page); i >= 0 {
		l.pages = slices.Delete(l.pages, i, i+1)
	}
}

// refuse answers with an error.
func refuse(w http.ResponseWriter, status int, message string) {
	reply(w, status, map[string]string{"error": message})
}
