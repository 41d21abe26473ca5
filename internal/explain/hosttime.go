package explain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/trace"
)

// divideIdle splits the idle time that a late host caused between work and
// host, by what the hosts of the late rank and of its usual reference needed
// from launch to launch in this step: for ops that only the late rank has, and
// for those that both have.
func (d *domain) divideIdle(r int32, stepNo int, l *lateness) {
	if l.idle <= 0 || len(l.refs) == 0 {
		l.excess[byHost] += l.idle
		return
	}
	ref, most := int32(-1), 0
	for q, n := range l.refs {
		if n > most || n == most && q < ref {
			ref, most = q, n
		}
	}
	mine, theirs := d.ranks[r].hostTime(stepNo), d.ranks[ref].hostTime(stepNo)
	h := lateness{extra: map[int32]extra{}}
	a, b := approach{keys: mine}, approach{keys: theirs}
	a.against(&b, &h)
	// Here busy is host time: what `against` calls device is the same launches
	// taking longer on the host.
	l.host = map[int32]int64{}
	for key, e := range h.extra {
		l.host[key] = e.slow
	}
	work, same := max(h.excess[byWork], 0), max(h.excess[byDevice], 0)
	if work+same == 0 {
		l.excess[byHost] += l.idle
		return
	}
	share := float64(work) / float64(work+same)
	l.excess[byWork] += int64(share * float64(l.idle))
	l.excess[byHost] += l.idle - int64(share*float64(l.idle))
}

// hostTime is what the host spent on the launches of a step, per kernel key,
// from the end of one launch to the end of the next, waits for the device
// left out.
func (r *rank) hostTime(stepNo int) []approachKey {
	n := int32(stepNo - r.first)
	lo, _ := slices.BinarySearchFunc(r.calls, n, func(c call, n int32) int {
		if c.step < 0 { // between steps: by time
			return cmp.Compare(c.start, r.stepStart(n))
		}
		return cmp.Compare(c.step, n)
	})
	var a approach
	for i := lo; i < len(r.calls) && r.calls[i].step <= n; i++ {
		c := &r.calls[i]
		if c.step != n || c.op < 0 {
			continue
		}
		k := a.at(&r.ops[c.op])
		k.count++
		k.busy += c.host
	}
	return a.keys
}

func (r *rank) stepStart(n int32) int64 {
	if n < 0 || int(n) >= len(r.steps) {
		return 1<<63 - 1
	}
	return r.steps[n].start
}

// measureHost fills in what the host needed for each launch: the time since
// the launch before on the same thread, without the time it was blocked.
func (r *rank) measureHost() {
	for i := range r.ops {
		if o := &r.ops[i]; o.call >= 0 && o.first {
			r.calls[o.call].op = int32(i)
		}
	}
	blocked := r.blockedSpans()
	lastEnd := map[trace.TrackID]int64{}
	for i := range r.calls {
		c := &r.calls[i]
		end := c.end
		if r.blocksInLaunch(c) {
			end = c.start
		}
		if from, ok := lastEnd[c.track]; ok {
			c.host = max(0, end-from-overlap(blocked[c.track], from, end))
		}
		lastEnd[c.track] = max(lastEnd[c.track], c.end)
	}
}

// blocksInLaunch tells calls that return only when the device has done the
// work: copies from or to pageable memory.
func (r *rank) blocksInLaunch(c *call) bool {
	if c.op < 0 {
		return false
	}
	s := &r.t.Spans[r.ops[c.op].span]
	return s.Cat == trace.Memcpy && strings.Contains(r.t.Strings.Get(s.Name), "Pageable")
}

// isSync tells API calls that wait for the device.
func isSync(name string) bool {
	return strings.Contains(name, "Synchronize") || name == "cudaMemcpy" || name == "hipMemcpy" || name == "cudaFree" || name == "cudaHostAlloc"
}

// interval is [start, end) in ns.
type interval struct{ start, end int64 }

// blockedSpans lists, per thread and in time order, when it waited for the
// device. A runtime call and the driver call inside it are one wait.
func (r *rank) blockedSpans() map[trace.TrackID][]interval {
	blocked := map[trace.TrackID][]interval{}
	sync := map[trace.StringID]bool{}
	for i := range r.t.Spans {
		s := &r.t.Spans[i]
		if !s.Cat.Launch() {
			continue
		}
		is, known := sync[s.Name]
		if !known {
			is = isSync(r.t.Strings.Get(s.Name))
			sync[s.Name] = is
		}
		if is {
			list := blocked[s.Track]
			if n := len(list); n > 0 && s.Start <= list[n-1].end {
				list[n-1].end = max(list[n-1].end, s.End())
				continue
			}
			blocked[s.Track] = append(list, interval{s.Start, s.End()})
		}
	}
	return blocked
}

// overlap is how much of [from, to) the intervals cover. They are in order
// and do not overlap each other.
func overlap(in []interval, from, to int64) int64 {
	i, _ := slices.BinarySearchFunc(in, from, func(x interval, at int64) int { return cmp.Compare(x.end, at) })
	var sum int64
	for ; i < len(in) && in[i].start < to; i++ {
		sum += max(0, min(in[i].end, to)-max(in[i].start, from))
	}
	return sum
}
