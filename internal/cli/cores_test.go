package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// coresLacked runs f and tells which share of the cores went to others while threads of
// this process were ready to run, in the worst quarter of a second. All of its threads
// together can have no more than there is, so what they take from each other does not
// count. Where the system does not tell, nothing was lacked.
func coresLacked(f func()) (worst float64) {
	over, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		at := time.Now()
		ran, waited := coreTimes()
		var all, lacked time.Duration // of the cores' time
		for more := true; more; {
			select {
			case <-over:
				more = false
			case <-time.After(20 * time.Millisecond):
			}
			now := time.Now()
			r, w := coreTimes()
			cores := now.Sub(at) * time.Duration(runtime.GOMAXPROCS(0))
			all, lacked = all+cores, lacked+max(min(r-ran+w-waited, cores)-(r-ran), 0)
			if all >= 250*time.Millisecond*time.Duration(runtime.GOMAXPROCS(0)) {
				worst = max(worst, float64(lacked)/float64(all))
				all, lacked = 0, 0
			}
			at, ran, waited = now, r, w
		}
	}()
	f()
	close(over)
	<-watched
	return worst
}

// coreTimes are for how long the threads of this process have run, and for how long they
// were ready to and did not.
func coreTimes() (ran, waited time.Duration) {
	threads, _ := filepath.Glob("/proc/self/task/*/schedstat")
	for _, path := range threads {
		text, _ := os.ReadFile(path) // a thread may have ended
		var r, w time.Duration
		if _, err := fmt.Sscan(string(text), &r, &w); err == nil {
			ran, waited = ran+r, waited+w
		}
	}
	return ran, waited
}
