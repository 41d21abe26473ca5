package cli

import "context"

// compareCmd is "compare".
type compareCmd struct{}

func (c *compareCmd) Run(ctx context.Context, e *env) error { return usagef("not built yet") }
