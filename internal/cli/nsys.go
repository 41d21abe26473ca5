package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/capture/nsys"
)

// nsysCmd is "nsys".
type nsysCmd struct {
	Run      nsysRunCmd      `cmd:"" help:"Run a server, or any program, under Nsight Systems."`
	Sessions nsysSessionsCmd `cmd:"" help:"List the sessions of nsys, and the programs in them."`
	Start    nsysStartCmd    `cmd:"" help:"Open a window on a running session."`
	Stop     nsysStopCmd     `cmd:"" help:"Close the window, and print where its report is."`
	Export   nsysExportCmd   `cmd:"" help:"Export reports to SQLite."`
	Stats    nsysStatsCmd    `cmd:"" help:"Print the summaries of nsys stats without nsys."`
}

// nsysTool selects the nsys executable.
type nsysTool struct {
	Nsys string `name:"nsys" placeholder:"PATH" help:"The nsys to use (default: STEPSCOPE_NSYS, else that of PATH, else the newest in the usual places)."`
}

// seconds is a duration. As in nsys, the user may give it as a number of seconds without a unit.
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

type nsysSessionsCmd struct {
	JSON bool `name:"json" help:"Print as JSON."`
	nsysTool
	runPlace
}

// Help returns the end of the verb's help text.
func (c *nsysSessionsCmd) Help() string {
	return `Lists this user's sessions on this host: those of stepscope nsys run, and those of nsys itself if TMPDIR is the same.

Examples:
  stepscope nsys sessions
  stepscope nsys sessions --json`
}

// Run lists the sessions.
func (c *nsysSessionsCmd) Run(ctx context.Context, e *env) error {
	root, err := c.root()
	if err != nil {
		return err
	}
	list, err := nsys.Sessions(ctx, root, c.Nsys)
	if err != nil {
		return err
	}
	out := nsys.List{Format: 1, Sessions: []nsys.Listed{}}
	rows := [][]string{{"SESSION", "ID", "STATE", "AGE", "PID", "WINDOWS", "RUN"}}
	for _, s := range list {
		n := s.Listed()
		pid, windows := "", ""
		if s.Record != nil {
			pid, windows = strconv.Itoa(s.Record.Target), strconv.Itoa(len(n.Windows))
		}
		out.Sessions = append(out.Sessions, n)
		rows = append(rows, []string{n.Name, n.ID, n.Doing, n.Age, pid, windows, n.Run})
	}
	switch {
	case c.JSON:
		return e.printJSON(out)
	case len(list) == 0:
		e.Warn("no nsys session runs here; start a program with: stepscope nsys run -- COMMAND")
		return nil
	}
	return columns.Left(e.stdout, rows)
}
