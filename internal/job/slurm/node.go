package slurm

import (
	"context"
	"strings"
)

// NodeStates returns the Slurm states of nodes, such as IDLE, MIXED or DOWN; a trailing star marks a node that does not
// respond.
func NodeStates(ctx context.Context, nodes []string) (map[string]string, error) {
	out, err := ask(ctx, "", "sinfo", "--noheader", "--all", "--Node", "--nodes="+strings.Join(nodes, ","), "--format=%N %T")
	if err != nil {
		return nil, err
	}
	states := map[string]string{}
	for line := range strings.Lines(out) {
		if name, state, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			states[name] = strings.ToUpper(state)
		}
	}
	return states, nil
}
