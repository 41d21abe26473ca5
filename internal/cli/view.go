package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/httpguard"
	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/light"
	"github.com/stepscope/stepscope/internal/measure/system"
	"github.com/stepscope/stepscope/internal/reference/launch"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/internal/view"
)

// viewCmd is "view".
type viewCmd struct {
	Paths     []string `arg:"" optional:"" name:"path" help:"A directory of rank files or Nsight Systems reports, the files themselves, or a run (last); none: the list of runs."`
	ProfileID string   `name:"profile-id" placeholder:"ID" help:"Which window to read, if there are several (default: the newest)."`
	rangeFlags

	lightFlags
	Against string `placeholder:"DIR|RUN|FILE" help:"Another capture to compare with."`
	Browser bool   `help:"Open the address in the default browser."`

	Export     string `placeholder:"FILE" without:"against|url|prefill-url|decode-url|log: the page has the views of one capture; browser: the page is written, not served" help:"Write the views of the capture as one self-contained page, and exit; - for stdout."`
	ExportSize string `name:"export-size" placeholder:"BYTES" help:"Maximum size of that page; parts that do not fit are left out and listed (default: 1.2 times that of the capture's files, from 2.9 to 20 MB)."`

	UI         string `name:"ui" default:"https://ui.perfetto.dev" placeholder:"URL" help:"The Perfetto that the button of a capture opens (default: ${default})."`
	Host       string `name:"host" default:"127.0.0.1" help:"Address to listen on; beyond loopback --api-key is needed."`
	Port       int    `name:"port" limits:"0..65535" default:"0" help:"Port to listen on (default: any free one)."`
	APIKey     string `name:"api-key" env:"STEPSCOPE_API_KEY" placeholder:"KEY" help:"Key that a browser must send; the printed address includes it."`
	APIKeyFile string `name:"api-key-file" into:"api-key" placeholder:"FILE" help:"File that holds only that key."`

	liveFlags

	Rules string `placeholder:"FILE" help:"Your own kernel classes, tried first: lines of CLASS REGEXP."`
	Force bool   `help:"Continue even if the files cannot be ranks of one capture (exit status 3)."`

	memoryFlags
	runPlace

	limits   light.Options                                 // read from lightFlags
	browse   func(url string) error                        // opens an address; nil: browse
	perfetto func(*view.Capture, inputFlags) view.HandOver // nil: captures cannot be opened in Perfetto
}

// Help returns the end of the verb's help text.
func (c *viewCmd) Help() string {
	return `Prints an address on this machine and serves it until interrupted. Nothing is fetched from elsewhere, and only the
runs and the arguments given here are read.
On a server without a browser, forward the port: ssh -L PORT:127.0.0.1:PORT server

Examples:
  stepscope view /tmp/profile --browser
  stepscope view last
  stepscope view after/ --against before/
  stepscope view last --export capture.html
  stepscope view --url http://localhost:30000`
}

