package torch

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/tracefile/check"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// Steps says how many forward steps a window of a number of steps has.
type Steps struct {
	Asked int `json:"asked"` // by stage, of each
	Told  int `json:"told"`  // what the server was told, so that it records so many
	// Fewest and Most are what the traces of the ranks hold; by stage, of the file's
	// own stage. Nil: they have no steps that are known by name.
	Fewest *int   `json:"recorded,omitempty"`
	Most   *int   `json:"recorded_most,omitempty"`
	Why    string `json:"why,omitempty"` // these differ, as far as it is known
}

// SGLang counts the steps of a window that begins at once from the one that is under way,
// and so recorded one fewer than it was told, until its pull request 30215 of July 2026.
// Of the releases between these two it is not known.
var (
	lastShort = release{0, 5, 11}
	firstFull = release{0, 5, 23}
)

type release [3]int

var releaseText = regexp.MustCompile(`^v?(\d{1,4})\.(\d{1,4})\.(\d{1,4})`)

// parseRelease reads the beginning of a version. Builds from a tree without tags call
// themselves 0.0.0, which says nothing.
func parseRelease(version string) (r release, ok bool) {
	m := releaseText.FindStringSubmatch(version)
	if m == nil {
		return r, false
	}
	for i := range r {
		r[i], _ = strconv.Atoi(m[i+1])
	}
	return r, r != release{}
}

func (r release) before(o release) bool {
	for i := range r {
		if r[i] != o[i] {
			return r[i] < o[i]
		}
	}
	return false
}

// told is what the server is told so that it records the steps that were asked for, and
// why that is another number.
func (m *member) told() (n int, why string) {
	n = m.w.NumSteps
	switch {
	case m.picture:
		return pictureTold(n)
	case n == 0 || m.kind != SGLang:
		return n, ""
	}
	if m.w.ByStage {
		if m.info.V2 && n > 1 {
			return n - 1, "its profiler V2 records one step more of each stage than it is told"
		}
		return n, ""
	}
	r, ok := parseRelease(m.info.Version)
	switch {
	case m.w.StartStep > 0 || !ok || !r.before(firstFull):
		return n, ""
	case lastShort.before(r):
		return n + 1, "releases between 0.5.11 and 0.5.23 record as many steps as they are told, or one fewer"
	}
	return n + 1, "it records one step fewer than it is told"
}

// count finds how many steps were recorded. It is no more than a figure, so what cannot
// be read, of which others tell, is passed over.
func (m *member) count(ctx context.Context, r *ServerResult) {
	if m.w.NumSteps == 0 || !m.traced() {
		return
	}
	s := &Steps{Asked: m.w.NumSteps}
	s.Told, s.Why = m.told()
	r.Steps = s
	sets, err := set.Find(r.Traces)
	if err != nil {
		return
	}
	for _, one := range sets {
		rep, err := check.Check(ctx, one, nil, nil)
		if err != nil {
			return
		}
		for _, n := range rep.Notes {
			if n.Kind == trace.NoteStageName {
				r.Notes = append(r.Notes, fmt.Sprintf("%s: %s", filepath.Base(n.Source), n.Text()))
			}
		}
		m.withoutSteps(r, rep.Files)
		for _, f := range rep.Files {
			n, some := stepsOf(f.Steps, f.Stage)
			if !some {
				continue
			}
			if s.Fewest == nil {
				s.Fewest, s.Most = new(n), new(n)
			}
			*s.Fewest, *s.Most = min(*s.Fewest, n), max(*s.Most, n)
			name, _ := trace.ParseFileName(filepath.Base(f.Path))
			if f.Stage != name.Stage { // it holds the other one
				held, absent := label(trace.FileName{Rank: name.Rank, Stage: api.Stage(f.Stage)}), label(trace.FileName{Rank: name.Rank, Stage: api.Stage(name.Stage)})
				r.Missing = slices.DeleteFunc(r.Missing, func(s string) bool { return s == held || s == absent })
				if slices.Contains(m.stages(), api.Stage(name.Stage)) {
					r.Missing = append(r.Missing, absent)
				}
			}
			if m.kind == SGLang && s.Why == "" && name.Stage != "" && name.Stage == api.Stage(name.Stage) && n == s.Told+1 {
				s.Why = "its profiler is V2, which records one step more of each stage than it is told"
			}
		}
	}
	if m.kind == VLLM && s.Why == "" {
		s.Why = "vLLM's profiler knows no number of steps and was stopped when its count was seen to be reached"
	}
}

// stepsOf counts the steps of a trace, or of its stage, which mixed batches are prefill
// in; some tells whether it has steps at all.
func stepsOf(kinds map[string]int, stage string) (n int, some bool) {
	for kind, k := range kinds {
		some = true
		switch api.Stage(stage) {
		case api.Prefill:
			if kind != trace.Prefill.String() && kind != trace.Mixed.String() {
				continue
			}
		case api.Decode:
			if kind != trace.Decode.String() {
				continue
			}
		}
		n += k
	}
	return n, some
}

// line says for people what is not as it was asked for; "": all is.
func (s *Steps) line() string {
	if s.Fewest == nil {
		return ""
	}
	recorded := strconv.Itoa(*s.Fewest)
	if *s.Most != *s.Fewest {
		recorded += " to " + strconv.Itoa(*s.Most)
	}
	text := ""
	switch {
	case *s.Fewest != s.Asked || *s.Most != s.Asked:
		text = fmt.Sprintf("%d steps were asked for, %s recorded", s.Asked, recorded)
		if s.Told != s.Asked {
			text += fmt.Sprintf(" (the server was told %d)", s.Told)
		}
	case s.Told != s.Asked:
		text = fmt.Sprintf("%d steps recorded, as asked; the server was told %d", s.Asked, s.Told)
	default:
		return ""
	}
	if s.Why != "" {
		text += ": " + s.Why
	}
	return text
}
