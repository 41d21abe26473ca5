package nsys

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/runs"
)

// List is the JSON form of a list of sessions.
type List struct {
	Format   int      `json:"format"`
	Sessions []Listed `json:"sessions"`
}

// Listed is a session of a List.
type Listed struct {
	Session
	Doing   string    `json:"doing"` // description of the state
	Run     string    `json:"run,omitempty"`
	Record  *Record   `json:"record,omitempty"`
	Windows []*Window `json:"windows"`
}

// Closed returns the JSON form of a closed window of the session.
func (t *ExternalSession) Closed(w *Window) any {
	return struct {
		Format  int    `json:"format"`
		Session string `json:"session"`
		Run     string `json:"run,omitempty"`
		*Window
	}{1, t.Session.Name, t.Run, w}
}

// Listed returns the list entry of the session.
func (t *ExternalSession) Listed() Listed {
	l := Listed{t.Session, t.Session.State.String(), t.Run, t.Record, []*Window{}}
	if t.Record != nil {
		l.Windows = append(l.Windows, Windows(t.Dir)...)
	}
	return l
}

// Sessions finds all visible sessions of this host. They are the sessions of runs below root, found with each run's
// nsys and TMPDIR, and the sessions that the user started with nsys.
func Sessions(ctx context.Context, root, given string) (list []ExternalSession, err error) {
	type place struct{ path, tmp string }
	records := map[place][]ExternalSession{}
	var places []place
	host, _ := os.Hostname()
	entries, err := runs.List(root)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Kind != runs.Nsys || e.Status != runs.Running && e.Status != runs.Broken {
			continue
		}
		dir := filepath.Join(root, e.ID, runs.Nsys)
		r, err := ReadRecord(dir)
		if err != nil || r.Host != host {
			continue
		}
		p := place{r.Nsys, r.TmpDir}
		if records[p] == nil {
			places = append(places, p)
		}
		records[p] = append(records[p], ExternalSession{Tool: r.Tool(), Record: r, Dir: dir, Run: e.ID})
	}
	own, findErr := Find(ctx, given)
	if findErr == nil && records[place{own.Path, own.TmpDir}] == nil {
		places = append(places, place{own.Path, own.TmpDir})
	}
	if len(places) == 0 {
		return nil, findErr
	}
	for _, p := range places {
		tool := At(p.path, p.tmp)
		sessions, err := tool.List(ctx)
		if err != nil {
			if own != nil && p == (place{own.Path, own.TmpDir}) {
				return nil, err
			}
			continue // the nsys of this run no longer exists
		}
		for _, s := range sessions {
			found := ExternalSession{Tool: tool, Session: s}
			for _, r := range records[p] {
				if r.Record.ID == s.ID && r.Record.Session == s.Name {
					found = r
					found.Session = s
				}
			}
			list = append(list, found)
		}
	}
	return list, nil
}

// FindSession returns the session whose name, id, run or process is ref. If ref is "", there must be only one session.
func FindSession(ctx context.Context, root, given, ref string) (*ExternalSession, error) {
	list, err := Sessions(ctx, root, given)
	if err != nil {
		return nil, err
	}
	by := []func(s ExternalSession) bool{
		func(s ExternalSession) bool { return ref == "" && s.Session.State != "Shutdown" },
		func(s ExternalSession) bool { return s.Session.Name == ref || s.Session.ID == ref },
		func(s ExternalSession) bool {
			return s.Run != "" && (s.Run == ref || strings.HasSuffix(s.Run, "-"+ref))
		},
	}
	if pid, err := strconv.Atoi(ref); err == nil {
		by = append(by, func(s ExternalSession) bool {
			return s.Record != nil && (s.Record.PID == pid || s.Record.Target == pid)
		})
		if id := SessionOf(pid); id != "" {
			by = append(by, func(s ExternalSession) bool { return s.Session.ID == id })
		}
	}
	if ref == "last" { // the newest run comes first
		by = append(by, func(s ExternalSession) bool { return s.Run != "" })
	}
	for _, is := range by {
		var found []ExternalSession
		for _, s := range list {
			if is(s) {
				found = append(found, s)
			}
		}
		switch {
		case len(found) == 1 || len(found) > 1 && ref == "last":
			return newest(found), nil
		case len(found) > 1:
			return nil, fmt.Errorf("%d sessions match: give one of %s", len(found), namesOf(found))
		}
	}
	what := fmt.Sprintf("no nsys session %q", ref)
	if ref == "" {
		what = "no nsys session is running here"
	}
	if len(list) == 0 {
		if ref != "" {
			what += "; none is running here"
		}
		return nil, fmt.Errorf("%s: start a program with: stepscope nsys run -- COMMAND", what)
	}
	return nil, fmt.Errorf("%s; the sessions are: %s", what, namesOf(list))
}

func newest(list []ExternalSession) *ExternalSession {
	return &list[slices.IndexFunc(list, func(s ExternalSession) bool {
		return !slices.ContainsFunc(list, func(o ExternalSession) bool { return o.Run > s.Run })
	})]
}

// namesOf lists the names of sessions in one line.
func namesOf(list []ExternalSession) string {
	var names []string
	for _, s := range list {
		names = append(names, fmt.Sprintf("%s (%s, %s)", s.Session.Name, s.Session.ID, s.Session.State))
	}
	return strings.Join(names, ", ")
}
