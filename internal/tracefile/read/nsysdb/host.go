package nsysdb

import (
	"maps"
	"regexp"
	"slices"

	"github.com/stepscope/stepscope/internal/tracefile/sqlitefile"
	"github.com/stepscope/stepscope/trace"
)

// Tables of host activity.
const (
	tableRuntime  = "CUPTI_ACTIVITY_KIND_RUNTIME"
	tableNVTX     = "NVTX_EVENTS"
	tableOSRT     = "OSRT_API"
	tableOverhead = "PROFILER_OVERHEAD"
)

// Kinds of NVTX events that are read (ENUM_NSYS_EVENT_TYPE).
const (
	nvtxThreadName = 39
	nvtxPushPop    = 59
	nvtxStartEnd   = 60
	nvtxDomain     = 75
)

// rankOf returns the rank that a thread belongs to: the rank of the thread's process or, if the process drives several
// devices, the rank of the device on which the thread launches.
func (r *reader) rankOf(global int64, launches map[int64]*rank) *rank {
	ranks := r.byPID[global&procMask]
	if len(ranks) > 1 {
		if k := launches[global]; k != nil {
			return k
		}
	}
	if len(ranks) == 0 {
		return nil
	}
	return ranks[0]
}

// launchers returns, for each thread of a process that drives several devices, the rank on whose device the thread
// launches most.
func (r *reader) launchers() (map[int64]*rank, error) {
	type launch struct{ process, corr int64 }
	started := map[launch]*rank{}
	for process, ranks := range r.byPID {
		if len(ranks) < 2 {
			continue
		}
		for _, k := range ranks {
			for i := range k.t.Spans {
				if s := &k.t.Spans[i]; s.Cat.OnGPU() && s.Corr != 0 {
					started[launch{process, s.Corr}] = k
				}
			}
		}
	}
	if len(started) == 0 {
		return nil, nil
	}
	count := map[int64]map[*rank]int{}
	err := r.scan(tableRuntime, []string{"globalTid", "correlationId"}, func(row *sqlitefile.Row) {
		if k := started[launch{row.Int(0) & procMask, row.Int(1)}]; k != nil {
			if count[row.Int(0)] == nil {
				count[row.Int(0)] = map[*rank]int{}
			}
			count[row.Int(0)][k]++
		}
	})
	most := map[int64]*rank{}
	for thread, of := range count {
		for _, k := range r.byPID[thread&procMask] {
			if most[thread] == nil || of[k] > of[most[thread]] {
				most[thread] = k
			}
		}
	}
	return most, err
}

// apiVersion matches the suffix of API call names: cudaLaunchKernel_v7000.
var apiVersion = regexp.MustCompile(`(_ptsz)?_v\d+$`)

func (r *reader) calls() error {
	launches, err := r.launchers()
	if err != nil {
		return err
	}
	for id, name := range r.meta.strings {
		if len(name) > 5 && (name[:2] == "cu" || name[:3] == "hip") {
			r.meta.strings[id] = apiVersion.ReplaceAllString(name, "")
		}
	}
	// A thread may launch on several devices. A call that started GPU work belongs to the rank of that work's device.
	started := map[rankKey]*rank{} // rank of the work that a call started, by process and correlation
	for process, ranks := range r.byPID {
		for _, k := range ranks[min(1, len(ranks)):] {
			for i := range k.t.Spans {
				if s := &k.t.Spans[i]; s.Cat.OnGPU() {
					started[rankKey{process, s.Corr}] = k
				}
			}
		}
	}
	const driver = 1
	var thread int64
	var k *rank
	var track trace.TrackID
	return r.scan(tableRuntime, []string{"start", "end", "eventClass", "globalTid", "correlationId", "nameId"}, func(row *sqlitefile.Row) {
		start, end := row.Int(0), row.Int(1)
		if !r.usable(start, end) {
			return
		}
		corr := row.Int(4)
		if global := row.Int(3); global != thread || k == nil || len(started) > 0 {
			thread = global
			if k = r.rankOf(global, launches); k == nil {
				r.odd.Add(trace.NoteProcessesLeft, 1)
				return
			}
			if other := started[rankKey{global & procMask, corr}]; other != nil {
				k = other
			}
			track = k.thread(r, global, false)
		}
		s := trace.Span{Start: start, Dur: end - start, Corr: corr, Detail: -1, Cat: trace.Runtime, Track: track, Name: k.name(r, row.Int(5))}
		if row.Int(2) == driver {
			s.Cat = trace.Driver
		}
		k.add(s)
	})
}

// domain is one NVTX domain of a process. 0 is the default domain, without a name.
type domain struct{ process, id int64 }

func (r *reader) domains() (map[domain]string, error) {
	names := map[domain]string{}
	err := r.scan(tableNVTX, []string{"eventType", "text", "textId", "globalTid", "domainId"}, func(row *sqlitefile.Row) {
		if row.Int(0) == nvtxDomain {
			names[domain{row.Int(3) & procMask, row.Int(4)}] = r.text(row, 1, 2)
		}
	})
	return names, err
}

