package torch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/private"
)

// If one process starts a session and another process collects it, the session is saved under its id in a directory
// that no other user can write to. This restriction is necessary because API keys are sent to the servers that the
// saved session names. The window's directory is unsuitable, because servers of other users may write to that
// directory. A saved session has no headers, because headers contain keys.

type savedSession struct {
	Format  int           `json:"format"`
	ID      string        `json:"id"`
	Dir     string        `json:"dir"` // destination of the files on this host
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

// Save stores the session below root, for Resume. The argument dir is the destination of the files on this host. If dir
// does not exist and servers of other users may also write to dir, Save creates dir with write access for all users and
// with the sticky bit set.
func (s *Session) Save(root, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	_, err = os.Stat(dir)
	if made := errors.Is(err, fs.ErrNotExist); made {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return fmt.Errorf("%w; give a directory for the files with -o", err)
		}
		if dir == s.Dir() {
			if err := os.Chmod(dir, 0o777|fs.ModeSticky); err != nil {
				return err
			}
		}
	}
	saved := savedSession{Format: 1, ID: s.ID, Dir: dir, Window: s.w, Down: s.down}
	for _, m := range s.members {
		server := savedServer{
			URL: m.URL, Front: m.front, Via: m.via, Role: m.Role, Name: m.Name, Kind: m.kind, Info: m.info, Dir: m.dir, Steps: m.steps, HasSteps: m.hasSteps, Args: m.raw,
		}
		server.Before = slices.Sorted(maps.Keys(m.before))
		saved.Servers = append(saved.Servers, server)
	}
	return private.Write(sessionFile(root, s.ID), saved)
}

func sessionFile(root, id string) string { return filepath.Join(root, id+".json") }

// Saved is a session stored by Save.
type Saved struct {
	savedSession
	file string
}

// FindSaved finds a session below root by its id or its directory. If several sessions share a directory, it returns
// the newest.
func FindSaved(root, ref string) (*Saved, error) {
	ids := []string{ref}
	if ref != filepath.Base(ref) || ref == "." || ref == ".." {
		ids = nil
	}
	files, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, f := range slices.Backward(files) { // ids are times, so the newest session is last
		if id, ok := strings.CutSuffix(f.Name(), ".json"); ok && id != ref {
			ids = append(ids, id)
		}
	}
	dir, err := filepath.Abs(ref)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		at := &Saved{file: sessionFile(root, id)}
		switch err := private.Read(at.file, &at.savedSession); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		case at.Format != 1 || len(at.Servers) == 0:
			return nil, fmt.Errorf("%s: is not a session of this version", at.file)
		case id == ref || at.Dir == dir:
			return at, nil
		}
	}
	return nil, fmt.Errorf("%s: you started no session there: give the directory that profile start printed, or its last part, the id", ref)
}

// Resume continues the session. The API keys in the argument keys are used for all servers.
func (saved *Saved) Resume(keys Target, o Options) *Session {
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
	return s
}

// Cancel ends a session that will not be resumed. It closes the windows and removes the saved session.
func (s *Session) Cancel(ctx context.Context, root string) {
	err := s.abort(ctx)
	if rmErr := os.Remove(sessionFile(root, s.ID)); !errors.Is(rmErr, fs.ErrNotExist) {
		err = errors.Join(err, rmErr)
	}
	if err != nil {
		s.o.Log(err.Error())
	}
}

// Forget removes the saved session.
func (saved *Saved) Forget() error {
	err := os.Remove(saved.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
