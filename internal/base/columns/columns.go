// Package columns formats text in columns for a terminal or a log.
package columns

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Left writes rows with left-aligned columns, two spaces apart.
func Left(w io.Writer, rows [][]string) error { return write(w, rows, 0) }

// Right writes rows with all columns right-aligned except the last. It is for rows of figures that end with a name.
func Right(w io.Writer, rows [][]string) error { return write(w, rows, tabwriter.AlignRight) }

// Section writes a title, an optional head and the rows. It writes nothing if there are no rows.
func Section(w io.Writer, title string, head []string, rows [][]string) error {
	if len(rows) == 0 {
		return nil
	}
	if _, err := fmt.Fprintf(w, "\n%s\n", title); err != nil {
		return err
	}
	if head != nil {
		rows = slices.Insert(rows, 0, head)
	}
	return Left(w, rows)
}

func write(w io.Writer, rows [][]string, flags uint) error {
	var out strings.Builder
	t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', flags)
	for _, r := range rows {
		for i, s := range r {
			switch {
			case i == 0:
			case i == len(r)-1 && flags == tabwriter.AlignRight:
				io.WriteString(t, "\t  ")
			default:
				io.WriteString(t, "\t")
			}
			io.WriteString(t, Clean(s))
		}
		io.WriteString(t, "\n")
	}
	t.Flush()
	for line := range strings.Lines(out.String()) {
		if _, err := io.WriteString(w, strings.TrimRight(line, " \n")+"\n"); err != nil {
			return err
		}
	}
	return nil
}
