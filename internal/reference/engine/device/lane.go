package device

import (
	"sync"

	"github.com/stepscope/stepscope/internal/reference/engine/device/record"
)

// lane is a row of the trace that belongs to no stream. It shows transfers of device memory that bypass all streams,
// such as transfers by a network card.
type lane struct {
	id   int
	mu   sync.Mutex
	idle sync.Cond
	rec  *record.Recording // recording of the current transfer; nil: no transfer
	busy bool
}

// firstLane is the number of the first lane, far above the numbers of streams.
const firstLane = firstStream + 64*nextStream

// Transfer records the start of a transfer between device memory and another host. The returned function records the
// end of the transfer and the number of bytes moved. In a trace the transfer appears as a copy with the given name, the
// ids of its requests, and the room, which is the number by which both ends identify the transfer. The copy is on a row
// that belongs to no stream, and concurrent transfers are on separate rows. Any goroutine may call Transfer and the
// returned function.
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

// lane returns the first free lane.
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

// wait returns when the lane has no transfer of the window in progress.
func (l *lane) wait(r *record.Recording) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.rec == r {
		l.idle.Wait()
	}
}
