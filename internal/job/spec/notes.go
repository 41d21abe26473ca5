package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Note is something to say of a place of a file: what is wrong there, or, among
// the notes beside a job, what was decided for the writer.
type Note struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Key    string `json:"key,omitempty"` // as profiling.prefill.isl
	Text   string `json:"text"`
}

func (n Note) String() string { return fmt.Sprintf("%s:%d:%d: %s", n.File, n.Line, n.Column, n.Text) }

// Problems are all that is wrong with a file, in the order of its lines.
type Problems []Note

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, n := range p {
		lines[i] = n.String()
	}
	return strings.Join(lines, "\n")
}

// err is nil if there are none.
func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	InOrder(p)
	return p
}

// InOrder puts notes in the order of their lines.
func InOrder(notes []Note) {
	slices.SortStableFunc(notes, func(a, b Note) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// spot is a place in a file.
type spot struct{ line, column int }

// origin is where the keys of a file stand.
type origin struct {
	file  string
	spots map[string]spot // by key, as profiling.prefill.isl
}

// given tells whether the file has a key, with a value.
func (o *origin) given(key string) bool { _, ok := o.spots[key]; return ok }

// note is about a key, or where it should stand: beside the nearest key around
// it that the file has.
func (o *origin) note(key, format string, args ...any) Note {
	at := spot{1, 1}
	for around := key; around != ""; {
		if s, ok := o.spots[around]; ok {
			at = s
			break
		}
		around = around[:max(strings.LastIndexByte(around, '.'), 0)]
	}
	return Note{o.file, at.line, at.column, key, fmt.Sprintf(format, args...)}
}

// Problem is about a key of the job's file, for problems that are found outside.
func (j *Job) Problem(key, text string) Note { return j.note(key, "%s: %s", key, text) }
