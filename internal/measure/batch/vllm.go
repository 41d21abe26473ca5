package batch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/api/wire"
)

// complete sends the batch to vLLM's /v1/completions. Its chunks do not tell how
// many tokens a sequence has, so each counts as one and the last as all of them.
func (s *Server) complete(ctx context.Context, p *Prompts, h How, f *flight) error {
	body := map[string]any{
		"model": s.Model, "prompt": p.IDs, "max_tokens": p.Output, "temperature": h.Temperature, "stream": true, "ignore_eos": true,
	}
	if h.ReturnLogprob {
		body["logprobs"] = 1
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	ctx, heard, stop := listen(ctx)
	defer stop()
	if err := s.completions(ctx, text, p.Output, f, heard); err != nil {
		return fmt.Errorf("POST %s/v1/completions: %w", s.URL, silent(ctx, err))
	}
	return nil
}

func (s *Server) completions(ctx context.Context, body []byte, output int, f *flight, heard func()) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/v1/completions", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = s.Header.Clone()
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		reason, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
		return fmt.Errorf("%s: %s", resp.Status, strings.Join(strings.Fields(string(reason)), " "))
	}
	events := wire.NewEventReader(resp.Body, 64<<20)
	for {
		data, err := events.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the stream broke off: %w", err)
		}
		at := time.Now()
		heard()
		var ev struct {
			Error   json.RawMessage `json:"error"`
			Choices []struct {
				Index  int    `json:"index"`
				Finish string `json:"finish_reason"`
			} `json:"choices"`
		}
		if err := json.Unmarshal(data, &ev); err != nil {
			return fmt.Errorf("an event is not vLLM's: %w", err)
		}
		if len(ev.Error) > 0 && string(ev.Error) != "null" {
			return fmt.Errorf("the server ended the stream: %s", ev.Error)
		}
		for _, c := range ev.Choices {
			if c.Finish != "" && c.Finish != "length" {
				return fmt.Errorf("sequence %d ended with finish reason %s, not length", c.Index, c.Finish)
			}
			if err := f.event(c.Index, 1, at); err != nil {
				return err
			}
			if c.Finish != "" {
				f.tokens[c.Index] = output
			}
		}
	}
}
