package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/stepscope/stepscope/internal/api/wire"
)

// Meta is the meta_info of an event.
type Meta struct {
	PromptTokens     int             `json:"prompt_tokens"`
	CompletionTokens int             `json:"completion_tokens"`
	E2ELatency       float64         `json:"e2e_latency"` // s
	SpecVerifyCt     int             `json:"spec_verify_ct"`
	FinishReason     json.RawMessage `json:"finish_reason"`
}

// Finish returns the type of the finish reason, or "" if the sequence has not finished.
func (m *Meta) Finish() string {
	var f struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(m.FinishReason, &f) != nil {
		return ""
	}
	return f.Type
}

// Event is one event of a /generate stream, or the reply for one sequence.
type Event struct {
	Text  string    `json:"text"`
	Index int       `json:"index"`
	Meta  Meta      `json:"meta_info"`
	At    time.Time `json:"-"` // time at which the event was read
}

// Generate posts body to /generate and calls each with every event. If body does not request a stream, there is one
// event per sequence.
func (s *Server) Generate(ctx context.Context, body map[string]any, each func(*Event)) error {
	if stream, _ := body["stream"].(bool); stream {
		return s.Stream(ctx, "/generate", body, func(data []byte, at time.Time) error {
			ev := Event{At: at}
			if err := json.Unmarshal(data, &ev); err != nil {
				return fmt.Errorf("an event is not in SGLang's format: %w", err)
			}
			each(&ev)
			return nil
		})
	}
	var reply json.RawMessage
	if err := s.Post(ctx, "/generate", body, &reply); err != nil {
		return err
	}
	list, err := []Event{{}}, error(nil)
	if bytes.HasPrefix(reply, []byte{'['}) {
		err = json.Unmarshal(reply, &list)
	} else {
		err = json.Unmarshal(reply, &list[0])
	}
	if err != nil {
		return fmt.Errorf("POST %s/generate: the reply is not in SGLang's format: %w", s.URL, err)
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

// Stream posts body and calls each with the data of every event and the time at which the event was read. Stream ends
// with an error if an event carries an error or each returns one.
func (s *Server) Stream(ctx context.Context, path string, body map[string]any, each func(data []byte, at time.Time) error) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	resp, err := s.Open(ctx, http.MethodPost, path, text)
	if err != nil {
		return err
	}
	reply := watch(resp.Body, stallLimit, false)
	defer reply.Close()
	events := wire.NewEventReader(reply, 64<<20)
	for {
		data, err := events.Next()
		if err == nil {
			reply.progress() // only events count as progress, not comments
		}
		at := time.Now()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var failed struct {
			Error json.RawMessage `json:"error"`
		}
		switch {
		case err != nil:
			err = fmt.Errorf("the stream broke off: %w", err)
		case bytes.Contains(data, []byte(`"error"`)) && json.Unmarshal(data, &failed) == nil && len(failed.Error) > 0 && string(failed.Error) != "null":
			err = fmt.Errorf("the server ended the stream: %s", wire.Reason(data))
		default:
			err = each(data, at)
		}
		if err != nil {
			return fmt.Errorf("POST %s%s: %w", s.URL, path, err)
		}
	}
}
