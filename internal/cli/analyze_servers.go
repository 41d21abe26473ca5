package cli

import (
	"bytes"
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

	"github.com/stepscope/stepscope/internal/analysis"
	profiler "github.com/stepscope/stepscope/internal/capture"
	waits "github.com/stepscope/stepscope/internal/join"
	"github.com/stepscope/stepscope/internal/kernel"
	"github.com/stepscope/stepscope/internal/report"
	"github.com/stepscope/stepscope/internal/store"
	"github.com/stepscope/stepscope/internal/traceset"
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
	name := s.URL
	if s.Window != "" {
		name = s.Window
	}
	if name == "" {
		name = s.Name
	}
	return strings.TrimSpace(s.Role + " " + name)
}

// recordedBy are the servers of a session.
func recordedBy(res *profiler.Result) (out []recorded) {
	for i := range res.Servers {
		r := &res.Servers[i]
		out = append(out, recorded{Name: r.Name, Role: r.Role, URL: r.URL, Lines: r.Lines(), Paths: r.Traces, Loads: r.Loads})
	}
	return out
}

// serversOf are the servers of a run, as its manifest keeps them apart.
func serversOf(run *store.Run) (out []recorded) {
	at := func(f *store.File) int {
		return slices.IndexFunc(out, func(s recorded) bool { return s.Role == f.Role && s.URL == f.Host && s.Window == f.Window })
	}
	for _, f := range run.Files(store.KindTrace) {
		i := at(&f)
		if i < 0 {
			i = len(out)
			out = append(out, recorded{Name: filepath.Base(filepath.Dir(run.Path(f.Path))), Role: f.Role, URL: f.Host, Window: f.Window})
		}
		out[i].Paths = append(out[i].Paths, run.Path(f.Path))
	}
	for _, f := range run.Files(store.KindMetrics) {
		if i := at(&f); i >= 0 && filepath.Base(f.Path) == profiler.LoadsFile {
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
	if _, err := traceset.Find([]string{dir}); !errors.Is(err, traceset.ErrNone) {
		return nil
	}
	roles := map[string]bool{}
	for _, entry := range entries {
		m, below := roleDir.FindStringSubmatch(entry.Name()), filepath.Join(dir, entry.Name())
		if m == nil || !entry.IsDir() {
			continue
		}
		if _, err := traceset.Find([]string{below}); err != nil {
			continue
		}
		roles[m[1]] = true
		out = append(out, recorded{Name: entry.Name(), Role: m[1], Paths: []string{below}, Queue: filepath.Join(below, profiler.LoadsFile)})
	}
	if len(roles) < 2 {
		return nil
	}
	// Prefill first, as requests go.
	slices.SortStableFunc(out, func(a, b recorded) int { return strings.Compare(b.Role, a.Role) })
	return out
}

// explained is what came of one of several servers.
type explained struct {
	recorded
	traces []*trace.Trace
	report *analysis.Report
}

// each explains servers one after the other, and prints that unless it is to be JSON.
// One that cannot be is named, and the others have theirs.
func (c *analyzeCmd) each(ctx context.Context, e *env, rules *kernel.Rules, servers []recorded) (out []explained, err error) {
	for i, s := range servers {
		x := explained{recorded: s}
		if s.Queue != "" {
			if x.Loads, err = readLoads(s.Queue); err != nil {
				e.warn("%v: it is left out", err)
				e.incomplete()
			}
		}
		if !c.JSON {
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
		if len(s.Paths) > 0 {
			var w *captured
			w, x.report, err = c.explain(ctx, e, inputs{Paths: s.Paths}, rules)
			if w != nil {
				x.traces = w.traces // of a server that had nothing to do, too
			}
			if err == nil && !c.JSON {
				err = c.print(e, x.report)
			}
			if err == nil {
				err = c.page(e, c.pageOf(&s, len(servers)), func(w io.Writer) error { return report.HTML(w, x.report) })
			}
			switch {
			case err != nil && (len(servers) == 1 || ctx.Err() != nil):
				return nil, err
			case err != nil:
				e.warn("%s: %v", s.title(), err)
				e.incomplete()
				x.report = nil
			}
		}
		out = append(out, x)
	}
	return out, nil
}

// pageOf is the file of the page of one of n servers: beside --html where they are
// several.
func (c *analyzeCmd) pageOf(s *recorded, n int) string {
	if c.HTML == "" || n == 1 {
		return c.HTML
	}
	ext := filepath.Ext(c.HTML)
	return strings.TrimSuffix(c.HTML, ext) + "-" + s.Name + ext
}

// together explains prefill and decode servers as one system, and prints that; nil
// where they are no such.
func (c *analyzeCmd) together(e *env, rules *kernel.Rules, all []explained) (*analysis.PD, error) {
	var sides [2][]analysis.Server
	for _, x := range all {
		i := slices.Index([]string{profiler.Prefill, profiler.Decode}, x.Role)
		if i < 0 || len(x.traces) == 0 {
			continue
		}
		name := x.URL
		if name == "" {
			name = x.Name
		}
		sides[i] = append(sides[i], analysis.Server{Name: name, Traces: x.traces, Loads: x.Loads})
	}
	if len(sides[0]) == 0 || len(sides[1]) == 0 {
		return nil, nil
	}
	pd, err := analysis.PrefillDecode(sides[0], sides[1], rules)
	if err != nil {
		e.warn("prefill and decode servers cannot be compared: %v", err)
		e.incomplete()
		return nil, nil
	}
	if c.HTML != "" {
		var pages []report.PDPage
		for _, x := range all {
			if x.report != nil {
				pages = append(pages, report.PDPage{Name: x.title(), File: filepath.Base(c.pageOf(&x.recorded, len(all)))})
			}
		}
		if err := c.page(e, c.HTML, func(w io.Writer) error { return report.PDHTML(w, pd, pages) }); err != nil {
			return pd, err
		}
	}
	opt := report.Options{Top: c.Top, All: c.All}
	switch {
	case c.JSON:
		return pd, nil
	case c.Markdown:
		fmt.Fprintln(e.stdout)
		return pd, report.PDMarkdown(e.stdout, pd, opt)
	}
	opt.Width, opt.Color = e.screen()
	fmt.Fprintln(e.stdout)
	return pd, report.PDText(e.stdout, pd, opt)
}

// servers is Run for a run of several.
func (c *analyzeCmd) servers(ctx context.Context, e *env, rules *kernel.Rules, run *store.Run, servers []recorded) error {
	if c.HTML == "-" {
		return usagef("--html -: there are %d servers, each with a page: give a file, from whose name theirs are made", len(servers))
	}
	all, err := c.each(ctx, e, rules, servers)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(x explained) bool { return x.report != nil }) {
		return errors.New("no server's traces could be explained")
	}
	pd, err := c.together(e, rules, all)
	if err != nil {
		return err
	}
	var joined *waits.Result
	if run != nil && !c.Markdown {
		if joined, err = e.joinServers(run, all); err != nil {
			e.warn("what the requests waited for is not known: %v", err)
			e.incomplete()
		}
	}
	switch {
	case c.JSON:
		return c.serversJSON(e, all, pd, joined)
	case joined != nil:
		return e.showJoin(joined, c.rows())
	}
	return nil
}

// joinServers is join for several servers.
func (e *env) joinServers(run *store.Run, all []explained) (*waits.Result, error) {
	var servers []waits.Server
	var late []waits.Late
	for _, x := range all {
		if len(x.traces) == 0 {
			continue
		}
		servers = append(servers, waits.Server{Name: x.Name, Role: x.Role, Traces: x.traces})
		if x.report == nil {
			continue
		}
		for _, l := range lateSteps(x.report) {
			l.Server, l.Title = x.Name, x.Name+": "+l.Title
			late = append(late, l)
		}
	}
	return e.join(run, servers, late)
}

// jsonOf is a report as analyze prints it.
func jsonOf(r *analysis.Report) (json.RawMessage, error) {
	if r == nil {
		return nil, nil
	}
	var b bytes.Buffer
	err := report.JSON(&b, r)
	return b.Bytes(), err
}

func (c *analyzeCmd) serversJSON(e *env, all []explained, pd *analysis.PD, joined *waits.Result) error {
	type server struct {
		Name   string          `json:"name"`
		Role   string          `json:"role"`
		URL    string          `json:"url"`
		Report json.RawMessage `json:"report"` // null: it could not be explained
	}
	out := struct {
		Format   int           `json:"format"`
		Servers  []server      `json:"servers"`
		PD       *analysis.PD  `json:"pd,omitempty"` // of prefill and decode servers
		Requests *waits.Result `json:"requests,omitempty"`
	}{Format: 1, Requests: joined}
	for _, x := range all {
		r, err := jsonOf(x.report)
		if err != nil {
			return err
		}
		out.Servers = append(out.Servers, server{x.Name, x.Role, x.URL, r})
	}
	if pd != nil {
		plain := report.PlainPD(pd)
		out.PD = &plain
	}
	return e.printJSON(out)
}
