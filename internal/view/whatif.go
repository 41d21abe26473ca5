package view

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/worth"
)

// WhatIf holds the step times predicted with some settings; see result.WhatIf.
type WhatIf struct {
	Known       bool            `json:"known"`
	Why         string          `json:"why"` // reason that there is no prediction
	Off         float64         `json:"off_median"`
	OffP90      float64         `json:"off_p90"`
	Unexplained float64         `json:"unexplained"`
	Parts       []whatIfPart    `json:"parts"`
	Rows        []whatIfRow     `json:"rows"`
	Lengths     []whatIfLengths `json:"lengths"`
	Command     string          `json:"command"` // the equivalent command; "": there are no settings
}

// whatIfPart is a part of a step that settings can change.
type whatIfPart struct {
	ID    string  `json:"id"` // name in settings
	Share float64 `json:"share"`
	Peers bool    `json:"peers"` // one rank can be set to match the others
}

type whatIfRow struct {
	Ranks []int  `json:"ranks"`
	Kind  string `json:"kind"`
	result.Worth
}

type whatIfLengths struct {
	Ranks []int   `json:"ranks"`
	Steps []int   `json:"steps"` // steps that were compared
	Was   []int64 `json:"was"`
	Would []int64 `json:"would"`
	Ends  []int64 `json:"end_ns"` // recorded end of each step, relative to the capture's origin
}

// whatIf answers a request for a prediction. Each parameter "set" is a setting in the syntax of whatif --set.
func (s *Server) whatIf(c *Capture, r *http.Request) (any, error) {
	if err := r.ParseForm(); err != nil {
		return nil, bad("%v", err)
	}
	return c.WhatIf(r.Form["set"])
}

// mostSettings limits the work of one request.
const mostSettings = 50

// WhatIf replays the steps of the capture with settings.
func (c *Capture) WhatIf(texts []string) (*WhatIf, error) {
	if len(texts) > mostSettings {
		return nil, bad("%d settings: give at most %d", len(texts), mostSettings)
	}
	var settings []worth.Setting
	for _, text := range texts {
		set, err := worth.ParseSetting(text)
		if err != nil {
			return nil, bad("%v", err)
		}
		settings = append(settings, set)
	}
	c.again.Lock()
	defer c.again.Unlock()
	w, err := c.worth.WhatIf(c.Report, settings)
	if err != nil {
		return nil, bad("%v", err)
	}
	out := &WhatIf{
		Known: w.Replay.Known, Why: columns.Clean(report.Words(w.Replay.Why)), Off: w.Replay.Off, OffP90: w.Replay.OffP90, Unexplained: w.Replay.Unexplained,
		Parts: c.parts(), Rows: []whatIfRow{}, Lengths: []whatIfLengths{},
	}
	for _, row := range w.Rows {
		if row.Finding != "" { // the page shows the whole window
			continue
		}
		out.Rows = append(out.Rows, whatIfRow{row.Ranks, row.Kind, row.Worth})
	}
	for _, l := range w.Lengths {
		x := whatIfLengths{Ranks: l.Ranks, Steps: []int{}, Was: []int64{}, Would: []int64{}, Ends: []int64{}}
		for step, was := range l.Was {
			if was > 0 && l.Would[step] > 0 {
				x.Steps, x.Was, x.Would = append(x.Steps, step), append(x.Was, was), append(x.Would, l.Would[step])
				x.Ends = append(x.Ends, l.Ends[step]-c.Report.Source.StartNS)
			}
		}
		out.Lengths = append(out.Lengths, x)
	}
	if out.Command = report.Command(&c.Report.Source, "whatif"); len(texts) == 0 {
		out.Command = ""
	} else if out.Command != "" {
		for _, text := range texts {
			out.Command += " --set " + columns.ShellWord(columns.Clean(text))
		}
	}
	return out, nil
}

// fix has the settings that remove the cause of a finding.
type fix struct {
	Finding string   `json:"finding"` // title of the finding
	Set     []string `json:"set"`
}

// fixes returns the settings of the findings that have a position in the replay, each once.
func (c *Capture) fixes() []fix {
	out := []fix{}
	for i := range c.Report.Findings {
		f := &c.Report.Findings[i]
		set := f.Settings()
		if len(set) > 0 && !slices.ContainsFunc(out, func(x fix) bool { return slices.Equal(x.Set, set) }) {
			out = append(out, fix{columns.Clean(report.Words(f.Title)), set})
		}
	}
	return out
}

// parts returns the parts for which the page offers sliders: the parts of the critical path, each with its share, and
// the classes of kernels that ran.
func (c *Capture) parts() (parts []whatIfPart) {
	share := func(causes ...string) (sum float64) {
		for _, row := range c.Report.Path.Rows {
			if slices.Contains(causes, row.Cause) {
				sum += row.Share
			}
		}
		return sum
	}
	parts = []whatIfPart{
		{"host", share(result.PathHost, result.PathReturn), true},
		{"device", share(result.PathWork), true},
		{"collective", share(result.PathTransfer), true},
		{"gap", share(result.PathGap), false},
	}
	if len(c.Report.Source.Ranks) > 1 {
		parts = append(parts, whatIfPart{"work", 0, true}) // takes no factor
	}
	var seen []string
	for _, r := range c.Aligned.Ranks {
		for i := range r.Ops {
			if name := r.Ops[i].Class.String(); !slices.Contains(seen, name) {
				seen = append(seen, name)
			}
		}
	}
	slices.Sort(seen)
	for _, name := range seen {
		of := 0.0
		for _, row := range c.Report.Path.Rows {
			if row.Class == name && (row.Cause == result.PathWork || row.Cause == result.PathTransfer) {
				of += row.Share
			}
		}
		parts = append(parts, whatIfPart{fmt.Sprintf("class:%s", name), of, false})
	}
	return parts
}
