package batch

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// complete sends the batch to vLLM's /v1/completions. The chunks of the reply carry no token count. Therefore complete
// counts each chunk as one token, and sets the count to the full output length at the last chunk.
func (s *Server) complete(ctx context.Context, p *Prompts, h How, f *flight) error {
	body := map[string]any{
		"model": s.Model, "prompt": p.IDs, "max_tokens": p.Output, "temperature": h.Temperature, "stream": true, "ignore_eos": true,
	}
	if h.ReturnLogprob {
		body["logprobs"] = 1
	}
	ctx, heard, stop := listen(ctx)
	defer stop()
	return silent(ctx, s.Stream(ctx, "/v1/completions", body, func(data []byte, at time.Time) error {
		heard()
		var ev struct {
			Choices []struct {
				Index  int    `json:"index"`
				Finish string `json:"finish_reason"`
			} `json:"choices"`
		}
		if err := json.Unmarshal(data, &ev); err != nil {
			return fmt.Errorf("an event is not vLLM's: %w", err)
		}
		for _, c := range ev.Choices {
			if c.Finish != "" && c.Finish != "length" {
				return fmt.Errorf("sequence %d ended with finish reason %s, not length", c.Index, c.Finish)
			}
			if err := f.event(c.Index, 1, c.Finish != "", at); err != nil {
				return err
			}
			if c.Finish != "" {
				f.tokens[c.Index] = p.Output
			}
		}
		return nil
	}))
}
