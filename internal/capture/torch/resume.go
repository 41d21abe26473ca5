package torch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
)

// sessionFile holds a session that one process starts and another collects. It has
// no headers, for they have keys.
const sessionFile = "session.json"

type savedSession struct {
	Format  int           `json:"format"`
	ID      string        `json:"id"`
	Window  Window        `json:"window"`
	Servers []savedServer `json:"servers"`
	Down    []downServer  `json:"down,omitempty"`
}

type savedServer struct {
	URL      string          `json:"url"`
	Front    string          `json:"router,omitempty"`
	Via      string          `json:"via,omitempty"`
	Role     string          `json:"role,omitempty"`
	Name     string          `json:"name"`
	Kind     Kind            `json:"kind"`
	Info     Info            `json:"info"`
	Dir      string          `json:"dir"`
	Before   []string        `json:"before,omitempty"`
	Steps    float64         `json:"steps,omitempty"`
	HasSteps bool            `json:"has_steps,omitempty"`
	Args     json.RawMessage `json:"server_args,omitempty"`
}

// Save writes the session into dir, for Resume. The directory may be the one that
// the servers write to, so a new one is open to all.
func (s *Session) Save(dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return fmt.Errorf("%w; say with -o where to put the files", err)
		}
		if err := os.Chmod(dir, 0o777); err != nil {
			return err
		}
	}
	saved := savedSession{Format: 1, ID: s.ID, Window: s.w, Down: s.down}
	for _, m := range s.members {
		server := savedServer{
			URL: m.URL, Front: m.front, Via: m.via, Role: m.Role, Name: m.Name, Kind: m.kind, Info: m.info, Dir: m.dir, Steps: m.steps, HasSteps: m.hasSteps, Args: m.raw,
		}
		server.Before = slices.Sorted(maps.Keys(m.before))
		saved.Servers = append(saved.Servers, server)
	}
	return atomicfile.Write(filepath.Join(dir, sessionFile), func(w io.Writer) error { return json.NewEncoder(w).Encode(saved) })
}

// Resume takes up a session that Save wrote into dir.
// The keys of the target are for all servers.
func Resume(dir string, keys Target, o Options) (*Session, error) {
	path := filepath.Join(dir, sessionFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: no session was started there: give the directory that profile start printed", dir)
	}
	if err != nil {
		return nil, err
	}
	var saved savedSession
	if err := json.Unmarshal(text, &saved); err != nil || saved.Format != 1 || len(saved.Servers) == 0 {
		return nil, fmt.Errorf("%s: is no session of this version", path)
	}
	s := &Session{ID: saved.ID, w: saved.Window, o: o.withDefaults(), down: saved.Down}
	for _, v := range saved.Servers {
		m := &member{
			Target: Target{URL: v.URL, Role: v.Role, Name: v.Name, Header: keys.Header, AdminKey: keys.AdminKey}, front: v.Front, via: v.Via, w: s.w, o: &s.o, kind: v.Kind, info: v.Info, raw: v.Args,
			dir: v.Dir, steps: v.Steps, hasSteps: v.HasSteps, mayRecord: true, before: map[string]bool{},
		}
		for _, name := range v.Before {
			m.before[name] = true
		}
		s.members = append(s.members, m)
	}
	return s, nil
}

// Finished removes what Save wrote.
func Finished(dir string) error {
	err := os.Remove(filepath.Join(dir, sessionFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
