package comm_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/reference/engine/device/comm"
)

// suite tests the groups that make returns, wherever their members are: one end per rank, in order. Ranks are numbered
// 10, 11, … so that indices and ranks cannot be confused.
func suite(t *testing.T, make func(t *testing.T, ranks []int) []*comm.Comm) {
	group := func(t *testing.T, n int) []*comm.Comm {
		ranks := []int{}
		for i := range n {
			ranks = append(ranks, 10+i)
		}
		return make(t, ranks)
	}
	for _, n := range []int{1, 2, 3, 4, 8} {
		t.Run(fmt.Sprint(n, " ranks"), func(t *testing.T) {
			g := group(t, n)
			each(t, g, func(ctx context.Context, c *comm.Comm) error { return operations(ctx, c) })
			for _, c := range g {
				c.Close()
			}
		})
	}
	t.Run("order of sums", func(t *testing.T) { order(t, group(t, 4)) })
	t.Run("pipeline", func(t *testing.T) { pipeline(t, group(t, 3)) })
	t.Run("ends", func(t *testing.T) { ends(t, group) })
	t.Run("errors", func(t *testing.T) { misuse(t, group) })
}

// each runs one goroutine per member and reports their errors.
func each(t *testing.T, g []*comm.Comm, f func(ctx context.Context, c *comm.Comm) error) {
	t.Helper()
	for i, err := range collect(g, f) {
		if err != nil {
			t.Errorf("member %d: %v", i, err)
		}
	}
}

func collect(g []*comm.Comm, f func(ctx context.Context, c *comm.Comm) error) []error {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	errs := make([]error, len(g))
	var wg sync.WaitGroup
	for i, c := range g {
		wg.Go(func() { errs[i] = f(ctx, c) })
	}
	wg.Wait()
	return errs
}

// value is element i of rank r in round k: small integers, so that sums are exact.
func value(r, i, k int) float32 { return float32((r+1)*(i%97+1) + k%7) }

func operations(ctx context.Context, c *comm.Comm) error {
	n, me := c.Size(), c.Rank()
	if got := c.Group().Ranks; len(got) != n || got[me] != 10+me {
		return fmt.Errorf("ranks %v", got)
	}
	rounds := 0
	for _, size := range []int{0, 1, 15, 1000, 1025, 40_000} {
		for range 2 {
			rounds++
			if err := reductions(ctx, c, size, rounds); err != nil {
				return fmt.Errorf("size %d: %w", size, err)
			}
			if err := movements(ctx, c, size, rounds); err != nil {
				return fmt.Errorf("size %d: %w", size, err)
			}
		}
	}
	return c.AllReduce(ctx, nil)
}

func fill(size, r, k int) []float32 {
	buf := make([]float32, size)
	for i := range buf {
		buf[i] = value(r, i, k)
	}
	return buf
}

func reductions(ctx context.Context, c *comm.Comm, size, k int) error {
	n, me := c.Size(), c.Rank()
	sum := make([]float32, size)
	for r := range n {
		for i := range sum {
			sum[i] += value(r, i, k)
		}
	}
	buf := fill(size, me, k)
	if err := c.AllReduce(ctx, buf); err != nil {
		return err
	}
	if !slices.Equal(buf, sum) {
		return errors.New("wrong sum")
	}
	return nil
}

func movements(ctx context.Context, c *comm.Comm, size, k int) error {
	n, me := c.Size(), c.Rank()
	all := make([]float32, size*n)
	own := all[me*size : (me+1)*size] // in place
	copy(own, fill(size, me, k))
	if err := c.AllGather(ctx, comm.Bytes(all), comm.Bytes(own)); err != nil {
		return err
	}
	for r := range n {
		if !slices.Equal(all[r*size:(r+1)*size], fill(size, r, k)) {
			return fmt.Errorf("all-gather: wrong part of %d", r)
		}
	}
	return nil
}

// order checks that sums are formed in rank order, whatever the order of arrival.
func order(t *testing.T, g []*comm.Comm) {
	each(t, g, func(ctx context.Context, c *comm.Comm) error {
		for k := range 50 {
			buf := []float32{[]float32{1e8, 1, -1e8, 1}[c.Rank()]}
			if c.Rank() == k%4 {
				time.Sleep(time.Duration(k%3) * 100 * time.Microsecond)
			}
			if err := c.AllReduce(ctx, buf); err != nil {
				return err
			}
			if buf[0] != 1 { // ((1e8 + 1) - 1e8) + 1 in float32
				return fmt.Errorf("sum %v", buf[0])
			}
		}
		return nil
	})
	for _, c := range g {
		c.Close()
	}
}

// pipeline sends messages of growing size down a chain and checks that they arrive in order.
func pipeline(t *testing.T, g []*comm.Comm) {
	each(t, g, func(ctx context.Context, c *comm.Comm) error {
		for k := range 60 {
			buf := make([]float32, k*k*100)
			if c.Rank() == 0 {
				copy(buf, fill(len(buf), 0, k))
			} else if err := c.Recv(ctx, comm.Bytes(buf), c.Rank()-1); err != nil {
				return err
			}
			if !slices.Equal(buf, fill(len(buf), 0, k)) {
				return fmt.Errorf("message %d is wrong", k)
			}
			if c.Rank() < c.Size()-1 {
				if err := c.Send(ctx, comm.Bytes(buf), c.Rank()+1); err != nil {
					return err
				}
			}
			clear(buf) // the sender may reuse it
		}
		return nil
	})
	for _, c := range g {
		c.Close()
	}
}
