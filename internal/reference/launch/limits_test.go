package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/stepscope/stepscope/internal/reference/engine"
	"github.com/stepscope/stepscope/internal/reference/engine/hf"
	"github.com/stepscope/stepscope/internal/reference/engine/mesh"
	"github.com/stepscope/stepscope/internal/reference/engine/nodes"
)

// TestSlowNode checks that a node that joined and lives, but does not report, is named after --dist-timeout.
func TestSlowNode(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	meshes := make([]*mesh.Mesh, 3)
	var wg sync.WaitGroup
	for node := range meshes {
		wg.Go(func() {
			m, err := mesh.Join(t.Context(), mesh.Options{Node: node, Nodes: 3, Addr: addr, Names: []string{"rank 0", "rank 1", "rank 2"}, Host: fmt.Sprint("host", node)})
			if err != nil {
				t.Error(err)
				return
			}
			meshes[node] = m
		})
	}
	if wg.Wait(); t.Failed() {
		return
	}
	for _, m := range meshes {
		defer m.Leave("")
	}
	m := &Model{nodes: NodeArgs{NNodes: 3, Timeout: 1}, blocks: 100}
	j := &job{m: m, mesh: meshes[0], layout: nodes.Layout{Sizes: engine.Sizes{TP: 3}, Nodes: 3}, setup: nodes.NewSetup(meshes[0])}
	if err := nodes.NewSetup(meshes[1]).Tell(0, offer{Blocks: 7}); err != nil {
		t.Fatal(err)
	}
	want := "not all nodes reported their memory within 1s (--dist-timeout); missing: node 2 (rank 2 at host2)"
	if err := j.agree(t.Context()); err == nil || err.Error() != want {
		t.Errorf("%v; want %s", err, want)
	}
	if m.blocks != 7 {
		t.Errorf("%d blocks, node 1 has room for 7", m.blocks)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := j.agree(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("asked to stop: %v", err)
	}
}

// TestLoadingEnds checks that loading that has become pointless ends at the next tensor, with the reason.
func TestLoadingEnds(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	m, err := Open(ModelArgs{
		ModelPath: "builtin:llama-tiny", LoadFormat: "auto", Overrides: "{}", DType: "auto", TP: 1, DP: 1, PP: 1, EP: 1, MaxRunningRequests: 4, MaxQueuedRequests: 8,
		MaxTotalTokens: 1024, ChunkedPrefill: 256, MaxPrefillTokens: 1024, Conservativeness: 1, LoadBalance: "round_robin",
	}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	lost, read := errors.New("rank 1 at host1 lost"), 0
	m.src = stopping{m.src, func() error {
		if read++; read > 3 {
			return lost
		}
		return nil
	}}
	if r, err := m.Ranks(1, 16); !errors.Is(err, lost) || !strings.Contains(err.Error(), "rank 0") {
		t.Errorf("%v, %v", r, err)
	}
	if read > 8 { // some are read concurrently
		t.Errorf("%d tensors were read", read)
	}
}

var _ hf.Source = stopping{}
