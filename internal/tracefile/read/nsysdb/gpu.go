package nsysdb

import (
	"fmt"
	"strconv"

	"github.com/stepscope/stepscope/internal/tracefile/sqlitefile"
	"github.com/stepscope/stepscope/trace"
)

// Tables of GPU work.
const (
	tableKernel = "CUPTI_ACTIVITY_KIND_KERNEL"
	tableMemcpy = "CUPTI_ACTIVITY_KIND_MEMCPY"
	tableMemset = "CUPTI_ACTIVITY_KIND_MEMSET"
	tableGraph  = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
	tableSync   = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
	tableMemory = "CUDA_GPU_MEMORY_USAGE_EVENTS"
)

// device lists the columns with which every query for GPU work begins.
var device = []string{"start", "end", "deviceId", "streamId", "correlationId", "globalPid"}

// span reads the columns of device. It returns false if the row is outside the window or unusable.
func (r *reader) span(row *sqlitefile.Row, cat trace.Category) (k *rank, s trace.Span, ok bool) {
	start, end := row.Int(0), row.Int(1)
	if !r.usable(start, end) {
		return nil, s, false
	}
	dev, stream := row.Int(2), row.Int(3)
	k = r.rank(row.Int(5), dev)
	return k, trace.Span{Start: start, Dur: end - start, Corr: row.Int(4), Detail: -1, Cat: cat, Track: k.stream(dev, stream)}, true
}

// usable reports whether an interval is valid and overlaps the window. It counts invalid intervals.
func (r *reader) usable(start, end int64) bool {
	if start < -farthest || end > farthest {
		r.odd.Add(trace.NoteRowTime, 1)
		return false
	}
	if end < start {
		r.odd.Add(trace.NoteRowBackwards, 1)
		return false
	}
	if !r.inside(start, end) {
		return false
	}
	r.last = max(r.last, end)
	return true
}

// work adds one item of GPU work.
func (k *rank) work(s trace.Span, op trace.Op) {
	s.Detail = int32(len(k.t.Ops))
	k.t.Ops = append(room(k.t.Ops, k.r.spans, k.r.mostOps), op)
	k.ops++
	k.add(s)
}

