package system

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/brief"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/light"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/waits"
	"github.com/stepscope/stepscope/internal/explain/window"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/trace"
)

// Form is an output format.
type Form int

// Forms of the output. With several servers, the text or Markdown of each server is printed before the next server's
// files are read.
const (
	Text Form = iota
	Markdown
	JSON
)

// Options configures the explanation of a window and the output.
type Options struct {
	Say   *progress.Console
	Out   io.Writer
	Form  Form
	Show  report.Options
	HTML  string // file to which a page is also written; -: write the page, and nothing else, to Out
	Rules *kernel.Rules
	Read  read.Options
	Force bool // also explain files that cannot belong to one capture
	Quick bool // omit the critical path and the estimated benefits of findings
	// Layers also assigns replayed graphs to layers. The layers are identified from LayersFrom, a window of the same
	// server, or, if LayersFrom is nil, from the window itself.
	Layers     bool
	LayersFrom *window.Input
	SourceFrom *window.Input // a window of the same server that has the sources of kernels; nil: none
	Light      light.Options // nil fields: those beside the traces
	// Open replaces the function that reads a window; nil: read it from local files.
	Open func(context.Context, *window.Input) (*window.Capture, error)
	// Reference holds step times measured without the profiler; nil: use the reference stored next to the traces.
	Reference *trace.Reference
	// Take receives the results of Window and Servers, which print nothing then; nil: print them. Form must be JSON.
	Take func(*brief.Capture) error
	// Watch, if not nil, limits the memory that Captured may use until done is called.
	Watch func() (done func())
}

// Window explains the window of one server. If run is not nil, Window also explains why the slow requests of the run
// waited in that server.
func (o *Options) Window(ctx context.Context, in *window.Input, run *runs.Run, servers []Server) error {
	in.Lean, in.Rules = run == nil, o.Rules
	capture, err := o.open(ctx, in)
	if err != nil {
		return err
	}
	opt := o.options(capture)
	if opt.LayersFrom, opt.FromName, err = o.other(ctx, o.LayersFrom, "layers"); err != nil {
		return err
	}
	if opt.SourcesFrom, opt.SourcesFromName, err = o.other(ctx, o.SourceFrom, "source"); err != nil {
		return err
	}
	r, err := capture.Prepare(o.Rules).Analyze(opt)
	if err != nil {
		return err
	}
	if s := &r.Sites; opt.SourcesFrom != nil && s.Carried == 0 && s.Told < s.Kernels {
		o.Say.Warn("%s: no kernel without a source has the same name and grid at the same place in a step: record the same server and batch size", opt.SourcesFromName)
	}
	if r.Partial() {
		o.Say.Incomplete()
	}
	var requests *waits.Result
	if run != nil && capture.Ranks != nil {
		o.Say.Warn("the causes of slow requests need the traces themselves: analyze the run without --on")
	} else if run != nil {
		role := ""
		if len(servers) == 1 {
			role = servers[0].Role
		}
		x := &explained{served: waits.NewServer("", role, capture.Traces), late: waits.LateSteps(r, capture.Traces)}
		requests = o.requests(run, []*explained{x})
	}
	if o.HTML == "-" {
		return report.HTML(o.Out, r)
	}
	if err := o.page(o.HTML, func(w io.Writer) error { return report.HTML(w, r) }); err != nil {
		return err
	}
	if o.Take != nil {
		return o.Take(&brief.Capture{Servers: []brief.Server{{Report: r}}, Requests: requests})
	}
	if o.Form == JSON {
		return report.JSON(o.Out, r, requests)
	}
	if err := o.print(r); err != nil || o.Form == Markdown {
		return err
	}
	return report.Waits(o.Out, requests, o.Show)
}

// other reads the window given with --WHAT-from, and returns its name for errors. If from is nil, the window is nil.
func (o *Options) other(ctx context.Context, from *window.Input, what string) (*explain.Window, string, error) {
	if from == nil {
		return nil, "", nil
	}
	from.Lean, from.Rules = true, o.Rules
	flag := "--" + what + "-from"
	capture, err := from.Open(ctx, o.Say, what)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", flag, err)
	}
	return capture.Prepare(o.Rules), flag + " " + strings.Join(from.Paths, ", "), nil
}

// options returns the options for analysing a window.
func (o *Options) options(capture *window.Capture) explain.Options {
	opt := capture.Options()
	opt.Force, opt.Quick, opt.Layers, opt.Light = o.Force, o.Quick, o.Layers, o.Light.Or(opt.Light)
	if o.Reference != nil {
		opt.Reference = o.Reference
	}
	return opt
}

// open reads a window. It returns an error if the page would overwrite one of the window's files.
func (o *Options) open(ctx context.Context, in *window.Input) (*window.Capture, error) {
	var capture *window.Capture
	var err error
	if o.Open != nil {
		capture, err = o.Open(ctx, in)
	} else {
		capture, err = in.Open(ctx, o.Say, "analyze")
	}
	if err != nil {
		return nil, err
	}
	return capture, capture.Set.NotAnInput(o.HTML)
}

