package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/capture/nsys"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/runs"
)

// nsysWindow has the flags that the verbs start and stop share.
type nsysWindow struct {
	Ref    string `arg:"" optional:"" name:"session" help:"Name or id of a session, a run's id or last, or the pid of the program or of nsys. Not needed if there is only one session."`
	Output string `short:"o" placeholder:"NAME" help:"Where to put the report, with nsys' %h, %p, %q{VARIABLE} (default: the name in the run, with -window-N)."`
	JSON   bool   `name:"json" needs:"duration|steps: it describes the report" help:"Print as JSON."`
	nsysTool
	runPlace
}

// find returns the session and the path to which the session's report is written.
func (c *nsysWindow) find(ctx context.Context, overwrite bool) (s *nsys.ExternalSession, output string, err error) {
	root, err := c.root()
	if err != nil {
		return nil, "", err
	}
	if c.Output != "" {
		if output, err = reportPath(c.Output); err != nil {
			return nil, "", err
		}
		if _, err := os.Stat(output); err == nil && !overwrite {
			return nil, "", fmt.Errorf("%s exists already: give another -o, or --force-overwrite", output)
		}
	}
	s, err = nsys.FindSession(ctx, root, c.Nsys, c.Ref)
	return s, output, err
}

// stop closes the window and prints its report.
func (c *nsysWindow) stop(ctx context.Context, e *env, s *nsys.ExternalSession, output string) error {
	// Stop must not be cancelled, however long it takes: a window that is being closed cannot be abandoned.
	w, err := s.Stop(context.WithoutCancel(ctx), output, reportPatience)
	if errors.Is(err, nsys.ErrNoReport) {
		e.Warn("session %s no longer waits for ranges; %v", s.Session.Name, err)
		e.Incomplete()
		return nil
	}
	if err != nil {
		if w == nil || w.Report == "" {
			return err
		}
		e.Warn("%v", err)
		e.Incomplete()
	}
	if c.JSON {
		return e.printJSON(s.Closed(w))
	}
	took := ""
	if !w.Opened.IsZero() {
		took = fmt.Sprintf(", %s from start to report", metric.Duration(w.Closed.Sub(w.Opened).Nanoseconds()))
	}
	_, err = fmt.Fprintf(e.stdout, "%s\n  %s%s; explain it with: stepscope analyze %s\n", w.Report, metric.Bytes(w.Size), took, runs.CommandLine([]string{w.Report}))
	return err
}

type nsysStartCmd struct {
	nsysWindow
	Duration   seconds  `placeholder:"TIME" help:"Close the window after this time: 5 or 5s."`
	Steps      int      `placeholder:"N" without:"duration: a window has one length" limits:"0.." help:"Close it when the server at --url has run this many forward steps."`
	URL        string   `name:"url" default:"http://localhost:30000" placeholder:"URL" help:"The server whose steps are counted."`
	APIKey     string   `name:"api-key" env:"STEPSCOPE_API_KEY" placeholder:"KEY" help:"Key sent to it as a bearer token."`
	APIKeyFile string   `name:"api-key-file" into:"api-key" placeholder:"FILE" help:"File that holds only the server's key, for --api-key."`
	Timeout    seconds  `default:"5m" help:"Close a window of --steps after this time at the latest."`
	Overwrite  bool     `name:"force-overwrite" help:"Replace an existing report."`
	NsysArg    []string `name:"nsys-arg" sep:"none" placeholder:"--OPTION=VALUE" help:"Any other option of nsys start, which may also be given directly."`
}

// Help returns the end of the verb's help text.
func (c *nsysStartCmd) Help() string {
	return `Without --duration and --steps, the window stays open until stepscope nsys stop. The program continues either way.

Examples:
  stepscope nsys start --duration 5s
  stepscope nsys start last --steps 20 --url http://localhost:30000
  stepscope nsys start python3-a1b2 -o before
  stepscope nsys start 12345 --duration 500ms --gpu-metrics-devices=all`
}

// Run opens a window.
func (c *nsysStartCmd) Run(ctx context.Context, e *env) error {
	for _, a := range c.NsysArg {
		if !strings.HasPrefix(a, "--") || !strings.Contains(a, "=") {
			return usagef("option of nsys start %q: write it as --OPTION=VALUE", a)
		}
	}
	var count *torch.Counter
	if c.Steps > 0 {
		server, err := client.New(c.URL, client.KeyHeader(c.APIKey))
		if err != nil {
			return usageError{err}
		}
		if count, err = torch.Count(ctx, torch.Target{URL: server.URL, Header: server.Header}, torch.Options{}); err != nil {
			return fmt.Errorf("%w; --duration needs none", err)
		}
	}
	s, output, err := c.find(ctx, c.Overwrite)
	if err != nil {
		return err
	}
	if c.NsysArg, err = s.Tool.StartOptions(ctx, c.NsysArg); err != nil {
		return usageError{err}
	}
	first := s.Session.State == "DelayedCollection"
	w, err := s.Start(ctx, output, c.NsysArg)
	if err != nil {
		return err
	}
	e.Warn("session %s is collecting", s.Session.Name)
	if c.Steps == 0 && c.Duration == 0 {
		where := w.Output
		if first && s.Record == nil {
			where = "the -o of nsys profile (nsys ignores the one given here for its first window); stop -o NAME moves it"
		}
		e.Warn("its report will be %s", where)
		_, err := fmt.Fprintf(e.stdout, "close it with: stepscope nsys stop %s\n", s.Session.Name)
		return err
	}
	waitErr := c.wait(ctx, e, count)
	s.Session.State = "Collection"
	err = c.stop(ctx, e, s, w.Output)
	return errors.Join(waitErr, err)
}

// wait waits until the window has to be closed.
func (c *nsysStartCmd) wait(ctx context.Context, e *env, count *torch.Counter) error {
	if count == nil {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Duration(c.Duration)):
			return nil
		}
	}
	made, err := count.Wait(ctx, float64(c.Steps), time.Duration(c.Timeout))
	switch {
	case err != nil:
		return err
	case made < float64(c.Steps):
		e.Lack("the server did not make %d steps in %v: is there load? The window is closed", c.Steps, time.Duration(c.Timeout))
	default:
		e.Warn("the server has made %.0f steps", made)
	}
	return nil
}

type nsysStopCmd struct {
	nsysWindow
}

// Help returns the end of the verb's help text.
func (c *nsysStopCmd) Help() string {
	return `Returns when the report is made, which takes nsys minutes for large ones. The program continues.

Examples:
  stepscope nsys stop
  stepscope nsys stop last -o after
  stepscope nsys stop 12345 --json`
}

// Run closes a window.
func (c *nsysStopCmd) Run(ctx context.Context, e *env) error {
	s, output, err := c.find(ctx, false)
	if err != nil {
		return err
	}
	return c.stop(ctx, e, s, output)
}
