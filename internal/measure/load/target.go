package load

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/measure/workload"
)

// target is the server to which requests are sent.
type target struct {
	Backend
	opt   *Options
	host  string // host name for the Host header and for TLS
	path  string
	tls   *tls.Config
	addrs []string // addresses to dial
	good  atomic.Int32
	heads string // header fields that all requests have
}

func newTarget(ctx context.Context, o *Options) (*target, error) {
	b, err := backend(o.Backend)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(o.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("load: base URL %q is not http://host:port", wire.WithoutUser(o.BaseURL))
	}
	t := &target{Backend: b, opt: o, host: u.Host, path: strings.TrimSuffix(u.EscapedPath(), "/") + cmp.Or(o.Path, b.Path)}
	port := u.Port()
	if u.Scheme == "https" {
		t.tls = &tls.Config{}
		if o.TLS != nil {
			t.tls = o.TLS.Clone()
		}
		t.tls.NextProtos = []string{"http/1.1"}
		t.tls.ServerName = cmp.Or(t.tls.ServerName, u.Hostname())
	}
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	hosts, err := net.DefaultResolver.LookupHost(ctx, u.Hostname())
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	for _, h := range hosts {
		t.addrs = append(t.addrs, net.JoinHostPort(h, port))
	}
	t.heads, err = headers(o)
	return t, err
}

// headers returns the header fields that all requests have. The user's fields override the default fields.
func headers(o *Options) (string, error) {
	all := map[string]string{"Content-Type": "application/json", "User-Agent": "stepscope", "Accept": "*/*"}
	if key := o.Getenv("OPENAI_API_KEY"); key != "" {
		all["Authorization"] = "Bearer " + key
	} else if key := o.Getenv("API_KEY"); key != "" {
		all["Authorization"] = key
	}
	if o.NewConnPerRequest {
		all["Connection"] = "close"
	}
	for name, value := range o.Header {
		for have := range all {
			if strings.EqualFold(have, name) {
				delete(all, have)
			}
		}
		switch strings.ToLower(name) {
		case "host", "content-length", "transfer-encoding":
			return "", fmt.Errorf("load: header %s cannot be set by users", name)
		}
		all[name] = value
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := checkHeader(name, all[name]); err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s: %s\r\n", name, all[name])
	}
	return b.String(), nil
}

// checkHeader rejects values that would break or split the request.
func checkHeader(name, value string) error {
	if name == "" || strings.ContainsAny(name, " \t\r\n:") || strings.ContainsAny(value, "\r\n\x00") {
		return fmt.Errorf("load: header %q: %q cannot be sent", name, value)
	}
	return nil
}

// request builds the HTTP request of a round.
func (t *target) request(f *flight, turn int) ([]byte, error) {
	q, r := f.req, &f.recs[turn]
	var msgs []byte
	if t.family == chat {
		var err error
		if msgs, err = f.messages(turn); err != nil {
			return nil, err
		}
	} else if len(q.Rounds) > 1 {
		return nil, fmt.Errorf("backend %s does not support conversations: use a chat backend", t.Name)
	} else if q.Prompt == "" && q.Tokens == nil && q.Messages != nil {
		return nil, fmt.Errorf("backend %s does not accept chat messages: use a chat backend", t.Name)
	}
	content, err := makeBody(t.Backend, t.opt, q, r.ID, msgs, r.AskedLen)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(content)+len(t.heads)+len(t.path)+len(t.host)+256)
	out = append(out, "POST "+t.path+" HTTP/1.1\r\nHost: "+t.host+"\r\n"+t.heads...)
	if r.ID != "" && t.idHeader {
		if err := checkHeader("X-Request-Id", r.ID); err != nil {
			return nil, err
		}
		out = append(out, "X-Request-Id: "+r.ID+"\r\n"...)
	}
	if q.RoutingKey != "" {
		if err := checkHeader("X-SMG-Routing-Key", q.RoutingKey); err != nil {
			return nil, err
		}
		out = append(out, "X-SMG-Routing-Key: "+q.RoutingKey+"\r\n"...)
	}
	out = append(out, "Content-Length: "...)
	out = strconv.AppendInt(out, int64(len(content)), 10)
	out = append(out, "\r\n\r\n"...)
	return append(out, content...), nil
}

// messages returns the messages of a round. For a conversation, the messages include all earlier messages and the
// server's replies.
func (f *flight) messages(turn int) ([]byte, error) {
	q := f.req
	if len(q.Rounds) == 0 {
		if q.Prompt == "" && q.Messages == nil && q.Tokens != nil {
			return nil, errors.New("a chat backend takes text, not token ids")
		}
		return messages(q), nil
	}
	list := []byte(q.Rounds[turn].Messages)
	if list == nil {
		one := workload.Request{Prompt: q.Rounds[turn].Prompt}
		if turn == 0 {
			one.Images = q.Images
		}
		list = messages(&one)
	}
	list = []byte(strings.TrimSpace(string(list)))
	if len(list) < 2 || list[0] != '[' || list[len(list)-1] != ']' {
		return nil, fmt.Errorf("the messages of round %d are not a list", turn)
	}
	if len(f.chat) > 0 {
		f.chat = append(f.chat, ',')
	} else {
		f.chat = append(f.chat, '[')
	}
	f.chat = append(f.chat, list[1:len(list)-1]...)
	return append(f.chat[:len(f.chat):len(f.chat)], ']'), nil
}

// answered appends the server's reply to the conversation.
func (f *flight) answered() {
	f.chat = append(f.chat, `,{"role":"assistant","content":"`...)
	f.chat = append(append(f.chat, f.text...), `"}`...)
}
