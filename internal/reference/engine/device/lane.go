package device

import (
	"sync"

	"github.com/stepscope/stepscope/internal/reference/engine/device/record"
)

// lane is a row of the trace, beside those of streams, for what moves device memory
// without a stream's doing, as a network card does.
type lane struct {
	id   int
	mu   sync.Mutex
	idle sync.Cond
	rec  *record.Recording // of the transfer that goes on; nil: none
	busy bool
}

// firstLane is the number of the first one: far behind those of streams.
const firstLane = firstStream + 64*nextStream

// Transfer notes that something begins to move device memory from or to elsewhere.
// The returned function says that it has ended, and how many bytes were moved. In a
// trace that is a copy of this name, with the ids of the requests it is for and the
// room in which both ends know it, on a row that no stream has; what goes on at the same time has rows of its own. Any
// goroutine may call both.
func (d *Device) Transfer(name, requests string, room uint64) (end func(bytes int64)) {
	r := d.recorder()
	if r == nil {
		return func(int64) {}
	}
	l := d.lane(r)
	start := record.Now()
	return func(bytes int64) {
		r.AddTransfer(l.id, name, requests, room, start, bytes)
		l.mu.Lock()
		l.busy, l.rec = false, nil
		l.mu.Unlock()
		l.idle.Broadcast()
	}
}

// lane takes the first one that is free.
func (d *Device) lane(r *record.Recording) *lane {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range d.lanes {
		if l.take(r) {
			return l
		}
	}
	l := &lane{id: firstLane + nextStream*len(d.lanes), busy: true, rec: r}
	l.idle.L = &l.mu
	d.lanes = append(d.lanes[:len(d.lanes):len(d.lanes)], l)
	return l
}

func (l *lane) take(r *record.Recording) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy {
		return false
	}
	l.busy, l.rec = true, r
	return true
}

// wait returns when no transfer of the window goes on.
func (l *lane) wait(r *record.Recording) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.rec == r {
		l.idle.Wait()
	}
}
