package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/capture/nsys"
	"github.com/stepscope/stepscope/internal/runs"
)

// nsysCmd is "nsys".
type nsysCmd struct {
	Run      nsysRunCmd      `cmd:"" help:"Run a server, or any program, under Nsight Systems."`
	Sessions nsysSessionsCmd `cmd:"" help:"List the sessions of nsys, and the programs in them."`
	Start    nsysStartCmd    `cmd:"" help:"Open a window on a running session."`
	Stop     nsysStopCmd     `cmd:"" help:"Close the window, and say where its report lies."`
	Export   nsysExportCmd   `cmd:"" help:"Make the SQLite exports of reports."`
	Stats    nsysStatsCmd    `cmd:"" help:"Print the summaries of nsys stats, without nsys and faster."`
}

// nsysTool is which nsys to use.
type nsysTool struct {
	Nsys string `name:"nsys" placeholder:"PATH" help:"The nsys to use (default: STEPSCOPE_NSYS, else that of PATH, else the newest in the usual places)."`
}

// seconds is a time that may be given as a plain number of them, as to nsys.
type seconds time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *seconds) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if n, numErr := strconv.ParseFloat(string(text), 64); numErr == nil {
		d, err = time.Duration(n*float64(time.Second)), nil
	}
	if err != nil || d <= 0 || d > 30*24*time.Hour {
		return fmt.Errorf("%q: give seconds, or a time as 500ms or 2m", text)
	}
	*s = seconds(d)
	return nil
}

// nsysKind is of runs that nsys run makes; their record lies in nsysDir.
const (
	nsysKind = "nsys"
	nsysDir  = "nsys"
)

// nsysSession is a session that runs, with what is known of it.
type nsysSession struct {
	nsys.Told
	run string // id; "": not ours
}

