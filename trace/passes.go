package trace

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
)

// The rules that cut steps, in the order tried.
const (
	ByAnnotations = "forward annotations"
	ByModules     = "calls of the outermost module"
	ByProfiler    = "ProfilerStep annotations"
	ByPattern     = "the repeating pattern of kernels"
	ByGraphs      = "CUDA graph launches"
	Uncut         = "none: the whole window is one step"
)

// Pass is one forward pass as the launching thread saw it. Its number is its
// place in the list that Passes gives, from 0.
type Pass struct {
	Start, End int64 // ns since the epoch
	Step       Step
	Name       StringID
	Track      TrackID
	// Requests are the ids of the requests in it, separated by commas; "%2C" and
	// "%25" stand for commas and per cent signs in them. 0: not said.
	Requests StringID
	// Next is when a pass after it began that the window's end cut off; 0: not known.
	Next int64
}

// Passes cuts a trace into forward passes, in time order, and says by which
// rule. Without any it gives none, by the rule Uncut.
func Passes(t *Trace) ([]Pass, string) {
	c := NewCutter(t.Source.Path)
	for i := range t.Spans {
		if s := &t.Spans[i]; s.Cat == UserAnnotation {
			c.Add(t.Strings.Get(s.Name), Pass{Start: s.Start, End: s.End(), Name: s.Name, Track: s.Track, Requests: StringID(max(s.Detail, 0))})
		}
	}
	passes, rule := c.Passes()
	switch rule {
	case ByModules:
		readRequests(t, passes)
		return withReplays(passes, launches(t)), rule
	case Uncut:
	default:
		return passes, rule
	}
	list := launches(t)
	if found := patternPasses(list); found != nil {
		return found, ByPattern
	}
	if replays := graphPasses(t, list); len(replays) > 1 {
		return replays, ByGraphs
	}
	return nil, Uncut
}

// A Cutter finds the forward passes of a process by its annotations. The zero
// value is ready for traces of language models.
type Cutter struct {
	diffusion bool // the process made pictures

	forward, calls, ends, alone []Pass
	stage                       int64 // when the last stage of a pipeline began
}

// NewCutter is a Cutter for a file, whose name may say that its process made
// pictures, see [AskedSteps].
func NewCutter(path string) (c Cutter) {
	_, c.diffusion = AskedSteps(path)
	return c
}

// Add looks at one annotation, whose name says what step it is, if any.
func (c *Cutter) Add(name string, p Pass) {
	step, role := stepNamed(name)
	switch p.Step = step; role {
	case cuts:
		c.forward = append(c.forward, p)
	case calls:
		c.calls = append(c.calls, p)
	case ends:
		c.ends = append(c.ends, p)
	case cutsAlone:
		c.alone = append(c.alone, p)
	case noStep:
		if c.diffusion && StageOf(name) != "" {
			c.stage = max(c.stage, p.Start)
		}
	}
}

// Passes gives them in time order, and the rule. Of nested ones the outermost
// counts: a draft model's step is part of the target's.
func (c *Cutter) Passes() ([]Pass, string) {
	if c.forward = outermost(c.forward); len(c.forward) > 0 {
		return c.forward, ByAnnotations
	}
	if calls := modulePasses(c.calls, c.ends); len(calls) > 0 {
		return calls, ByModules
	}
	if c.alone = outermost(c.alone); len(c.alone) > 0 {
		if c.diffusion {
			c.denoising()
		}
		return c.alone, ByProfiler
	}
	return nil, Uncut
}

// denoising tells which of a diffusion's ProfilerSteps are denoising steps: all
// but a last one in which another stage begins. It began when the denoising
// steps were over, and the end of the request ended it.
func (c *Cutter) denoising() {
	for i := range c.alone {
		if p := &c.alone[i]; i < len(c.alone)-1 || c.stage < p.Start {
			p.Step.Kind = Denoising
		}
	}
}

// RequestIDs reads a list of ids as [Pass] has it.
func RequestIDs(list string) (ids []string) {
	for id := range strings.SplitSeq(list, ",") {
		if plain, err := url.PathUnescape(id); err == nil {
			id = plain
		}
		if id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// PassAt is the pass that holds a moment of the host, -1 for none. Passes do
// not overlap.
func PassAt(passes []Pass, at int64) int32 {
	i, ok := slices.BinarySearchFunc(passes, at, func(p Pass, at int64) int { return cmp.Compare(p.Start, at) })
	if !ok {
		i--
	}
	if i < 0 || at >= passes[i].End {
		return -1
	}
	return int32(i)
}

// outermost orders passes by start and drops those that begin inside another.
func outermost(passes []Pass) []Pass {
	slices.SortFunc(passes, func(a, b Pass) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End))
	})
	kept := passes[:0]
	for _, p := range passes {
		if n := len(kept); n > 0 && p.Start < kept[n-1].End {
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

// IsGraphLaunch tells the API calls that replay a graph.
func IsGraphLaunch(name string) bool {
	switch name {
	case "cudaGraphLaunch", "cuGraphLaunch", "hipGraphLaunch", "cudaGraphLaunch_ptsz", "cuGraphLaunch_ptsz":
		return true
	}
	return false
}