// print writes a report as text or Markdown.
func (o *Options) print(r *result.Report) error {
	if o.Form == Markdown {
		return report.Markdown(o.Out, r, o.Show)
	}
	return report.Text(o.Out, r, o.Show)
}

// page writes a page to path, if path is not "".
func (o *Options) page(path string, write func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	if err := atomicfile.Write(path, write); err != nil {
		return atomicfile.Named(path, err)
	}
	o.Say.Warn("page written: %s", path)
	return nil
}

// explained is the result for one of several servers. It keeps only the data of the traces that are needed to explain
// the servers together.
type explained struct {
	Server
	report *result.Report  // nil: the server could not be explained
	idle   bool            // the server did no work in the window
	side   *explain.Server // nil unless the server is a prefill or decode server
	served *waits.Server
	late   []waits.Late
	text   bytes.Buffer // printed output
}

// each explains the servers one after the other. texts later prints the results. If a server cannot be explained, each
// reports this and continues with the next server. The argument joins reports whether the servers served a load.
func (o *Options) each(ctx context.Context, servers []Server, joins bool) (out []*explained, err error) {
	idle, tried := 0, 0
	for i, s := range servers {
		x := &explained{Server: s}
		to := *o
		to.Out = &x.text
		if s.Queue != "" {
			if x.Loads, err = readLoads(s.Queue); err != nil {
				o.Say.Lack("%v: it is left out", err)
			}
		}
		if o.Form != JSON {
			to.head(i, &s)
		}
		if len(s.Paths) > 0 {
			tried++
			err = to.one(ctx, x, len(servers), joins)
			switch {
			case err != nil && (len(servers) == 1 || ctx.Err() != nil):
				return nil, err
			case err != nil:
				o.Say.Lack("%s: %v", s.title(), err)
				x.report = nil
			case x.idle:
				idle++
			}
		}
		out = append(out, x)
	}
	if idle > 0 && idle == tried {
		o.Say.Lack("no server had work while it was recorded: was there traffic?")
	}
	return out, nil
}

// texts prints the results of the individual servers. It is called after the joint result has been printed.
func (o *Options) texts(all []*explained) error {
	for _, x := range all {
		if _, err := x.text.WriteTo(o.Out); err != nil {
			return err
		}
	}
	return nil
}

// head prints the heading of a server's findings.
func (o *Options) head(i int, s *Server) {
	mark, indent, text := "", "  ", columns.Clean
	if i > 0 {
		fmt.Fprintln(o.Out)
	}
	if o.Form == Markdown {
		mark, indent, text = "# ", "\n", report.EscapeMarkdown
	}
	fmt.Fprintf(o.Out, "%s%s\n", mark, text(s.title()))
	for _, line := range s.Lines {
		fmt.Fprintf(o.Out, "%s%s\n", indent, text(line))
	}
	if len(s.Paths) > 0 {
		fmt.Fprintln(o.Out)
	}
}

// one explains the server x, which is one of n servers.
func (o *Options) one(ctx context.Context, x *explained, n int, joins bool) error {
	capture, err := o.open(ctx, &window.Input{Paths: x.Paths, Read: o.Read, Lean: !joins, Rules: o.Rules})
	if err != nil {
		return err
	}
	joins = joins && capture.Ranks == nil
	w := capture.Prepare(o.Rules)
	if x.Role != "" {
		x.side = w.Server(cmp.Or(x.URL, x.Name), x.Loads)
	}
	if joins {
		x.served = waits.NewServer(x.Name, x.Role, capture.Traces)
	}
	if took, idle := w.Idle(); idle && n > 1 {
		if x.idle = true; o.Form != JSON {
			fmt.Fprintf(o.Out, "idle: no step and no GPU work in the %s recorded\n", metric.Duration(took))
		}
		return nil
	}
	if x.report, err = w.Analyze(o.options(capture)); err == nil && x.report.Partial() {
		o.Say.Incomplete()
	}
	if err == nil && o.Form != JSON {
		err = o.print(x.report)
	}
	if err != nil {
		return err
	}
	if joins {
		x.late = waits.LateSteps(x.report, capture.Traces)
	}
	return o.page(o.pageOf(&x.Server, n), func(w io.Writer) error { return report.HTML(w, x.report) })
}

// pageOf returns the file of a server's page: o.HTML, or, if there are several servers, a file in the same directory.
func (o *Options) pageOf(s *Server, n int) string {
	if o.HTML == "" || n == 1 {
		return o.HTML
	}
	return Beside(o.HTML, s.Label())
}

