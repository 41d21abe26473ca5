package batch

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/sorts"
)

// Report is SGLang's result table for GitHub.
type Report struct {
	Inputs, Outputs []int
	CacheHitRate    float64 // requested share of cached prompt tokens
	HourlyCost      float64 // USD per hour, all GPUs together
	StopAtEOS       bool
	Profile         bool
}

// inputUtil is the assumed utilisation of the GPUs in prefill. The input cost is computed for the measured input
// throughput times inputUtil.
const inputUtil = 0.7

// Text formats the report.
func (r Report) Text(results []*Served) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nInput lens: %v. Output lens: %v.", r.Inputs, r.Outputs)
	if r.CacheHitRate > 0 {
		fmt.Fprintf(&b, " Cache hit rate: %.1f%%.", 100*r.CacheHitRate)
	}
	header := []string{
		"batch size", "input len", "latency (s)", "input throughput (tok/s)", "output throughput (tok/s)", "acc length", "ITL (ms)",
		"input cost ($/1M)", "output cost ($/1M)", "cache hit rate",
	}
	if r.StopAtEOS {
		header = append(header, "steady output throughput (tok/s)", "steady ITL (ms)", "early stops")
	}
	cols := columns.All(columns.AlignRight, header...)
	if r.Profile {
		cols = append(cols, columns.Column{Name: "profile"})
	}
	var rows [][]string
	sorted := slices.Clone(results)
	sorts.Stable(sorted, func(a, b *Served) int { return cmp.Compare(a.InputLen, b.InputLen) })
	for _, s := range sorted {
		row := []string{
			strconv.Itoa(s.BatchSize), strconv.Itoa(s.InputLen), fmt.Sprintf("%.2f", s.Latency), fmt.Sprintf("%.2f", s.InputThroughput), fmt.Sprintf("%.2f", s.OutputThroughput),
			known(s.AccLength > 0, s.AccLength),
			over(1000*float64(s.BatchSize), s.OutputThroughput),
			over(1e6/3600*r.HourlyCost, s.InputThroughput*inputUtil),
			over(1e6/3600*r.HourlyCost, s.OutputThroughput),
			"n/a",
		}
		if s.CacheHitRate != nil {
			row[9] = fmt.Sprintf("%.4f", *s.CacheHitRate)
		}
		if r.StopAtEOS {
			steady := 0.0
			if s.SteadyThroughput != nil {
				steady = *s.SteadyThroughput
			}
			row = append(row, known(steady > 0, steady), over(1000*float64(s.BatchSize), steady), fmt.Sprintf("%d/%d", *s.EarlyStopped, s.BatchSize))
		}
		if r.Profile {
			link := "n/a"
			if s.ProfileDir != "" {
				link = "[Profile](" + s.ProfileDir + ")"
			}
			row = append(row, link)
		}
		rows = append(rows, row)
	}
	b.WriteString("\n" + strings.Join(columns.Table(columns.Markdown, cols, rows), "\n") + "\n")
	return b.String()
}

func known(ok bool, v float64) string {
	if !ok {
		return "n/a"
	}
	return fmt.Sprintf("%.2f", v)
}

// over formats the quotient a/b, or returns "n/a" if b was not measured.
func over(a, b float64) string {
	if b <= 0 {
		return "n/a"
	}
	return fmt.Sprintf("%.2f", a/b)
}
