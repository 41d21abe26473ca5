package dumps

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// Unlike is a difference between the requests of the sides. It means that the times are for different work.
type Unlike struct {
	What   string     `json:"what"`   // model, prompt, size, denoising steps
	Values [][]string `json:"values"` // values of each side; empty: unknown
}

// Regression is a time that increased by more than the limit.
type Regression struct {
	Name   string  `json:"name"`
	Side   int     `json:"side"`
	Change float64 `json:"change"`
	Tested bool    `json:"tested"` // false: too few dumps for a test
}

// fallback is the only stage in the dumps of an SGLang pipeline that falls back to Diffusers' own pipeline.
const fallback = "DiffusersExecutionStage"

// about describes a side.
func about(s *Side, read []*dump) About {
	a := About{Name: s.Name, Dumps: len(s.Dumps), Models: []string{}, Prompts: []string{}, Sizes: []string{}, StepCount: []int{}, Commits: []string{}, Tags: []string{}}
	for _, d := range read {
		for i, list := range []*[]string{&a.Models, &a.Prompts, &a.Sizes} {
			*list = add(*list, asked[i].of(d))
		}
		a.Commits = add(a.Commits, d.Commit)
		a.Tags = add(a.Tags, d.Tag)
		if n := len(d.steps); n > 0 && !slices.Contains(a.StepCount, n) {
			a.StepCount = append(a.StepCount, n)
		}
		_, native := d.stages[fallback]
		a.Diffusers = a.Diffusers || native
	}
	return a
}

func add(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// prompts returns a prompt as it is, and the prompts of a list joined.
func prompts(v any) string {
	list, ok := v.([]any)
	if !ok {
		return text(v)
	}
	var all []string
	for _, p := range list {
		all = append(all, text(p))
	}
	return strings.Join(all, " | ")
}

// size returns the image size, or "" if the dump does not have it.
func size(m api.DumpMeta) string {
	w, ok := m["width"].(float64)
	h, too := m["height"].(float64)
	if !ok || !too {
		return ""
	}
	return fmt.Sprintf("%g×%g", w, h)
}

// StepCount is the value of Unlike.What for the number of denoising steps.
const StepCount = "denoising steps"

// asked lists the properties in which the requests of all dumps must agree.
var asked = []struct {
	what string
	of   func(d *dump) string
}{
	{"model", func(d *dump) string { return text(d.Meta["model"]) }},
	{"prompt", func(d *dump) string { return prompts(d.Meta["prompt"]) }},
	{"size", func(d *dump) string { return size(d.Meta) }},
	{StepCount, func(d *dump) string {
		if len(d.steps) == 0 {
			return ""
		}
		return strconv.Itoa(len(d.steps))
	}},
}

// unlike finds the differences between the sides' requests, and the properties missing from at least one dump. If a
// side has several prompts, each prompt must have the same share of the dumps on every side.
func (c *Comparison) unlike(read [][]*dump) {
	for _, f := range asked {
		u := Unlike{What: f.what}
		shares := make([]map[string]float64, len(read))
		silent := false
		for i, side := range read {
			values := []string{}
			shares[i] = map[string]float64{}
			for _, d := range side {
				v := f.of(d)
				silent = silent || v == ""
				values = add(values, v)
				shares[i][v] += 1 / float64(len(side))
			}
			u.Values = append(u.Values, values)
		}
		if silent {
			c.NotSaid = append(c.NotSaid, f.what)
		}
		var known []map[string]float64
		for i := range shares {
			if shares[i][""] == 0 {
				known = append(known, shares[i])
			}
		}
		if len(known) > 0 && slices.ContainsFunc(known[1:], func(s map[string]float64) bool { return !maps.EqualFunc(known[0], s, near) }) {
			c.Unlike = append(c.Unlike, u)
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// regressions finds the times that increased by more than the limit. If the time was tested, the increase must also be
// significant. If the time of a stage was not tested, the increase must also exceed SGLang's minimum.
func (c *Comparison) regressions() {
	if c.Limit <= 0 {
		return
	}
	leastMS := 0.0
	for _, r := range append([]*Row{&c.E2E}, pointers(c.Stages)...) {
		for side := 1; side < len(r.Values); side++ {
			base, v := &r.Values[0], &r.Values[side]
			switch {
			case base.N == 0 || v.N == 0 || limitStatus(base.MS, v.MS, c.Limit, 0) != result.Slower:
			case v.Tested && v.Verdict != result.Slower, !v.Tested && v.Diff <= leastMS:
			default:
				c.Worse = append(c.Worse, Regression{r.Name, side, v.Change, v.Tested})
			}
		}
		leastMS = stageMS // for all rows after E2E
	}
}
