package torch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/stepscope/stepscope/internal/api/servers"
)

// downError means that a server does not answer.
type downError struct {
	url, why, todo string
	err            error // may be nil
}

func (e *downError) Error() string {
	if e.todo == "" {
		return e.url + ": " + e.why
	}
	return e.url + ": " + e.why + ": " + e.todo
}

func (e *downError) Unwrap() error { return e.err }

// eachUp is like each, but removes a worker behind a router from the session if f fails for it, because the user may
// not know of that worker. The other workers are recorded. At least one server must remain. A server that the user
// named is never removed: the session fails before anything is recorded.
// If only is set, only workers that are down are removed.
func (s *Session) eachUp(ctx context.Context, only bool, f func(*member) error) error {
	down := map[*member]error{}
	var mu sync.Mutex
	err := s.each(func(m *member) error {
		err := f(m)
		// A server that may be recording is not removed, so that it is stopped together with the other servers.
		_, isDown := errors.AsType[*downError](err)
		if m.front == "" || err == nil || ctx.Err() != nil || m.recording() || only && !isDown {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		down[m] = err
		return nil
	})
	if err != nil || len(down) == 0 {
		return err
	}
	up := slices.DeleteFunc(slices.Clone(s.members), func(m *member) bool { return down[m] != nil })
	for _, m := range s.members {
		e := down[m]
		switch {
		case e == nil:
		case len(up) == 0:
			return e
		default:
			why := strings.TrimPrefix(e.Error(), m.URL+": ")
			problem := why
			if d, ok := errors.AsType[*downError](e); ok {
				why, problem = d.why, "it was down: "+d.why
			}
			s.o.Log(fmt.Sprintf("%s: this worker of %s is left out: %s", m.URL, m.front, why))
			s.down = append(s.down, downServer{URL: m.URL, Role: m.Role, Name: m.Name, Problem: problem})
		}
	}
	s.members = up
	return nil
}

// downServer is a worker that was removed from the session because it is down.
type downServer struct {
	URL     string `json:"url"`
	Role    string `json:"role,omitempty"`
	Name    string `json:"name"`
	Problem string `json:"problem"`
}

func (d *downServer) result() ServerResult {
	return ServerResult{
		URL: d.URL, Role: d.Role, Name: d.Name, Kind: servers.Unknown,
		Traces: []string{}, Other: []string{}, Missing: []string{}, Broken: []string{}, Notes: []string{},
		Problem: d.Problem, err: fmt.Errorf("%s: %s", d.URL, d.Problem),
	}
}
