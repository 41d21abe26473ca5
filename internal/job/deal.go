package job

import (
	"context"
	"slices"
	"sync"
)

// Deal runs len(wants) jobs in order, at most parallel of them at a time. While a job runs, it has a seat: an index
// from 0 that no other running job has. Job i is also assigned wants[i] of the nodes, or all nodes if wants[i] exceeds
// their number. If nodes is empty, no nodes are assigned. When ctx ends, Deal starts no further job. Deal returns when
// all started jobs have ended.
func Deal(ctx context.Context, wants []int, parallel int, nodes []string, do func(i, seat int, nodes []string)) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	freed := sync.NewCond(&mu)
	// Lock, so that a waiter that has checked ctx but not yet called Wait does not miss the broadcast.
	defer context.AfterFunc(ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		freed.Broadcast()
	})()
	seats := make([]int, parallel)
	for i := range seats {
		seats[i] = i
	}
	free := slices.Clone(nodes)
	mu.Lock()
	for i, want := range wants {
		want = min(want, len(nodes))
		for ctx.Err() == nil && (len(seats) == 0 || len(free) < want) {
			freed.Wait()
		}
		if ctx.Err() != nil {
			break
		}
		seat, mine := seats[0], slices.Clone(free[:want])
		seats, free = seats[1:], free[want:]
		wg.Go(func() {
			do(i, seat, mine)
			mu.Lock()
			defer mu.Unlock()
			seats, free = append(seats, seat), append(free, mine...)
			freed.Broadcast()
		})
	}
	mu.Unlock()
	wg.Wait()
}
