package system

import (
	"fmt"
	"io"
	"slices"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/waits"
	"github.com/stepscope/stepscope/internal/runs"
)

// system is the joint result for prefill and decode servers in one window.
type system struct {
	Window string     `json:"window"` // "": only one window
	PD     *result.PD `json:"pd"`
}

// systems calls together for each window.
func (o *Options) systems(all []*explained) (out []system, err error) {
	of := map[string][]*explained{}
	var windows []string
	for _, x := range all {
		if of[x.Window] == nil {
			windows = append(windows, x.Window)
		}
		of[x.Window] = append(of[x.Window], x)
	}
	for _, w := range windows {
		servers := of[w]
		if len(windows) == 1 {
			w = ""
		}
		pd, err := o.together(servers, w)
		if err != nil {
			return nil, err
		}
		if pd != nil {
			out = append(out, system{w, pd})
		}
	}
	return out, nil
}

// together explains prefill and decode servers as one system and prints the result. Unless the servers are prefill and
// decode servers, it returns nil. The argument window identifies one of several windows; "": there is only one window.
func (o *Options) together(all []*explained, window string) (*result.PD, error) {
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
		o.Say.Lack("prefill and decode servers cannot be compared: %v", err)
		return nil, nil
	}
	page := o.HTML
	if page != "" && window != "" {
		page = Beside(page, window)
	}
	if err := o.page(page, func(w io.Writer) error { return report.PDHTML(w, pd, o.pages(all)) }); err != nil {
		return pd, err
	}
	mark, show, text := "", report.PDText, columns.Clean
	switch o.Form {
	case JSON:
		return pd, nil
	case Markdown:
		mark, show, text = "# ", report.PDMarkdown, report.EscapeMarkdown
	}
	if window != "" {
		fmt.Fprintf(o.Out, "%s%s\n\n", mark, text(window))
	}
	err = show(o.Out, pd, o.Show)
	fmt.Fprintln(o.Out)
	return pd, err
}

// requests returns the reasons why the slow requests of a run waited. If the reasons cannot be determined, requests
// reports this and returns nil.
func (o *Options) requests(run *runs.Run, all []*explained) *waits.Result {
	load, err := run.Load(o.Say)
	if err != nil {
		o.Say.Lack("the causes for which requests waited are unknown: %v", err)
		return nil
	}
	r, err := o.waited(load.Runs, all, run.Manifest().Machine.Host)
	if err != nil {
		o.Say.Lack("the causes for which requests waited are unknown: %v", err)
	}
	return r
}

// waited explains the waits of the runs of a client on the given host.
func (o *Options) waited(load []bench.Measured, all []*explained, host string) (*waits.Result, error) {
	var servers []*waits.Server
	var late []waits.Late
	for _, x := range all {
		name := x.Name
		if len(all) == 1 {
			name = "" // the only server needs no name
		}
		if x.served != nil {
			x.served.Rename(name)
			servers = append(servers, x.served)
		}
		for _, l := range x.late {
			late = append(late, l.Of(name))
		}
	}
	return waits.Analyze(load, servers, waits.Options{Host: host, Late: late})
}
