package capture

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// probe keeps tiny requests running until ctx ends, so that an idle server makes
// steps of both kinds: some for each data-parallel rank.
func (m *member) probe(ctx context.Context) {
	route, body := "/generate", map[string]any{
		"text": "Tiny requests keep an idle server busy.", "sampling_params": map[string]any{"max_new_tokens": 8, "temperature": 0, "ignore_eos": true},
	}
	if m.kind == VLLM {
		route, body = "/v1/completions", map[string]any{"model": m.model(ctx), "prompt": "Tiny requests keep an idle server busy.", "max_tokens": 8, "temperature": 0}
	}
	text, _ := json.Marshal(body) // strings and numbers only
	var wg sync.WaitGroup
	var once sync.Once
	for range 2 * max(1, m.info.DP) {
		wg.Go(func() {
			for ctx.Err() == nil {
				r, err := m.ask(ctx, http.MethodPost, route, text, askPatience)
				if err == nil && r.status != http.StatusOK {
					err = fmt.Errorf("%d %s", r.status, r.text())
				}
				if err == nil || ctx.Err() != nil {
					continue
				}
				once.Do(func() { m.o.Log(fmt.Sprintf("%s: a tiny request failed: %v", m.URL, err)) })
				sleep(ctx, time.Second)
			}
		})
	}
	wg.Wait()
}

// model is the first that the server serves.
func (m *member) model(ctx context.Context) string {
	var list struct{ Data []struct{ ID string } }
	r, err := m.ask(ctx, http.MethodGet, "/v1/models", nil, askPatience)
	if err != nil || json.Unmarshal(r.body, &list) != nil || len(list.Data) == 0 {
		return ""
	}
	return list.Data[0].ID
}

// sleep waits; false: ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
