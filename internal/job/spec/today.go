package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/yamltree"
)

// Dialect is a generation of srtctl's format. It differs in where the load of a profile is written.
type Dialect string

// Dialects. A file without marks of a dialect that is valid in the dialect P has that one.
const (
	DialectP Dialect = "P" // since December 5, 2025: in each phase
	DialectM Dialect = "M" // since December 19, 2025: beside profiling.type
	DialectH Dialect = "H" // since February 12, 2026: in the section benchmark
)

// dates are the dates of the dialects.
var dates = map[Dialect]string{DialectP: "2025-12-05", DialectM: "2025-12-19", DialectH: "2026-02-12"}

// Types of backends that only the dialects M and H have. Only VLLM is run.
const (
	VLLM   = "vllm"
	TRTLLM = "trtllm"
	Mocker = "mocker"
)

// NsysTime is a type of profiling: nsys records by the clock.
const NsysTime = "nsys-time"

// Today holds the values of keys that only the dialects M and H have.
type Today struct {
	Frontend string
	Multiple bool // frontend.enable_multiple_frontends

	PerPrefill, PerDecode, PerAgg int // GPUs of one worker; 0: derived from the nodes
	Spread                        bool

	Environment, Mounts, Srun, Sbatch []Setting
	Setup                             string
	Attempts, Interval                int // health_check
	SetVisible                        bool

	PromptsMult, WarmupMult int
	RangeRatio              float64
	ChatTemplate            bool
	Dataset                 string

	Layout Layout

	Load            Phase  // the load of the dialect M
	Aggregated      *Phase // recorded phase of aggregated workers
	NsysArgs        []string
	Delay, Duration int // seconds, for NsysTime
}

func newToday() Today {
	return Today{Frontend: "dynamo", Multiple: true, Attempts: 180, Interval: 10, PromptsMult: 10, WarmupMult: 2, RangeRatio: 0.8, ChatTemplate: true, Dataset: "random", Layout: newLayout()}
}

// Dialect returns the dialect of the job's file.
func (j *Job) Dialect() Dialect { return j.dialect }

// Today reports whether srtctl has had the dialect since December 19, 2025.
func (d Dialect) Today() bool { return d == DialectM || d == DialectH }

func (o *origin) today() bool { return o.dialect.Today() }

// GPUs returns the number of GPUs of one worker of a role.
func (j *Job) GPUs(r Role) int {
	each := j.Resources.GPUsPerNode
	given := map[Role]int{Prefill: j.Today.PerPrefill, Decode: j.Today.PerDecode, Aggregated: j.Today.PerAgg}[r]
	switch nodes, workers := j.Nodes(r), j.Workers(r); {
	case given > 0:
		return given
	case nodes > 0 && workers > 0:
		return nodes * each / workers
	case r == Decode && nodes == 0 && workers > 0 && j.given("resources.decode_nodes"):
		return j.GPUs(Prefill)
	}
	return each
}

// mark is a key that only one dialect has.
type mark struct {
	dialect Dialect
	path    string
	line    int
}

// dialectOf returns the dialect of a document. If the document has keys of two dialects, it returns a problem.
func dialectOf(file string, tree *yamltree.Node) (Dialect, *Note) {
	var first [3]*mark
	order := []Dialect{DialectP, DialectM, DialectH}
	add := func(d Dialect, path string, e *yamltree.Entry) {
		if i := slices.Index(order, d); first[i] == nil || first[i].line > e.Line {
			first[i] = &mark{d, path, e.Line}
		}
	}
	profilingMarks(tree, add)
	p, m, h := first[0], first[1], first[2]
	if p == nil || m == nil && h == nil {
		todayMarks("", jobKeys, tree, func(path string, e *yamltree.Entry) { add(DialectH, path, e) })
		h = first[2]
	}
	switch other := m; {
	case p != nil && (m != nil || h != nil):
		if other == nil {
			other = h
		}
		return DialectP, &Note{File: file, Line: other.line, Column: 1, Key: other.path, Text: fmt.Sprintf(
			"%s in line %d belongs to the format of %s, but %s in line %d to the format of %s; want one format",
			other.path, other.line, dates[other.dialect], p.path, p.line, dates[DialectP])}
	case p != nil:
		return DialectP, nil
	case m != nil:
		return DialectM, nil
	case h != nil:
		return DialectH, nil
	}
	return "", nil
}

// profilingMarks reports the marks in the section profiling.
func profilingMarks(tree *yamltree.Node, add func(Dialect, string, *yamltree.Entry)) {
	section := entry(tree, "profiling")
	if section == nil {
		return
	}
	load := func(at string, n *yamltree.Node, d Dialect, keys ...string) (has bool) {
		for _, k := range keys {
			if e := entry(n, k); e != nil {
				if has = true; d == "" {
					continue
				}
				add(d, join(at, k), e)
			}
		}
		return has
	}
	loads := []string{"isl", "osl", "concurrency"}
	phases := false
	for _, role := range []Role{Prefill, Decode, Aggregated} {
		if e := entry(section.Value, string(role)); e != nil {
			phases = load("profiling."+string(role), e.Value, DialectP, loads...) || phases
		}
	}
	beside := load("profiling", section.Value, DialectM, append(loads, "start_step", "stop_step")...)
	load("profiling", section.Value, DialectH, "extra_nsys_args", "delay_secs", "duration_secs", "benchmark_duration_secs")
	if e := entry(section.Value, string(Aggregated)); e != nil && !beside && !load("", e.Value, "", loads...) {
		add(DialectH, "profiling.aggregated", e)
	}
	kind := entry(section.Value, "type")
	if kind == nil || kind.Value.Kind != yamltree.Text || kind.Value.Source == None {
		return
	}
	if kind.Value.Source == NsysTime {
		add(DialectH, "profiling.type", kind)
	}
	if !phases && !beside && (entry(section.Value, string(Prefill)) != nil || entry(section.Value, string(Decode)) != nil) {
		add(DialectH, "profiling", section)
	}
}

// todayMarks reports the keys of a document that the dialect P lacks.
func todayMarks(path string, keys []key[Job], n *yamltree.Node, add func(string, *yamltree.Entry)) {
	if n == nil || n.Kind != yamltree.Map || path == "profiling" {
		return
	}
	for i := range n.Entries {
		e := &n.Entries[i]
		at := join(path, e.Key)
		k := find(keys, e.Key, func(*key[Job]) bool { return true })
		switch {
		case k == nil:
		case k.only != "" && !strings.Contains(k.only, string(DialectP)):
			add(at, e)
		case k.keys != nil:
			todayMarks(at, k.keys, e.Value, add)
		}
	}
}

// entry returns the entry of a map, or nil.
func entry(n *yamltree.Node, name string) *yamltree.Entry {
	if n == nil || n.Kind != yamltree.Map {
		return nil
	}
	for i := range n.Entries {
		if n.Entries[i].Key == name {
			return &n.Entries[i]
		}
	}
	return nil
}

// Since returns the date of the first version of srtctl that has the dialect.
func (d Dialect) Since() string { return dates[d] }
