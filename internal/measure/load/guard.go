package load

import (
	"context"
	"sync"
	"time"
)

// air holds the flights in progress.
type air struct {
	mu      sync.Mutex
	flights []*flight
}

func (a *air) add(f *flight, c *conn) {
	f.mu.Lock()
	f.conn = c
	f.mu.Unlock()
	a.mu.Lock()
	f.slot = len(a.flights)
	a.flights = append(a.flights, f)
	a.mu.Unlock()
}

func (a *air) remove(f *flight) {
	a.mu.Lock()
	last := len(a.flights) - 1
	a.flights[f.slot] = a.flights[last]
	a.flights[f.slot].slot = f.slot
	a.flights[last] = nil
	a.flights = a.flights[:last]
	a.mu.Unlock()
	// Once f.conn is nil, the guard no longer uses the connection. The connection may then serve another flight.
	f.mu.Lock()
	f.conn = nil
	f.mu.Unlock()
}

// wake interrupts the read in which the flight waits. If why is a reason to end, the flight ends.
func (f *flight) wake(why int32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.conn == nil {
		return
	}
	if why != alive {
		f.kill.CompareAndSwap(alive, why)
		f.conn.SetDeadline(time.Unix(1, 0))
		return
	}
	if f.conn.raw != nil {
		f.conn.SetReadDeadline(time.Unix(1, 0))
	}
}

const guardTick = 50 * time.Millisecond

// guard enforces the time limits of all flights. Flights therefore need no separate timers and cannot hang. When ctx
// ends, guard ends all flights.
func (r *run) guard(ctx, watch context.Context) {
	tick := time.NewTicker(guardTick)
	defer tick.Stop()
	cancelled := ctx.Done()
	var flights []*flight
	for {
		select {
		case <-watch.Done():
			return
		case <-cancelled:
			// Flights that are still connecting check ctx themselves. Flights added later are ended at the next tick.
			cancelled = nil
		case <-tick.C:
		}
		r.clock.watch()
		r.air.mu.Lock()
		flights = append(flights[:0], r.air.flights...)
		r.air.mu.Unlock()
		now := r.clock.now()
		for _, f := range flights {
			if ctx.Err() != nil {
				f.wake(killedUser)
			} else if why, poke := f.overdue(now); why != alive || poke {
				f.wake(why)
			}
		}
	}
}

// overdue checks the time limits of a flight. The result why is the limit that the flight has exceeded, or alive. The
// result poke reports whether the flight has received nothing for so long that it should try to read. This is necessary
// because the poller reports data and a subsequent reset only once, so the flight may have missed the reset.
func (f *flight) overdue(now int64) (why int32, poke bool) {
	o := f.run.opt
	silent := time.Duration(now - f.last.Load())
	limit := o.EventTimeout
	switch f.phase.Load() {
	case waiting:
		limit = o.HeaderTimeout
	case closing:
		if silent > time.Second {
			return killedLinger, false
		}
	}
	if silent > limit {
		return killedIdle, false
	}
	if began := f.airborne.Load(); time.Duration(now-began) > o.Timeout {
		return killedTotal, false
	}
	if next := time.Duration(f.poked.Load()); silent >= max(time.Second, 2*next) {
		f.poked.Store(int64(silent))
		return alive, true
	} else if silent < next {
		f.poked.Store(0)
	}
	return alive, false
}
