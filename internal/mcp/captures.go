package mcp

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/explain/brief"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/window"
	"github.com/stepscope/stepscope/internal/explain/worth"
	"github.com/stepscope/stepscope/internal/measure/system"
	"github.com/stepscope/stepscope/internal/tracefile/check"
	"github.com/stepscope/stepscope/internal/tracefile/set"
)

type whatIfIn struct {
	Run    string   `json:"run" jsonschema:"id of a run, last, or a path"`
	Change []string `json:"change" jsonschema:"each [RANK.]PART=FACTOR, such as TP02.host=0, class:attention=0.8, collective=0.5, TP01.device=peers"`
}

// open reads the capture of a run or path. A run of several servers must be given by the directory of one server.
func (s *Server) open(ctx context.Context, ref string, said *warnings) (*window.Capture, error) {
	path, err := s.roots.find(ref)
	if err != nil {
		return nil, err
	}
	_, servers, paths, err := system.Find(s.roots.runs, path)
	if err != nil {
		return nil, err
	}
	if len(servers) > 1 {
		return nil, errSeveral(ref, servers)
	}
	in := window.Input{Paths: paths, Read: s.reading}
	return in.Open(ctx, &progress.Console{W: said}, "read")
}

// whatIf replays the steps with changes.
func (s *Server) whatIf(ctx context.Context, in whatIfIn) (reply, error) {
	var settings []worth.Setting
	for _, text := range in.Change {
		set, err := worth.ParseSetting(text)
		if err != nil {
			return nil, err
		}
		settings = append(settings, set)
	}
	if len(settings) == 0 {
		return nil, errors.New("give a change, such as TP02.host=0")
	}
	var said warnings
	c, err := s.open(ctx, in.Run, &said)
	if err != nil {
		return nil, err
	}
	r, err := c.Prepare(nil).WhatIf(c.Options(), settings)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := report.WhatIf(&b, r, wide); err != nil {
		return nil, err
	}
	out := &answer{}
	out.print(b.String())
	out.lines("Incomplete: ", said.lines)
	return out, nil
}

// wide are the options of texts for a model, which reads long lines without trouble.
var wide = report.Options{Width: 400, Top: 10}

// print appends a text that another package has formatted.
func (a *answer) print(text string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \n"); strings.Trim(line, "─ ") != "" { // no rules of tables
			a.line("%s", safeLine(line))
		}
	}
}

// lines appends lines with a prefix.
func (a *answer) lines(prefix string, lines []string) {
	for _, l := range lines {
		a.line("%s%s", prefix, l)
	}
}

// safeLine makes a sentence safe for one line.
func safeLine(text string) string { return brief.Cut(text, mostLine) }

type checkIn struct {
	Path string `json:"path" jsonschema:"a directory or file below a root, or a run"`
}

// check lists the contents and problems of a directory of traces.
func (s *Server) check(ctx context.Context, in checkIn) (reply, error) {
	path, err := s.roots.find(in.Path)
	if err != nil {
		return nil, err
	}
	_, _, paths, err := system.Find(s.roots.runs, path)
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		paths = []string{path}
	}
	var said warnings
	chosen, missing, err := set.Choose(&progress.Console{W: &said}, paths, "")
	if err != nil {
		return nil, errors.Join(err, said.err())
	}
	rep, err := check.Check(ctx, chosen, missing, silent().Meter("check", chosen.Bytes()))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := rep.Print(&b); err != nil {
		return nil, err
	}
	out := &answer{}
	out.fact("files", len(rep.Files))
	out.fact("incomplete", rep.Incomplete())
	out.print(b.String())
	out.lines("", said.lines)
	return out, nil
}