// nvtx reads ranges. In a report without GPU work, as of a server on devices that nsys does not support, each thread
// with ranges is a rank.
func (r *reader) nvtx() error {
	if r.db.Table(tableNVTX) == nil {
		return nil
	}
	launches, err := r.launchers()
	if err != nil {
		return err
	}
	domains, err := r.domains()
	if err != nil {
		return err
	}
	noGPU := len(r.ranks) == 0
	open := map[*rank][]int{} // ranges open at the end of the capture
	err = r.scan(tableNVTX, []string{"eventType", "start", "end", "text", "textId", "globalTid", "domainId"}, func(row *sqlitefile.Row) {
		kind := row.Int(0)
		if kind != nvtxPushPop && kind != nvtxStartEnd {
			return
		}
		start, end, global := row.Int(1), row.Int(2), row.Int(5)
		unended := row.Null(2)
		if unended {
			end = max(start, r.last)
		}
		if !r.usable(start, end) {
			return
		}
		var k *rank
		if noGPU {
			k = r.rank(global, noDevice-tidOf(global))
		} else if k = r.rankOf(global, launches); k == nil {
			r.odd.Add(trace.NoteProcessesLeft, 1)
			return
		}
		text := row.Text(3)
		var name trace.StringID
		of := domains[domain{global & procMask, row.Int(6)}]
		switch {
		case of != "":
			name = k.t.Strings.Intern([]byte(of + ":" + r.text(row, 3, 4)))
		case row.Null(3):
			name = k.name(r, row.Int(4))
		default:
			name = k.t.Strings.Intern(text)
		}
		if unended {
			open[k] = append(open[k], len(k.t.Spans))
		}
		k.add(trace.Span{
			Start: start, Dur: end - start, Detail: -1, Cat: trace.UserAnnotation,
			Track: k.thread(r, global, kind == nvtxStartEnd), Name: name,
		})
	})
	for k, spans := range open {
		for _, i := range spans {
			s := &k.t.Spans[i]
			s.Dur = max(0, min(r.last, r.to)-s.Start)
		}
		r.note(trace.NoteOpenRanges, int64(len(spans)))
	}
	if noGPU {
		r.threadsAsRanks()
	}
	return err
}

// threadsAsRanks determines the ranks of a report without GPU work. Each thread that ran forward steps is a rank. If no
// thread did, each process is a rank.
func (r *reader) threadsAsRanks() {
	if len(r.ranks) == 0 {
		return
	}
	steps := map[rankKey]bool{}
	for key, k := range r.ranks {
		if k.steps() {
			steps[key] = true
		}
	}
	for _, key := range slices.Collect(maps.Keys(r.ranks)) {
		if len(steps) > 0 && !steps[key] {
			r.odd.Add(trace.NoteThreadsLeft, int64(len(r.ranks[key].t.Spans)))
			delete(r.ranks, key)
		}
	}
	if len(steps) == 0 {
		r.joinThreads()
	}
	r.byPID = map[int64][]*rank{}
	for key, k := range r.ranks {
		r.byPID[key.process] = append(r.byPID[key.process], k)
	}
	r.note(trace.NoteNoGPU, 1)
}

// joinThreads joins all threads of a process into one rank.
func (r *reader) joinThreads() {
	for _, k := range r.inOrder() {
		whole := r.rank(k.key.process, noDevice)
		for _, s := range k.t.Spans {
			t := k.t.Tracks[s.Track]
			s.Track = whole.thread(r, k.key.process|(noDevice-k.key.device), t.TID != "" && t.TID[len(t.TID)-1] == 's')
			s.Name = whole.t.Strings.Intern([]byte(k.t.Strings.Get(s.Name)))
			whole.add(s)
		}
		delete(r.ranks, k.key)
	}
}

// osrtCall is the event class of a call in OSRT_API. The other rows of OSRT_API mark the begin and end of nsys itself.
const osrtCall = 27

// osrt reads libc calls in which threads blocked.
func (r *reader) osrt() error { return r.plain(tableOSRT, trace.Other, osrtCall) }

// overhead reads the overhead of nsys itself.
func (r *reader) overhead() error { return r.plain(tableOverhead, trace.Overhead, -1) }

// plain reads a table of calls by threads as spans of category cat. class -1 means any event class.
func (r *reader) plain(table string, cat trace.Category, class int64) error {
	return r.scan(table, []string{"start", "end", "globalTid", "nameId", "eventClass"}, func(row *sqlitefile.Row) {
		start, end, global := row.Int(0), row.Int(1), row.Int(2)
		if class >= 0 && row.Int(4) != class || !r.usable(start, end) {
			return
		}
		k := r.rankOf(global, nil)
		if k == nil {
			r.odd.Add(trace.NoteProcessesLeft, 1)
			return
		}
		k.add(trace.Span{Start: start, Dur: end - start, Detail: -1, Cat: cat, Track: k.thread(r, global, false), Name: k.name(r, row.Int(3))})
	})
}
