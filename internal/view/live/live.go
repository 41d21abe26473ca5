// Package live shows running servers on any number of pages, and records windows of these servers.
//
// Servers are queried only while a page is open. Pages receive server-sent events: first "hello" with the complete
// state, then "sample" for each sample and "capture" for the progress of captures.
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
	patience = 10 * time.Second // time limit of a server's answer
	kept     = 600              // number of samples of a server kept for new pages, which cover at least ten minutes
	mostLook = 32               // maximum number of open pages
)

// Options configures a Live.
type Options struct {
	Targets []torch.Target
	Client  *http.Client // sends requests to the targets; nil: the client of package client
	// Tails are the logs of targets, by index of the target; nil: none. The lines of a log add data that the
	// server does not report. A target without a URL has only a log.
	Tails map[int]*signals.Tail
	// Record records the given number of forward steps of all targets as a run, and returns the id of the run. If ctx
	// ends, Record stops all profilers and returns early. nil: recording is not possible.
	Record func(ctx context.Context, steps int, say *progress.Console, p *torch.Progress) (run string, err error)
	// Watched is the sampling interval of another component that follows the servers and passes their samples to Live.
	// Targets is then empty. 0: there is no such component.
	Watched time.Duration
}

// reader samples one server.
type reader interface {
	Read(ctx context.Context) (*signals.Sample, error)
	Forget()
}

// Live shows servers. Run must be running while the routes are served.
type Live struct {
	servers []*server
	record  func(context.Context, int, *progress.Console, *torch.Progress) (string, error)
	every   time.Duration
	watched bool

	mu      sync.Mutex
	pages   []chan event
	looked  chan struct{} // closed when the first page opens
	ctx     context.Context
	capture *capture
	marks   []*Mark
	work    sync.WaitGroup // captures in progress
}

// server is one of the servers shown.
type server struct {
	Name string `json:"name"`
	URL  string `json:"url"`
	Role string `json:"role"`

	at      int           // index of the server
	reader  reader        // nil: the server has only a log
	tail    *signals.Tail // nil: the server has no log
	last    *signals.Sample
	samples []*Sample // the latest samples; guarded by Live.mu
}

// New returns a Live. Servers are not queried before Run is called.
func New(o Options) *Live {
	l := &Live{record: o.Record, every: cmp.Or(o.Watched, every), watched: o.Watched > 0, looked: make(chan struct{})}
	for i, t := range o.Targets {
		name := t.Name
		if name == "" {
			name = t.URL
		}
		s := &server{Name: columns.Clean(name), URL: columns.Clean(t.URL), Role: t.Role, at: i, tail: o.Tails[i]}
		if t.URL != "" {
			s.reader = signals.NewReader(t.URL, t.Header, o.Client)
		}
		l.servers = append(l.servers, s)
	}
	return l
}

// Routes returns the routes that a page needs: the event stream, and the start and stop of a capture.
func (l *Live) Routes() []httpguard.Route {
	return []httpguard.Route{
		httpguard.At("GET", "/api/live", httpguard.Key, l.stream),
		httpguard.At("POST", "/api/live/capture", httpguard.Key, l.begin),
		httpguard.At("POST", "/api/live/stop", httpguard.Key, l.stop),
	}
}

// Run queries the servers while a page is open. It returns when ctx has ended and any capture in progress has been
// stopped.
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

// follow samples a server while a page is open, until ctx ends.
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
		reply := time.Since(began)
		if s.tail != nil {
			now, err = s.tail.Join(now, err)
		}
		if ctx.Err() != nil {
			return
		}
		x := s.sample(now, err)
		if s.reader != nil && err == nil {
			x.Reply = reply.Nanoseconds()
		}
		l.tell(s, x)
		pause.For(ctx, l.every-time.Since(began))
	}
}

// someone waits until a page is open. It returns false if ctx ends before that.
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

// tell stores a sample and sends it to all pages.
func (l *Live) tell(s *server, x *Sample) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep(s, x)
}

// keep is like tell, but the caller holds the lock.
func (l *Live) keep(s *server, x *Sample) {
	// If samples arrive more often than once in the duration every, keep one sample per second, and the latest sample.
	if n := len(s.samples); l.every < every && n > 1 && s.samples[n-1].At-s.samples[n-2].At < every.Milliseconds() {
		s.samples = s.samples[:n-1]
	}
	if s.samples = append(s.samples, x); len(s.samples) > kept {
		s.samples = slices.Delete(s.samples, 0, len(s.samples)-kept)
	}
	l.publish(event{"sample", x})
}

// event is an event that is sent to pages.
type event struct {
	name string
	data any // encoded as JSON
}

// publish sends an event to all pages. A page with a full buffer is disconnected; it will reconnect by itself. The
// caller must hold the lock.
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

// hello is the first event sent to a new page.
type hello struct {
	Servers []*server `json:"servers"`
	Every   int64     `json:"every_ms"`
	Samples []*Sample `json:"samples"` // samples of all servers, in time order for each server
	Records bool      `json:"records"` // recording is possible
	Capture *Capture  `json:"capture"` // the latest capture; null: none
	Watched bool      `json:"watched"` // servers are followed even while no page is open
	Marks   []*Mark   `json:"marks"`   // in time order
}

// first returns the state for a new page. The caller must hold the lock.
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

// enter adds a page. It returns nil if too many pages are open.
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

// leave removes a page.
func (l *Live) leave(page chan event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.pages, page); i >= 0 {
		l.pages = slices.Delete(l.pages, i, i+1)
	}
}

// refuse replies with an error.
func refuse(w http.ResponseWriter, status int, message string) {
	reply(w, status, map[string]string{"error": message})
}
