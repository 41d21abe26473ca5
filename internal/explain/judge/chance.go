package judge

import (
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// holdBack drops the findings on late ranks that chance explains, so that at most the share falseShare of the remaining
// tested findings is false. Findings that cannot be tested are kept. They get low severity, unless the rank runs more
// kernels than the other ranks.
func (c *capture) holdBack(found []result.Finding) (kept []result.Finding) {
	o := &c.rep.Chance
	var p []float64
	for i := range found {
		switch f := &found[i]; {
		case f.P > 0:
			p = append(p, f.P)
		case strings.HasPrefix(f.ID, result.Straggler+"-"):
			o.Untested++
			if !f.Plain {
				f.Severity = "low"
			}
		}
	}
	adjusted := metric.AdjustFDR(p)
	for i, k := 0, 0; i < len(found); i++ {
		f := &found[i]
		if f.P > 0 {
			k++
			if adjusted[k-1] > falseShare {
				o.HeldBack++
				continue
			}
			f.Evidence = append(f.Evidence, proof("ratio", f.P, 0, fact.Of("by_chance", "p", f.P)))
		}
		kept = append(kept, *f)
	}
	o.Tested = len(p)
	c.seen()
	var held, untested fact.Fact
	if o.HeldBack > 0 {
		held = fact.Of("held_back", "n", o.HeldBack)
	}
	if o.Untested > 0 {
		untested = fact.Of("untested", "n", o.Untested)
	}
	switch {
	case o.Tested > 0:
		o.Tests = fact.Of("tested", "n", o.Tested-o.HeldBack, "held", held, "untested", untested)
	case o.Untested > 0:
		o.Tests = fact.Of("none_tested", "n", o.Untested)
	}
	return kept
}
