package torch

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Counter reads how many forward steps a server has run.
type Counter struct {
	m    *member
	read func(context.Context) (n float64, ok bool)
}

// Count determines how a server exports its steps: as forward counts in /server_info, or as vLLM's histogram of steps.
func Count(ctx context.Context, t Target, o Options) (*Counter, error) {
	targets, err := named([]Target{t})
	if err != nil {
		return nil, err
	}
	o = o.withDefaults()
	c := &Counter{m: &member{Target: targets[0], o: &o}}
	if err := c.m.connect(ctx); err != nil {
		return nil, err
	}
	for _, read := range []func(context.Context) (float64, bool){
		c.m.stepsRun,
		c.m.countedSteps,
	} {
		if _, ok := read(ctx); ok {
			c.read = read
			return c, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", c.m.URL, errNoCount)
}

// errNoCount means that a server does not export its number of steps.
var errNoCount = errors.New("does not report its count of forward steps, neither as forward_ct in /server_info nor as iteration_tokens_total in /metrics")

// Wait returns when the server has run the given number of further steps, or after the limit. The result made is the
// number of steps that the server ran.
func (c *Counter) Wait(ctx context.Context, steps float64, limit time.Duration) (made float64, err error) {
	end := time.NewTimer(limit)
	defer end.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	first, began := 0.0, false
	for made < steps {
		select {
		case <-ctx.Done():
			return made, context.Cause(ctx)
		case <-end.C:
			return made, nil
		case <-tick.C:
			n, err := c.Steps(ctx)
			if err != nil {
				return made, err
			}
			if !began {
				first, began = n, true
			}
			made = n - first
		}
	}
	return made, nil
}

// Steps returns the current count of steps. With data parallelism, the count is the mean over the replicas.
func (c *Counter) Steps(ctx context.Context) (float64, error) {
	n, ok := c.read(ctx)
	if !ok {
		if err := ctx.Err(); err != nil {
			return 0, context.Cause(ctx)
		}
		return 0, fmt.Errorf("%s: no longer reports its count of forward steps: it may have ended", c.m.URL)
	}
	return n, nil
}
