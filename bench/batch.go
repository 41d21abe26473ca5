package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Batch is the result of one batch of sequences of equal lengths. For an offline benchmark, Batch is the result of all
// requests together, and InputLen and OutputLen are 0. docs/formats/run.md describes its JSON form.
type Batch struct {
	BatchSize int             `json:"batch_size,omitempty"` // sequences
	InputLen  int             `json:"input_len,omitempty"`  // tokens per sequence
	OutputLen int             `json:"output_len,omitempty"`
	Profiled  bool            `json:"profiled,omitempty"` // recorded by a profiler, and therefore slower
	Figures   []BatchFigure   `json:"figures"`
	Row       json.RawMessage `json:"row"` // the row in the tool's results file
}

// BatchFigure is one figure of a batch.
type BatchFigure struct {
	Metric string  `json:"metric"` // prefill_latency, decode_throughput, …
	Unit   Unit    `json:"unit"`
	Higher bool    `json:"higher_is_better,omitempty"`
	Value  float64 `json:"value"`
	// Samples holds one value per decode step, in order. It is empty if the batch has only one value. The samples show
	// the variation between steps, not the variation between batches.
	Samples []float64 `json:"samples,omitempty"`
}

// Size describes the batch for human readers as sequences × prompt + output tokens: "8 × 1024 + 16".
func (b *Batch) Size() string {
	if b.BatchSize == 0 {
		return "of all requests"
	}
	return fmt.Sprintf("%d × %d + %d", b.BatchSize, b.InputLen, b.OutputLen)
}

// Figure returns the figure named metric.
func (b *Batch) Figure(name string) (BatchFigure, bool) {
	i := slices.IndexFunc(b.Figures, func(f BatchFigure) bool { return f.Metric == name })
	if i < 0 {
		return BatchFigure{}, false
	}
	return b.Figures[i], true
}

// Batches holds the batches of one side of a comparison.
type Batches struct {
	ID, Backend, Model string
	Batches            []Batch
	Server             map[string]any // the server's description of itself, if known
}

// CompareBatches compares the batches of b with the batches of the same size in a. If a batch was repeated at least
// four times on both sides, it is tested with the repetitions as samples. Other batches are not tested. A whole batch
// may be faster or slower by chance, so a test over the steps of a batch would find differences between identical
// builds. CompareBatches returns an error if a and b have no size in common.
func CompareBatches(a, b Batches, o CompareOptions) (*Comparison, error) {
	c := newComparison(a.side(), b.side(), o)
	sizesA, ofA := a.sizes()
	sizesB, ofB := b.sizes()
	for _, size := range sizesA {
		if ofB[size] != nil {
			c.Rows = append(c.Rows, compareBatch(size, ofA[size], ofB[size])...)
		} else {
			c.Notes = append(c.Notes, fmt.Sprintf("only A has the batch %s", size))
		}
	}
	for _, size := range sizesB {
		if ofA[size] == nil {
			c.Notes = append(c.Notes, fmt.Sprintf("only B has the batch %s", size))
		}
	}
	if len(c.Rows) == 0 {
		return nil, fmt.Errorf("the runs have no batch size in common: %s has %s, %s has %s", a.ID, some(sizesA), b.ID, some(sizesB))
	}
	if a.Model != b.Model && a.Model != "" && b.Model != "" {
		c.Unlike = append(c.Unlike, Unlike{"model", a.Model, b.Model, true, ofLoad})
	}
	c.Unlike = append(c.Unlike, UnlikeServers(a.Server, b.Server)...)
	if u, v := profiled(ofA), profiled(ofB); u != v {
		c.Unlike = append(c.Unlike, Unlike{"profiler", profilerUse(u), profilerUse(v), false, ofLoad})
	}
	c.refuse(o.Force)
	c.judge(o.Limits)
	c.batchNotes(ofA, ofB)
	return c, nil
}

func (b *Batches) side() Side {
	return Side{ID: b.ID, Backend: b.Backend, Model: b.Model, Batches: len(b.Batches)}
}

// sizes groups the batches by size, in order. Batches recorded by a profiler count only if all batches of b were
// recorded by a profiler.
func (b *Batches) sizes() (order []string, of map[string][]*Batch) {
	of = map[string][]*Batch{}
	for _, profiled := range []bool{false, true} {
		before := maps.Clone(of)
		for i := range b.Batches {
			x := &b.Batches[i]
			size := x.Size()
			if x.Profiled != profiled || before[size] != nil {
				continue
			}
			if of[size] == nil {
				order = append(order, size)
			}
			of[size] = append(of[size], x)
		}
	}
	return order, of
}

// some joins the first few items of a list.
func some(list []string) string {
	text := ""
	for i, s := range list {
		switch {
		case i == 4:
			return text + ", …"
		case i > 0:
			text += ", "
		}
		text += s
	}
	return cmp.Or(text, "none")
}

// compareBatch compares the batches of one size. It returns a row for each figure of a, followed by the figures that
// only b has.
func compareBatch(size string, a, b []*Batch) (rows []Diff) {
	for _, x := range []*Batch{a[0], b[0]} {
		for _, f := range x.Figures {
			if slices.ContainsFunc(rows, func(d Diff) bool { return d.Metric == f.Metric }) {
				continue
			}
			d := Diff{Batch: size, Metric: f.Metric, Figure: "median", Unit: f.Unit, Higher: f.Higher, Per: "repeat"}
			d.test(valuesOf(a, f.Metric), valuesOf(b, f.Metric))
			rows = append(rows, d)
		}
	}
	return rows
}

func valuesOf(of []*Batch, name string) (values []float64) {
	for _, x := range of {
		if f, ok := x.Figure(name); ok {
			values = append(values, f.Value)
		}
	}
	return values
}

// profiled reports whether a profiler recorded the batches of some size.
func profiled(of map[string][]*Batch) bool {
	for _, list := range of {
		if list[0].Profiled {
			return true
		}
	}
	return false
}

func (c *Comparison) batchNotes(a, b map[string][]*Batch) {
	for _, s := range []struct {
		name string
		of   map[string][]*Batch
	}{{"A", a}, {"B", b}} {
		if profiled(s.of) {
			c.Notes = append(c.Notes, s.name+" was profiled while it was measured (--profile), which slows it down")
		}
	}
	if slices.ContainsFunc(c.Rows, func(d Diff) bool { return d.Verdict == TooFew }) {
		note := fmt.Sprintf("figures measured fewer than %d times on a side are not tested: their changes may be chance", enoughRuns)
		if slices.ContainsFunc(c.Rows, func(d Diff) bool { return d.Batch != (&Batch{}).Size() }) {
			note += "; repeat a batch size (--batch-size 8 8 8 8) on both sides"
		}
		c.Notes = append(c.Notes, note)
	}
}
