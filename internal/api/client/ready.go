package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// Ready polls path once a second until the server answers. A server without that path counts as ready. Ready returns at
// once for an error that waiting cannot fix: an unknown host, a missing key, a server that is not an LLM server, or a
// redirect. If the server is not ready immediately, Ready calls waiting once, with the first error.
func (s *Server) Ready(ctx context.Context, path string, limit time.Duration, waiting func(why error)) error {
	return poll(ctx, limit, "server", waiting, func(ctx context.Context) error {
		_, err := s.Text(ctx, http.MethodGet, path)
		if refused, ok := errors.AsType[*Refused](err); ok && refused.Status == http.StatusNotFound && refused.Foreign == "" {
			return nil
		}
		return err
	})
}

// ReadyWorkers polls a router once a second until it has at least n healthy workers. A server that is no router is an
// error at once. If workers are not ready immediately, ReadyWorkers calls waiting once, with their URLs.
func (s *Server) ReadyWorkers(ctx context.Context, n int, limit time.Duration, waiting func(why error)) error {
	return poll(ctx, limit, "router", waiting, func(ctx context.Context) error {
		err := s.workersReady(ctx, n)
		refused, answered := errors.AsType[*Refused](err)
		switch {
		case answered && refused.Status == http.StatusNotFound:
			return fmt.Errorf("%s is no router that lists its workers: %w", s.URL, err)
		case answered && refused.Status == http.StatusForbidden && refused.Foreign == "":
			return fmt.Errorf("%w (the key of --api-key may not list workers)", err)
		}
		return err
	})
}

// poll calls ready once a second until it succeeds, or fails in a way that waiting cannot fix: an unknown host, or an
// answer with a status below 500. what names the server in the error after the limit.
func poll(ctx context.Context, limit time.Duration, what string, waiting func(why error), ready func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var last error
	for {
		err := ready(limited)
		refused, answered := errors.AsType[*Refused](err)
		unknown, noHost := errors.AsType[*net.DNSError](err)
		switch {
		case err == nil:
			return nil
		case answered && refused.Status/100 < 5 && (refused.Foreign != "" || refused.Status/100 == 4), noHost && unknown.IsNotFound:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case last == nil:
			last = err
			waiting(err)
		case limited.Err() == nil: // when the limit is reached, the earlier error is more informative
			last = err
		}
		select {
		case <-time.After(time.Second):
		case <-limited.Done():
			if ctx.Err() == nil {
				return fmt.Errorf("the %s is not ready after %v: %w", what, limit, last)
			}
			return context.Cause(ctx)
		}
	}
}

// workersReady returns an error with the URLs of the workers that are not healthy, if a router has fewer than n others.
func (s *Server) workersReady(ctx context.Context, n int) error {
	var list struct {
		Workers []struct {
			URL     string
			Healthy bool `json:"is_healthy"`
		}
	}
	if err := s.Get(ctx, "/workers", &list); err != nil {
		return err
	}
	left := []string{}
	for _, w := range list.Workers {
		if !w.Healthy {
			left = append(left, w.URL)
		}
	}
	if healthy := len(list.Workers) - len(left); healthy < n {
		return fmt.Errorf("%d of %d workers are ready; not ready: %s", healthy, n, cmp.Or(strings.Join(left, ", "), "workers that it does not list"))
	}
	return nil
}

// Waiting returns a function for the parameter waiting of Ready. The returned function reports, through say, the reason
// for the wait and the maximum duration of the wait.
func (s *Server) Waiting(limit time.Duration, say func(string)) func(error) {
	return func(why error) {
		reason := why.Error()
		if plain, ok := errors.AsType[*because](why); ok {
			reason = plain.text
		}
		say(fmt.Sprintf("Waiting for %s, up to %v (--ready-check-timeout-sec): %s…", s.URL, limit, reason))
	}
}
