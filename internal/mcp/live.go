package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Live lets an agent act on running servers. The functions return within the time of ctx, and leave no profiler armed.
type Live struct {
	URLs    []string                                                         // the only servers that the tools may use
	State   func(ctx context.Context, url string) (string, error)            // lines about the load of a server
	Capture func(ctx context.Context, url string, steps int) (string, error) // records a window; returns the id of the run
	Bench   func(ctx context.Context, url string, load Load) (string, error) // sends a load; returns the id of the run
}

// Load is a bounded load of requests with random tokens.
type Load struct {
	Prompts     int
	Concurrency int
	Input       int // tokens of each prompt
	Output      int // tokens of each reply
	Profile     bool
}

// Limits of the tools that act.
const (
	mostSteps   = 50
	mostPrompts = 200
	mostTokens  = 8192
	cooldown    = time.Minute // between two captures of a server
)

// acting allows one capture or load at a time.
type acting struct {
	Live
	busy     sync.Mutex
	mu       sync.Mutex
	captured map[string]time.Time // end of the last capture, by URL
}

// addLive adds the tools that use servers.
func (s *Server) addLive(live Live) {
	a := &acting{Live: live, captured: map[string]time.Time{}}
	no, yes := false, true
	tool := func(name, about string) *mcp.Tool {
		return &mcp.Tool{Name: name, Description: about, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: name == "server_state", DestructiveHint: &no, OpenWorldHint: &yes}}
	}
	add(s, tool("server_state", "Load of a running server: running and queued requests, KV cache, tokens/s."), func(ctx context.Context, in urlIn) (reply, error) {
		url, err := a.url(in.URL)
		if err != nil {
			return nil, err
		}
		text, err := a.State(ctx, url)
		out := &answer{}
		out.print(text)
		return out, err
	})
	add(s, tool("capture", "Records a window of at most 50 steps of a server under load, and explains it. At most once a minute for each server."), func(ctx context.Context, in captureIn) (reply, error) {
		url, err := a.url(in.URL)
		if err != nil {
			return nil, err
		}
		done, err := a.begin(url, true)
		if err != nil {
			return nil, err
		}
		defer done()
		id, err := a.Capture(ctx, url, limited(in.Steps, 10, mostSteps))
		if err != nil {
			return nil, err
		}
		return s.overview(ctx, ofRun{Run: id})
	})
	add(s, tool("bench", "Sends a load of at most 200 requests with random tokens to a server, and shows the times of the requests."), func(ctx context.Context, in benchIn) (reply, error) {
		url, err := a.url(in.URL)
		if err != nil {
			return nil, err
		}
		done, err := a.begin(url, in.Profile)
		if err != nil {
			return nil, err
		}
		defer done()
		id, err := a.Bench(ctx, url, Load{
			Prompts: limited(in.Prompts, 32, mostPrompts), Concurrency: limited(in.Concurrency, 8, mostPrompts),
			Input: limited(in.Input, 256, mostTokens), Output: limited(in.Output, 64, mostTokens), Profile: in.Profile,
		})
		if err != nil {
			return nil, err
		}
		return s.requests(ctx, requestsIn{ofRun: ofRun{Run: id}})
	})
}

type urlIn struct {
	URL string `json:"url,omitempty" jsonschema:"one of the servers of --live; default: the only one"`
}

type captureIn struct {
	urlIn
	Steps int `json:"steps,omitempty" jsonschema:"default 10, at most 50"`
}

type benchIn struct {
	urlIn
	Prompts     int  `json:"prompts,omitempty" jsonschema:"default 32, at most 200"`
	Concurrency int  `json:"concurrency,omitempty" jsonschema:"requests at a time, default 8"`
	Input       int  `json:"input,omitempty" jsonschema:"tokens of a prompt, default 256"`
	Output      int  `json:"output,omitempty" jsonschema:"tokens of a reply, default 64"`
	Profile     bool `json:"profile,omitempty" jsonschema:"also record a window"`
}

// url returns the server that a call names.
func (a *acting) url(url string) (string, error) {
	if url == "" && len(a.URLs) == 1 {
		return a.URLs[0], nil
	}
	if !slices.Contains(a.URLs, url) {
		return "", fmt.Errorf("url %q: give one of %s", clean(url), clean(strings.Join(a.URLs, ", ")))
	}
	return url, nil
}

// begin reserves the servers for one capture or load. captures reports whether a window is recorded.
func (a *acting) begin(url string, captures bool) (done func(), err error) {
	if !a.busy.TryLock() {
		return nil, errors.New("another capture or load is running: wait for it")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if wait := cooldown - time.Since(a.captured[url]); captures && wait > 0 {
		a.busy.Unlock()
		return nil, fmt.Errorf("a capture of this server ended less than a minute ago: ask again in %d s, or use that capture", int(wait.Seconds())+1)
	}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if captures {
			a.captured[url] = time.Now()
		}
		a.busy.Unlock()
	}, nil
}
