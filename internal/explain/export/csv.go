package export

import (
	"bufio"
	"context"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// Columns names the columns of every format, in order.
var Columns = columns()

func columns() []string {
	row := reflect.TypeFor[Row]()
	names := make([]string, row.NumField())
	for i := range names {
		names[i], _, _ = strings.Cut(row.Field(i).Tag.Get("parquet"), ",")
	}
	return names
}

// csvSink writes RFC 4180: a header, commas, CRLF, quotes where needed. NULL
// is an empty field.
type csvSink struct {
	w    *bufio.Writer
	gzip *gzip.Writer
	line []byte
	err  error // of the header
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

// abandon has nothing to free; what is buffered stays unwritten.
func (c *csvSink) abandon() {}

// appendCSV writes a row in the order of Columns, which a test holds it to.
func appendCSV(b []byte, r *Row) []byte {
	b = appendText(b, r.Rank)
	for _, n := range [...]*int32{r.TP, r.DP, r.PP, r.EP} {
		b = appendInt32(append(b, ','), n)
	}
	b = appendText(append(b, ','), r.Stage)
	b = appendInt32(append(b, ','), r.Step)
	b = appendText(append(b, ','), r.StepKind)
	b = appendText(append(b, ','), r.StepMode)
	b = appendInt32(append(b, ','), r.StepBatch)
	b = appendInt32(append(b, ','), r.StepTokens)
	for _, s := range [...]string{r.Category, r.Class, r.ClassGroup, r.Name, r.PID, r.TID, r.Thread} {
		b = appendText(append(b, ','), s)
	}
	b = appendInt32(append(b, ','), r.Device)
	b = appendInt64(append(b, ','), r.Stream)
	for _, n := range [...]int64{r.StartNS, r.DurNS, r.EndNS} {
		b = strconv.AppendInt(append(b, ','), n, 10)
	}
	for _, n := range [...]int64{
		r.Correlation, r.ExternalID, r.Bytes,
		int64(r.GridX), int64(r.GridY), int64(r.GridZ), int64(r.BlockX), int64(r.BlockY), int64(r.BlockZ),
	} {
		b = appendNonzero(append(b, ','), n)
	}
	b = appendText(append(b, ','), r.Collective)
	b = appendText(append(b, ','), r.CollDType)
	b = appendInt64(append(b, ','), r.CollInElems)
	b = appendInt64(append(b, ','), r.CollOutElems)
	b = appendText(append(b, ','), r.CollGroup)
	b = appendText(append(b, ','), r.CollRanks)
	b = appendNonzero(append(b, ','), int64(r.CollGroupSize))
	b = appendInt64(append(b, ','), r.CollSeq)
	b = appendText(append(b, ','), r.InputDims)
	b = appendText(append(b, ','), r.InputTypes)
	return append(b, '\r', '\n')
}

func appendInt32(b []byte, n *int32) []byte {
	if n == nil {
		return b
	}
	return strconv.AppendInt(b, int64(*n), 10)
}

func appendInt64(b []byte, n *int64) []byte {
	if n == nil {
		return b
	}
	return strconv.AppendInt(b, *n, 10)
}

func appendNonzero(b []byte, n int64) []byte {
	if n == 0 {
		return b
	}
	return strconv.AppendInt(b, n, 10)
}

// appendText writes a field, in quotes if it needs them.
func appendText(b []byte, s string) []byte {
	if !strings.ContainsAny(s, "\",\r\n") {
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
