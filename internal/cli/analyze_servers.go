package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/waits"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// recorded is what there is of one of several servers.
type recorded struct {
	Name   string // of its directory
	Window string // of several that were recorded one after the other
	Role   string // prefill, decode, or nothing
	URL    string // "": not known
	Lines  []string
	Paths  []string // traces of its ranks
	Loads  []trace.Load
	Queue  string // file of Loads, not read yet; ""
}

func (s *recorded) title() string {
	name := cmp.Or(s.URL, s.Name)
	switch {
	case s.Window == s.Name:
		name = s.Window
	case s.Window != "":
		name = s.Window + " " + name
	}
	return strings.TrimSpace(s.Role + " " + name)
}

// recordedBy are the servers of a session.
func recordedBy(res *torch.Result) (out []recorded) {
	for i := range res.Servers {
		r := &res.Servers[i]
		out = append(out, recorded{Name: r.Name, Role: r.Role, URL: r.URL, Lines: r.Lines(), Paths: r.Traces, Loads: r.Loads})
	}
	return out
}

// serversOf are the servers of a run, as its manifest keeps them apart.
func serversOf(run *runs.Run) (out []recorded) {
	at := func(f *runs.File) int {
		return slices.IndexFunc(out, func(s recorded) bool { return s.Role == f.Role && s.URL == f.Host && s.Window == f.Window })
	}
	for _, f := range run.Files(runs.KindTrace) {
		i := at(&f)
		if i < 0 {
			i = len(out)
			out = append(out, recorded{Name: filepath.Base(filepath.Dir(run.Path(f.Path))), Role: f.Role, URL: f.Host, Window: f.Window})
		}
		out[i].Paths = append(out[i].Paths, run.Path(f.Path))
	}
	for _, f := range run.Files(runs.KindMetrics) {
		if i := at(&f); i >= 0 && filepath.Base(f.Path) == torch.LoadsFile {
			out[i].Queue = run.Path(f.Path)
		}
	}
	return out
}

func readLoads(path string) (loads []trace.Load, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &loads)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return loads, nil
}

// roleDir is the name of a prefill or decode server's directory.
var roleDir = regexp.MustCompile(`^(prefill|decode)([-_.]?[0-9].*|[-_.].*)?$`)

// serversBelow finds servers of both roles in the directories of a directory that has
// no traces itself: what profile writes, and what people make by hand.
func serversBelow(dir string) (out []recorded) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // a file, or it is said later what is wrong
	}
	if _, err := set.Find([]string{dir}); !errors.Is(err, set.ErrNone) {
		return nil
	}
	roles := map[string]bool{}
	for _, entry := range entries {
		m, below := roleDir.FindStringSubmatch(entry.Name()), filepath.Join(dir, entry.Name())
		if m == nil || !entry.IsDir() {
			continue
		}
		if _, err := set.Find([]string{below}); err != nil {
			continue
		}
		roles[m[1]] = true
		out = append(out, recorded{Name: entry.Name(), Role: m[1], Paths: []string{below}, Queue: filepath.Join(below, torch.LoadsFile)})
	}
	if len(roles) < 2 {
		return nil
	}
	// Prefill first, as requests go.
	slices.SortStableFunc(out, func(a, b recorded) int { return strings.Compare(b.Role, a.Role) })
	return out
}

// explained is what came of one of several servers. Of its traces no more is kept than
// what it takes to explain it beside the others.
type explained struct {
	recorded
	report *result.Report  // nil: it could not be explained
	idle   bool            // there is nothing to explain
	side   *explain.Server // of prefill and decode servers
	served *waits.Server
}

// each explains servers one after the other, and prints that unless it is to be JSON.
// One that cannot be is named, and the others have theirs. joins: they served a load.
func (c *analyzeCmd) each(ctx context.Context, e *env, rules *kernel.Rules, servers []recorded, joins bool) (out []explained, err error) {
	idle, tried := 0, 0
	for i, s := range servers {
		x := explained{recorded: s}
		if s.Queue != "" {
			if x.Loads, err = readLoads(s.Queue); err != nil {
				e.Warn("%v: it is left out", err)
				e.Incomplete()
			}
		}
		if !c.JSON {
			c.head(e, i, &s)
		}
		if len(s.Paths) > 0 {
			tried++
			err = c.one(ctx, e, rules, &x, len(servers), joins)
			switch {
			case err != nil && (len(servers) == 1 || ctx.Err() != nil):
				return nil, err
			case err != nil:
				e.Warn("%s: %v", s.title(), err)
				e.Incomplete()
				x.report = nil
			case x.idle:
				idle++
			}
		}
		out = append(out, x)
	}
	if idle > 0 && idle == tried {
		e.Lack("no server did anything while it was recorded: was there traffic?")
	}
	return out, nil
}

// head says whose findings follow.
func (c *analyzeCmd) head(e *env, i int, s *recorded) {
	mark, indent := "", "  "
	if i > 0 {
		fmt.Fprintln(e.stdout)
	}
	if c.Markdown {
		mark, indent = "# ", "\n"
	}
	fmt.Fprintf(e.stdout, "%s%s\n", mark, s.title())
	for _, line := range s.Lines {
		fmt.Fprintf(e.stdout, "%s%s\n", indent, line)
	}
	if len(s.Paths) > 0 {
		fmt.Fprintln(e.stdout)
	}
}

// one explains one of n servers.
func (c *analyzeCmd) one(ctx context.Context, e *env, rules *kernel.Rules, x *explained, n int, joins bool) error {
	capture, err := c.read(ctx, e, inputs{Paths: x.Paths})
	if err != nil {
		return err
	}
	w := explain.Prepare(capture.Traces, rules)
	if x.Role != "" {
		x.side = w.Server(cmp.Or(x.URL, x.Name), x.Loads)
	}
	if joins {
		x.served = waits.NewServer(x.Name, x.Role, capture.Traces)
	}
	if took, idle := w.Idle(); idle && n > 1 {
		if x.idle = true; !c.JSON {
			fmt.Fprintf(e.stdout, "idle: no step and no GPU work in the %s that it was recorded\n", metric.Duration(took))
		}
		return nil
	}
	if x.report, err = w.Analyze(capture.Options()); err == nil && !c.JSON {
		err = c.print(e, x.report)
	}
	if err != nil {
		return err
	}
	return c.page(e, c.pageOf(&x.recorded, n), func(w io.Writer) error { return report.HTML(w, x.report) })
}
