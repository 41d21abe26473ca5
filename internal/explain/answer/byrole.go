package answer

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// mostParts is the number of parts of a step that a verdict names, of kernels and of other time.
const mostParts = 3

// leastOfParts is the factor by which a part may carry less than the largest one and still be named.
const leastOfParts = 20

// byRole returns the verdict of a comparison by the roles of kernels.
func byRole(c *result.Comparison) fact.Fact {
	var says []fact.Fact
	for i := range c.Light {
		if whole := &c.Light[i]; whole.Part == "step" && len(says) < mostSteps {
			says = append(says, stepByRole(c, whole))
		}
	}
	second := fact.Fact{}
	if len(says) > 1 {
		second = fact.Of("role_also", "what", says[1])
	}
	return fact.Of("role_verdict", "first", says[0], "second", second, "late_a", c.LateA, "late_b", c.LateB)
}

// stepByRole describes the difference between steps of one kind, and the parts that carry it.
func stepByRole(c *result.Comparison, whole *result.LightDiff) fact.Fact {
	floor := fact.Fact{}
	if whole.Floor > 0 {
		least := min(whole.Floor, whole.FloorB)
		how := map[bool]string{true: "about", false: "at_least"}[whole.Experts]
		floor = fact.Of("role_floor."+how, "device", c.A.Device, "floor", least, "a", float64(least)/float64(whole.A), "b", float64(least)/float64(whole.B))
	}
	how := map[bool]string{true: "more", false: "less"}[whole.B > whole.A]
	if float64(abs(whole.B-whole.A)) < metric.SameWithin/10*float64(whole.A) {
		how = "same"
	}
	larger, smaller := differences(c, whole)
	return fact.Of("role_step."+how, "a_engine", engine(&c.A, &c.B), "b_engine", engine(&c.B, &c.A), "kind", whole.Kind, "rows", rowsOf(whole), "a", whole.A, "b", whole.B, "a_steps", whole.StepsA, "b_steps", whole.StepsB, "by", abs(whole.B-whole.A),
		"floor", floor, "larger", larger, "smaller", smaller)
}

// differences describes the difference between the kernels of steps, and that between their other time, the larger first.
func differences(c *result.Comparison, whole *result.LightDiff) (larger, smaller fact.Fact) {
	kernels, inKernels := carriers(c, whole, true)
	gaps, inGaps := carriers(c, whole, false)
	how := func(by int64) string { return map[bool]string{true: "more", false: "less"}[by > 0] }
	if len(kernels) > 0 {
		larger = fact.Of("role_in_kernels."+how(inKernels), "by", abs(inKernels), "parts", kernels)
	}
	if len(gaps) > 0 {
		smaller = fact.Of("role_in_gaps."+how(inGaps), "by", abs(inGaps), "parts", gaps)
	}
	if abs(inGaps) > abs(inKernels) {
		larger, smaller = smaller, larger
	}
	return larger, smaller
}

// carriers returns the difference between the kernels of steps, or between their other time, and the parts that carry it.
func carriers(c *result.Comparison, whole *result.LightDiff, kernels bool) (said []fact.Fact, sum int64) {
	var parts []*result.LightDiff
	most := int64(1)
	for i := range c.Light {
		d := &c.Light[i]
		if d.Kind != whole.Kind || d.RowsA != whole.RowsA || d.Part == "step" || (d.KernelA+d.KernelB != "") != kernels {
			continue
		}
		sum += d.B - d.A
		parts, most = append(parts, d), max(most, abs(d.B-d.A))
	}
	parts = slices.DeleteFunc(parts, func(d *result.LightDiff) bool { return abs(d.B-d.A)*leastOfParts < most })
	sorts.Stable(parts, func(x, y *result.LightDiff) int { return cmp.Compare(abs(y.B-y.A), abs(x.B-x.A)) })
	for _, d := range parts[:min(mostParts, len(parts))] {
		name := d.Part
		if name == "wait" {
			name = "wait for other ranks"
		}
		said = append(said, fact.Of("role_part", "part", name, "by", d.B-d.A, "kernels", kernelsOf(d)))
	}
	return said, sum
}

// engine names the server of a side, if the other side has another one.
func engine(s, other *result.Side) fact.Fact {
	if s.Engine == "" || s.Engine == other.Engine {
		return fact.Fact{}
	}
	return fact.Of("role_engine", "engine", s.Engine)
}

// rowsOf returns the rows of both sides, once if they are the same.
func rowsOf(d *result.LightDiff) fact.Fact {
	if d.RowsA == d.RowsB {
		return fact.Of("role_rows", "rows", d.RowsA)
	}
	return fact.Of("role_rows_both", "a", d.RowsA, "b", d.RowsB)
}

// kernelsOf names the kernels of a part on both sides.
func kernelsOf(d *result.LightDiff) fact.Fact {
	a, b := strings.Join(d.KernelsA, "\n"), strings.Join(d.KernelsB, "\n")
	switch {
	case a == "" && b == "":
		return fact.Fact{}
	case a == b:
		return fact.Of("role_kernels", "kernels", d.KernelsA)
	case a == "":
		return fact.Of("role_only", "side", "B", "kernels", d.KernelsB)
	case b == "":
		return fact.Of("role_only", "side", "A", "kernels", d.KernelsA)
	}
	return fact.Of("role_kernels_both", "a", d.KernelsA, "b", d.KernelsB)
}

func abs(ns int64) int64 { return max(ns, -ns) }
