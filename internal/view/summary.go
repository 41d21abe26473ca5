package view

import (
	"net/http"

	"github.com/stepscope/stepscope/internal/explain/report"
)

// Summary is the start page of a capture.
type Summary struct {
	*report.Overview
	Watched []Watched `json:"watched"` // verdicts of the watch that recorded the window
}

func summaryOf(c *Capture, _ *http.Request) (any, error) {
	out := &Summary{Overview: c.overview(), Watched: []Watched{}}
	for _, w := range c.Watched {
		w.More = append([]string{}, w.More...)
		out.Watched = append(out.Watched, w)
	}
	return out, nil
}
