package view

import (
	"net/http"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/runs"
)

// runRow is a run in the list of runs, with the views that are available for the run.
type runRow struct {
	ID      string        `json:"id"`
	Kind    string        `json:"kind"`
	Status  runs.Status   `json:"status"`
	Created int64         `json:"created_ms"` // ms since the epoch
	Tags    []string      `json:"tags"`
	Model   string        `json:"model"`
	Backend string        `json:"backend"`
	Numbers []runs.Number `json:"numbers"`
	Size    int64         `json:"size"`
	Problem string        `json:"problem"`
	Traces  bool          `json:"traces"`
	Load    bool          `json:"load"`
}

// list returns the runs, newest first.
func (s *Server) list(*http.Request) (any, error) {
	out := struct {
		Runs []runRow `json:"runs"`
	}{[]runRow{}}
	if s.Root == "" {
		return out, nil
	}
	entries, err := runs.List(s.Root)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		e := &entries[i]
		row := runRow{
			ID: e.ID, Kind: columns.Clean(e.Kind), Status: e.Status, Created: e.Created.UnixMilli(), Tags: []string{}, Model: columns.Clean(e.Model),
			Backend: columns.Clean(e.Backend), Numbers: []runs.Number{}, Size: e.Size, Problem: columns.Clean(e.Problem), Traces: e.Traces > 0, Load: e.Load,
		}
		for _, tag := range e.Tags {
			row.Tags = append(row.Tags, columns.Clean(tag))
		}
		for _, n := range e.Numbers {
			n.Name, n.Unit = columns.Clean(n.Name), columns.Clean(n.Unit)
			row.Numbers = append(row.Numbers, n)
		}
		out.Runs = append(out.Runs, row)
	}
	return out, nil
}
