package trace

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
)

// Rules that cut a trace into steps, in the order in which they are tried.
const (
	ByAnnotations = "forward annotations"
	ByModules     = "calls of the outermost module"
	ByProfiler    = "ProfilerStep annotations"
	ByPattern     = "the repeating pattern of kernels"
	ByGraphs      = "CUDA graph launches"
	Uncut         = "none: the whole window is one step"
)

// Pass is one forward pass as seen by the launching thread. Passes are numbered by their index in the result of Passes,
// from 0.
type Pass struct {
	Start, End int64 // ns since the epoch
	Step       Step
	Name       StringID
	Track      TrackID
	// Requests are the ids of the pass's requests, separated by commas. Commas and per cent signs within an id are
	// encoded as "%2C" and "%25". 0: unknown.
	Requests StringID
	// Next is the start of the next pass. It is set only if the end of the window cuts off that next pass; 0: unknown.
	Next int64
}

// Passes cuts a trace into forward passes, in time order, and returns the rule used. If it finds no passes, the rule is
// Uncut.
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

// Cutter finds the forward passes of a process from its annotations. The zero value is ready for traces of language
// models.
type Cutter struct {
	diffusion bool // whether the process generated images

	forward, calls, ends, alone []Pass
	stage                       int64 // start of the latest pipeline stage added
}

// NewCutter returns a Cutter for the file path. The file's name may show that the process generated images; see
// [AskedSteps].
func NewCutter(path string) (c Cutter) {
	_, c.diffusion = AskedSteps(path)
	return c
}

// Add adds one annotation. It ignores names that do not mark a step or a stage.
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

// Passes returns the passes in time order, and the rule used. If passes are nested, only the outermost counts, since a
// draft model's step is part of the target model's step.
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

// denoising marks the ProfilerSteps of a diffusion run that are denoising steps. All ProfilerSteps are denoising steps,
// with one exception: the last ProfilerStep is not a denoising step if another stage begins in it. It then covers the
// time from the last denoising step to the end of the request.
func (c *Cutter) denoising() {
	for i := range c.alone {
		if p := &c.alone[i]; i < len(c.alone)-1 || c.stage < p.Start {
			p.Step.Kind = Denoising
		}
	}
}

// RequestIDs splits a list of ids encoded as in [Pass].
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

// PassAt returns the index of the pass that contains the host time at, or -1 if there is none. passes must not overlap.
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

// outermost sorts passes by start and drops those that begin inside another.
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

// IsGraphLaunch reports whether name is the name of an API call that replays a graph.
func IsGraphLaunch(name string) bool {
	switch name {
	case "cudaGraphLaunch", "cuGraphLaunch", "hipGraphLaunch", "cudaGraphLaunch_ptsz", "cuGraphLaunch_ptsz":
		return true
	}
	return false
}
