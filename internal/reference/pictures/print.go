package pictures

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
)

// Print writes a report of the images and times. For one image it lists the stages. For several images it prints one
// line for each combination of prompt, size and number of steps.
func Print(w io.Writer, all []Picture) error {
	if len(all) == 1 {
		return printOne(w, &all[0])
	}
	return printWorkloads(w, all)
}

func printOne(w io.Writer, p *Picture) error {
	r := p.Result
	var rows [][]string
	for _, s := range r.Stages {
		rows = append(rows, []string{s.Name, metric.Duration(s.Time), metric.Tenths(metric.Share(s.Time, r.Total))})
	}
	many := "s"
	if p.Steps == 1 {
		many = ""
	}
	title := fmt.Sprintf("%s in %s: %d×%d, %d denoising step%s", columns.Clean(shorten(p.Prompt)), metric.Duration(r.Total), p.Size.Width, p.Size.Height, p.Steps, many)
	if err := columns.Section(w, title, []string{"stage", "time", "share"}, rows); err != nil {
		return err
	}
	first, rest := r.Steps[0], r.Steps[1:]
	text := "A denoising step took " + metric.Duration(first)
	if len(rest) > 0 {
		text = fmt.Sprintf("Denoising steps took %s (median); the first, a warm-up, took %s", metric.Duration(median(rest)), metric.Duration(first))
	}
	fmt.Fprintf(w, "%s.\n", text)
	if p.Path != "" {
		fmt.Fprintf(w, "Picture: %s\n", p.Path)
	}
	if p.Dump != "" {
		fmt.Fprintf(w, "Timing report: %s\n", p.Dump)
	}
	if len(r.Traces) > 0 {
		fmt.Fprintf(w, "Traces: stepscope analyze %s\n", strings.Join(r.Traces, " "))
	}
	return nil
}

func printWorkloads(w io.Writer, all []Picture) error {
	type workload struct {
		prompt string
		Size
		steps int
	}
	var order []workload
	of := map[workload][]*Picture{}
	for i := range all {
		k := workload{all[i].Prompt, all[i].Size, all[i].Steps}
		if of[k] == nil {
			order = append(order, k)
		}
		of[k] = append(of[k], &all[i])
	}
	var rows [][]string
	for _, k := range order {
		var totals, steps []time.Duration
		for _, p := range of[k] {
			totals = append(totals, p.Result.Total)
			steps = append(steps, p.Result.Steps[min(1, len(p.Result.Steps)-1):]...)
		}
		rows = append(rows, []string{
			columns.Clean(shorten(k.prompt)), fmt.Sprintf("%d×%d", k.Width, k.Height), fmt.Sprint(k.steps), fmt.Sprint(len(totals)),
			metric.Duration(median(totals)), metric.Duration(slices.Max(totals)), metric.Duration(median(steps)),
		})
	}
	return columns.Section(w, fmt.Sprintf("%d pictures", len(all)),
		[]string{"prompt", "size", "steps", "pictures", "median time", "longest", "median step"}, rows)
}

func median(d []time.Duration) time.Duration { return time.Duration(metric.Median(d)) }

// shorten returns the part of a prompt shown in a table.
func shorten(prompt string) string {
	const most = 40
	if r := []rune(prompt); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return prompt
}
