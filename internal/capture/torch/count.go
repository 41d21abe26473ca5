package torch

import (
	"context"
	"fmt"
)

// Counter reads how many forward steps a server has made.
type Counter struct {
	m    *member
	read func(context.Context) (n float64, ok bool)
}

// Count finds out how a server shows its steps: by the forward counts of its
// /server_info, or by vLLM's histogram of steps.
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
		func(ctx context.Context) (float64, bool) {
			n, _, ok := c.m.forwardCount(ctx)
			return n / float64(max(1, c.m.info.DP)), ok
		},
		c.m.vllmSteps,
	} {
		if _, ok := read(ctx); ok {
			c.read = read
			return c, nil
		}
	}
	return nil, fmt.Errorf("%s: shows no count of forward steps, neither as forward_ct at /server_info nor as iteration_tokens_total at /metrics", c.m.URL)
}

// Steps is the count now: of several data-parallel replicas their mean.
func (c *Counter) Steps(ctx context.Context) (float64, error) {
	n, ok := c.read(ctx)
	if !ok {
		if err := ctx.Err(); err != nil {
			return 0, context.Cause(ctx)
		}
		return 0, fmt.Errorf("%s: shows its count of forward steps no more: it may have ended", c.m.URL)
	}
	return n, nil
}
