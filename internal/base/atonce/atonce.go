// Package atonce does several things at once.
package atonce

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
)

// Begin runs do beside what the caller goes on with. The function that it gives waits for do, and panics if that did:
// where a caller recovers, it must not matter that do ran elsewhere.
func Begin(do func()) (wait func()) {
	done := make(chan string, 1)
	go func() {
		defer func() {
			said := ""
			if p := recover(); p != nil {
				said = fmt.Sprintf("%v\n\n%s", p, debug.Stack())
			}
			done <- said
		}()
		do()
	}()
	return func() {
		if said := <-done; said != "" {
			panic(said)
		}
	}
}

// Each calls do with 0 to n-1, as many at once as there are processors and in any order, and returns when all have
// returned. It panics if one of them does.
func Each(n int, do func(i int)) {
	var next atomic.Int64
	workers := make([]func(), min(n, runtime.GOMAXPROCS(0)))
	for w := range workers {
		workers[w] = Begin(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	for _, wait := range workers {
		wait()
	}
}
