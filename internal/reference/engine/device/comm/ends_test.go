package comm_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/reference/engine/device/comm"
)

// ends checks that nobody waits for ever, however a group ends.
func ends(t *testing.T, group func(*testing.T, int) []*comm.Comm) {
	errDisk := errors.New("the disk is full")
	wait := func(ctx context.Context, c *comm.Comm) error {
		switch c.Rank() {
		case 0:
			return c.AllReduce(ctx, make([]float32, 10))
		case 1:
			return c.Recv(ctx, make([]byte, 10), 0)
		}
		for { // until there is no room
			if err := c.Send(ctx, make([]byte, 1<<20), 0); err != nil {
				return err
			}
		}
	}
	for name, end := range map[string]func(c *comm.Comm) error{
		"abort": func(c *comm.Comm) error { c.Abort(errDisk); return errDisk },
		"lost":  func(c *comm.Comm) error { c.Close(); return comm.ErrAborted },
		"context": func(c *comm.Comm) error {
			ctx, stop := context.WithTimeout(context.Background(), 10*time.Millisecond)
			defer stop()
			if err := c.AllReduce(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
				return err
			}
			return context.DeadlineExceeded
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := group(t, 4)
			var want error
			errs := collect(g, func(ctx context.Context, c *comm.Comm) error {
				if c.Rank() == 3 {
					time.Sleep(20 * time.Millisecond)
					want = end(c)
					return comm.ErrAborted
				}
				return wait(ctx, c)
			})
			for i, err := range errs {
				// Other processes receive only the text.
				if !errors.Is(err, comm.ErrAborted) || i < 3 && !errors.Is(err, want) && !strings.Contains(err.Error(), want.Error()) {
					t.Errorf("member %d: %v; want %v", i, err, want)
				}
			}
			// The error stays the same.
			for i, err := range collect(g, func(ctx context.Context, c *comm.Comm) error { return c.AllReduce(ctx, nil) }) {
				if !errors.Is(err, comm.ErrAborted) {
					t.Errorf("member %d afterwards: %v", i, err)
				}
			}
			for _, c := range g {
				c.Close()
			}
		})
	}
}

// misuse checks that mismatched calls end the group with a reason.
func misuse(t *testing.T, group func(*testing.T, int) []*comm.Comm) {
	for _, c := range []struct {
		name, reason string
		call         func(ctx context.Context, c *comm.Comm) error
	}{
		{"operations differ", "must call the same", func(ctx context.Context, c *comm.Comm) error {
			if c.Rank() == 0 {
				return c.AllGather(ctx, nil, nil)
			}
			return c.AllReduce(ctx, nil)
		}},
		{"sizes differ", "different sizes", func(ctx context.Context, c *comm.Comm) error {
			return c.AllReduce(ctx, make([]float32, 5+c.Rank()))
		}},
		{"gather does not fit", "length 7", func(ctx context.Context, c *comm.Comm) error {
			return c.AllGather(ctx, make([]byte, 7), make([]byte, 3))
		}},
		{"message of another length", "expects 4", func(ctx context.Context, c *comm.Comm) error {
			if c.Rank() == 0 {
				_ = c.Send(ctx, make([]byte, 3), 1)
				return c.AllReduce(ctx, nil)
			}
			return c.Recv(ctx, make([]byte, 4), 0)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i, err := range collect(group(t, 2), c.call) {
				if !errors.Is(err, comm.ErrAborted) || !strings.Contains(err.Error(), c.reason) {
					t.Errorf("member %d: %v; want %q in it", i, err, c.reason)
				}
			}
		})
	}
}
