package launch_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/reference/launch"
	"github.com/stepscope/stepscope/internal/reference/server"
	"github.com/stepscope/stepscope/internal/testing/enginetest"
)

// freeAddr returns a loopback address on which nobody listens.
func freeAddr(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// spread serves with the ranks spread over nodes, which meet over TCP and also share memory unless shared is "off". The
// nodes belong to one process here; it gives them a common clock.
func spread(t *testing.T, nodes int, shared string, change func(*launch.ModelArgs)) server.Engine {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	n := launch.NodeArgs{NNodes: nodes, InitAddr: freeAddr(t), Timeout: 30, Shared: shared}
	var wg sync.WaitGroup
	for i := 1; i < nodes; i++ {
		wg.Go(func() {
			other := n
			other.NodeRank = i
			if err := launch.Follow(context.Background(), args(change), other, launch.FollowOptions{
				Grace: time.Second, Log: func(line string) { t.Logf("node %d: %s", i, line) },
			}); err != nil {
				t.Errorf("node %d: %v", i, err)
			}
		})
	}
	e, err := launch.Load(t.Context(), args(change), launch.Options{Nodes: n})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
	return e
}

// TestGreedyTokensOfNodes spreads layouts over nodes: the tokens are those of transformers, as in one process.
func TestGreedyTokensOfNodes(t *testing.T) {
	for _, way := range []struct {
		model, name string
		nodes       int
		change      func(*launch.ModelArgs)
	}{
		{"llama", "TP2", 2, func(a *launch.ModelArgs) { a.TP = 2 }},
		{"llama", "TP2 op by op", 2, func(a *launch.ModelArgs) { a.TP, a.DisableGraph = 2, true }},
		{"qwen2", "TP4", 2, func(a *launch.ModelArgs) { a.TP = 4 }},
		{"qwen3", "TP4", 4, func(a *launch.ModelArgs) { a.TP = 4 }},
		{"llama", "PP2", 2, func(a *launch.ModelArgs) { a.PP = 2 }},
		{"qwen3", "TP2 PP2", 2, func(a *launch.ModelArgs) { a.TP, a.PP = 2, 2 }},
		{"llama", "TP2 PP2", 4, func(a *launch.ModelArgs) { a.TP, a.PP = 2, 2 }},
		{"qwen2", "DP2", 2, func(a *launch.ModelArgs) { a.DP = 2 }},
		{"llama", "TP2 DP2 PP2", 4, func(a *launch.ModelArgs) { a.TP, a.DP, a.PP = 2, 2, 2 }},
		{"qwen3moe", "EP2", 2, func(a *launch.ModelArgs) { a.TP, a.EP = 2, 2 }},
		{"qwen3moe", "TP4 EP2", 4, func(a *launch.ModelArgs) { a.TP, a.EP = 4, 2 }},
	} {
		for shared, over := range map[string]string{"auto": "shared memory", "off": "TCP"} {
			t.Run(fmt.Sprintf("%s/%s on %d nodes over %s", way.model, way.name, way.nodes, over), func(t *testing.T) {
				dir, want := reference(t, way.model)
				e := spread(t, way.nodes, shared, func(a *launch.ModelArgs) {
					a.ModelPath, a.DType, a.SkipTokenizer = dir, "float32", true
					way.change(a)
				})
				greedy(t, e, want.Prompts, want.Tokens)
			})
		}
	}
}

// TestEngineOfNodes checks an engine of several nodes for the properties that the server relies on.
func TestEngineOfNodes(t *testing.T) {
	enginetest.Run(t, func(t *testing.T) server.Engine {
		return spread(t, 2, "auto", func(a *launch.ModelArgs) { a.TP, a.DP = 2, 2 })
	})
}