// pages lists the pages of the servers. The file names are relative to the directory of the pages, so that they can be
// used as links.
func (o *Options) pages(all []*explained) (pages []report.Page) {
	for _, x := range all {
		if x.report != nil {
			pages = append(pages, report.Page{Name: x.title(), File: filepath.Base(o.pageOf(&x.Server, len(all)))})
		}
	}
	return pages
}

// Beside inserts a name before the extension of path: all.html becomes all-NAME.html.
func Beside(path, name string) string {
	ext := filepath.Ext(path)
	return strings.TrimSuffix(path, ext) + "-" + name + ext
}

// Explained is the result for the servers of a session. It has the form that is written as JSON.
type Explained struct {
	Reports []*result.Report `json:"reports"` // report of each server, as printed by analyze; null: none
	PD      *result.PD       `json:"pd,omitempty"`
	Pages   []report.Page    `json:"-"` // pages written
	// Requests holds the causes of the slow requests of the load; nil: there was no load, or they are not known.
	Requests *waits.Result `json:"-"`
}

// Captured explains the servers of a session, individually and together. If load is not empty, Captured also explains
// why the slow requests of these runs waited in the servers.
func (o *Options) Captured(ctx context.Context, res *torch.Result, skip bool, load ...bench.Measured) (*Explained, error) {
	servers := captured(res)
	if skip {
		for i := range servers {
			servers[i].Paths = nil
		}
	}
	if o.Watch != nil {
		defer o.Watch()()
	}
	all, err := o.each(ctx, servers, len(load) > 0)
	if err != nil {
		return nil, err
	}
	pd, err := o.together(all, "")
	if err == nil {
		err = o.texts(all)
	}
	out := &Explained{PD: report.Plain(pd)}
	if len(load) > 0 {
		host, _ := os.Hostname()
		var unknown error
		if out.Requests, unknown = o.waited(load, all, host); unknown != nil { // a short load may lie outside the window
			o.Say.Warn("The causes for which requests waited are unknown: %v", unknown)
		}
	}
	if o.HTML != "" {
		if out.Pages = o.pages(all); pd != nil {
			out.Pages = append([]report.Page{{Name: "prefill and decode servers together", File: filepath.Base(o.HTML)}}, out.Pages...)
		}
	}
	for _, x := range all {
		out.Reports = append(out.Reports, report.Plain(x.report))
	}
	return out, err
}

// Servers explains several servers, individually and together. If run is not nil, Servers also explains why the slow
// requests of the run waited in these servers.
func (o *Options) Servers(ctx context.Context, servers []Server, run *runs.Run) error {
	if o.Form == Markdown {
		run = nil
	}
	all, err := o.each(ctx, servers, run != nil)
	if err != nil {
		return err
	}
	done := 0
	for _, x := range all {
		if x.report != nil {
			done++
		}
	}
	if done == 0 {
		return errors.New("no server's traces could be explained")
	}
	systems, err := o.systems(all)
	if err != nil {
		return err
	}
	if err := o.texts(all); err != nil {
		return err
	}
	var requests *waits.Result
	if run != nil {
		requests = o.requests(run, all)
	}
	if o.Take != nil {
		return o.Take(taken(all, systems, requests))
	}
	if o.Form == JSON {
		return o.json(all, systems, requests)
	}
	return report.Waits(o.Out, requests, o.Show)
}

// taken returns the results of several servers for [Options.Take].
func taken(all []*explained, systems []system, requests *waits.Result) *brief.Capture {
	c := &brief.Capture{Requests: requests}
	for _, x := range all {
		c.Servers = append(c.Servers, brief.Server{Name: x.Label(), Role: x.Role, Idle: x.idle, Report: x.report})
	}
	for _, s := range systems {
		c.Together = append(c.Together, s.PD)
	}
	return c
}

// json writes the results of several servers.
func (o *Options) json(all []*explained, systems []system, requests *waits.Result) error {
	type server struct {
		Name   string         `json:"name"`
		Window string         `json:"window,omitempty"`
		Role   string         `json:"role"`
		URL    string         `json:"url"`
		Idle   bool           `json:"idle"`   // the server did no work
		Report *result.Report `json:"report"` // null: the server was idle or could not be explained
	}
	out := struct {
		Format   int           `json:"format"`
		Servers  []server      `json:"servers"`
		PD       *result.PD    `json:"pd,omitempty"`      // of prefill and decode servers
		Windows  []system      `json:"windows,omitempty"` // replaces pd if several windows were recorded
		Requests *waits.Result `json:"requests,omitempty"`
	}{Format: 1, Requests: requests}
	for _, x := range all {
		out.Servers = append(out.Servers, server{x.Name, x.Window, x.Role, x.URL, x.idle, report.Plain(x.report)})
	}
	for _, s := range systems {
		if s.PD = report.Plain(s.PD); s.Window == "" {
			out.PD = s.PD
		} else {
			out.Windows = append(out.Windows, s)
		}
	}
	return report.Indented(o.Out, out)
}
