package job

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestDeal checks that no more jobs run at a time than allowed, that no seat and no node is assigned twice, and that
// all run in order.
func TestDeal(t *testing.T) {
	for _, c := range []struct {
		wants    []int
		parallel int
		nodes    []string
		took     time.Duration // each takes a minute
	}{
		{[]int{1, 1, 1, 1}, 1, nil, 4 * time.Minute},
		{[]int{1, 1, 1, 1}, 3, nil, 2 * time.Minute},
		{[]int{2, 2, 2, 2}, 4, []string{"a", "b", "c", "d", "e"}, 2 * time.Minute},
		{[]int{1, 3, 1, 9}, 4, []string{"a", "b", "c"}, 4 * time.Minute},
		{nil, 2, nil, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			seats, nodes, order := map[int]bool{}, map[string]bool{}, []int{}
			began := time.Now()
			Deal(t.Context(), c.wants, c.parallel, c.nodes, func(i, seat int, mine []string) {
				mu.Lock()
				order = append(order, i)
				if seats[seat] || seat >= c.parallel || len(mine) != min(c.wants[i], len(c.nodes)) {
					t.Errorf("%+v: %d has seat %d, nodes %q", c, i, seat, mine)
				}
				seats[seat] = true
				for _, n := range mine {
					if nodes[n] {
						t.Errorf("%+v: %s is assigned twice", c, n)
					}
					nodes[n] = true
				}
				mu.Unlock()
				time.Sleep(time.Minute)
				mu.Lock()
				defer mu.Unlock()
				delete(seats, seat)
				for _, n := range mine {
					delete(nodes, n)
				}
			})
			if took := time.Since(began); took != c.took || len(order) != len(c.wants) {
				t.Errorf("%+v: took %v, order %v", c, took, order)
			}
			if c.parallel == 1 && !slices.IsSorted(order) {
				t.Errorf("%+v: order %v", c, order)
			}
		})
	}
}

// TestDealEnds checks that no job starts after the end.
func TestDealEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		done := 0
		Deal(ctx, []int{1, 1, 1, 1}, 1, nil, func(int, int, []string) {
			time.Sleep(time.Minute)
			done++
		})
		if done != 2 {
			t.Errorf("%d ran", done)
		}
	})
}
