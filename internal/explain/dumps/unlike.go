package dumps

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/api"
)

// Unlike is what the sides were asked for differently: their times are of unlike work.
type Unlike struct {
	What   string     `json:"what"`   // model, prompt, size, denoising steps
	Values [][]string `json:"values"` // by side; none: it does not say
}

// Regression is a time that got longer by more than the limit.
type Regression struct {
	Name   string  `json:"name"`
	Side   int     `json:"side"`
	Change float64 `json:"change"`
	Tested bool    `json:"tested"` // else there were too few dumps
}

// fallback is the one stage of SGLang's pipelines that run Diffusers' own.
const fallback = "DiffusersExecutionStage"

// about says what a side is of.
func about(s *Side, read []*dump) About {
	a := About{Name: s.Name, Dumps: len(s.Dumps), Models: []string{}, Prompts: []string{}, Sizes: []string{}, StepCount: []int{}, Commits: []string{}, Tags: []string{}}
	for _, d := range read {
		a.Models = add(a.Models, text(d.Meta["model"]))
		a.Prompts = add(a.Prompts, prompts(d.Meta["prompt"]))
		a.Sizes = add(a.Sizes, size(d.Meta))
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

// prompts is a prompt, or a list of them.
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

// size is that of the picture, where the dump says it.
func size(m api.DumpMeta) string {
	w, ok := m["width"].(float64)
	h, too := m["height"].(float64)
	if !ok || !too {
		return ""
	}
	return fmt.Sprintf("%g×%g", w, h)
}

// unlike finds what the sides were asked for differently, or one side was asked for differently from dump to dump.
func (c *Comparison) unlike() {
	for _, f := range []struct {
		what string
		of   func(*About) []string
	}{
		{"model", func(a *About) []string { return a.Models }},
		{"prompt", func(a *About) []string { return a.Prompts }},
		{"size", func(a *About) []string { return a.Sizes }},
		{"denoising steps", func(a *About) (out []string) {
			for _, n := range a.StepCount {
				out = append(out, strconv.Itoa(n))
			}
			return out
		}},
	} {
		u := Unlike{What: f.what}
		var all []string
		for i := range c.Sides {
			values := f.of(&c.Sides[i])
			u.Values = append(u.Values, values)
			for _, v := range values {
				all = add(all, v)
			}
		}
		if len(all) > 1 {
			c.Unlike = append(c.Unlike, u)
		}
	}
}

// regressions are the times that got longer by more than the limit: by the test, or where there is none by the limit alone,
// of stages by no less than SGLang looks at, too.
func (c *Comparison) regressions() {
	if c.Limit <= 0 {
		return
	}
	look := func(r *Row, leastMS float64) {
		for side := 1; side < len(r.Values); side++ {
			base, v := &r.Values[0], &r.Values[side]
			switch {
			case base.N == 0 || v.N == 0 || limitStatus(base.MS, v.MS, c.Limit, 0) != Slower:
			case v.Tested && v.Verdict != Slower, !v.Tested && v.Diff <= leastMS:
			default:
				c.Worse = append(c.Worse, Regression{r.Name, side, v.Change, v.Tested})
			}
		}
	}
	look(&c.E2E, 0)
	for i := range c.Stages {
		look(&c.Stages[i], stageMS)
	}
}
