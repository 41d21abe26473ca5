package record

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
)

// events writes the event array in libkineto's order: host operations, memory, stack frames, device work with its flow
// events, runtime calls with their flow events, the shadows of annotations, names, and the window.
func (k *kineto) events() {
	r := k.r
	host := k.thread()
	cpu := strconv.Itoa(host.PID)
	tid := strconv.Itoa(host.TID)
	h := hostRow{k: k, row: "\", \"pid\": " + cpu + ", \"tid\": " + tid, args: r.args.view(), comms: r.comms.view()}
	ops := r.inOrder(k.pause)
	for i, o := range ops.all {
		h.op(o, i)
	}
	idx := ops.len()
	if r.Options.CPU {
		for _, m := range r.memory.all {
			h.memory(m, idx, cpu, tid)
			idx++
		}
	}
	if r.Options.Stack {
		h.frames(ops, idx)
	}
	d := deviceRow{k: k, comms: h.comms}
	logs := r.allStreams()
	for _, l := range logs {
		d.stream(l.id)
		for _, w := range l.log.work.all {
			d.work(w)
		}
	}
	for _, c := range r.calls.all {
		h.call(c)
	}
	for _, l := range logs {
		d.stream(l.id)
		k.shadows(&d, l.log, ops)
	}
	k.namesOf(host, logs)
	k.window()
}

// thread returns the launching thread, or the process's first thread if no launching thread was set.
func (k *kineto) thread() Thread {
	k.r.mu.Lock()
	defer k.r.mu.Unlock()
	t := k.r.host
	t.PID = cmp.Or(t.PID, processID())
	t.TID = cmp.Or(t.TID, t.PID)
	return t
}

// next begins an event: it writes the comma after the previous event, and flushes when the buffer is large enough.
func (k *kineto) next() {
	if k.first {
		k.first = false
		k.str("  ")
	} else {
		k.str(",\n  ")
	}
	if len(k.buf) >= flushAt {
		k.flush()
	}
}

// span begins an event with a duration ("ph": "X"). row is `", "pid": P, "tid": T`; its first quotation mark closes the
// name.
func (k *kineto) span(cat, name, row string, start, end int64) {
	k.next()
	k.str("{\n    \"ph\": \"X\", \"cat\": \"").str(cat).str("\", \"name\": \"").str(name).str(row)
	k.str(",\n    \"ts\": ").micros(start + k.shift).str(", \"dur\": ").micros(max(end-start, 0))
}

const (
	openArgs  = ",\n    \"args\": {\n      "
	closeArgs = "\n    }\n  }"
)

func (k *kineto) flow(ph string, corr uint32, row string, at int64, bind string) {
	k.next()
	k.str("{\n    \"ph\": \"").str(ph).str("\", \"id\": ").int(int64(corr)).str(row[1:])
	k.str(", \"ts\": ").micros(at + k.shift).str(",\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"").str(bind).str("\n  }")
}

// shadows writes the gpu_user_annotation of each annotation on one stream. Such a shadow spans the work that was
// launched inside the annotation, from the first kernel or copy to the last. The search relies on the order of
// correlation ids: they grow in launch order, and a stream runs its work in launch order.
func (k *kineto) shadows(d *deviceRow, s *Stream, ops hostOps) {
	var corr []uint32
	var start, end []int64
	for i, w := range s.work.all {
		if i%chunkLen == 0 {
			k.pause()
		}
		if n := len(corr); n > 0 && corr[n-1] == w.Corr { // the nodes of a graph share one correlation id
			end[n-1] = max(end[n-1], w.End)
			continue
		}
		corr, start, end = append(corr, w.Corr), append(start, w.Start), append(end, w.End)
	}
	for i, o := range ops.all {
		if i%chunkLen == 0 {
			k.pause()
		}
		if o.Kind != Annotation || o.From == o.To {
			continue
		}
		lo, _ := slices.BinarySearch(corr, o.From)
		hi, _ := slices.BinarySearch(corr, o.To)
		if lo == hi {
			continue
		}
		// Like Kineto, extend a shadow by a nanosecond at both ends, so that it encloses its kernels.
		k.span("gpu_user_annotation", k.name(o.Name), d.row, start[lo]-1, end[hi-1]+1)
		k.str(openArgs).str("\"External id\": ").int(int64(o.Ext)).str(closeArgs)
	}
}

// namesOf writes the names of all processes and threads that have events.
func (k *kineto) namesOf(host Thread, logs []streamLog) {
	process := cmp.Or(k.meta.Process, "stepscope")
	k.process(host.PID, process, "CPU", host.PID)
	k.threadName(host.PID, host.TID, "thread "+strconv.Itoa(host.TID)+" ("+cmp.Or(host.Name, process)+")")
	if len(logs) == 0 {
		return
	}
	gpu := k.meta.Device.Index
	// libkineto sorts devices after all processes.
	k.process(gpu, process, "GPU "+k.device, 5_000_000+gpu)
	for _, l := range logs {
		k.threadName(gpu, l.id, "stream "+strconv.Itoa(l.id)+" ")
	}
}

func (k *kineto) process(pid int, name, label string, sort int) {
	k.metadata("process_name", pid, 0).str("\"name\": \"").str(chromejson.Escape(name)).str("\"").str(closeArgs)
	k.metadata("process_labels", pid, 0).str("\"labels\": \"").str(label).str("\"").str(closeArgs)
	k.metadata("process_sort_index", pid, 0).str("\"sort_index\": ").int(int64(sort)).str(closeArgs)
}

func (k *kineto) threadName(pid, tid int, name string) {
	k.metadata("thread_name", pid, tid).str("\"name\": \"").str(chromejson.Escape(name)).str("\"").str(closeArgs)
	k.metadata("thread_sort_index", pid, tid).str("\"sort_index\": ").int(int64(tid)).str(closeArgs)
}

func (k *kineto) metadata(what string, pid, tid int) *text {
	k.next()
	return k.str("{\n    \"name\": \"").str(what).str("\", \"ph\": \"M\", \"ts\": ").micros(k.r.start + k.shift).
		str(", \"pid\": ").int(int64(pid)).str(", \"tid\": ").int(int64(tid)).str(openArgs)
}

// window writes the span of the recording and the marks at its start and end.
func (k *kineto) window() {
	const profiler = "PyTorch Profiler"
	k.next()
	k.str("{\n    \"ph\": \"X\", \"cat\": \"Trace\", \"ts\": ").micros(k.r.start + k.shift).str(", \"dur\": ").micros(k.r.stop - k.r.start)
	k.str(",\n    \"pid\": \"Spans\", \"tid\": \"" + profiler + "\",\n    \"name\": \"" + profiler + " (0)\"").str(openArgs)
	k.str("\"Op count\": ").int(int64(k.r.ops.len())).str(closeArgs)
	k.next()
	k.str("{\n    \"name\": \"process_sort_index\", \"ph\": \"M\", \"ts\": ").micros(k.r.start + k.shift)
	k.str(",\n    \"pid\": \"Spans\", \"tid\": 0").str(openArgs).str("\"sort_index\": 536870912").str(closeArgs)
	k.next()
	k.str("{\n    \"name\": \"Iteration Start: " + profiler + "\", \"ph\": \"i\", \"s\": \"g\",\n    \"pid\": \"Traces\", \"tid\": \"Trace " + profiler + "\", \"ts\": ")
	k.micros(k.r.start + k.shift).str("\n  }")
	k.next()
	k.str("{\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n    \"pid\": \"\", \"tid\": \"\", \"ts\": ")
	k.micros(k.r.stop + k.shift).str("\n  }")
}
