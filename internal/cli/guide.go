package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/stepscope/stepscope/docs/guides"
	"github.com/stepscope/stepscope/internal/base/suggest"
)

// guideCmd is "guide".
type guideCmd struct {
	Name string `arg:"" optional:"" help:"The guide; without it, all of them are listed."`
}

// Help returns the end of the verb's help text.
func (c *guideCmd) Help() string {
	return `Examples:
  stepscope guide
  stepscope guide late-rank`
}

// Run prints a guide, or the list of guides.
func (c *guideCmd) Run(e *env) error {
	all := guides.All()
	if c.Name == "" {
		w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
		for _, s := range guides.Symptoms() {
			fmt.Fprintf(w, "%s\tstepscope guide %s\n", s.What, s.Guide)
		}
		return w.Flush()
	}
	var names []string
	for _, g := range all {
		if g.Name == c.Name {
			_, err := fmt.Fprint(e.stdout, g.Text)
			return err
		}
		names = append(names, g.Name)
	}
	if near := suggest.Closest(c.Name, names); near != "" {
		return usagef("there is no guide %q, did you mean: stepscope guide %s", c.Name, near)
	}
	return usagef("there is no guide %q: stepscope guide lists them", c.Name)
}
