package nsysdb

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/trace"
)

// rankKey is a process and a device that the process uses.
type rankKey struct{ process, device int64 }

// rank fills one Trace.
type rank struct {
	r       *reader
	key     rankKey
	t       *trace.Trace
	ops     int64
	threads map[threadKey]trace.TrackID
	streams map[streamKey]trace.TrackID
	names   map[int64]trace.StringID // by id in StringIds
	last    int64                    // id of the last name looked up; consecutive rows often have the same name
	lastID  trace.StringID
}

type threadKey struct {
	thread int64
	spare  bool // whether this is an additional row of the thread, for ranges that need not nest
}

type streamKey struct{ device, stream int64 }

func (r *reader) rank(process, device int64) *rank {
	key := rankKey{process & procMask, device}
	k := r.ranks[key]
	if k == nil {
		k = &rank{
			r: r, key: key, t: &trace.Trace{},
			threads: map[threadKey]trace.TrackID{}, streams: map[streamKey]trace.TrackID{}, names: map[int64]trace.StringID{}, last: -1,
		}
		r.ranks[key] = k
	}
	return k
}

// name interns a string of the report in the rank's trace. id is the string's id in StringIds.
func (k *rank) name(r *reader, id int64) trace.StringID {
	if id == k.last {
		return k.lastID
	}
	own, ok := k.names[id]
	if !ok {
		own = k.t.Strings.Intern([]byte(r.meta.strings[id]))
		k.names[id] = own
	}
	k.last, k.lastID = id, own
	return own
}

// thread returns the row of a CPU thread.
func (k *rank) thread(r *reader, global int64, spare bool) trace.TrackID {
	key := threadKey{global, spare}
	id, ok := k.threads[key]
	if !ok {
		id = trace.TrackID(len(k.t.Tracks))
		k.threads[key] = id
		name, tid := r.meta.threads[global], strconv.FormatInt(tidOf(global), 10)
		if spare {
			name, tid = "start/end ranges of "+cmp.Or(name, tid), tid+" ranges"
		}
		k.t.Tracks = append(k.t.Tracks, trace.Track{PID: strconv.FormatInt(pidOf(global), 10), TID: tid, Name: name, Device: -1, Stream: -1})
	}
	return id
}

// stream returns the row of a GPU stream.
func (k *rank) stream(device, stream int64) trace.TrackID {
	key := streamKey{device, stream}
	id, ok := k.streams[key]
	if !ok {
		id = trace.TrackID(len(k.t.Tracks))
		k.streams[key] = id
		k.t.Tracks = append(k.t.Tracks, trace.Track{
			PID: strconv.FormatInt(device, 10), TID: strconv.FormatInt(stream, 10), Name: "stream " + strconv.FormatInt(stream, 10),
			GPU: true, Device: int32(device), Stream: stream,
		})
	}
	return id
}

func (k *rank) add(s trace.Span) {
	k.t.Spans = append(room(k.t.Spans, k.r.spans, k.r.most), s)
	k.r.spans++
}

// room grows a full list to an estimate of the list's final size. The estimate assumes that the list keeps its current
// ratio to the number of spans. Growing a list this way avoids repeated moves of lists with millions of elements.
func room[E any](list []E, held, all int64) []E {
	const known = 4096 // minimum length for an estimate
	if n := len(list); n == cap(list) && n >= known && all > held {
		return slices.Grow(list, int(float64(n)*float64(all-held)/float64(held))+n/16)
	}
	return list
}

// few is the fraction of a process's GPU work below which a second device is not a separate rank: frameworks use device
// 0 briefly from every process.
const few = 0.05

// foldDevices joins a rank with little work to the rank of the process's main device. It also fills r.byPID.
func (r *reader) foldDevices() error {
	r.byPID = map[int64][]*rank{}
	for _, key := range sorts.Sorted(maps.Keys(r.ranks), func(a, b rankKey) int {
		return cmp.Or(cmp.Compare(a.process, b.process), cmp.Compare(r.ranks[b].ops, r.ranks[a].ops), cmp.Compare(a.device, b.device))
	}) {
		k := r.ranks[key]
		all := r.byPID[key.process]
		if len(all) > 0 && float64(k.ops) < few*float64(all[0].ops) {
			all[0].take(r, k)
			delete(r.ranks, key)
			continue
		}
		r.byPID[key.process] = append(all, k)
	}
	return nil
}

// leaveGuests removes processes that run no steps and do little work on a GPU that another process drives. An example
// is a server's frontend that prepares images. As a rank, such a process would shift the numbers of all other ranks.
func (r *reader) leaveGuests() {
	most := map[int64]int64{} // GPU -> ops of the process that drives it
	for _, k := range r.ranks {
		if gpu, ok := r.gpu(k); ok {
			most[gpu] = max(most[gpu], k.ops)
		}
	}
	left := int64(0)
	for _, k := range r.inOrder() {
		if gpu, ok := r.gpu(k); ok && float64(k.ops) < few*float64(most[gpu]) && !k.steps() {
			left += int64(len(k.t.Spans))
			delete(r.ranks, k.key)
		}
	}
	if left > 0 {
		r.note(trace.NoteGuestsLeft, left)
	}
}

