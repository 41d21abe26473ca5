package mcp

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stepscope/stepscope/docs/guides"
	"github.com/stepscope/stepscope/internal/explain/report"
)

// Limits and types of resources. A resource is read on request, so it may be longer than the answer of a tool.
const (
	mostResource = 40_000
	markdown     = "text/markdown"
)

// addResources adds the guides, the definitions of figures and the reports of runs.
func (s *Server) addResources() {
	for _, g := range guides.All() {
		s.sdk.AddResource(&mcp.Resource{URI: "stepscope://guide/" + g.Name, Name: "guide-" + g.Name, Title: g.Title, MIMEType: markdown},
			resource(s, func(context.Context, string) (string, error) { return g.Text, nil }))
	}
	s.sdk.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "stepscope://metrics/{name}", Name: "metrics", Title: "Definition of a figure", MIMEType: markdown},
		resource(s, func(ctx context.Context, uri string) (string, error) {
			name, err := url.PathUnescape(strings.TrimPrefix(uri, "stepscope://metrics/"))
			if err != nil {
				return "", err
			}
			a, err := s.explain(ctx, explainIn{Word: name})
			if err != nil {
				return "", err
			}
			text, _ := a.Both()
			return text, nil
		}))
	s.sdk.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "stepscope://run/{id}/report.md", Name: "report", Title: "Report of a run", MIMEType: markdown},
		resource(s, func(ctx context.Context, uri string) (string, error) {
			id, ok := strings.CutSuffix(strings.TrimPrefix(uri, "stepscope://run/"), "/report.md")
			if !ok {
				return "", errors.New("want stepscope://run/ID/report.md")
			}
			a, err := s.analyse(ctx, id)
			if err != nil {
				return "", err
			}
			r, err := a.report("")
			if err != nil {
				return "", err
			}
			var b bytes.Buffer
			err = report.Markdown(&b, r, report.Options{Top: 10})
			return b.String(), err
		}))
}

// resource returns a handler that reads a text.
func resource(s *Server, read func(ctx context.Context, uri string) (string, error)) mcp.ResourceHandler {
	return func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		text, err := bounded(ctx, s, true, func(ctx context.Context) (string, error) { return read(ctx, req.Params.URI) })
		if err != nil {
			return nil, err
		}
		if len(text) > mostResource {
			text = cut(text, mostResource-200) + "\n\nThe rest is left out; use the tools for single tables.\n"
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: markdown, Text: text}}}, nil
	}
}
