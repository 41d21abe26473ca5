package nsys

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/pause"
)

// Session is a session as listed in a line of nsys sessions list.
type Session struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	State    State  `json:"state"`
	Age      string `json:"age"`      // mm:ss since the creation of the session
	Launched int    `json:"launched"` // number of programs
}

// State is the state of a session, as named by nsys.
type State string

// Starting reports whether nsys has not started the program yet.
func (s State) Starting() bool { return s == "Idle" || s == "Configured" || s == "ConfiguredLaunched" }

// Ready reports whether a window can be opened.
func (s State) Ready() bool { return s == "Launched" || s == "DelayedCollection" }

// Armed reports whether the session waits for the program to begin a range.
func (s State) Armed() bool { return s == "StartRange" }

// Collecting reports whether a window is open.
func (s State) Collecting() bool { return strings.HasSuffix(string(s), "Collection") && !s.delayed() }

// Writing reports whether a window is closed and its report is being generated.
func (s State) Writing() bool {
	return strings.HasSuffix(string(s), "Generation") || s == "RangeImportation"
}

func (s State) delayed() bool { return strings.HasPrefix(string(s), "Delayed") }

// String describes the state.
func (s State) String() string {
	switch {
	case s.Starting():
		return "starting"
	case s == "DelayedCollection":
		return "waiting for start"
	case s == "Launched":
		return "not collecting"
	case s.Armed():
		return "waiting for a range"
	case s.Collecting():
		return "collecting"
	case s.Writing():
		return "writing a report"
	case s == "Started":
		return "without a program"
	case s == "Shutdown":
		return "ending"
	}
	return string(s)
}

var sessionLine = regexp.MustCompile(`^\s*(\d+)\s+(\S+)\s+(\S+)\s+(\d+)\s+(\S.*?)\s*$`)

// ParseSessions parses the output of nsys sessions list.
func ParseSessions(text string) (list []Session) {
	for line := range strings.Lines(text) {
		m := sessionLine.FindStringSubmatch(line)
		if m == nil { // the line is the header
			continue
		}
		n, err := strconv.Atoi(m[4])
		name := strings.TrimSpace(m[5])
		if err != nil || name == "" {
			continue
		}
		list = append(list, Session{ID: m[1], Age: m[2], State: State(m[3]), Launched: n, Name: name})
	}
	return list
}

// List returns the sessions that this nsys, user, TMPDIR and PID namespace can see.
func (t *Tool) List(ctx context.Context) ([]Session, error) {
	out, err := t.run(ctx, quick, "sessions", "list")
	if err != nil {
		return nil, err
	}
	if out.status != 0 {
		return nil, fmt.Errorf("nsys sessions list: %s", out.problem())
	}
	return ParseSessions(out.stdout), nil
}

// Look finds a session by its id or name, or returns nil.
func (t *Tool) Look(ctx context.Context, ref string) (*Session, error) {
	list, err := t.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, by := range []func(Session) bool{
		func(s Session) bool { return s.ID == ref },
		func(s Session) bool { return s.Name == ref },
	} {
		if i := slices.IndexFunc(list, by); i >= 0 {
			return &list[i], nil
		}
	}
	return nil, nil
}

const (
	pollEvery    = 100 * time.Millisecond
	statePatient = 15 * time.Second // most states are reached within a second
)

// waitState polls until wanted returns true for the session's state. If the session no longer exists, waitState returns
// nil. After patience, it returns the session in the current state.
func (t *Tool) waitState(ctx context.Context, id string, patience time.Duration, wanted func(State) bool) (*Session, error) {
	for began := time.Now(); ; {
		s, err := t.Look(ctx, id)
		if err != nil || s == nil || wanted(s.State) || time.Since(began) >= patience {
			return s, err
		}
		if !pause.For(ctx, pollEvery) {
			return s, context.Cause(ctx)
		}
	}
}
