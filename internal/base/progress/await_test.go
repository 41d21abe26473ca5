package progress

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestAwait: nothing is said of what ends soon, and less often the longer it takes.
func TestAwait(t *testing.T) {
	for took, want := range map[time.Duration]int{time.Second: 0, 3 * time.Second: 1, 30 * time.Second: 3, 5 * time.Minute: 8} {
		synctest.Test(t, func(t *testing.T) {
			said := 0
			done := Paces{}.Await(t.Context(), func(time.Duration) { said++ })
			time.Sleep(took)
			done()
			if said != want {
				t.Errorf("%v: said %d times, want %d", took, said, want)
			}
			time.Sleep(time.Hour)
			if said != want {
				t.Errorf("%v: said something afterwards", took)
			}
		})
	}
}
