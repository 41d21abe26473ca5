// Package mcp answers questions of coding agents about runs and captures by the Model Context Protocol. All tools only
// read, except those that Options.Live adds. No answer exceeds 8,000 bytes.
package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stepscope/stepscope/internal/base/httpguard"
	"github.com/stepscope/stepscope/internal/explain/brief"
	"github.com/stepscope/stepscope/internal/tracefile/read"
)

// Options configure a server.
type Options struct {
	Version string
	Roots   []string // directories below which captures may be read
	RunDir  string   // directory of the runs, which is also a root
	Memory  int64    // limit of the analyses and traces kept, in bytes; by default and at most 2 GB
	Live    *Live    // servers that an agent may load and capture; nil: none
}

// Limits of the work of a server.
const (
	mostMemory = 2 << 30           // of kept analyses and traces, bytes
	mostWork   = 2                 // number of analyses at a time
	mostTime   = 120 * time.Second // of one call
	mostBody   = 1 << 20           // bytes of one request
)

// Server answers by the Model Context Protocol.
type Server struct {
	roots   *roots
	store   *store
	reading read.Options
	work    chan struct{} // one element for each analysis that runs
	sdk     *mcp.Server
}

// instructions describe the purpose of the tools to a model.
const instructions = `Explains captures and load tests of LLM servers: which rank is late and why, how far steps are from the device's limit, why requests are slow. ` +
	`Start with list_runs or overview, then finding. Quote figures as given. A run is an id, "last", or a path.`

// New returns a server. It returns an error if a root cannot be read.
func New(o Options) (*Server, error) {
	r, err := newRoots(o.Roots, o.RunDir)
	if err != nil {
		return nil, err
	}
	if o.Memory == 0 || o.Memory > mostMemory {
		o.Memory = mostMemory
	}
	s := &Server{roots: r, store: newStore(o.Memory), work: make(chan struct{}, mostWork)}
	s.sdk = mcp.NewServer(&mcp.Implementation{Name: "stepscope", Version: o.Version},
		&mcp.ServerOptions{Instructions: instructions, Capabilities: &mcp.ServerCapabilities{}})
	s.addTools()
	s.addResources()
	if o.Live != nil {
		s.addLive(*o.Live)
	}
	return s, nil
}

// Run serves one client on stdin and stdout until stdin ends.
func (s *Server) Run(ctx context.Context) error {
	err := s.sdk.Run(ctx, &mcp.StdioTransport{MaxLineLength: mostBody})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Serve serves the protocol by HTTP at /mcp until ctx ends, for clients that send the token as a bearer token. It
// refuses requests of web pages.
func (s *Server) Serve(ctx context.Context, ln net.Listener, token string, log *slog.Logger) error {
	front := &httpguard.Front{
		APIKey: token, Log: log, BodyTimeout: 20 * time.Second, MaxBodyBytes: mostBody,
		Refuse: func(w http.ResponseWriter, _ *http.Request, status int, message string) {
			http.Error(w, message, status)
		},
	}
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.sdk }, &mcp.StreamableHTTPOptions{
		Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: mostBody,
	})
	mux := front.Mux([]httpguard.Route{httpguard.At("POST GET DELETE", "/mcp", httpguard.Key, http.NewCrossOriginProtection().Handler(h).ServeHTTP)},
		func(*http.Request) string { return "the protocol is at /mcp" })
	return front.Serve(ctx, ln, front.Guard(mux), func(hs *http.Server) { hs.Close() })
}

// reply is the answer to a call: a text for the model, and facts as JSON. Together they stay below the limit.
type reply interface {
	Both() (text string, facts []byte)
}

// tool adds a tool that only reads. do returns the answer to a call.
func tool[In any](s *Server, name, about string, do func(ctx context.Context, in In) (reply, error)) {
	no := false
	add(s, &mcp.Tool{Name: name, Description: about, Annotations: &mcp.ToolAnnotations{
		ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no,
	}}, do)
}

// schema returns the schema of a tool's arguments. Optional arguments are left out and not null, because some clients
// refuse a list of types.
func schema[In any]() *jsonschema.Schema {
	s, err := jsonschema.For[In](nil)
	if err != nil {
		panic(err) // a tag of In is invalid
	}
	for _, p := range s.Properties {
		if len(p.Types) == 2 && p.Types[0] == "null" {
			p.Type, p.Types = p.Types[1], nil
		}
	}
	return s
}

// add adds a tool.
func add[In any](s *Server, t *mcp.Tool, do func(ctx context.Context, in In) (reply, error)) {
	t.InputSchema = schema[In]()
	mcp.AddTool(s.sdk, t, func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		a, err := bounded(ctx, s, t.Annotations.ReadOnlyHint, func(ctx context.Context) (reply, error) { return do(ctx, in) })
		if err != nil {
			return nil, nil, err
		}
		text, facts := a.Both()
		res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
		if len(facts) > 0 {
			res.StructuredContent = json.RawMessage(facts)
		}
		return res, nil, nil
	})
}

// bounded calls do when fewer than mostWork calls run, for at most mostTime. If do only reads, bounded returns as soon as
// ctx ends; a part of an analysis that cannot be interrupted ends later, and counts as running until then.
func bounded[T any](ctx context.Context, s *Server, reads bool, do func(context.Context) (T, error)) (out T, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, mostTime, fmt.Errorf("no answer after %s: give a smaller capture, or one rank or step", mostTime))
	defer cancel()
	select {
	case s.work <- struct{}{}:
	case <-ctx.Done():
		return out, context.Cause(ctx)
	}
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if p := recover(); p != nil { // the server goes on with other captures
				o.err = fmt.Errorf("stepscope failed on this capture, please report it: %v", p)
			}
			<-s.work
			done <- o
		}()
		o.value, o.err = do(ctx)
	}()
	var o outcome
	if reads {
		select {
		case o = <-done:
		case <-ctx.Done():
			return out, context.Cause(ctx)
		}
	} else {
		o = <-done
	}
	if o.err == nil {
		return o.value, nil
	}
	if ctx.Err() != nil {
		o.err = context.Cause(ctx)
	}
	return out, errors.New(brief.Cut(o.err.Error(), 2*mostName))
}
