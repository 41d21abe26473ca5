package progress

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestAwait: short waits print nothing, and messages become rarer the longer the wait.
func TestAwait(t *testing.T) {
	for took, want := range map[time.Duration]int{time.Second: 0, 3 * time.Second: 1, 30 * time.Second: 3, 5 * time.Minute: 8} {
		synctest.Test(t, func(t *testing.T) {
			said := 0
			done := Paces{}.Await(t.Context(), func(time.Duration) { said++ })
			time.Sleep(took)
			done()
			if said != want {
				t.Errorf("%v: %d messages, want %d", took, said, want)
			}
			time.Sleep(time.Hour)
			if said != want {
				t.Errorf("%v: a message afterwards", took)
			}
		})
	}
}
