// Package client sends single requests to a server's native API: /generate, streamed
// or not, and the small routes beside it (/server_info, /flush_cache). It is for
// tools that send one thing and look at the answer; loads are package load's.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/api/wire"
)

// Server is where to send to.
type Server struct {
	URL    string      // without a slash at the end
	Header http.Header // sent with each request: keys
}

// KeyHeader is the header for a key; without one OPENAI_API_KEY makes a bearer
// token, and API_KEY is sent as it stands, as by SGLang's clients.
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

// New checks a URL.
func New(base string, header http.Header) (*Server, error) {
	base = strings.TrimRight(base, "/")
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is no URL of a server; give one such as http://127.0.0.1:30000", base)
	}
	return &Server{URL: base, Header: header}, nil
}

// client has no timeout of its own: generating takes as long as it takes, and the
// context ends it.
var client = &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, ResponseHeaderTimeout: 0}}

// Refused is an answer that is not 2xx.
type Refused struct {
	Status int
	Text   string // the reason, one line
	what   string
}

func (r *Refused) Error() string {
	hint := ""
	if r.Status == http.StatusUnauthorized {
		hint = " (give --api-key)"
	}
	return fmt.Sprintf("%s: %d %s: %s%s", r.what, r.Status, http.StatusText(r.Status), r.Text, hint)
}

func (s *Server) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range s.Header {
		req.Header[name] = values
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := client.Do(req)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err
		}
		return nil, fmt.Errorf("%s %s%s: %w", method, s.URL, path, err)
	}
	if resp.StatusCode/100 != 2 {
		defer resp.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
		return nil, &Refused{Status: resp.StatusCode, Text: reason(text), what: method + " " + s.URL + path}
	}
	return resp, nil
}

// reason is the message in an error body, whatever its shape.
func reason(body []byte) string {
	var shape struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	text := strings.TrimSpace(string(body))
	if json.Unmarshal(body, &shape) == nil {
		var inner struct {
			Message string `json:"message"`
		}
		switch {
		case shape.Message != "":
			text = shape.Message
		case json.Unmarshal(shape.Error, &inner) == nil && inner.Message != "":
			text = inner.Message
		}
	}
	return strings.Join(strings.Fields(text), " ")
}

// Get reads a JSON object.
func (s *Server) Get(ctx context.Context, path string) (map[string]any, error) {
	text, err := s.Text(ctx, http.MethodGet, path)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return nil, fmt.Errorf("GET %s%s: the answer is no JSON object: %w", s.URL, path, err)
	}
	return out, nil
}

// maxReply bounds what is read of replies without a stream.
const maxReply = 1 << 30

// Text sends an empty body and reads the answer as it is.
func (s *Server) Text(ctx context.Context, method, path string) (string, error) {
	resp, err := s.do(ctx, method, path, nil)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	return string(text), err
}

// Info is /server_info, or what it was called before.
func (s *Server) Info(ctx context.Context) (map[string]any, error) {
	info, err := s.Get(ctx, "/server_info")
	var r *Refused
	if errors.As(err, &r) && r.Status == http.StatusNotFound {
		return s.Get(ctx, "/get_server_info")
	}
	return info, err
}

// Meta is the meta_info of an event.
type Meta struct {
	PromptTokens     int             `json:"prompt_tokens"`
	CompletionTokens int             `json:"completion_tokens"`
	E2ELatency       float64         `json:"e2e_latency"` // s
	SpecVerifyCt     int             `json:"spec_verify_ct"`
	FinishReason     json.RawMessage `json:"finish_reason"`
}

// Finish is the type of the finish reason; "" while there is none.
func (m *Meta) Finish() string {
	var f struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(m.FinishReason, &f) != nil {
		return ""
	}
	return f.Type
}

// Event is one event of /generate, or its reply for one sequence.
type Event struct {
	Text  string          `json:"text"`
	Index int             `json:"index"`
	Meta  Meta            `json:"meta_info"`
	Error json.RawMessage `json:"error"`
	At    time.Time       `json:"-"` // when it was read
}

// Generate sends body to /generate and calls each with every event: one for each
// sequence when body does not ask for a stream.
func (s *Server) Generate(ctx context.Context, body map[string]any, each func(*Event)) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	resp, err := s.do(ctx, http.MethodPost, "/generate", text)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if stream, _ := body["stream"].(bool); stream {
		return s.events(resp.Body, each)
	}
	reply, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err != nil {
		return fmt.Errorf("POST %s/generate: the reply broke off: %w", s.URL, err)
	}
	list := []Event{{}}
	if trimmed := bytes.TrimSpace(reply); len(trimmed) > 0 && trimmed[0] == '[' {
		err = json.Unmarshal(trimmed, &list)
	} else {
		err = json.Unmarshal(trimmed, &list[0])
	}
	if err != nil {
		return fmt.Errorf("POST %s/generate: the reply is not SGLang's: %w", s.URL, err)
	}
	for i := range list {
		list[i].At = time.Now()
		if len(list) > 1 {
			list[i].Index = i
		}
		each(&list[i])
	}
	return nil
}

func (s *Server) events(r io.Reader, each func(*Event)) error {
	er := wire.NewEventReader(r, 64<<20)
	for {
		data, err := er.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("POST %s/generate: the stream broke off: %w", s.URL, err)
		}
		ev := Event{At: time.Now()}
		if err := json.Unmarshal(data, &ev); err != nil {
			return fmt.Errorf("POST %s/generate: an event is not SGLang's: %w", s.URL, err)
		}
		if len(ev.Error) > 0 && string(ev.Error) != "null" {
			return fmt.Errorf("POST %s/generate: the server ended the stream: %s", s.URL, reason(data))
		}
		each(&ev)
	}
}
