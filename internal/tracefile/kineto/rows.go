package kineto

import (
	"regexp"
	"strconv"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
)

// rowLabel is a row's identity in its events.
type rowLabel struct {
	pid, tid string // JSON
	text     string // `, "pid": P, "tid": T`
}

func (k *writer) label() {
	k.labels = make([]rowLabel, len(k.t.Tracks))
	for i := range k.t.Tracks {
		tr := &k.t.Tracks[i]
		l := rowLabel{pid: id(tr.PID), tid: id(tr.TID)}
		l.text = ", \"pid\": " + l.pid + ", \"tid\": " + l.tid
		k.labels[i] = l
	}
}

// libkineto sorts the rows of devices after those of all processes, and the profiler's own row (the window) last.
const (
	deviceSort = 5_000_000
	windowSort = 536_870_912
)

// kinetoThread matches libkineto's thread names, which contain the process name.
var kinetoThread = regexp.MustCompile(`^thread -?\d+ \((.+)\)$`)

// rows writes the names of processes, devices, threads and streams.
func (k *writer) rows() {
	named := map[string]bool{}
	for i := range k.t.Tracks {
		tr, l := &k.t.Tracks[i], &k.labels[i]
		if !named[l.pid] {
			named[l.pid] = true
			k.process(i, tr.GPU)
		}
		if tr.Name != "" {
			k.metadata("thread_name", l.pid, l.tid).text("name", chromejson.Escape(tr.Name))
		}
		if n, err := strconv.ParseInt(l.tid, 10, 64); err == nil && n >= 0 {
			k.metadata("thread_sort_index", l.pid, l.tid).int("sort_index", n)
		}
	}
}

// process writes the name of the process or device of a row. A trace does not store process names, so process writes
// the name of the main thread.
func (k *writer) process(row int, gpu bool) {
	l := &k.labels[row]
	n, err := strconv.ParseInt(l.pid, 10, 64)
	if err != nil { // "Spans": the profiler's own row
		k.metadata("process_sort_index", l.pid, "0").int("sort_index", windowSort)
		return
	}
	if n < 0 { // the profiler's stalls are not a process
		return
	}
	name, label, sort := "process "+l.pid, "CPU", n
	for i := range k.t.Tracks {
		if tr := &k.t.Tracks[i]; !tr.GPU && tr.Name != "" && (k.labels[i].pid == l.pid && tr.TID == tr.PID || gpu && tr.TID == tr.PID) {
			name = tr.Name
			if m := kinetoThread.FindStringSubmatch(name); m != nil {
				name = m[1]
			}
			break
		}
	}
	if gpu {
		label, sort = "GPU "+l.pid, deviceSort+n
	}
	k.metadata("process_name", l.pid, "0").text("name", chromejson.Escape(name))
	k.metadata("process_labels", l.pid, "0").text("labels", label)
	k.metadata("process_sort_index", l.pid, "0").int("sort_index", sort)
}

// metadata is an M event of a row with one member of args.
type metadata struct{ k *writer }

func (k *writer) metadata(what, pid, tid string) metadata {
	k.next()
	k.str("{\n    \"name\": \"").str(what).str("\", \"ph\": \"M\", \"ts\": ").micros(k.start - k.base)
	k.str(", \"pid\": ").str(pid).str(", \"tid\": ").str(tid)
	return metadata{k}
}

func (m metadata) int(key string, n int64) {
	a := members{k: m.k}
	a.int(key, n)
	m.end(&a)
}

func (m metadata) text(key, s string) {
	a := members{k: m.k}
	a.text(key, s)
	m.end(&a)
}

func (m metadata) end(a *members) {
	a.close()
	m.k.str("\n  }")
}
