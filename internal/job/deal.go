package job

import (
	"context"
	"slices"
	"sync"
)

// Deal does len(wants) pieces of work in order, at most parallel at a time. While it runs, each piece has a seat of its
// own, counted from 0, and the number of nodes that it wants, or all nodes if it wants more. If nodes is empty none are
// assigned. When ctx ends, no further piece starts; Deal returns when all started pieces have ended.
func Deal(ctx context.Context, wants []int, parallel int, nodes []string, do func(i, seat int, nodes []string)) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	freed := sync.NewCond(&mu)
	defer context.AfterFunc(ctx, func() { // lock, so that a waiter between its check and Wait does not miss it
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
