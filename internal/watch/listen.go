package watch

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/base/httpguard"
	"github.com/stepscope/stepscope/internal/base/prom"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/capture/signals"
)

// counts holds the data that the watch exports through its own /metrics.
type counts struct {
	mu     sync.Mutex
	events map[string]int        // by kind
	alarms map[[2]string]float64 // by group and rule: 1 while active
	live   map[string]*signals.Live

	version  string
	captures map[[2]string]int    // finished captures, by group and result
	verdict  map[string]time.Time // last verdict, by group
}

// event counts an event.
func (c *counts) event(e *Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.events == nil {
		c.events, c.alarms, c.live = map[string]int{}, map[[2]string]float64{}, map[string]*signals.Live{}
		c.captures, c.verdict = map[[2]string]int{}, map[string]time.Time{}
	}
	c.events[e.Kind]++
	switch e.Kind {
	case KindAlarm:
		c.alarms[[2]string{e.Server, e.Rule}] = 1
	case KindOver:
		c.alarms[[2]string{e.Server, e.Rule}] = 0
	case KindBegin:
		c.live[e.Server] = nil
	case KindLost:
		c.live[e.Server] = nil
	case KindFailed:
		c.captures[[2]string{e.Server, KindFailed}]++
	case KindVerdict:
		c.captures[[2]string{e.Server, e.Verdict.Kind}]++
		c.verdict[e.Server] = e.At
	}
}

// seen stores a server's last sample.
func (c *counts) seen(f *follower) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live[f.name] = f.live
}

// text renders the page /metrics.
func (c *counts) text() *prom.Text {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := &prom.Text{Prefix: "stepscope_"}
	x.Header("build_info", "Version of stepscope; the value is 1.", "gauge")
	x.Sample("build_info", `version="`+prom.Escape(c.version)+`",goversion="`+runtime.Version()+`"`, 1)
	x.Prefix = "stepscope_watch_"
	x.Header("events_total", "Events by kind, as in the event log.", "counter")
	for _, kind := range slices.Sorted(maps.Keys(c.events)) {
		x.Sample("events_total", `kind="`+kind+`"`, float64(c.events[kind]))
	}
	x.Header("alarm", "Whether the condition of a rule is active.", "gauge")
	for _, a := range sortedPairs(c.alarms) {
		x.Sample("alarm", `server="`+prom.Escape(a[0])+`",rule="`+prom.Escape(a[1])+`"`, c.alarms[a])
	}
	x.Header("captures_total", "Finished captures, by the kind of the verdict, or failed.", "counter")
	for _, of := range sortedPairs(c.captures) {
		x.Sample("captures_total", `server="`+prom.Escape(of[0])+`",result="`+of[1]+`"`, float64(c.captures[of]))
	}
	x.Header("last_verdict_timestamp_seconds", "Unix time of the last verdict.", "gauge")
	for _, s := range slices.Sorted(maps.Keys(c.verdict)) {
		x.Sample("last_verdict_timestamp_seconds", `server="`+prom.Escape(s)+`"`, float64(c.verdict[s].UnixMilli())/1e3)
	}
	x.Header("up", "Whether the server answers.", "gauge")
	servers := slices.Sorted(maps.Keys(c.live))
	for _, s := range servers {
		up := 0.0
		if c.live[s] != nil {
			up = 1
		}
		x.Sample("up", `server="`+prom.Escape(s)+`"`, up)
	}
	for _, t := range told {
		x.Header("rank_"+t.name, "Current value for a rank, in "+t.unit+".", "gauge")
		for _, s := range servers {
			if l := c.live[s]; l != nil {
				for i := range l.Ranks {
					if v := t.of(&l.Ranks[i]); signals.Known(v) {
						x.Sample("rank_"+t.name, `server="`+prom.Escape(s)+`",rank="`+rankName(l.Ranks[i].DP)+`"`, v)
					}
				}
			}
		}
	}
	return x
}

// sortedPairs returns the keys of a map in order.
func sortedPairs[V any](m map[[2]string]V) [][2]string {
	return sorts.Sorted(maps.Keys(m), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
}

// serve serves /metrics until end is called.
func (c *counts) serve(ln net.Listener) (end func()) {
	f := &httpguard.Front{
		Log: slog.New(slog.DiscardHandler), BodyTimeout: 10 * time.Second, MaxBodyBytes: httpguard.MostControl, Insecure: true,
		Refuse: func(w http.ResponseWriter, _ *http.Request, status int, message string) {
			httpguard.WriteText(w, status, message+"\n")
		},
	}
	mux := f.Mux([]httpguard.Route{httpguard.At("GET", "/metrics", httpguard.Open, func(w http.ResponseWriter, _ *http.Request) { c.text().Reply(w) })},
		func(*http.Request) string { return "the only page is /metrics" })
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { f.Serve(ctx, ln, f.Guard(mux), func(hs *http.Server) { hs.Close() }) })
	return func() { cancel(); all.Wait() }
}
