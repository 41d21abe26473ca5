// Package atonce does several things at once, as many as there are processors.
package atonce

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Each calls do with 0 to n-1, several at once and in any order, and returns when all have returned.
func Each(n int, do func(i int)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	workers.Wait()
}
