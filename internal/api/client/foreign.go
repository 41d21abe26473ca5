package client

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"syscall"

	"github.com/stepscope/stepscope/internal/api/wire"
)

// malformed matches the net/http error for a reply that is not HTTP; the group captures the bytes received.
var malformed = regexp.MustCompile(`malformed HTTP (?:response|status code|version) "(.*)"$`)

// foreign describes a reply that no route of an LLM server would send: a redirect or an HTML page. It returns "" for
// any other reply.
func (s *Server) foreign(resp *http.Response, body []byte) string {
	route := strings.TrimPrefix(resp.Request.URL.String(), s.URL)
	if moved := wire.Redirected(resp.StatusCode, s.URL, route, resp.Header.Get("Location")); moved != "" {
		return moved
	}
	begin := bytes.ToLower(bytes.TrimSpace(body[:min(len(body), 256)]))
	if !bytes.HasPrefix(begin, []byte("<!doctype html")) && !bytes.HasPrefix(begin, []byte("<html")) {
		return ""
	}
	name, _, _ := strings.Cut(resp.Header.Get("Server"), "/")
	if name = strings.TrimSpace(name[:min(len(name), 40)]); name == "" {
		name = "a web server"
	}
	status := fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	switch resp.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return fmt.Sprintf("this is %s, but no server behind it answers (%s): start it, or correct the URL", name, status)
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Sprintf("this is %s, which requires credentials (%s)", name, status)
	}
	return fmt.Sprintf("this is %s, not an LLM server, or it does not forward this route to one (%s): correct the URL", name, status)
}

// because is an error whose text suggests a fix.
type because struct {
	text string
	error
}

func (b *because) Error() string { return b.text }
func (b *because) Unwrap() error { return b.error }

// plainly explains in plain words why the server sent no reply.
func plainly(err error) error {
	host, noHost := errors.AsType[*net.DNSError](err)
	m := malformed.FindStringSubmatch(err.Error())
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return &because{"no server answers there (connection refused): start it, or correct the URL", err}
	case noHost && host.IsNotFound:
		return &because{fmt.Sprintf("host %s not found: correct the URL", host.Name), err}
	case errors.Is(err, http.ErrSchemeMismatch):
		return &because{"the server speaks HTTP, not HTTPS: write http://", err}
	case m != nil:
		return &because{fmt.Sprintf("this is not an HTTP server, it sends %.60q: correct the URL", m[1]), err}
	}
	return err
}
