package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/trace"
)

type runsShowCmd struct {
	Ref  string `arg:"" name:"run" help:"Id, a start or the last part of it, \"last\", or the path of a run directory."`
	JSON bool   `name:"json" help:"Print as JSON."`
	runPlace
}

// Help is the end of the verb's help text.
func (c *runsShowCmd) Help() string {
	return `Exits with 3 when the run is broken or files of it are missing.

Examples:
  stepscope runs show last
  stepscope runs show a1b2 --json`
}

// Run shows.
func (c *runsShowCmd) Run(e *env) error {
	root, err := c.root()
	if err != nil {
		return err
	}
	run, err := runs.Open(root, c.Ref)
	if err != nil {
		return notFound(err)
	}
	files, err := run.OnDisk()
	if err != nil {
		e.Warn("%v", err)
		e.Incomplete()
	}
	if run.Status() == runs.Broken || slices.ContainsFunc(files, func(f runs.Found) bool { return f.Missing && !f.Derived() }) {
		e.Incomplete()
	}
	var summary json.RawMessage
	if err := run.ReadJSON(runs.KindSummary, &summary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		e.Warn("%v", err)
		e.Incomplete()
	}
	var batches []bench.Batch
	if run.Batched() {
		kept, err := run.Measured(e.Console)
		if err != nil {
			e.Warn("%v", err)
			e.Incomplete()
		}
		batches = kept.Batches
	}
	m := run.Manifest()
	if c.JSON {
		return e.printJSON(struct {
			Format   int             `json:"format"`
			ID       string          `json:"id"`
			Dir      string          `json:"dir"`
			Status   runs.Status     `json:"status"`
			Manifest runs.Manifest   `json:"manifest"`
			Files    []runs.Found    `json:"files"`
			Summary  json.RawMessage `json:"summary,omitempty"`
			Batches  []bench.Batch   `json:"batches,omitempty"`
		}{1, run.ID(), run.Dir(), run.Status(), m, append([]runs.Found{}, files...), summary, batches})
	}
	if err := columns.Left(e.stdout, facts(run, &m)); err != nil {
		return err
	}
	if err := columns.Section(e.stdout, "Key numbers", nil, numberRows(m.Numbers)); err != nil {
		return err
	}
	if err := columns.Section(e.stdout, "Summary", nil, scalars(summary)); err != nil {
		return err
	}
	title, head, rows := batchRows(batches)
	if err := columns.Section(e.stdout, title, head, rows); err != nil {
		return err
	}
	return columns.Section(e.stdout, "Files", []string{"FILE", "KIND", "RANK", "SIZE", ""}, fileRows(files))
}

// facts are what a run says of itself, a line each.
func facts(run *runs.Run, m *runs.Manifest) (rows [][]string) {
	fact := func(name, value string) {
		if value != "" {
			rows = append(rows, []string{name, value})
		}
	}
	status := string(run.Status())
	switch {
	case m.Error != "":
		status += ": " + m.Error
	case run.Status() == runs.Broken:
		status += ": its process ended before the run did; what it wrote until then is there"
	}
	fact("run", run.ID())
	fact("status", status)
	fact("when", when(m.Created))
	if !m.Ended.IsZero() && m.Kind != "profile" { // a window is kept when it has closed
		fact("took", metric.Duration(m.Ended.Sub(m.Created).Nanoseconds()))
	}
	fact("what", m.Tool)
	if len(m.Args) > 0 {
		fact("command", "stepscope "+shellLine(m.Args))
	}
	fact("tags", strings.Join(m.Tags, ", "))
	fact("model", m.Model)
	fact("backend", m.Backend)
	fact("url", m.URL)
	fact("machine", fmt.Sprintf("%s, %s/%s, %d CPUs", m.Machine.Host, m.Machine.OS, m.Machine.Arch, m.Machine.CPUs))
	for _, n := range m.Notes {
		fact("note", n)
	}
	fact("directory", run.Dir())
	return rows
}

func numberRows(numbers []runs.Number) (rows [][]string) {
	for _, n := range numbers {
		rows = append(rows, []string{n.Name, figure(n)})
	}
	return rows
}

// batchRows are the batches of a run, a line each, with the figures that any has.
func batchRows(batches []bench.Batch) (title string, head []string, rows [][]string) {
	var names []string
	for _, b := range batches {
		for _, f := range b.Figures {
			if !slices.Contains(names, f.Metric) {
				names = append(names, f.Metric)
			}
		}
	}
	head = []string{"BATCH"}
	for _, n := range names {
		head = append(head, strings.ToUpper(strings.ReplaceAll(n, "_", " ")))
	}
	for _, b := range batches {
		row := []string{b.Size()}
		for _, n := range names {
			text := "-"
			if f, ok := b.Figure(n); ok {
				if text = figure(runs.Number{Value: f.Value}); f.Unit == bench.NS {
					text = metric.Duration(f.Value)
				}
			}
			row = append(row, text)
		}
		if b.Profiled {
			row = append(row, "recorded meanwhile")
		}
		rows = append(rows, row)
	}
	return "Batches (sequences × prompt + output tokens; throughputs a second)", head, rows
}

func fileRows(files []runs.Found) (rows [][]string) {
	for _, f := range files {
		rank, state := "", ""
		if f.Rank != nil {
			rank = trace.Rank(*f.Rank).String()
		}
		switch {
		case f.Missing && f.Derived():
			state = "deleted, can be computed again"
		case f.Missing:
			state = "MISSING"
		case f.Unlisted:
			state = "not in the manifest"
		}
		rows = append(rows, []string{f.Path, string(f.Kind), strings.Join(strings.Fields(rank+" "+f.Role+" "+f.Stage), " "), metric.Bytes(f.Size), state})
	}
	return rows
}

// scalars are the plain members of a JSON object, in its order.
func scalars(text []byte) (rows [][]string) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return rows
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return rows
		}
		var s string
		switch {
		case value[0] == '{' || value[0] == '[' || string(value) == "null":
			continue
		case json.Unmarshal(value, &s) != nil:
			s = string(value)
		}
		rows = append(rows, []string{fmt.Sprint(key), s})
	}
	return rows
}

// shellLine is a command line that a shell takes back.
func shellLine(args []string) string {
	quoted := slices.Clone(args)
	for i, a := range quoted {
		if a == "" || strings.ContainsFunc(a, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:=,@%+", r)
		}) {
			quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
