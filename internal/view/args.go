package view

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/explain/window"
	"github.com/stepscope/stepscope/internal/view/timeline"
)

// Limits on the args of one span. Stacks and lists of shapes can be long.
const (
	mostArgs    = 200
	mostArgText = 4000 // characters
)

// argsOf returns all args of a span. It reads them from the file of the span's rank.
func argsOf(c *Capture, r *http.Request) (any, error) {
	rank, err1 := strconv.Atoi(r.FormValue("rank"))
	span, err2 := strconv.ParseInt(r.FormValue("span"), 10, 32)
	if err1 != nil || err2 != nil || rank < 0 || rank >= len(c.Traces) || span < 0 || int(span) >= len(c.Traces[rank].Spans) {
		return nil, bad("there is no span %s of rank %s", r.FormValue("span"), r.FormValue("rank"))
	}
	all, err := window.Args(r.Context(), c.Traces[rank], int32(span))
	if err != nil {
		return nil, errStatus{http.StatusNotFound, err}
	}
	out := []timeline.Arg{}
	for i, a := range all {
		if i == mostArgs {
			out = append(out, timeline.Arg{Name: "left out", Value: fmt.Sprintf("%d more args", len(all)-mostArgs)})
			break
		}
		name, value := columns.Clean(columns.Short(a[0], 200)), a[1]
		if len(value) > mostArgText {
			value = fmt.Sprintf("%s … (%d of %d bytes)", strings.ToValidUTF8(value[:mostArgText], ""), mostArgText, len(value))
		}
		out = append(out, timeline.Arg{Name: name, Value: columns.Clean(value)})
	}
	return out, nil
}
