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

// Steps compares the requested and recorded numbers of forward steps of a window.
type Steps struct {
	Asked int `json:"asked"` // in a window by stage, number per stage
	Told  int `json:"told"`  // number sent to the server in order to record Asked steps
	// Fewest and Most are the smallest and largest number of steps in the ranks' traces. In a window recorded by
	// stage, only the steps of the trace's own stage are counted. They are nil if the traces have no steps with known names.
	Fewest *int   `json:"recorded,omitempty"`
	Most   *int   `json:"recorded_most,omitempty"`
	Why    string `json:"why,omitempty"` // reason for a difference, if known
	// Few means that a prefill server recorded too few steps to say anything about prefill.
	Few bool `json:"too_few,omitempty"`
}

// Before its pull request 30215 of July 2026, SGLang counted the current step of a window that begins at once. It
// therefore recorded one step fewer than requested. lastShort is the last release that is known to count in this way.
// firstFull is the first release that is known to record all requested steps. The behaviour of the releases between
// them is unknown.
var (
	lastShort = release{0, 5, 11}
	firstFull = release{0, 5, 23}
)

type release [3]int

var releaseText = regexp.MustCompile(`^v?(\d{1,4})\.(\d{1,4})\.(\d{1,4})`)

// parseRelease parses the beginning of a version. Builds from a source tree without tags report 0.0.0; for these, ok is
// false.
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

// told returns the number of steps to request from the server so that the server records the desired number. If the two
// numbers differ, why is the reason.
func (m *member) told() (n int, why string) {
	n = m.w.NumSteps
	switch {
	case m.picture:
		return pictureTold(n)
	case n == 0 || !m.profile().Stages:
		return n, ""
	}
	if m.w.ByStage {
		if m.info.V2 && n > 1 {
			return n - 1, "its profiler is V2, which records one more step of each stage than requested"
		}
		return n, ""
	}
	r, ok := parseRelease(m.info.Version)
	switch {
	case m.w.StartStep > 0 || !ok || !r.before(firstFull):
		return n, ""
	case lastShort.before(r):
		return n + 1, "releases between 0.5.11 and 0.5.23 record the requested number of steps or one fewer"
	}
	return n + 1, "it records one step fewer than requested"
}

// count determines how many steps were recorded. It ignores unreadable files, which other checks report.
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
			if f.Stage != name.Stage { // the file holds steps of the other stage
				held, absent := label(trace.FileName{Rank: name.Rank, Stage: api.Stage(f.Stage)}), label(trace.FileName{Rank: name.Rank, Stage: api.Stage(name.Stage)})
				r.Missing = slices.DeleteFunc(r.Missing, func(s string) bool { return s == held || s == absent })
				if slices.Contains(m.stages(), api.Stage(name.Stage)) {
					r.Missing = append(r.Missing, absent)
				}
			}
			if m.profile().Stages && s.Why == "" && name.Stage != "" && name.Stage == api.Stage(name.Stage) && n == s.Told+1 {
				s.Why = "its profiler is V2, which records one more step of each stage than requested"
			}
		}
	}
	if s.Few = s.few(m); m.cut != "" {
		s.Why = m.cut
	}
	if !m.profile().Ends && s.Why == "" {
		s.Why = string(m.kind) + "'s profiler does not count steps, so it was stopped once the server's count had reached the number"
	}
}

// stepsOf counts the steps of a trace. If stage is given, only steps of that stage count. Mixed batches count as
// prefill. The result some reports whether the trace has any steps.
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

// line describes a deviation from the requested number of steps. If there is no deviation, it returns "".
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
		text = fmt.Sprintf("%d steps wanted, %s recorded", s.Asked, recorded)
		if s.Told != s.Asked {
			text += fmt.Sprintf(" (%d requested from the server)", s.Told)
		}
	case s.Told != s.Asked:
		text = fmt.Sprintf("%d steps recorded, as wanted; %d requested from the server", s.Asked, s.Told)
	default:
		return ""
	}
	if s.Why != "" {
		text += ": " + s.Why
	}
	if s.Few {
		text += "; these are too few to judge prefill: send more load, or record it until it ends (bench serving --profile-unbounded)"
	}
	return text
}
