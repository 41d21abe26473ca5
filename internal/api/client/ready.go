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
// is wanted. waiting is called once, if there is something to wait for.
func (s *Server) Ready(ctx context.Context, path string, limit time.Duration, waiting func()) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var last error
	for {
		_, err := s.Text(limited, http.MethodGet, path)
		refused, answered := errors.AsType[*Refused](err)
		unknown, noHost := errors.AsType[*net.DNSError](err)
		switch {
		case err == nil, answered && refused.Status == http.StatusNotFound:
			return nil
		case answered && refused.Status/100 == 4, noHost && unknown.IsNotFound:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case last == nil:
			last = err
			waiting()
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
