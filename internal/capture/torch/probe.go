package torch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/api/servers"
	"github.com/stepscope/stepscope/internal/base/pause"
)

// keepBusy sends tiny requests in the background until m.rest is called or ctx ends.
func (m *member) keepBusy(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { m.probe(ctx) })
	m.rest = func() { cancel(); wg.Wait() }
}

// probe keeps tiny requests running until ctx ends, several per data-parallel rank, so that an idle server runs both
// prefill and decode steps.
func (m *member) probe(ctx context.Context) {
	tiny := m.kind.Row().Probe
	if m.kind == servers.Stepscope && m.paints(ctx) {
		tiny = servers.Probe{Route: "/v1/images/generations", Prompt: "prompt", Body: map[string]any{"num_inference_steps": 8}}
	}
	route, prompt, body := tiny.Route, tiny.Prompt, maps.Clone(tiny.Body)
	if tiny.Model {
		body["model"] = m.model(ctx)
	}
	body[prompt] = "Tiny requests keep an idle server busy."
	text, _ := json.Marshal(body) // cannot fail: the body has only strings and numbers
	to := m
	if m.front != "" {
		// Send the requests to the router. They then reach all workers of the router, including this server.
		to = &member{Target: Target{URL: m.front, Header: m.Header}, o: m.o}
	}
	var wg sync.WaitGroup
	var sent atomic.Int64
	var once sync.Once
	for range 2 * max(1, m.info.DP) {
		wg.Go(func() {
			for ctx.Err() == nil {
				text := text
				if m.front != "" {
					// Use different prompts, because a router may send all prompts with the same prefix to one worker.
					own := maps.Clone(body)
					own[prompt] = fmt.Sprintf("%d %s: %s", sent.Add(1), m.Name, body[prompt])
					text, _ = json.Marshal(own)
				}
				r, err := to.ask(ctx, http.MethodPost, route, text, askPatience)
				if err == nil && r.Status != http.StatusOK {
					err = fmt.Errorf("%d %s", r.Status, reasonOf(r))
				}
				if err == nil || ctx.Err() != nil {
					continue
				}
				once.Do(func() { m.o.Log(fmt.Sprintf("%s: a tiny request failed: %v", m.URL, err)) })
				pause.For(ctx, time.Second)
			}
		})
	}
	wg.Wait()
}

// paints reports whether the server generates images. It retries until the server answers, because requests of the
// wrong kind would cause no steps.
func (m *member) paints(ctx context.Context) bool {
	for {
		short, cancel := context.WithTimeout(ctx, askPatience)
		card, err := m.server("/v1/models").Pipeline(short)
		cancel()
		if _, refused := errors.AsType[*client.Refused](err); err == nil || refused || !pause.For(ctx, time.Second) {
			return err == nil && card != nil
		}
	}
}

// model returns the first model that the server serves.
func (m *member) model(ctx context.Context) string {
	var list struct{ Data []struct{ ID string } }
	if !m.askFor(ctx, "/v1/models", &list) || len(list.Data) == 0 {
		return ""
	}
	return list.Data[0].ID
}