// Run serves the viewer, or writes the viewer's page to a file.
func (c *viewCmd) Run(ctx context.Context, e *env) error {
	page, err := c.page()
	if err != nil {
		return err
	}
	if err := perfettoAt(c.UI); err != nil {
		return err
	}
	if c.limits, err = c.light(); err != nil {
		return err
	}
	done, err := c.watch(e)
	if err != nil {
		return err
	}
	defer done()
	opt := view.Options{Version: release(), Say: e.Console}
	if opt.Root, err = c.root(); err != nil {
		e.Warn("%v: no runs are shown", err)
	}
	if page != nil {
		return c.export(ctx, e, page, opt)
	}
	ln, err := httpguard.Listen(c.Host, c.Port, c.APIKey, false)
	if errors.Is(err, httpguard.ErrNeedKey) {
		return usagef("--host %s is beyond loopback: give a key with --api-key-file, or leave --host out and connect through ssh -L", c.Host)
	}
	if err != nil {
		return err
	}
	defer ln.Close()
	log := launch.NewLog(e.stderr)
	opt.APIKey, opt.Log = c.APIKey, log.Structured(levelOf("warning"))
	if opt.Live, err = c.live(ctx, e, opt.Root); err != nil {
		return err
	}
	given := map[string]inputFlags{} // inputs that the user has named, by capture id
	opt.Open = func(ctx context.Context, id string) (*view.Capture, error) {
		of, _, _ := view.SplitID(id)
		if in, ok := given[of]; ok {
			return c.open(ctx, e, id, in)
		}
		dir, err := openable(opt.Root, of)
		if err != nil {
			return nil, err
		}
		return c.open(ctx, e, id, inputFlags{Paths: []string{dir}})
	}
	opt.Perfetto = true
	c.perfetto = func(capture *view.Capture, in inputFlags) view.HandOver {
		return newHandover(ctx, func(ctx context.Context) (http.Handler, func(), error) {
			return toPerfetto(ctx, e, capture, in, c.UI, opt.Log)
		})
	}
	if err := c.give(ctx, e, &opt, given); err != nil {
		return err
	}
	c.announce(e, ln.Addr(), &opt)
	return view.New(opt).Serve(ctx, ln)
}

// openable returns the directory of a run that a page may open. The id must be complete, so that no run is opened twice
// under different ids. The id must not be a path, and the directory must be among the runs and contain all files of the
// run.
func openable(root, id string) (string, error) {
	dir, err := runs.Find(root, id)
	if err != nil {
		return "", err
	}
	if whole := filepath.Base(dir); whole != id {
		return "", fmt.Errorf("%w: %q in %s: the whole id is %s", runs.ErrNotFound, id, root, whole)
	}
	run, err := runs.Open(root, dir)
	if err != nil {
		return "", err
	}
	return dir, run.Inside()
}

// give opens the inputs that the user has named, and records them by the ids of their captures.
func (c *viewCmd) give(ctx context.Context, e *env, opt *view.Options, named map[string]inputFlags) error {
	id := "0"
	if len(c.Paths) == 1 {
		run, err := runs.Named(opt.Root, c.Paths[0])
		if err != nil {
			return notFound(err)
		}
		if run.Loaded() {
			opt.Run, id = run, run.ID()
		}
	}
	if len(c.Paths) > 0 && (opt.Run == nil || len(opt.Run.Traces()) > 0) {
		named[id] = inputFlags{Paths: c.Paths, ProfileID: c.ProfileID}
		given, err := c.open(ctx, e, id, named[id])
		switch {
		case err == nil:
			opt.Given = append(opt.Given, given)
		case opt.Run == nil || ctx.Err() != nil || c.Export != "":
			return err
		default:
			e.Lack("%v: the load is shown without its window", err)
		}
	}
	if c.Against != "" {
		named["against"] = inputFlags{Paths: []string{c.Against}}
		other, err := c.open(ctx, e, "against", named["against"])
		if err != nil {
			return fmt.Errorf("--against: %w", err)
		}
		opt.Given = append(opt.Given, other)
	}
	return nil
}

// open reads and explains one capture. If there are several servers, it is the capture of the server that the id names,
// or else of the first server that can be shown.
func (c *viewCmd) open(ctx context.Context, e *env, id string, in inputFlags) (*view.Capture, error) {
	if c.Export != "" { // only one capture can be exported, so the user has to choose it
		if _, err := in.below(c.root); err != nil {
			return nil, err
		}
	}
	run, servers, err := in.servers(c.root)
	if err != nil {
		return nil, err
	}
	load := ""
	if run != nil && run.Loaded() {
		load = run.ID()
	}
	capture, err := c.ofServers(ctx, e, id, servers, in.ProfileID)
	if err == nil {
		capture.Load, capture.Run = load, run
		if run != nil {
			capture.Watched = viewWatched(run, "")
		}
	}
	return capture, err
}

