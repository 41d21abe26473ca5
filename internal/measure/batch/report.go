package batch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Report is SGLang's table of results for GitHub.
type Report struct {
	Inputs, Outputs []int
	CacheHitRate    float64 // that was asked for
	HourlyCost      float64 // USD, of all GPUs
	Profile         bool
}

// inputUtil is the part of its speed that a GPU is used with for prompts.
const inputUtil = 0.7

// Text writes it.
func (r Report) Text(results []*Served) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nInput lens: %v. Output lens: %v.", r.Inputs, r.Outputs)
	if r.CacheHitRate > 0 {
		fmt.Fprintf(&b, " Cache hit rate: %.1f%%.", 100*r.CacheHitRate)
	}
	w := table.NewWriter()
	header := table.Row{
		"batch size", "input len", "latency (s)", "input throughput (tok/s)", "output throughput (tok/s)", "acc length", "ITL (ms)",
		"input cost ($/1M)", "output cost ($/1M)", "cache hit rate",
	}
	if r.Profile {
		header = append(header, "profile")
	}
	w.AppendHeader(header)
	configs := make([]table.ColumnConfig, 10)
	for i := range configs {
		configs[i] = table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight}
	}
	w.SetColumnConfigs(configs)
	sorted := slices.Clone(results)
	slices.SortStableFunc(sorted, func(a, b *Served) int { return cmp.Compare(a.InputLen, b.InputLen) })
	for _, s := range sorted {
		row := table.Row{
			s.BatchSize, s.InputLen, fmt.Sprintf("%.2f", s.Latency), fmt.Sprintf("%.2f", s.InputThroughput), fmt.Sprintf("%.2f", s.OutputThroughput),
			known(s.AccLength > 0, s.AccLength),
			over(1000*float64(s.BatchSize), s.OutputThroughput),
			over(1e6/3600*r.HourlyCost, s.InputThroughput*inputUtil),
			over(1e6/3600*r.HourlyCost, s.OutputThroughput),
			"n/a",
		}
		if s.CacheHitRate != nil {
			row[9] = fmt.Sprintf("%.4f", *s.CacheHitRate)
		}
		if r.Profile {
			link := "n/a"
			if s.ProfileDir != "" {
				link = "[Profile](" + s.ProfileDir + ")"
			}
			row = append(row, link)
		}
		w.AppendRow(row)
	}
	b.WriteString("\n" + w.RenderMarkdown() + "\n")
	return b.String()
}

func known(ok bool, v float64) string {
	if !ok {
		return "n/a"
	}
	return fmt.Sprintf("%.2f", v)
}

// over is a quotient that is not known when nothing was measured.
func over(a, b float64) string {
	if b <= 0 {
		return "n/a"
	}
	return fmt.Sprintf("%.2f", a/b)
}
