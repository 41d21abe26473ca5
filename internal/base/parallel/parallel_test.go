package parallel

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestEach: each number is visited once, and no call is still running when Each returns.
func TestEach(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1000} {
		times := make([]int, n)
		Each(n, func(i int) { times[i]++ })
		if want := slices.Repeat([]int{1}, n); !slices.Equal(times, want) {
			t.Errorf("of %d: %v", n, times)
		}
	}
}

// TestPanic: a panic reaches the waiting caller, with its location.
func TestPanic(t *testing.T) {
	for name, do := range map[string]func(){
		"Each": func() { Each(9, func(i int) { panic(fmt.Sprint("number ", i)) }) },
		"Go":   func() { Go(func() { panic("number 1") })() },
	} {
		func() {
			defer func() {
				if p := fmt.Sprint(recover()); !strings.HasPrefix(p, "number ") || !strings.Contains(p, "parallel_test.go") {
					t.Errorf("%s: %s", name, p)
				}
			}()
			do()
			t.Errorf("%s returned", name)
		}()
	}
}
