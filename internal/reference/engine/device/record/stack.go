package record

import (
	"iter"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
)

// stacks are the distinct call stacks of a window, as program counters.
type stacks struct {
	ids  map[uint64]int32
	list buffer[stack]
	pcs  buffer[uintptr]
	own  [maxDepth]uintptr
}

type stack struct{ at, n int32 }

// maxDepth is the number of frames kept per stack, counted from the innermost frame.
const maxDepth = 64

// Callers returns the number of the caller's stack, without its innermost skip frames. It returns -1 if stacks are not
// recorded or the recording is full. Only the host thread may call it.
func (r *Recording) Callers(skip int) int32 {
	if !r.Options.Stack {
		return -1
	}
	s := &r.stacks
	n := runtime.Callers(skip+2, s.own[:])
	h := uint64(14695981039346656037) // FNV-1a, one program counter at a time
	for _, pc := range s.own[:n] {
		h = (h ^ uint64(pc)) * 1099511628211
	}
	id, ok := s.ids[h]
	if ok {
		return id
	}
	at := s.pcs.n
	for _, pc := range s.own[:n] {
		if !s.pcs.put(pc) {
			return -1
		}
	}
	id = int32(s.list.n)
	if !s.list.put(stack{int32(at), int32(n)}) {
		return -1
	}
	s.ids[h] = id
	return id
}

func (s *stacks) lost() int64 { return s.list.lost.Load() + s.pcs.lost.Load() }

// frame is one function in a stack: an index into the list of names.
type frame int32

// resolve returns the frames of all stacks, outermost first, and the escaped names of the frames. It leaves out frames
// of the Go runtime and of package device. resolve calls pause after each stack.
func (s *stacks) resolve(pause func()) (out [][]frame, names []string) {
	all := s.pcs.view()
	known := map[string]frame{} // frames, by name of the function
	var pcs []uintptr
	for _, st := range s.list.all {
		pause()
		pcs = pcs[:0]
		for i := range min(int(st.n), all.n-int(st.at)) {
			pcs = append(pcs, *all.at(int(st.at) + i))
		}
		var list []frame
		if len(pcs) == 0 {
			out = append(out, nil)
			continue
		}
		frames := runtime.CallersFrames(pcs)
		for {
			f, more := frames.Next()
			if f.Function != "" && !hidden(f.Function) {
				id, ok := known[f.Function]
				if !ok {
					id = frame(len(names))
					known[f.Function] = id
					names = append(names, chromejson.Escape(frameName(f)))
				}
				list = append(list, id)
			}
			if !more {
				break
			}
		}
		slices.Reverse(list)
		out = append(out, list)
	}
	return out, names
}

const (
	module = "github.com/stepscope/stepscope/"
	own    = module + "internal/reference/engine/device."
)

func hidden(function string) bool {
	return strings.HasPrefix(function, "runtime.") || strings.HasPrefix(function, own)
}

// frameName formats a frame as Python's profiler does: "path(line): function", with the function's first line. The path
// is the package path, because a file path would depend on the directory in which the program was built.
func frameName(f runtime.Frame) string {
	pkg, function := f.Function, ""
	slash := strings.LastIndexByte(pkg, '/') + 1
	if dot := strings.IndexByte(pkg[slash:], '.'); dot >= 0 {
		pkg, function = pkg[:slash+dot], pkg[slash+dot+1:]
	}
	file := f.File[strings.LastIndexByte(f.File, '/')+1:]
	line := f.Line
	if f.Func != nil { // not inlined
		if _, l := f.Func.FileLine(f.Func.Entry()); l > 0 {
			line = l
		}
	}
	return strings.TrimPrefix(pkg, module) + "/" + file + "(" + strconv.Itoa(line) + "): " + function
}

// span is an interval in which a frame was on the stack. Spans contain no pointers, because there may be as many spans
// as operations.
type span struct {
	start, end int64
	frame      frame
	parent     int32 // number of the enclosing span, from 1; 0: none
}

// sample is the stack at one point in time.
type sample struct {
	at    int64
	stack int32
	// outer excludes the innermost frame. Different functions may begin and end an annotation, and no frame may extend
	// beyond the annotation.
	outer bool
}

// samples yields the stacks at the beginning and the end of each operation and each call, in time order. Operations
// nest, and calls follow each other.
func samples(ops hostOps, calls view[Call]) iter.Seq[sample] {
	return func(yield func(sample) bool) {
		next := 0 // index of the next sample of the calls; each call has two samples
		add := func(at int64, stack int32, kind Kind) bool {
			for ; next < 2*calls.n; next++ {
				c := calls.at(next / 2)
				s := sample{at: c.Start, stack: c.Stack}
				if next%2 == 1 {
					s.at = c.End
				}
				if s.at >= at {
					break
				}
				if !yield(s) {
					return false
				}
			}
			return yield(sample{at, stack, kind == Annotation})
		}
		var open []*Op
		closeUntil := func(at int64) bool {
			for n := len(open) - 1; n >= 0 && open[n].End <= at; n-- {
				if !add(open[n].End, open[n].Stack, open[n].Kind) {
					return false
				}
				open = open[:n]
			}
			return true
		}
		for _, o := range ops.all {
			if !closeUntil(o.Start) || !add(o.Start, o.Stack, o.Kind) {
				return
			}
			open = append(open, o)
		}
		if closeUntil(math.MaxInt64) {
			add(math.MaxInt64, -1, Annotation)
		}
	}
}

// flame turns samples into nested spans. A frame lasts from the first to the last of consecutive samples in which this
// frame and all frames that enclose it are the same. flame calls pause at intervals.
func flame(seen iter.Seq[sample], frames [][]frame, pause func()) []span {
	var out []span
	var open []int32 // indices into out, outermost first
	n := 0
	for s := range seen {
		if n++; n%chunkLen == 0 {
			pause()
		}
		if s.stack < 0 || int(s.stack) >= len(frames) {
			continue
		}
		list := frames[s.stack]
		if s.outer && len(list) > 0 {
			list = list[:len(list)-1]
		}
		same := 0
		for same < len(open) && same < len(list) && out[open[same]].frame == list[same] {
			same++
		}
		open = open[:same]
		for _, f := range list[same:] {
			parent := int32(0)
			if len(open) > 0 {
				parent = open[len(open)-1] + 1
			}
			open = append(open, int32(len(out)))
			out = append(out, span{start: s.at, frame: f, parent: parent})
		}
		for _, i := range open {
			out[i].end = s.at
		}
	}
	return out
}