// nsysSessions finds all sessions of this host that can be seen: those of runs, by
// the nsys and TMPDIR of each, and those of the user's own nsys.
func nsysSessions(ctx context.Context, root, given string) (list []nsysSession, err error) {
	type place struct{ path, tmp string }
	records := map[place][]nsysSession{}
	var places []place
	host, _ := os.Hostname()
	entries, err := runs.List(root)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Kind != nsysKind || e.Status != runs.Running && e.Status != runs.Broken {
			continue
		}
		dir := filepath.Join(root, e.ID, nsysDir)
		r, err := nsys.ReadRecord(dir)
		if err != nil || r.Host != host {
			continue
		}
		p := place{r.Nsys, r.TmpDir}
		if records[p] == nil {
			places = append(places, p)
		}
		records[p] = append(records[p], nsysSession{nsys.Told{Tool: r.Tool(), Record: r, Dir: dir}, e.ID})
	}
	own, findErr := nsys.Find(ctx, given)
	if findErr == nil && records[place{own.Path, own.TmpDir}] == nil {
		places = append(places, place{own.Path, own.TmpDir})
	}
	if len(places) == 0 {
		return nil, findErr
	}
	for _, p := range places {
		tool := nsys.At(p.path, p.tmp)
		sessions, err := tool.List(ctx)
		if err != nil {
			if own != nil && p == (place{own.Path, own.TmpDir}) {
				return nil, err
			}
			continue // an nsys that was there once
		}
		for _, s := range sessions {
			found := nsysSession{Told: nsys.Told{Tool: tool, Session: s}}
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

// nsysFind takes the session that ref means: a name, an id, a run, or a process;
// without one the only session.
func nsysFind(ctx context.Context, root, given, ref string) (*nsysSession, error) {
	list, err := nsysSessions(ctx, root, given)
	if err != nil {
		return nil, err
	}
	by := []func(s nsysSession) bool{
		func(s nsysSession) bool { return ref == "" && s.Session.State != "Shutdown" },
		func(s nsysSession) bool { return s.Session.Name == ref || s.Session.ID == ref },
		func(s nsysSession) bool { return s.run != "" && (s.run == ref || strings.HasSuffix(s.run, "-"+ref)) },
	}
	if pid, err := strconv.Atoi(ref); err == nil {
		by = append(by, func(s nsysSession) bool { return s.Record != nil && (s.Record.PID == pid || s.Record.Target == pid) })
		if id := nsys.SessionOf(pid); id != "" {
			by = append(by, func(s nsysSession) bool { return s.Session.ID == id })
		}
	}
	if ref == "last" { // the newest run comes first
		by = append(by, func(s nsysSession) bool { return s.run != "" })
	}
	for _, is := range by {
		var found []nsysSession
		for _, s := range list {
			if is(s) {
				found = append(found, s)
			}
		}
		switch {
		case len(found) == 1 || len(found) > 1 && ref == "last":
			return newest(found), nil
		case len(found) > 1:
			return nil, fmt.Errorf("there are %d such sessions, say which: %s", len(found), nsysNames(found))
		}
	}
	what := fmt.Sprintf("no nsys session %q", ref)
	if ref == "" {
		what = "no nsys session runs here"
	}
	if len(list) == 0 {
		if ref != "" {
			what += "; none runs here"
		}
		return nil, fmt.Errorf("%s: start a program with: stepscope nsys run -- COMMAND", what)
	}
	return nil, fmt.Errorf("%s; there are: %s", what, nsysNames(list))
}

func newest(list []nsysSession) *nsysSession {
	return &list[slices.IndexFunc(list, func(s nsysSession) bool {
		return !slices.ContainsFunc(list, func(o nsysSession) bool { return o.run > s.run })
	})]
}

// nsysNames lists sessions in a line.
func nsysNames(list []nsysSession) string {
	var names []string
	for _, s := range list {
		names = append(names, fmt.Sprintf("%s (%s, %s)", s.Session.Name, s.Session.ID, s.Session.State))
	}
	return strings.Join(names, ", ")
}

type nsysSessionsCmd struct {
	JSON bool `name:"json" help:"Print as JSON."`
	nsysTool
	runPlace
}

// Help is the end of the verb's help text.
func (c *nsysSessionsCmd) Help() string {
	return `Sessions are those of this user and host: of stepscope nsys run, and of nsys itself where TMPDIR is the same.

Examples:
  stepscope nsys sessions
  stepscope nsys sessions --json`
}

// Run lists.
func (c *nsysSessionsCmd) Run(ctx context.Context, e *env) error {
	root, err := c.root()
	if err != nil {
		return err
	}
	list, err := nsysSessions(ctx, root, c.Nsys)
	if err != nil {
		return err
	}
	type entry struct {
		nsys.Session
		Doing   string         `json:"doing"` // the state in words
		Run     string         `json:"run,omitempty"`
		Record  *nsys.Record   `json:"record,omitempty"`
		Windows []*nsys.Window `json:"windows"`
	}
	out := []entry{}
	var rows [][]string
	for _, s := range list {
		n := entry{s.Session, s.Session.State.String(), s.run, s.Record, []*nsys.Window{}}
		pid, windows := "", ""
		if s.Record != nil {
			n.Windows = append(n.Windows, nsys.Windows(s.Dir)...)
			pid, windows = strconv.Itoa(s.Record.Target), strconv.Itoa(len(n.Windows))
		}
		out = append(out, n)
		rows = append(rows, []string{s.Session.Name, s.Session.ID, n.Doing, s.Session.Age, pid, windows, s.run})
	}
	if c.JSON {
		return e.printJSON(struct {
			Format   int     `json:"format"`
			Sessions []entry `json:"sessions"`
		}{1, out})
	}
	if len(rows) == 0 {
		e.Warn("no nsys session runs here; start a program with: stepscope nsys run -- COMMAND")
		return nil
	}
	return e.columns([]string{"SESSION", "ID", "STATE", "AGE", "PID", "WINDOWS", "RUN"}, rows)
}
