package selftest

import (
	"slices"
	"sort"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
)

// eventTimes are the times of one mock event, CLOCK_MONOTONIC, ns.
type eventTimes struct {
	Stream       int64
	Sent         int64 // by the server
	Kernel, User int64 // by the client; Kernel 0: no stamp
}

// pause is a period in which a core did not run a process that was ready to run.
type pause struct{ From, To int64 } // CLOCK_MONOTONIC

// Timing summarizes the error of a client's times. All are ns.
type Timing struct {
	Events  int     `json:"events"`   // number of compared events
	Rate    float64 `json:"rate"`     // events/s received while all streams ran
	LeftOut float64 `json:"left_out"` // share of pairs affected by a pause of the machine

	// The ITL error is the absolute difference between the client's and the server's time between two events. The lag
	// of an event is the client's time minus the server's time.
	KernelITL50, KernelITL99 float64
	UserITL50, UserITL99     float64
	KernelLag50, KernelLag99 float64
	UserLag50, UserLag99     float64
}

// pauseTail is the time in ns until queues that built up during a pause of the machine have drained.
const pauseTail = 15e6

// measureTimes compares the times of the client and the server in the period in which all streams ran. It omits pairs
// of events that were affected by a pause, because the errors of such pairs show only that the machine was busy with
// other work.
func measureTimes(times []eventTimes, pauses []pause) Timing {
	var out Timing
	byStream := map[int64][]eventTimes{}
	for _, t := range times {
		byStream[t.Stream] = append(byStream[t.Stream], t)
	}
	from, to := int64(0), int64(1<<62)
	for _, s := range byStream {
		sorts.By(s, func(a, b eventTimes) int { return int(a.Sent - b.Sent) })
		from, to = max(from, s[0].Sent), min(to, s[len(s)-1].Sent)
	}
	from += 100e6 // exclude the start of the last stream, which is not part of the steady state
	pauses = slices.Clone(pauses)
	sorts.By(pauses, func(a, b pause) int { return int(a.From - b.From) })
	touched := func(from, to int64) bool {
		i := sort.Search(len(pauses), func(i int) bool { return pauses[i].From > to })
		for ; i > 0; i-- {
			if pauses[i-1].To+pauseTail >= from {
				return true
			}
			if pauses[i-1].From < from-1e9 {
				break
			}
		}
		return false
	}
	var kernelITL, userITL, kernelLag, userLag []int64
	all, left, inside := 0, 0, 0
	for _, s := range byStream {
		for i := 1; i < len(s); i++ {
			a, b := s[i-1], s[i]
			if b.Sent < from || b.Sent > to {
				continue
			}
			inside++
			all++
			if touched(a.Sent, b.Sent+int64(1e6)) {
				left++
				continue
			}
			userITL = append(userITL, abs((b.User-a.User)-(b.Sent-a.Sent)))
			userLag = append(userLag, b.User-b.Sent)
			if a.Kernel != 0 && b.Kernel != 0 {
				kernelITL = append(kernelITL, abs((b.Kernel-a.Kernel)-(b.Sent-a.Sent)))
				kernelLag = append(kernelLag, b.Kernel-b.Sent)
			}
		}
	}
	if to > from {
		out.Rate = float64(inside) / float64(to-from) * 1e9
	}
	out.Events = len(userITL)
	out.LeftOut = float64(left) / float64(max(all, 1))
	two := func(x []int64, p50, p99 *float64) {
		slices.Sort(x)
		*p50, *p99 = metric.Quantile(x, 0.5), metric.Quantile(x, 0.99)
	}
	two(kernelITL, &out.KernelITL50, &out.KernelITL99)
	two(userITL, &out.UserITL50, &out.UserITL99)
	two(kernelLag, &out.KernelLag50, &out.KernelLag99)
	two(userLag, &out.UserLag50, &out.UserLag99)
	return out
}

func abs(x int64) int64 { return max(x, -x) }
