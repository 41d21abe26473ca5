package comm_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stepscope/stepscope/internal/reference/engine/device/comm"
)

func TestHub(t *testing.T) {
	for name, opt := range map[string]comm.Options{"spinning": {}, "sleeping": {Spin: -1}} {
		t.Run(name, func(t *testing.T) {
			suite(t, func(t *testing.T, ranks []int) []*comm.Comm {
				return comm.NewGroup("0", "test", ranks, opt)
			})
		})
	}
}

// BenchmarkAllReduce measures one all-reduce of n float32 over ranks.
func BenchmarkAllReduce(b *testing.B) {
	for _, ranks := range []int{2, 4} {
		for _, n := range []int{1024, 8192, 512 * 1024} {
			b.Run(fmt.Sprintf("ranks=%d/floats=%d", ranks, n), func(b *testing.B) {
				ids := make([]int, ranks)
				g := comm.NewGroup("0", "bench", ids, comm.Options{})
				b.SetBytes(int64(4 * n))
				var wg sync.WaitGroup
				for _, c := range g {
					wg.Go(func() {
						buf := make([]float32, n)
						for range b.N {
							if err := c.AllReduce(context.Background(), buf); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
			})
		}
	}
}
