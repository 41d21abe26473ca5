package export

import (
	"bufio"
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/stepscope/stepscope/internal/base/columns"
)

// csvSink writes CSV as in RFC 4180: a header, commas, CRLF, and quotes where needed. NULL is an empty field, and text
// is written so that spreadsheets do not evaluate it as a formula.
type csvSink struct {
	w    *bufio.Writer
	gzip *gzip.Writer
	line []byte
	err  error // error of writing the header
}

func newCSVSink(w io.Writer, compress bool) *csvSink {
	c := &csvSink{}
	if compress {
		c.gzip, _ = gzip.NewWriterLevel(w, gzip.BestSpeed) // no error: the level exists
		w = c.gzip
	}
	c.w = bufio.NewWriterSize(w, 256<<10)
	_, c.err = c.w.WriteString(strings.Join(Columns, ",") + "\r\n")
	return c
}

func (c *csvSink) rank(ctx context.Context, r *rank) error {
	if c.err != nil {
		return c.err
	}
	var row Row
	for i := range r.t.Spans {
		if i%batch == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		r.fill(&row, i)
		c.line = appendCSV(c.line[:0], &row)
		if _, err := c.w.Write(c.line); err != nil {
			return err
		}
	}
	return nil
}

func (c *csvSink) close(context.Context, *Result) error {
	if err := c.w.Flush(); err != nil || c.gzip == nil {
		return err
	}
	return c.gzip.Close()
}

// abandon frees nothing, and leaves buffered rows unwritten.
func (c *csvSink) abandon() {}

// appendCSV writes a row.
func appendCSV(b []byte, r *Row) []byte {
	values := r.values()
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		switch v := v.(type) {
		case *string:
			b = appendText(b, *v)
		case *int32:
			if v != nil {
				b = strconv.AppendInt(b, int64(*v), 10)
			}
		case *int64:
			if v != nil {
				b = strconv.AppendInt(b, *v, 10)
			}
		}
	}
	return append(b, '\r', '\n')
}

// appendText writes a field, in quotes if necessary.
func appendText(b []byte, s string) []byte {
	if s = columns.Cell(s); !strings.ContainsAny(s, "\",\r\n") {
		return append(b, s...)
	}
	b = append(b, '"')
	for {
		before, after, found := strings.Cut(s, `"`)
		b = append(b, before...)
		if !found {
			return append(b, '"')
		}
		b = append(b, '"', '"')
		s = after
	}
}
