// Package parallel runs functions on several processors.
package parallel

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
)

// Go runs do in a goroutine. wait blocks until do has returned. If do panicked, wait panics with the same value.
func Go(do func()) (wait func()) {
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

// Each calls do(0) to do(n-1) in any order, as many at a time as there are processors, and returns when all calls have
// returned. If a call panicked, Each panics with the same value.
func Each(n int, do func(i int)) {
	var next atomic.Int64
	workers := make([]func(), min(n, runtime.GOMAXPROCS(0)))
	for w := range workers {
		workers[w] = Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	for _, wait := range workers {
		wait()
	}
}
