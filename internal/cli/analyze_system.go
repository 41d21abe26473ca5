package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/waits"
	"github.com/stepscope/stepscope/internal/runs"
)

// pageOf is the file of the page of one of n servers: beside --html where they are
// several.
func (c *analyzeCmd) pageOf(s *recorded, n int) string {
	if c.HTML == "" || n == 1 {
		return c.HTML
	}
	if s.Window != "" && s.Window != s.Name {
		return beside(c.HTML, s.Window+"-"+s.Name)
	}
	return beside(c.HTML, s.Name)
}

// beside is a file of a like name: all.html gives all-NAME.html.
func beside(path, name string) string {
	ext := filepath.Ext(path)
	return strings.TrimSuffix(path, ext) + "-" + name + ext
}

// systemOf is what one window tells of prefill and decode servers.
type systemOf struct {
	Window string     `json:"window"`
	PD     *result.PD `json:"pd"`
}

// systems is together for each window of several.
func (c *analyzeCmd) systems(e *env, all []explained) (out []systemOf, err error) {
	of := map[string][]explained{}
	var windows []string
	for _, x := range all {
		if of[x.Window] == nil {
			windows = append(windows, x.Window)
		}
		of[x.Window] = append(of[x.Window], x)
	}
	if len(windows) == 1 {
		pd, err := c.together(e, all, "")
		return []systemOf{{PD: pd}}, err
	}
	for _, w := range windows {
		pd, err := c.together(e, of[w], w)
		if err != nil {
			return nil, err
		}
		if pd != nil {
			out = append(out, systemOf{w, pd})
		}
	}
	return out, nil
}

// together explains prefill and decode servers as one system, and prints that; nil
// where they are no such. window tells it from others; "": there are none.
func (c *analyzeCmd) together(e *env, all []explained, window string) (*result.PD, error) {
	var sides [2][]*explain.Server
	for _, x := range all {
		if i := slices.Index([]string{api.Prefill, api.Decode}, x.Role); i >= 0 && x.side != nil {
			sides[i] = append(sides[i], x.side)
		}
	}
	if len(sides[0]) == 0 || len(sides[1]) == 0 {
		return nil, nil
	}
	pd, err := explain.PrefillDecode(sides[0], sides[1])
	if err != nil {
		e.Warn("prefill and decode servers cannot be compared: %v", err)
		e.Incomplete()
		return nil, nil
	}
	page := c.HTML
	if page != "" && window != "" {
		page = beside(page, window)
	}
	if page != "" {
		var pages []report.PDPage
		for _, x := range all {
			if x.report != nil {
				pages = append(pages, report.PDPage{Name: x.title(), File: filepath.Base(c.pageOf(&x.recorded, len(all)))})
			}
		}
		if err := c.page(e, page, func(w io.Writer) error { return report.PDHTML(w, pd, pages) }); err != nil {
			return pd, err
		}
	}
	opt := report.Options{Top: c.Top, All: c.All}
	switch {
	case c.JSON:
		return pd, nil
	case c.Markdown:
		fmt.Fprintln(e.stdout)
		if window != "" {
			fmt.Fprintf(e.stdout, "# %s\n\n", window)
		}
		return pd, report.PDMarkdown(e.stdout, pd, opt)
	}
	opt.Width, opt.Color = e.screen()
	fmt.Fprintln(e.stdout)
	if window != "" {
		fmt.Fprintf(e.stdout, "%s\n\n", window)
	}
	return pd, report.PDText(e.stdout, pd, opt)
}

// servers is Run for a run of several.
func (c *analyzeCmd) servers(ctx context.Context, e *env, rules *kernel.Rules, run *runs.Run, servers []recorded) error {
	if c.HTML == "-" {
		return usagef("--html -: there are %d servers, each with a page: give a file, from whose name theirs are made", len(servers))
	}
	all, err := c.each(ctx, e, rules, servers, run != nil && !c.Markdown)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(x explained) bool { return x.report != nil }) {
		return errors.New("no server's traces could be explained")
	}
	systems, err := c.systems(e, all)
	if err != nil {
		return err
	}
	var joined *waits.Result
	if run != nil && !c.Markdown {
		if joined, err = e.joinServers(run, all); err != nil {
			e.Warn("what the requests waited for is not known: %v", err)
			e.Incomplete()
		}
	}
	switch {
	case c.JSON:
		return c.serversJSON(e, all, systems, joined)
	case joined != nil:
		return e.showJoin(joined, c.rows())
	}
	return nil
}

// joinServers is join for several servers.
func (e *env) joinServers(run *runs.Run, all []explained) (*waits.Result, error) {
	var servers []*waits.Server
	var late []waits.Late
	for _, x := range all {
		if x.served != nil {
			servers = append(servers, x.served)
		}
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
func jsonOf(r *result.Report) (json.RawMessage, error) {
	if r == nil {
		return nil, nil
	}
	var b bytes.Buffer
	err := report.JSON(&b, r)
	return b.Bytes(), err
}

func (c *analyzeCmd) serversJSON(e *env, all []explained, systems []systemOf, joined *waits.Result) error {
	type server struct {
		Name   string          `json:"name"`
		Window string          `json:"window,omitempty"`
		Role   string          `json:"role"`
		URL    string          `json:"url"`
		Idle   bool            `json:"idle"`   // it had nothing to do
		Report json.RawMessage `json:"report"` // null: it was idle, or could not be explained
	}
	out := struct {
		Format   int           `json:"format"`
		Servers  []server      `json:"servers"`
		PD       *result.PD    `json:"pd,omitempty"`      // of prefill and decode servers
		Windows  []systemOf    `json:"windows,omitempty"` // instead, where they were recorded several times
		Requests *waits.Result `json:"requests,omitempty"`
	}{Format: 1, Requests: joined}
	for _, x := range all {
		r, err := jsonOf(x.report)
		if err != nil {
			return err
		}
		out.Servers = append(out.Servers, server{x.Name, x.Window, x.Role, x.URL, x.idle, r})
	}
	for _, s := range systems {
		if s.PD == nil {
			continue
		}
		plain := report.PlainPD(s.PD)
		if s.PD = &plain; s.Window == "" {
			out.PD = s.PD
		} else {
			out.Windows = append(out.Windows, s)
		}
	}
	return e.printJSON(out)
}
