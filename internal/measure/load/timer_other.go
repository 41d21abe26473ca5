//go:build !linux

package load

import (
	"context"
	"time"
)

// timer waits as precisely as the Go runtime can.
type timer struct{}

func newTimer() (*timer, error) { return &timer{}, nil }

func (t *timer) close() {}

func (t *timer) wait(ctx context.Context, d time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	if d <= 0 {
		return true
	}
	w := time.NewTimer(d)
	defer w.Stop()
	select {
	case <-w.C:
		return true
	case <-ctx.Done():
		return false
	}
}
