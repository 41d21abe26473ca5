// Package client calls LLM servers and routers: SGLang's, vLLM's and stepscope's. It is for tools that send a single
// request and read the answer, such as requests to /server_info, /generate, /flush_cache, /tokenize and the profile
// routes. To generate load, use package load.
package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/api/wire"
)

// Server is a server to call.
type Server struct {
	URL    string       // without a trailing slash
	Header http.Header  // sent with each request, such as keys
	HTTP   *http.Client // nil: the default client plain
}

// KeyHeader returns the authorization header for a key. Without a key it does the same as SGLang's clients: it sends
// OPENAI_API_KEY as a bearer token or, if that is not set, API_KEY verbatim.
func KeyHeader(key string) http.Header {
	h := http.Header{}
	if key == "" {
		key = os.Getenv("OPENAI_API_KEY")
	}
	switch {
	case key != "":
		h.Set("Authorization", "Bearer "+key)
	case os.Getenv("API_KEY") != "":
		h.Set("Authorization", os.Getenv("API_KEY"))
	}
	return h
}

// New returns a Server for a valid base URL.
func New(base string, header http.Header) (*Server, error) {
	base = strings.TrimRight(base, "/")
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is not the URL of a server: give one such as http://127.0.0.1:30000", wire.WithoutUser(base))
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, fmt.Errorf("%s: no server has port %s: give a port from 1 to 65535", u.Host, port)
		}
	}
	if u.User != nil {
		return nil, fmt.Errorf("the URL of %s contains a user or a password, which would be visible wherever the URL is written: give a key instead", u.Host)
	}
	return &Server{URL: base, Header: header}, nil
}

// plain is the default client. Its only timeout is replyLimit, because the duration of a generation is not known in
// advance; the context can end a request earlier. It does not decompress replies, because a reply may be a compressed
// trace. It closes idle connections before uvicorn closes them after 5 s: a request sent on a connection that is being
// closed is lost, and requests that start a window are not retried.
var plain = &http.Client{Timeout: replyLimit, Transport: &http.Transport{
	DialContext: dial, Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 16, IdleConnTimeout: 4 * time.Second, DisableCompression: true,
	MaxResponseHeaderBytes: 1 << 20,
}}

// Unverified returns a client that does not verify the certificates of servers.
func Unverified() *http.Client {
	transport := plain.Transport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	return &http.Client{Timeout: replyLimit, Transport: transport}
}

const (
	maxReply = 1 << 30  // maximum size of a reply that carries data, bytes
	maxShort = 16 << 20 // maximum size of a reply about the server, bytes
)

// do sends a request. An error states only the cause, without the method and the URL.
func (s *Server) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, s.Header)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	once := *cmp.Or(s.HTTP, plain)
	once.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // keys go only to this server
	resp, err := once.Do(req)
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	if err != nil {
		return nil, plainly(err)
	}
	return resp, nil
}

// Reply is a complete reply with any status.
type Reply struct {
	Status  int
	Body    []byte
	Foreign string // describes a responder that is not an LLM server, or ""
}

// Reason returns the reply's message in one line.
func (r *Reply) Reason() string { return wire.Reason(r.Body) }

// Ask sends a request and reads the reply, which may have any status. An error means that there is no reply, and states
// only the cause.
func (s *Server) Ask(ctx context.Context, method, path string, body []byte) (*Reply, error) {
	resp, err := s.do(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxShort))
	return &Reply{resp.StatusCode, text, s.foreign(resp, text)}, err
}

// Refused is the error for a reply whose status is not 2xx.
type Refused struct {
	Status  int
	Text    string // the reason, in one line
	Foreign string // describes a responder that is not an LLM server, or ""
	what    string
}

func (r *Refused) Error() string {
	if r.Foreign != "" {
		return r.what + ": " + r.Foreign
	}
	hint := ""
	if r.Status == http.StatusUnauthorized {
		hint = " (give --api-key)"
	}
	return strings.TrimSuffix(fmt.Sprintf("%s: %d %s: %s", r.what, r.Status, http.StatusText(r.Status), r.Text), ": ") + hint
}

// Open sends a request and returns the reply with its body unread. The caller must close the body. If the status is not
// 2xx, the error is a *Refused.
func (s *Server) Open(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	what := method + " " + s.URL + path
	resp, err := s.do(ctx, method, path, body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if resp.StatusCode/100 != 2 {
		body := watch(resp.Body, errorLimit, false)
		defer body.Close()
		text, _ := io.ReadAll(io.LimitReader(body, 4<<10))
		return nil, &Refused{Status: resp.StatusCode, Text: wire.Reason(text), Foreign: s.foreign(resp, text), what: what}
	}
	resp.Body = watch(resp.Body, stallLimit, true)
	return resp, nil
}

// read returns the whole body of the reply. If the body is an HTML page, it returns an error.
func (s *Server) read(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	most := int64(maxReply)
	if method == http.MethodGet {
		most = maxShort
		limited, cancel := context.WithTimeout(ctx, getLimit)
		defer cancel()
		ctx = limited
	}
	resp, err := s.Open(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	switch {
	case err != nil:
		err = fmt.Errorf("%s %s%s: the reply broke off: %w", method, s.URL, path, err)
	case int64(len(text)) > most:
		err = fmt.Errorf("%s %s%s: the reply is longer than %d MiB", method, s.URL, path, most>>20)
	default:
		if what := s.foreign(resp, text); what != "" {
			err = fmt.Errorf("%s %s%s: %s", method, s.URL, path, what)
		}
	}
	return text, err
}

// Text sends a request with an empty body and returns the reply's text.
func (s *Server) Text(ctx context.Context, method, path string) (string, error) {
	text, err := s.read(ctx, method, path, nil)
	return string(text), err
}

// Get sends a GET request and decodes the JSON reply into into.
func (s *Server) Get(ctx context.Context, path string, into any) error {
	return s.call(ctx, http.MethodGet, path, nil, into)
}

// Post sends body as JSON and decodes the JSON reply into into.
func (s *Server) Post(ctx context.Context, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return s.call(ctx, http.MethodPost, path, text, into)
}

func (s *Server) call(ctx context.Context, method, path string, body []byte, into any) error {
	text, err := s.read(ctx, method, path, body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s %s%s: unexpected reply: %s", method, s.URL, path, wire.JSONCause(err))
	}
	return nil
}

// Info returns the reply of /server_info, or of /get_server_info on older servers.
func (s *Server) Info(ctx context.Context) (info map[string]any, err error) {
	for _, route := range InfoRoutes {
		err = s.Get(ctx, route, &info)
		if r, ok := errors.AsType[*Refused](err); !ok || r.Status != http.StatusNotFound {
			break
		}
	}
	return info, err
}

// InfoRoutes are the routes of SGLang's data about itself: first the current one, then the older one.
var InfoRoutes = []string{"/server_info", "/get_server_info"}

// Model returns the first model that the server lists, or "" if it lists none.
func (s *Server) Model(ctx context.Context) (string, error) {
	var list struct{ Data []struct{ ID string } }
	if err := s.Get(ctx, "/v1/models", &list); err != nil || len(list.Data) == 0 {
		return "", err
	}
	return list.Data[0].ID, nil
}
