package mcp

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// bearer adds a token to each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// TestHTTP: clients with the token are served; others, and web pages, are refused.
func TestHTTP(t *testing.T) {
	s, err := New(Options{Roots: []string{testdata}})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, ln, "secret", slog.New(slog.DiscardHandler)) }()
	url := "http://" + ln.Addr().String() + "/mcp"
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(ctx,
		&mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer("secret")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if text, _, err := call(t, c, "overview", map[string]any{"run": "compute_skew"}); err != nil || !strings.Contains(text, "TP02") {
		t.Errorf("%v %s", err, text)
	}
	c.Close()
	for _, x := range []struct {
		path, host string
		header     map[string]string
		status     int
	}{
		{"/mcp", "", nil, http.StatusUnauthorized},
		{"/mcp", "", map[string]string{"Authorization": "Bearer wrong"}, http.StatusUnauthorized},
		{"/mcp", "", map[string]string{"Authorization": "Bearer secret", "Origin": "http://evil.example"}, http.StatusForbidden},
		{"/mcp", "", map[string]string{"Authorization": "Bearer secret", "Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		{"/mcp", "evil.example", map[string]string{"Authorization": "Bearer secret"}, http.StatusForbidden},
		{"/other", "", map[string]string{"Authorization": "Bearer secret"}, http.StatusNotFound},
	} {
		req, _ := http.NewRequest(http.MethodPost, strings.TrimSuffix(url, "/mcp")+x.path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		for k, v := range x.header {
			req.Header.Set(k, v)
		}
		if x.host != "" {
			req.Host = x.host
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != x.status {
			t.Errorf("%s %s %v: %d %s", x.path, x.host, x.header, resp.StatusCode, body)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
