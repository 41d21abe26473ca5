package job

import (
	"context"
	"slices"
	"sync"
)

// Deal does so many pieces of work, in their order and at most so many of them at the same time. Each has a seat of its
// own while it lasts, counted from 0, and as many of the nodes as it wants: one that wants more than there are gets
// all. Without nodes none are dealt out. When ctx ends nothing new begins; Deal returns when all that began has ended.
func Deal(ctx context.Context, wants []int, parallel int, nodes []string, do func(i, seat int, nodes []string)) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	freed := sync.NewCond(&mu)
	defer context.AfterFunc(ctx, func() { // under the lock, so that who looks does not miss it
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
