package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Ready waits until the server answers at a path, looking once a second; one that has no
// such path answers, too. What no waiting mends ends it at once: an unknown host, a key that
// is wanted, a server that is none for LLMs, a redirect. waiting is called once, with why there is something to wait for.
func (s *Server) Ready(ctx context.Context, path string, limit time.Duration, waiting func(why error)) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var last error
	for {
		_, err := s.Text(limited, http.MethodGet, path)
		refused, answered := errors.AsType[*Refused](err)
		unknown, noHost := errors.AsType[*net.DNSError](err)
		switch {
		case answered && refused.Status/100 < 5 && refused.Foreign != "":
			return err
		case err == nil, answered && refused.Status == http.StatusNotFound:
			return nil
		case answered && refused.Status/100 == 4, noHost && unknown.IsNotFound:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case last == nil:
			last = err
			waiting(err)
		case limited.Err() == nil: // else the time ended while it was asked, which says less
			last = err
		}
		select {
		case <-time.After(time.Second):
		case <-limited.Done():
			if ctx.Err() == nil {
				return fmt.Errorf("the server is not ready after %v: %w", limit, last)
			}
			return context.Cause(ctx)
		}
	}
}

// Waiting says, for Ready, why and how long a server is waited for.
func (s *Server) Waiting(limit time.Duration, say func(string)) func(error) {
	return func(why error) {
		reason := why.Error()
		if plain, ok := errors.AsType[*because](why); ok {
			reason = plain.text
		}
		say(fmt.Sprintf("Waiting for %s, up to %v (--ready-check-timeout-sec): %s…", s.URL, limit, reason))
	}
}