// ofServers opens the capture of the server that an id names. If the id names no server, it opens the first capture
// that can be shown.
func (c *viewCmd) ofServers(ctx context.Context, e *env, id string, servers []system.Server, profileID string) (*view.Capture, error) {
	read := func(s *system.Server, id string) (*view.Capture, error) {
		capture, err := c.read(ctx, e, id, inputFlags{Paths: s.Paths, ProfileID: profileID})
		if err == nil {
			capture.Role = s.Role
		}
		return capture, err
	}
	if len(servers) == 1 {
		return read(&servers[0], id)
	}
	of, name, named := view.SplitID(id)
	var all []view.Beside
	for i := range servers {
		s := &servers[i]
		all = append(all, view.Beside{ID: of + ":" + s.Label(), Title: columns.Clean(s.Label()), Name: s.Label(), Role: s.Role})
	}
	for i := range servers {
		if named && all[i].Name != name {
			continue
		}
		capture, err := read(&servers[i], all[i].ID)
		switch {
		case err == nil:
			capture.Servers = all
			return capture, nil
		case named || ctx.Err() != nil:
			return nil, err
		}
		say := e.Lack
		if errors.Is(err, explain.ErrNothing) { // the server was idle, so no data are missing
			say = e.Warn
		}
		say("%s: %v", all[i].Title, err)
	}
	if named {
		return nil, fmt.Errorf("%w: %s has no server %q", runs.ErrNotFound, of, name)
	}
	return nil, fmt.Errorf("none of the %d servers' captures can be shown", len(servers))
}

// read reads and explains the capture in the given files.
func (c *viewCmd) read(ctx context.Context, e *env, id string, in inputFlags) (*view.Capture, error) {
	rules, err := (&displayFlags{Rules: c.Rules}).rules()
	if err != nil {
		return nil, err
	}
	input := in.files()
	if err := c.set(input); err != nil {
		return nil, err
	}
	read, err := input.Open(ctx, e.Console, "view")
	if err == nil {
		err = read.Set.NotAnInput(c.Export)
	}
	if err != nil {
		return nil, err
	}
	capture, err := view.NewCapture(id, read, rules, c.Force, c.limits)
	if err == nil && c.perfetto != nil {
		capture.Perfetto = c.perfetto(capture, in)
	}
	return capture, err
}

// announce prints the address to stdout and a description of the viewer's content to stderr. It opens a browser if
// --browser is given.
func (c *viewCmd) announce(e *env, at net.Addr, opt *view.Options) {
	address := url.URL{Scheme: "http", Host: at.String(), Path: "/"}
	if c.APIKey != "" {
		address.RawQuery = url.Values{"key": {c.APIKey}}.Encode()
	}
	fmt.Fprintln(e.stdout, address.String())
	e.Line("shows " + strings.Join(c.shows(opt), "; "))
	e.Line("serving until interrupted (Ctrl-C); press ? in the page for its keys")
	if !c.Browser {
		return
	}
	start := c.browse
	if start == nil {
		start = browse
	}
	if err := start(address.String()); err != nil {
		e.Warn("no browser could be started, open the address yourself: %v", err)
	}
}

// shows describes the content of the viewer.
func (c *viewCmd) shows(opt *view.Options) (out []string) {
	if opt.Run != nil {
		out = append(out, "the load of run "+opt.Run.ID())
	}
	for _, given := range opt.Given {
		text := fmt.Sprintf("the capture %s (ranks: %d, steps: %d)", given.Report.Source.ID, len(given.Report.Source.Ranks), len(given.Report.Steps))
		if n := len(given.Servers); n > 1 {
			text += fmt.Sprintf(" of %s, the first of %d servers", given.Title(), n)
		}
		out = append(out, text)
	}
	if servers := slices.Concat(c.URL, c.PrefillURL, c.DecodeURL, c.LogFile); len(servers) > 0 {
		out = append(out, "live "+strings.Join(servers, ", "))
	}
	if opt.Root != "" {
		out = append(out, "the runs in "+opt.Root)
	}
	return out
}
