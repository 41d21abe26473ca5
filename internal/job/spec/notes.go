package spec

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/stepscope/stepscope/internal/base/sorts"
)

// Note is a remark about a position in a file. The remark is a problem, or it describes a default or a conversion that
// Parse applied.
type Note struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Key    string `json:"key,omitempty"`   // such as profiling.prefill.isl
	Class  Class  `json:"class,omitempty"` // of notes that are not problems
	Text   string `json:"text"`
}

func (n Note) String() string { return fmt.Sprintf("%s:%d:%d: %s", n.File, n.Line, n.Column, n.Text) }

// Problems lists all errors of a file, in line order.
type Problems []Note

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, n := range p {
		lines[i] = n.String()
	}
	return strings.Join(lines, "\n")
}

// err returns nil if there are no problems.
func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	InOrder(p)
	return p
}

// InOrder sorts notes by line and column.
func InOrder(notes []Note) {
	sorts.Stable(notes, func(a, b Note) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// spot is a position in a file.
type spot struct{ line, column int }

// origin records the positions of a file's keys.
type origin struct {
	file    string
	dialect Dialect
	spots   map[string]spot // map key: the path of a file's key, such as profiling.prefill.isl
}

// given reports whether the file contains the key with a value.
func (o *origin) given(key string) bool { _, ok := o.spots[key]; return ok }

// note returns a note about a key. The position of the note is the position of the key. If the file lacks the key, it
// is the position of the nearest enclosing key in the file.
func (o *origin) note(key, format string, args ...any) Note {
	at := spot{1, 1}
	for around := key; around != ""; {
		if s, ok := o.spots[around]; ok {
			at = s
			break
		}
		around = around[:max(strings.LastIndexByte(around, '.'), 0)]
	}
	return Note{File: o.file, Line: at.line, Column: at.column, Key: key, Text: fmt.Sprintf(format, args...)}
}

// Problem returns a note about a key of the job's file. It is used for problems that are found outside this package.
func (j *Job) Problem(key, text string) Note { return j.note(key, "%s: %s", key, text) }
