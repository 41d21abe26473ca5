package cli

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"

	"github.com/stepscope/stepscope/internal/base/httpguard"
	"github.com/stepscope/stepscope/internal/measure/system"
	"github.com/stepscope/stepscope/internal/reference/launch"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/internal/view"
	"github.com/stepscope/stepscope/internal/view/live"
	"github.com/stepscope/stepscope/internal/watch"
)

// watchView has the flags for showing the watch in a browser.
type watchView struct {
	View    string `name:"view" placeholder:"PORT" help:"Show the watch in a browser, at this port on this machine only; 0: any free one."`
	Browser bool   `help:"Like --view, and open the default browser."`

	browse func(url string) error // opens an address; nil: browse
}

// open opens the port, or returns nil if no page is requested.
func (c *watchView) open() (net.Listener, error) {
	if c.View == "" && !c.Browser {
		return nil, nil
	}
	port := uint64(0)
	if c.View != "" {
		var err error
		if port, err = strconv.ParseUint(c.View, 10, 16); err != nil {
			return nil, usagef("--view %q: give a port, such as 8080; from another machine, connect through ssh -L", c.View)
		}
	}
	return httpguard.Listen("127.0.0.1", int(port), "", false)
}

// named matches the names of windows that a page may request. Any other name that a page requests is that of a run.
var named = regexp.MustCompile(`^capture-[0-9]+(-before-[0-9]+|-since-[0-9]+|-after)?$`)

// show serves the viewer until the returned function is called. w.Dir must already be set.
func (c *watchCmd) show(ctx context.Context, e *env, w *watch.Watch, ln net.Listener) (end func()) {
	root, _ := c.root() // without a home for runs, no runs are shown
	page := live.New(live.Options{Watched: c.Every})
	w.See = page.Sees
	w.Hear = func(ev *watch.Event, says string) { page.Marks(markOf(ev, says)) }
	opt := view.Options{Version: release(), Log: launch.NewLog(e.stderr).Structured(levelOf("warning")), Root: root, Live: page, Say: e.Console}
	opt.Open = c.opens(e, root, w.Dir, w.Run)
	address := "http://" + ln.Addr().String() + "/#tab=live"
	e.Line("shown at " + address)
	w.Alerts.Page = address
	if c.Browser {
		start := c.browse
		if start == nil {
			start = browse
		}
		if err := start(address); err != nil {
			e.Warn("no browser could be started, open the address yourself: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // the viewer ends only with the watch
	var all sync.WaitGroup
	all.Go(func() {
		if err := view.New(opt).Serve(ctx, ln); err != nil {
			e.Lack("--view: %v", err)
		}
	})
	return func() { cancel(); all.Wait() }
}

// opens returns a function that opens the capture with the id that a page requests. The capture is either a window in a
// subdirectory of dir or a run below root. A window includes all its servers. run is the run of the watch; nil: none.
func (c *watchCmd) opens(e *env, root, dir string, run *runs.Run) func(context.Context, string) (*view.Capture, error) {
	as := &viewCmd{runPlace: c.runPlace}
	return func(ctx context.Context, id string) (*view.Capture, error) {
		of, _, _ := view.SplitID(id)
		path := filepath.Join(dir, of)
		if _, err := os.Stat(path); !named.MatchString(of) || err != nil {
			if path, err = openable(root, of); err != nil {
				return nil, err
			}
			return as.open(ctx, e, id, inputFlags{Paths: []string{path}})
		}
		servers := system.Apart(path)
		if len(servers) == 0 {
			servers = []system.Server{{Paths: []string{path}}}
		}
		capture, err := as.ofServers(ctx, e, id, servers, "")
		if err == nil && run != nil {
			capture.Watched = viewWatched(run, of)
		}
		return capture, err
	}
}

// markOf converts an event to the form that the page uses.
func markOf(e *watch.Event, says string) *live.Mark {
	m := &live.Mark{Server: e.Server, Kind: e.Kind, At: e.At.UnixMilli(), Rule: e.Rule, Rank: e.Rank, Text: says}
	if e.Kind == watch.KindAlarm && e.After != nil && e.Onset != nil {
		m.After, m.Onset = e.After.UnixMilli(), e.Onset.UnixMilli()
	}
	if e.Kind == watch.KindVerdict {
		m.Rank, m.Capture = e.Verdict.Rank, e.Capture
	}
	return m
}
