package cli

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/brief"
	"github.com/stepscope/stepscope/internal/runs"
)

// runsCmd is "runs".
type runsCmd struct {
	List   runsListCmd   `cmd:"" help:"List the runs, newest first."`
	Show   runsShowCmd   `cmd:"" help:"Show the files and results of a run."`
	Import runsImportCmd `cmd:"" help:"Keep results of other benchmark clients as runs."`
	Export runsExportCmd `cmd:"" help:"Pack a run as a tar file."`
	Rm     runsRmCmd     `cmd:"" help:"Remove runs with all their files."`
}

// runPlace selects the directory of the runs. Verbs that create runs embed it, too.
type runPlace struct {
	RunDir string `name:"run-dir" placeholder:"DIR" help:"Where runs are kept (default: stepscope/runs in the user's data directory)."`
}

func (p *runPlace) root() (string, error) {
	if p.RunDir != "" {
		return filepath.Abs(p.RunDir)
	}
	return runs.DefaultRoot()
}

// sessions returns the directory in which windows are recorded between start and stop. The directory is the same for
// all runs of a user, unless the user has no home directory.
func (p *runPlace) sessions() (string, error) {
	root, err := runs.DefaultRoot()
	if err == nil {
		return filepath.Join(filepath.Dir(root), "sessions"), nil
	}
	if p.RunDir != "" {
		return filepath.Abs(filepath.Join(p.RunDir, ".sessions"))
	}
	return "", err
}

// windows returns the directory of sessions, or "" if there is none.
func (p *runPlace) windows() string {
	dir, _ := p.sessions()
	return dir
}

// open opens the run that ref names.
func (p *runPlace) open(ref string) (*runs.Run, error) {
	root, err := p.root()
	if err != nil {
		return nil, err
	}
	run, err := runs.Open(root, ref)
	if err != nil {
		return nil, notFound(err)
	}
	return run, nil
}

// list returns the runs and the directory that contains them.
func (p *runPlace) list() (root string, list []runs.Entry, err error) {
	if root, err = p.root(); err == nil {
		list, err = runs.List(root)
	}
	return root, list, err
}

type runsListCmd struct {
	Kind  string `placeholder:"KIND" help:"Only runs of this kind: bench, profile, generate, demo."`
	Tag   string `placeholder:"TAG" help:"Only runs with this tag."`
	Limit int    `default:"20" help:"Maximum number of runs to list; 0: all."`
	JSON  bool   `name:"json" help:"Print as JSON."`
	briefFlags
	runPlace
}

// Help returns the end of the verb's help text.
func (c *runsListCmd) Help() string {
	return `Examples:
  stepscope runs list
  stepscope runs list --kind bench --limit 5
  stepscope runs list --tag baseline --json
  stepscope runs list --brief`
}

// Run lists the runs.
func (c *runsListCmd) Run(e *env) error {
	if c.Limit < 0 {
		return usagef("--limit %d: give 0 (all) or more", c.Limit)
	}
	root, list, err := c.list()
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(r runs.Entry) bool {
		return c.Kind != "" && r.Kind != c.Kind || c.Tag != "" && !slices.Contains(r.Tags, c.Tag)
	})
	shown := runs.Listing{Format: 1, Dir: root, Total: len(list), Runs: append([]runs.Entry{}, list...)}
	if c.Limit > 0 {
		shown.Runs = shown.Runs[:min(c.Limit, shown.Total)]
	}
	switch {
	case c.Brief:
		var rows []brief.Run
		for _, r := range shown.Rows() {
			rows = append(rows, brief.Run(r))
		}
		return c.answer(e, brief.Runs(root, rows, shown.Total, "stepscope runs list --limit 0", c.MaxBytes), c.JSON)
	case c.JSON:
		return e.printJSON(shown)
	case shown.Total == 0:
		e.Warn("no such runs in %s", root)
		return nil
	}
	return shown.Print(e.stdout)
}

type runsRmCmd struct {
	Runs   []string `arg:"" optional:"" name:"run" help:"Ids of runs, or unique beginnings or last parts of them."`
	Older  age      `name:"older-than" placeholder:"AGE" help:"Also remove the runs that began longer ago: 30d, 12h. Runs that are being written stay."`
	DryRun bool     `name:"dry-run" help:"Print what would be removed, and remove nothing."`
	Force  bool     `help:"Also remove runs that are being written."`
	runPlace
}

// Help returns the end of the verb's help text.
func (c *runsRmCmd) Help() string {
	return `Removes all given runs or, if one cannot be found, none.

Examples:
  stepscope runs rm a1b2 --dry-run
  stepscope runs rm a1b2 c3d4
  stepscope runs rm --older-than 30d --dry-run`
}

// age is a duration that may be given in days.
type age time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *age) UnmarshalText(text []byte) error {
	s := string(text)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.ParseFloat(days, 64); err == nil && n > 0 && n < 36500 {
			*a = age(n * 24 * float64(time.Hour))
			return nil
		}
	} else if d, err := time.ParseDuration(s); err == nil && d > 0 {
		*a = age(d)
		return nil
	}
	return usagef("want an age such as 30d or 12h, not %q", s)
}

func (a age) String() string {
	if days := time.Duration(a).Hours() / 24; days == math.Trunc(days) {
		return fmt.Sprintf("%gd", days)
	}
	return time.Duration(a).String()
}

// Run removes the runs.
func (c *runsRmCmd) Run(e *env) error {
	if len(c.Runs) == 0 && c.Older == 0 {
		return usagef("which runs? give their ids, or --older-than 30d")
	}
	root, list, err := c.list()
	if err != nil {
		return err
	}
	var rm []runs.Entry
	for _, ref := range c.Runs {
		dir, err := runs.Find(root, ref)
		if err != nil {
			if ref == "last" {
				err = errors.New(`rm takes no "last": say which by its id`)
			}
			return notFound(err)
		}
		at := slices.IndexFunc(list, func(r runs.Entry) bool { return r.ID == filepath.Base(dir) })
		if at < 0 || slices.ContainsFunc(rm, func(r runs.Entry) bool { return r.ID == list[at].ID }) {
			continue
		}
		if list[at].Status == runs.Running && !c.Force {
			return fmt.Errorf("run %s: %w; --force removes it anyway", list[at].ID, runs.ErrRunning)
		}
		rm = append(rm, list[at])
	}
	for _, r := range list {
		old := c.Older > 0 && !r.Created.IsZero() && time.Since(r.Created) > time.Duration(c.Older) && r.Status != runs.Running
		if old && !slices.ContainsFunc(rm, func(other runs.Entry) bool { return r.ID == other.ID }) {
			rm = append(rm, r)
		}
	}
	if len(rm) == 0 {
		e.Warn("no run in %s is older than %v", root, c.Older)
	}
	for _, r := range rm {
		did := "removed"
		if c.DryRun {
			did = "would remove"
		} else if err := runs.Remove(filepath.Join(root, r.ID), c.Force); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(e.stdout, "%s %s (%s)\n", did, r.ID, metric.Bytes(r.Size)); err != nil {
			return err
		}
	}
	return nil
}

func notFound(err error) error {
	if errors.Is(err, runs.ErrNotFound) {
		return fmt.Errorf("%w; see: stepscope runs list", err)
	}
	return err
}
