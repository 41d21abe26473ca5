package nodes

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/stepscope/stepscope/internal/reference/engine/device/comm"
	"github.com/stepscope/stepscope/internal/reference/engine/mesh"
)

// BenchmarkAllReduce measures one all-reduce of n float32 over two nodes.
func BenchmarkAllReduce(b *testing.B) {
	for _, way := range []struct {
		name     string
		noShared bool
	}{{"shared", false}, {"TCP", true}} {
		for _, n := range []int{1024, 8192, 512 * 1024} {
			b.Run(fmt.Sprintf("%s/floats=%d", way.name, n), func(b *testing.B) {
				ln, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					b.Fatal(err)
				}
				addr := ln.Addr().String()
				ln.Close()
				b.SetBytes(int64(4 * n))
				var wg sync.WaitGroup
				for node := range 2 {
					wg.Go(func() {
						m, err := mesh.Join(b.Context(), mesh.Options{Node: node, Nodes: 2, Addr: addr, Names: []string{"a", "b"}, NoShared: way.noShared})
						if err != nil {
							b.Error(err)
							return
						}
						defer m.Leave("")
						far := &comm.Far{Here: node, At: []int{0, 1}, Line: m.Channel(1, mesh.Fast)}
						c := comm.NewGroup("0", "bench", []int{0, 1}, comm.Options{Far: far})[node]
						buf := make([]float32, n)
						for range b.N {
							if err := c.AllReduce(context.Background(), buf); err != nil {
								b.Error(err)
								return
							}
						}
						if err := c.AllReduce(context.Background(), nil); err != nil && m.Err() != nil {
							b.Error(err)
						}
					})
				}
				wg.Wait()
			})
		}
	}
}
