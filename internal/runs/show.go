package runs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"unicode"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/trace"
)

// Shown is the complete description of a run. It is printed as text or as JSON.
type Shown struct {
	Format   int             `json:"format"`
	ID       string          `json:"id"`
	Dir      string          `json:"dir"`
	Status   Status          `json:"status"`
	Manifest Manifest        `json:"manifest"`
	Files    []Found         `json:"files"`
	Summary  json.RawMessage `json:"summary,omitempty"`
	Batches  []bench.Batch   `json:"batches,omitempty"`
}

// Show collects the description of the run. The description also mentions missing and broken parts.
func (r *Run) Show(say *progress.Console) *Shown {
	s := &Shown{Format: 1, ID: r.ID(), Dir: r.Dir(), Status: r.Status(), Manifest: r.Manifest(), Files: []Found{}}
	files, err := r.OnDisk()
	if err != nil {
		say.Lack("%v", err)
	}
	s.Files = append(s.Files, files...)
	if s.Status == Broken || slices.ContainsFunc(files, func(f Found) bool { return f.Missing && !f.Derived() }) {
		say.Incomplete()
	}
	if err := r.ReadJSON(KindSummary, &s.Summary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		say.Lack("%v", err)
	}
	if r.Batched() {
		kept, err := r.Measured(say)
		if err != nil {
			say.Lack("%v", err)
		}
		s.Batches = kept.Batches
	}
	return s
}

// Print writes the description for people.
func (s *Shown) Print(w io.Writer) error {
	title, head, batches := batchRows(s.Batches)
	return errors.Join(
		columns.Left(w, s.facts()),
		columns.Section(w, "Key numbers", nil, numberRows(s.Manifest.Numbers)),
		columns.Section(w, "Summary", nil, scalars(s.Summary)),
		columns.Section(w, title, head, batches),
		columns.Section(w, "Files", []string{"FILE", "KIND", "RANK", "SIZE", ""}, fileRows(s.Files)),
	)
}

// facts returns the run's properties, one per row.
func (s *Shown) facts() (rows [][]string) {
	m := &s.Manifest
	fact := func(name, value string) {
		if value != "" {
			rows = append(rows, []string{name, value})
		}
	}
	status := string(s.Status)
	switch {
	case m.Error != "":
		status += ": " + m.Error
	case s.Status == Broken:
		status += ": its process ended before the run was complete; everything it wrote until then is kept"
	}
	fact("run", s.ID)
	fact("status", status)
	fact("when", when(m.Created))
	if !m.Ended.IsZero() && m.Kind != "profile" { // the run of a profile is created after the profiling window
		fact("took", metric.Duration(m.Ended.Sub(m.Created).Nanoseconds()))
	}
	fact("what", m.Tool)
	if len(m.Args) > 0 {
		fact("command", "stepscope "+CommandLine(m.Args))
	}
	fact("tags", strings.Join(m.Tags, ", "))
	fact("model", m.Model)
	fact("backend", m.Backend)
	fact("url", m.URL)
	fact("machine", fmt.Sprintf("%s, %s/%s, %d CPUs", m.Machine.Host, m.Machine.OS, m.Machine.Arch, m.Machine.CPUs))
	for _, n := range m.Notes {
		fact("note", n)
	}
	fact("directory", s.Dir)
	return rows
}

func numberRows(numbers []Number) (rows [][]string) {
	for _, n := range numbers {
		rows = append(rows, []string{n.Name, figure(n)})
	}
	return rows
}

// batchRows returns one row per batch, with a column for each figure that any batch has.
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
				if text = figure(Number{Value: f.Value}); f.Unit == bench.NS {
					text = metric.Duration(f.Value)
				}
			}
			row = append(row, text)
		}
		if b.Profiled {
			row = append(row, "profiled")
		}
		rows = append(rows, row)
	}
	return "Batches (sequences × prompt + output tokens; throughputs per second)", head, rows
}

func fileRows(files []Found) (rows [][]string) {
	for _, f := range files {
		rank, state := "", ""
		if f.Rank != nil {
			rank = trace.Rank(*f.Rank).String()
		}
		switch {
		case f.Missing && f.Derived():
			state = "deleted, can be recomputed"
		case f.Missing:
			state = "MISSING"
		case f.Unlisted:
			state = "not in the manifest"
		}
		rows = append(rows, []string{f.Path, string(f.Kind), strings.Join(strings.Fields(rank+" "+f.Role+" "+f.Stage), " "), metric.Bytes(f.Size), state})
	}
	return rows
}

// scalars returns the scalar members of a JSON object, in the order of the text.
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

// CommandLine quotes a command line for a shell.
func CommandLine(args []string) string {
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
