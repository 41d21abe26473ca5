package view

import (
	"cmp"
	"errors"
	"math"
	"net/http"
	"strconv"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/view/kernels"
)

// query parses a request about the kernels of one or two captures. The parameters are by, rank, kind and vs. by is the
// grouping. Without rank, the query covers all ranks; without kind, it covers all kinds. vs is the capture with which c
// is compared.
func (s *Server) query(c *Capture, r *http.Request) (q kernels.Query, against *kernels.Work, err error) {
	q = kernels.Query{By: kernels.Group(cmp.Or(r.FormValue("by"), string(kernels.Kernel))), Rank: -1, Kind: r.FormValue("kind")}
	if text := r.FormValue("rank"); text != "" {
		if q.Rank, err = strconv.Atoi(text); err != nil || q.Rank < 0 {
			return q, nil, bad("rank %q: give its index", text)
		}
	}
	if err := c.Kernels.Check(q); err != nil {
		return q, nil, bad("%v", err)
	}
	id := r.FormValue("vs")
	if id == "" {
		return q, nil, nil
	}
	other, err := s.captures.get(r.Context(), id)
	if err != nil {
		return q, nil, err
	}
	if err := other.Kernels.Check(q); err != nil {
		return q, nil, bad("%s: %v", other.head().Title, err)
	}
	return q, other.Kernels, nil
}

func (s *Server) table(c *Capture, r *http.Request) (any, error) {
	q, against, err := s.query(c, r)
	if err != nil {
		return nil, err
	}
	table := c.Kernels.Table(q, against)
	if q.By == kernels.Kernel {
		c.explain(q, table.Rows)
	}
	return table, nil
}

func (s *Server) flame(c *Capture, r *http.Request) (any, error) {
	q, against, err := s.query(c, r)
	if err != nil {
		return nil, err
	}
	return c.Kernels.Flame(q, against), nil
}

// lightOf returns the pictures of the speed of light, with the spans of the longest kernels.
func lightOf(c *Capture, _ *http.Request) (any, error) {
	p := report.NewLightPicture(c.Report, math.MaxInt)
	if p == nil {
		return nil, errStatus{http.StatusNotFound, errors.New("the model's configuration was not given (--model-config)")}
	}
	for _, kind := range p.Kinds {
		for _, of := range kind.Ranks {
			if of.Index < 0 {
				continue
			}
			r, at := c.Aligned.Ranks[of.Index], map[[2]int64]int{}
			for i := range of.Modules {
				m := &of.Modules[i]
				at[[2]int64{m.Start, m.End}] = i
			}
			for i := range r.Ops {
				o := &r.Ops[i]
				if k, ok := at[[2]int64{r.Wall(o.Start) - c.Aligned.Origin, r.Wall(o.End) - c.Aligned.Origin}]; ok {
					of.Modules[k].Span = o.Span
				}
			}
		}
	}
	return p, nil
}
