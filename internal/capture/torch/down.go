package torch

import (
	"errors"
	"fmt"
	"github.com/stepscope/stepscope/internal/api/servers"
	"slices"
	"sync"
)

// downError means that a server does not answer. If the user named the server, the session fails before anything is
// recorded. If the server is one of several workers behind a router, the user may not know of the server. In that case
// the session omits the server and records the other workers.
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

// eachUp is like each, but removes workers behind a router from the session if they are down. At least one server must
// remain.
func (s *Session) eachUp(f func(*member) error) error {
	down := map[*member]*downError{}
	var mu sync.Mutex
	err := s.each(func(m *member) error {
		err := f(m)
		var e *downError
		// A server that may be recording is not removed, so that it is stopped together with the other servers.
		if m.front == "" || !errors.As(err, &e) || m.recording() {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		down[m] = e
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
			s.o.Log(fmt.Sprintf("%s: this worker of %s is left out: %s", m.URL, m.front, e.why))
			s.down = append(s.down, downServer{URL: m.URL, Role: m.Role, Name: m.Name, Problem: "it was down: " + e.why})
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
