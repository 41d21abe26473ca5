// Package kube reaches servers in pods of a Kubernetes cluster. It selects pods, forwards connections to their ports,
// and runs commands in their containers, with the standard library alone. It reads the same kubeconfig files as
// kubectl.
//
// Streams use websockets (RFC 6455) with the subprotocols of Kubernetes: v5.channel.k8s.io or v4.channel.k8s.io for
// commands, v4.channel.k8s.io for ports.
package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client calls one API server.
type Client struct {
	Namespace string // of the context, or "default"
	base      *url.URL
	http      *http.Client
	auth      *auth
}

// New returns a client of the cluster of a context.
func New(c *Config) (*Client, error) {
	base, err := url.Parse(c.Cluster.Server)
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return nil, fmt.Errorf("context %q: %q is not the URL of an API server", c.Name, c.Cluster.Server)
	}
	a := &auth{user: &c.User, cluster: &c.Cluster}
	transport, err := a.transport()
	if err != nil {
		return nil, fmt.Errorf("context %q: %w", c.Name, err)
	}
	return &Client{Namespace: cmp.Or(c.Namespace, "default"), base: base, http: &http.Client{Transport: transport, CheckRedirect: here}, auth: a}, nil
}

// here refuses redirects: credentials go only to the API server.
func here(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

const (
	answerLimit = 30 * time.Second // for one reply of the API server
	mostReply   = 64 << 20         // bytes; a page of 500 pods has about 5 MB
)

// Refused is an error reply of the API server.
type Refused struct {
	Status int
	Reason string // of the reply's Status object, such as NotFound
	Text   string
}

func (r *Refused) Error() string {
	hint := ""
	switch r.Status {
	case http.StatusUnauthorized:
		hint = " (check the user of the kubeconfig's context)"
	case http.StatusForbidden:
		hint = " (stepscope guide kubernetes lists the rights)"
	}
	return fmt.Sprintf("the API server answers %d: %s%s", r.Status, r.Text, hint)
}

// refused reads an error reply.
func refused(res *http.Response) *Refused {
	text, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	var status struct{ Reason, Message string }
	_ = json.Unmarshal(text, &status) // another body is given as it is
	line, _, _ := strings.Cut(strings.TrimSpace(cmp.Or(status.Message, string(text), http.StatusText(res.StatusCode))), "\n")
	return &Refused{res.StatusCode, status.Reason, line[:min(len(line), 300)]}
}

// url returns the URL of a path, which may contain a query.
func (c *Client) url(path string, query url.Values) string {
	u := c.base.JoinPath(path)
	u.RawQuery = query.Encode()
	return u.String()
}

// do sends a GET request. If the API server refuses the credentials, it renews them and sends the request once more.
// An error is a *Refused or contains the cause alone.
func (c *Client) do(ctx context.Context, path string, query url.Values, header http.Header, status int) (*http.Response, error) {
	for again := false; ; again = true {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url(path, query), nil)
		if err != nil {
			return nil, err
		}
		if header != nil {
			req.Header = header.Clone()
		}
		if err := c.auth.sign(ctx, req.Header); err != nil {
			return nil, err
		}
		res, err := c.http.Do(req)
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = fmt.Errorf("the API server at %s: %w", c.base.Host, e.Err)
		}
		if err != nil || res.StatusCode == status {
			return res, err
		}
		r := refused(res)
		res.Body.Close()
		if res.StatusCode != http.StatusUnauthorized || again || !c.auth.renew() {
			return nil, r
		}
	}
}

// get reads a JSON object.
func (c *Client) get(ctx context.Context, path string, query url.Values, into any) error {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	res, err := c.do(ctx, path, query, nil, http.StatusOK)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if err := json.NewDecoder(io.LimitReader(res.Body, mostReply)).Decode(into); err != nil {
		return fmt.Errorf("the API server at %s: unexpected reply: %w", c.base.Host, err)
	}
	return nil
}
