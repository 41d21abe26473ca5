package record

import (
	"runtime"
	"strconv"
	"strings"
)

// stacks are the distinct call stacks of a window, as program counters.
type stacks struct {
	ids  map[uint64]int32
	list buffer[stack]
	pcs  buffer[uintptr]
	own  [maxDepth]uintptr
}

type stack struct{ at, n int32 }

// maxDepth is how many frames of a stack are kept, from the innermost.
const maxDepth = 64

// Callers numbers the stack of the caller, without its innermost skip frames.
// It is for the host thread; -1: stacks are not recorded, or there is no room.
func (r *Recording) Callers(skip int) int32 {
	if !r.Options.Stack {
		return -1
	}
	s := &r.stacks
	n := runtime.Callers(skip+2, s.own[:])
	h := uint64(14695981039346656037) // FNV-1a, a counter at a time
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

// frame is one function in a stack, as text.
type frame struct{ name string }

// resolve gives the frames of all stacks, outermost first, without the
// runtime's own and without those of this device.
func (s *stacks) resolve() [][]frame {
	pcs := s.pcs.flat()
	first := map[string]string{} // function -> its name; a function has one
	var out [][]frame
	for _, st := range s.list.flat() {
		var list []frame
		if int(st.at+st.n) > len(pcs) {
			out = append(out, nil)
			continue
		}
		frames := runtime.CallersFrames(pcs[st.at : st.at+st.n])
		for {
			f, more := frames.Next()
			if f.Function != "" && !hidden(f.Function) {
				name, ok := first[f.Function]
				if !ok {
					name = frameName(f)
					first[f.Function] = name
				}
				list = append(list, frame{name})
			}
			if !more {
				break
			}
		}
		for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
			list[i], list[j] = list[j], list[i]
		}
		out = append(out, list)
	}
	return out
}

const (
	module = "github.com/stepscope/stepscope/"
	own    = module + "internal/device."
)

func hidden(function string) bool {
	return strings.HasPrefix(function, "runtime.") || strings.HasPrefix(function, own)
}

// frameName writes a frame as Python's profiler does: "path(line): function",
// the line being the function's first. Paths are those of packages, so that
// they do not depend on where the program was built.
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

// span is an interval in which a frame was seen on the stack.
type span struct {
	name       string
	start, end int64
	id, parent int // from 1; 0: no parent
}

// sample says that a stack was seen at a moment.
type sample struct {
	at    int64
	stack int32
}

// flame turns samples in time order into nested spans: a frame lasts from the
// first to the last sample of a run in which it, and all below it, are the same.
func flame(samples []sample, frames [][]frame) []span {
	var out []span
	var open []int // indices into out, outermost first
	for _, s := range samples {
		if s.stack < 0 || int(s.stack) >= len(frames) {
			continue
		}
		list := frames[s.stack]
		same := 0
		for same < len(open) && same < len(list) && out[open[same]].name == list[same].name {
			same++
		}
		open = open[:same]
		for _, f := range list[same:] {
			parent := 0
			if len(open) > 0 {
				parent = out[open[len(open)-1]].id
			}
			open = append(open, len(out))
			out = append(out, span{name: f.name, start: s.at, id: len(out) + 1, parent: parent})
		}
		for _, i := range open {
			out[i].end = s.at
		}
	}
	return out
}