// steps reports whether the rank has ranges of forward steps.
func (k *rank) steps() bool {
	return slices.ContainsFunc(k.t.Spans, func(s trace.Span) bool {
		if s.Cat != trace.UserAnnotation {
			return false
		}
		_, ok := trace.ParseStep(k.t.Strings.Get(s.Name))
		return ok
	})
}

// take moves all GPU work of the rank from to k.
func (k *rank) take(r *reader, from *rank) {
	rows := make([]trace.TrackID, len(from.t.Tracks))
	for key, id := range from.streams {
		rows[id] = k.stream(key.device, key.stream)
	}
	ids := make([]trace.StringID, from.t.Strings.Len())
	for i := range ids {
		ids[i] = k.t.Strings.Intern([]byte(from.t.Strings.Get(trace.StringID(i))))
	}
	for _, s := range from.t.Spans {
		s.Track, s.Name = rows[s.Track], ids[s.Name]
		if s.Cat.OnGPU() {
			k.t.Ops = append(k.t.Ops, from.t.Ops[s.Detail])
			s.Detail = int32(len(k.t.Ops) - 1)
		}
		k.add(s)
	}
	k.ops += from.ops
}

// coordinates matches a rank's coordinates in the process and thread names of servers: "sglang::scheduler_DP0_TP1_EP1",
// "VLLM::Worker_TP3", "scheduler TP0".
var coordinates = regexp.MustCompile(`(?:^|[^A-Za-z])(TP|DP|PP|EP)[-_]?(\d{1,6})`)

func parsePlace(name string) (trace.Rank, bool) {
	at, found := trace.NoRank, false
	for _, m := range coordinates.FindAllStringSubmatch(name, -1) {
		n, _ := strconv.Atoi(m[2])
		found = true
		switch m[1] {
		case "TP":
			at.TP = n
		case "DP":
			at.DP = n
		case "PP":
			at.PP = n
		case "EP":
			at.EP = n
		}
	}
	return at, found
}

// places assigns coordinates to each rank: from process or thread names if these distinguish all ranks, otherwise from
// MPI ranks, otherwise TP 0, 1, … in the order of the GPUs.
func (r *reader) places(ranks []*rank) {
	tell := func(of func(*rank) (trace.Rank, bool)) bool {
		seen := map[trace.Rank]bool{}
		for _, k := range ranks {
			at, ok := of(k)
			if !ok || seen[at] {
				return false
			}
			seen[at] = true
			k.t.Source.Rank = at
		}
		return true
	}
	byName := func(k *rank) (trace.Rank, bool) {
		if k.key.device >= 0 && len(r.byPID[k.key.process]) > 1 {
			return trace.NoRank, false
		}
		for _, name := range []string{r.meta.threads[k.lead()], r.meta.processes[k.key.process]} {
			if at, ok := parsePlace(name); ok {
				return at, true
			}
		}
		return trace.NoRank, false
	}
	byMPI := func(k *rank) (trace.Rank, bool) {
		n, ok := r.meta.mpi[k.key.process]
		at := trace.NoRank
		at.TP = int(n)
		return at, ok && len(r.byPID[k.key.process]) <= 1
	}
	if tell(byName) || tell(byMPI) {
		return
	}
	for i, k := range ranks {
		k.t.Source.Rank = trace.NoRank
		if len(ranks) > 1 {
			k.t.Source.Rank.TP = i
		}
	}
}

// lead returns the thread that names the rank: the first thread of the rank's process or, if ranks are threads, the
// rank's thread.
func (k *rank) lead() int64 {
	if k.key.device == noDevice {
		return k.key.process | pidOf(k.key.process)
	}
	if k.key.device < noDevice { // the rank is a thread, see noDevice
		return k.key.process | (noDevice - k.key.device)
	}
	return k.key.process | pidOf(k.key.process)
}

// noDevice is the device of a rank without GPU work. If the rank is a single thread, its device is noDevice-tid.
const noDevice = -1

// gpu returns the physical GPU of a rank's device. If the report does not record the physical GPU, known is false and
// id is the process's device number.
func (r *reader) gpu(k *rank) (id int64, known bool) {
	if id, known = r.meta.physical[cudaDevice{pidOf(k.key.process), k.key.device}]; !known {
		id = k.key.device
	}
	return id, known
}

// inOrder returns the ranks sorted by GPU, then by process.
func (r *reader) inOrder() []*rank {
	return sorts.Sorted(maps.Values(r.ranks), func(a, b *rank) int {
		if a.key.device < 0 || b.key.device < 0 { // threads in order of their ids
			return cmp.Or(cmp.Compare(b.key.device, a.key.device), cmp.Compare(a.key.process, b.key.process))
		}
		gpuA, _ := r.gpu(a)
		gpuB, _ := r.gpu(b)
		return cmp.Or(cmp.Compare(gpuA, gpuB), cmp.Compare(a.key.process, b.key.process))
	})
}
