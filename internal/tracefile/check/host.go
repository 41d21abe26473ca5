package check

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"slices"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/trace"
)

// This file compares API calls with the GPU work that they started. The calls and the work of a file come in any order,
// so both are kept until the end of the file.

// thread holds the API calls of a thread.
type thread struct {
	trace.Launching
	calls []apiCall
}

type apiCall struct {
	id, end int64
	kind    trace.Call
}

// gpuOp is an item of GPU work. id is the correlation id of its launch.
type gpuOp struct {
	id int64
	trace.LastOp
}

var seed = maphash.MakeSeed()

// rowOf returns the key of an event's row.
func (c *counter) rowOf(e *chromejson.Event) []byte {
	c.row = append(append(append(c.row[:0], e.Text(e.PID)...), 0), e.Text(e.TID)...)
	return c.row
}

// op adds an item of GPU work.
func (c *counter) op(e *chromejson.Event, id, end int64) {
	if len(c.ops) < maxPairs {
		toHost := c.lastCat == "gpu_memcpy" && bytes.Contains(e.Text(e.Name), []byte("DtoH"))
		c.ops = append(c.ops, gpuOp{id, trace.LastOp{Stream: int64(maphash.Bytes(seed, c.rowOf(e))), End: end, ToHost: toHost}})
	}
}

// cutOp ends the latest GPU work of an event's row at a time, so that work that runs on is counted only once.
func (c *counter) cutOp(e *chromejson.Event, at int64) {
	stream := int64(maphash.Bytes(seed, c.rowOf(e)))
	for i := range slices.Backward(c.ops) {
		if c.ops[i].Stream == stream {
			c.ops[i].End = at
			return
		}
	}
}

// call adds an API call to its thread.
func (c *counter) call(e *chromejson.Event, id, end int64) {
	row := c.rowOf(e)
	t := c.threads[string(row)]
	if c.calls >= maxPairs || t == nil && len(c.threads) >= 4096 { // a broken file may have any number of rows
		return
	}
	if t == nil {
		t = &thread{}
		c.threads[string(row)] = t
	}
	kind := trace.CallOf(string(e.Text(e.Name)))
	t.Add(kind, id)
	t.calls = append(t.calls, apiCall{id, end, kind})
	c.calls++
}

// hostOdd counts the launches without GPU work, and the GPU work that ends after the synchronisation that waited for it.
// It returns 0 if no launch has GPU work, as in a trace without GPU activity.
func (c *counter) hostOdd() (lost, late int64) {
	if c.launches.full || c.calls >= maxPairs || len(c.ops) == 0 || len(c.ops) >= maxPairs {
		return 0, 0
	}
	slices.SortFunc(c.ops, func(a, b gpuOp) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.End, b.End)) })
	lastOf := func(id int64) *trace.LastOp {
		i, _ := slices.BinarySearchFunc(c.ops, id+1, func(o gpuOp, id int64) int { return cmp.Compare(o.id, id) })
		if i == 0 || c.ops[i-1].id != id {
			return nil
		}
		return &c.ops[i-1].LastOp
	}
	launches := int64(0)
	for _, t := range c.threads {
		var waits trace.Waits
		for _, call := range t.calls {
			waits.Add(call.kind, call.end, lastOf(call.id))
		}
		late += waits.Late
		for _, id := range t.IDs {
			if launches++; lastOf(id) == nil {
				lost++
			}
		}
	}
	if lost == launches || float64(lost) <= trace.LostLeast*float64(launches) {
		lost = 0
	}
	return lost, late
}