func (r *reader) kernels() error {
	columns := append(device[:len(device):len(device)], "demangledName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "shortName")
	return r.scan(tableKernel, columns, func(row *sqlitefile.Row) {
		k, s, ok := r.span(row, trace.Kernel)
		if !ok {
			return
		}
		name := row.Int(6)
		if row.Null(6) {
			name = row.Int(13)
		}
		s.Name = k.name(r, name)
		k.work(s, trace.Op{
			Grid:  [3]int32{int32(row.Int(7)), int32(row.Int(8)), int32(row.Int(9))},
			Block: [3]int32{int32(row.Int(10)), int32(row.Int(11)), int32(row.Int(12))}, Comm: -1,
		})
	})
}

// copyKinds and memKinds translate CUPTI's enumerations to libkineto's terms, so that nsys and PyTorch captures are
// comparable.
var (
	copyKinds = map[int64]string{1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA", 8: "DtoD", 9: "HtoH", 10: "PtoP"}
	memKinds  = map[int64]string{0: "Pageable", 1: "Pinned", 2: "Device", 3: "Array", 4: "Managed", 5: "Device Static", 6: "Managed Static"}
)

func word(of map[int64]string, id int64) string {
	if w, ok := of[id]; ok {
		return w
	}
	return "Unknown " + strconv.FormatInt(id, 10)
}

func (r *reader) memcpys() error {
	type kind struct{ how, from, to int64 }
	names := map[kind][]byte{}
	columns := append(device[:len(device):len(device)], "bytes", "copyKind", "srcKind", "dstKind")
	return r.scan(tableMemcpy, columns, func(row *sqlitefile.Row) {
		k, s, ok := r.span(row, trace.Memcpy)
		if !ok {
			return
		}
		of := kind{row.Int(7), row.Int(8), row.Int(9)}
		name := names[of]
		if name == nil {
			name = fmt.Appendf(nil, "Memcpy %s (%s -> %s)", word(copyKinds, of.how), word(memKinds, of.from), word(memKinds, of.to))
			names[of] = name
		}
		s.Name = k.t.Strings.Intern(name)
		k.work(s, trace.Op{Bytes: row.Int(6), Comm: -1})
	})
}

func (r *reader) memsets() error {
	columns := append(device[:len(device):len(device)], "bytes", "memKind")
	return r.scan(tableMemset, columns, func(row *sqlitefile.Row) {
		k, s, ok := r.span(row, trace.Memset)
		if !ok {
			return
		}
		s.Name = k.t.Strings.Intern([]byte("Memset (" + word(memKinds, row.Int(7)) + ")"))
		k.work(s, trace.Op{Bytes: row.Int(6), Comm: -1})
	})
}

// graphs reads graph launches that nsys recorded as a whole. With --cuda-graph-trace=graph, which is nsys' default,
// these rows are the only record of the work in a graph.
func (r *reader) graphs() error {
	n := int64(0)
	columns := append(device[:len(device):len(device)], "graphId")
	err := r.scan(tableGraph, columns, func(row *sqlitefile.Row) {
		k, s, ok := r.span(row, trace.Kernel)
		if !ok {
			return
		}
		n++
		s.Name = k.t.Strings.Intern([]byte("CUDA graph " + strconv.FormatInt(row.Int(6), 10)))
		k.work(s, trace.Op{Comm: -1})
	})
	if n > 0 {
		r.note(trace.NoteGraphs, n)
	}
	return err
}

// syncNames are libkineto's names for CUPTI's kinds of synchronisation.
var syncNames = map[int64]string{1: "Event Sync", 2: "Stream Wait Event", 3: "Stream Sync", 4: "Context Sync"}

// rankWith returns the rank of a process on a device. Synchronisation rows name device 0 in every process, so if the
// process has only one rank, that rank matches regardless of the device. In rows for waits that block the host, the
// stream is -1.
func (r *reader) rankWith(process, device int64) *rank {
	ranks := r.byPID[process&procMask]
	if len(ranks) == 1 {
		return ranks[0]
	}
	return r.ranks[rankKey{process & procMask, device}]
}

// syncs reads the waits of host threads and of streams, for ranks with GPU work.
func (r *reader) syncs() error {
	columns := append(device[:len(device):len(device)], "syncType")
	return r.scan(tableSync, columns, func(row *sqlitefile.Row) {
		k := r.rankWith(row.Int(5), row.Int(2))
		if k == nil {
			return
		}
		start, end := row.Int(0), row.Int(1)
		if !r.usable(start, end) {
			return
		}
		name, ok := syncNames[row.Int(6)]
		if !ok {
			name = "Sync"
		}
		k.add(trace.Span{
			Start: start, Dur: end - start, Corr: row.Int(4), Detail: -1, Cat: trace.Sync,
			Track: k.stream(k.key.device, int64(int32(row.Int(3)))), Name: k.t.Strings.Intern([]byte(name)),
		})
	})
}

// memory reads allocations and frees of device memory and accumulates the allocated total.
func (r *reader) memory() error {
	held := map[*rank]int64{}
	return r.scan(tableMemory, []string{"start", "globalPid", "deviceId", "bytes", "memKind", "memoryOperationType"}, func(row *sqlitefile.Row) {
		k := r.rankWith(row.Int(1), row.Int(2))
		const deviceKind, managedKind = 2, 4
		if kind := row.Int(4); k == nil || kind != deviceKind && kind != managedKind {
			return
		}
		bytes := row.Int(3)
		if row.Int(5) == 1 {
			bytes = -bytes
		}
		held[k] += bytes
		if at := row.Int(0); r.usable(at, at) {
			k.t.Memory = append(k.t.Memory, trace.MemoryPoint{
				Time: at, Bytes: bytes, Allocated: held[k], Reserved: held[k], GPU: true, Device: int32(row.Int(2)),
			})
		}
	})
}
