// Package servertest holds a row of the table of servers against a server, or against recorded replies of one.
package servertest

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/api/servers"
)

// Evidence is a server and what it wrote.
type Evidence struct {
	URL     string
	Log     string            // lines of its log; "": not recorded
	Loads   []string          // titles of the log lines about the load
	Missing map[string]string // metrics that the server lacks, with the reason
}

// Conform checks a row against a server: its kind is recognised, it has the row's metrics, and its log lines parse.
func Conform(t *testing.T, row *servers.Row, e Evidence) {
	t.Helper()
	Consistent(t, row)
	f, err := servers.Identify(t.Context(), func(ctx context.Context, route string) (*client.Reply, error) {
		status, body := get(ctx, t, e.URL+route)
		return &client.Reply{Status: status, Body: body}, nil
	})
	if err != nil || f.Kind != row.Kind {
		t.Errorf("identified as %s (%v), want %s", f.Kind, err, row.Kind)
	}
	if status, body := get(t.Context(), t, e.URL+"/metrics"); row.Prefix != "" {
		if status != http.StatusOK {
			t.Fatalf("/metrics: status %d", status)
		}
		metrics(t, row, string(body), e.Missing)
	}
	if e.Log != "" {
		lines(t, row, e)
	}
}

func get(ctx context.Context, t *testing.T, url string) (status int, body []byte) {
	t.Helper()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if body, err = io.ReadAll(r.Body); err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, body
}

func metrics(t *testing.T, row *servers.Row, text string, missing map[string]string) {
	t.Helper()
	var have []client.Metric
	for m := range client.Metrics(text) {
		have = append(have, m)
	}
	has := func(name string, label [2]string) bool {
		return slices.ContainsFunc(have, func(m client.Metric) bool {
			return m.Name == row.Prefix+":"+name && (label[0] == "" || m.Label(label[0]) == label[1])
		})
	}
	for _, m := range row.Metrics {
		switch _, absent := missing[m.Name]; {
		case m.Former:
		case absent && has(m.Name, m.Only):
			t.Errorf("%s is listed as missing, but the server has it", m.Name)
		case !absent && !has(m.Name, m.Only):
			t.Errorf("the server has no %s %v", m.Name, m.Only)
		}
	}
	for latency, names := range row.Latency {
		if !slices.ContainsFunc(names, func(name string) bool { return has(name+"_bucket", [2]string{"le", "+Inf"}) }) {
			t.Errorf("the server has no histogram of %s: %v", latency, names)
		}
	}
}

func lines(t *testing.T, row *servers.Row, e Evidence) {
	t.Helper()
	loads := 0
	for text := range strings.Lines(e.Log) {
		about := slices.ContainsFunc(e.Loads, func(title string) bool { return strings.Contains(text, title) })
		l, ok := servers.ParseLine(text)
		if ok != about {
			t.Errorf("about the load: %v, want %v: %s", ok, about, text)
		}
		if !about || !ok {
			continue
		}
		loads++
		if own, ok := row.Line(strings.TrimSpace(text)); !ok || own.At != l.At {
			t.Errorf("another row parses %s", text)
		}
		count := func(v float64) bool { return v >= 0 && v == math.Trunc(v) }
		if l.At.IsZero() || !count(l.Running) || !count(l.Queued) || !(l.Usage >= 0 && l.Usage <= 1) || l.Rate < 0 || l.New < 0 {
			t.Errorf("%+v from %s", l, text)
		}
	}
	if loads == 0 {
		t.Error("the log has no line about the load")
	}
}

// Consistent checks a row without a server.
func Consistent(t *testing.T, row *servers.Row) {
	t.Helper()
	refused := &client.Refused{Status: http.StatusNotFound}
	for what, ok := range map[string]bool{
		"a probe has a route and a prompt":                     strings.HasPrefix(row.Probe.Route, "/") && row.Probe.Prompt != "",
		"a probe of OpenAI's API names the model":              row.Probe.Model == strings.HasPrefix(row.Probe.Route, "/v1/"),
		"a probe ends after a few tokens":                      row.Probe.Body["max_tokens"] != nil || row.Probe.Body["sampling_params"] != nil,
		"routes that flush begin with a slash":                 !slices.ContainsFunc(row.Flush, func(r string) bool { return !strings.HasPrefix(r, "/") }),
		"advice on the flush comes with a route":               row.Advice.Flush == "" || len(row.Flush) > 0,
		"a missing route of the flush is answered with advice": (row.FlushError(refused) == error(refused)) == (row.Advice.Flush == ""),
		"metrics have a prefix, latencies and advice":          (row.Prefix != "") == (row.Metrics != nil && row.Latency != nil && row.Advice.Metrics != ""),
		"own directories are set when a profiler is":           !row.Profile.OwnDir || row.Advice.Profiler != "",
		"listed files come with the end of the window":         !row.Profile.Files || row.Profile.Ends,
		"a step has a length":                                  row.Profile.Step > 0,
		"the row is found by its kind":                         row.Kind.Row() == row,
		"quick routes have the count of steps":                 !row.Quick || row.Forwards,
		"other errors of the flush stay as they are":           errors.Is(row.FlushError(io.EOF), io.EOF),
	} {
		if !ok {
			t.Errorf("%s: %q does not hold", row.Kind, what)
		}
	}
}
