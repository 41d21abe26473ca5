package report

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/trace"
)

// Words says a fact in a sentence, or in a part of one.
func Words(f fact.Fact) string {
	text, ok := wordings[f.Key]
	if f.Key == "" || !ok {
		return f.String()
	}
	var b strings.Builder
	from := 0
	for _, at := range blank.FindAllStringIndex(text, -1) {
		name, format, formatted := strings.Cut(text[at[0]+1:at[1]-1], ":")
		v := f.Get(name)
		said := ""
		if formatted {
			said = formats[format](v)
		} else {
			said = plainWords(v)
		}
		b.WriteString(text[from:at[0]])
		b.WriteString(said)
		from = at[1]
		// A word that is left out takes a space with it.
		if before := b.String(); said == "" && strings.HasPrefix(text[from:], " ") && (before == "" || strings.HasSuffix(before, " ")) {
			from++
		}
	}
	b.WriteString(text[from:])
	text = b.String()
	return strings.TrimRight(text, " ")
}

// blank is where a wording wants a figure or a name: {name} or {name:format}.
var blank = regexp.MustCompile(`\{\w+(:\w+)?\}`)

// formats are the ways to show a figure.
var formats = map[string]func(any) string{
	"ns":     func(v any) string { return metric.Duration(number(v)) },
	"share":  func(v any) string { return metric.Percent(number(v)) },
	"change": func(v any) string { return metric.PercentChange(number(v)) },
	"count":  func(v any) string { return metric.Count(int64(number(v))) },
	"gbs":    func(v any) string { return metric.Rate(number(v) * 1e9) },
	"mean":   func(v any) string { return fmt.Sprintf("%.1f", number(v)) },
	"whole":  func(v any) string { return fmt.Sprintf("%.0f", number(v)) },
	"times":  func(v any) string { return fmt.Sprintf("%.2f", number(v)) },
	"factor": func(v any) string { return fmt.Sprintf("%.2g", number(v)) },
	"kernel": func(v any) string { return kernel.Short(fmt.Sprint(v)) },
	"spaced": func(v any) string { return strings.ReplaceAll(fmt.Sprint(v), "_", " ") },
	// A probability: of small ones no more is known.
	"chance": func(v any) string {
		if number(v) < 0.001 {
			return "less than 0.1 %"
		}
		return metric.Percent(number(v))
	},
	// By how much longer something is, before what it is compared with.
	"more": func(v any) string {
		if by := number(v); by >= 9 {
			return metric.Count(int64(1+by)) + " times as long as"
		}
		return metric.Percent(number(v)) + " longer than"
	},
	// From the first of two steps to the last.
	"range": func(v any) string {
		steps, _ := v.([]int)
		if len(steps) == 2 && steps[0] == steps[1] {
			return fmt.Sprintf("step %d", steps[0])
		}
		return "steps " + strings.ReplaceAll(strings.Trim(fmt.Sprint(steps), "[]"), " ", "-")
	},
	// Some of many steps.
	"few": func(v any) string {
		steps, _ := v.([]int)
		text := strings.Trim(fmt.Sprint(steps[:min(len(steps), 5)]), "[]")
		text = strings.ReplaceAll(text, " ", ", ")
		if len(steps) > 5 {
			text += ", …"
		}
		return text
	},
	"lacking": func(v any) string {
		names, _ := v.([]string)
		if len(names) == 1 {
			return "1 rank is missing (" + names[0] + ")"
		}
		return fmt.Sprintf("%d ranks are missing (%s)", len(names), rankRuns(names))
	},
	// Some of many ranks.
	"ranks": func(v any) string {
		names, _ := v.([]string)
		if len(names) > 4 {
			return fmt.Sprintf("%d ranks (%s)", len(names), rankRuns(names))
		}
		return strings.Join(names, ", ")
	},
}

// rankRuns names some of many ranks.
func rankRuns(names []string) string {
	runs := trace.LabelRuns(names)
	if len(runs) > 4 {
		runs = append(runs[:4:4], "…")
	}
	return strings.Join(runs, ", ")
}

// plainWords shows what needs no unit.
func plainWords(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case fact.Fact:
		return Words(v)
	case []fact.Fact:
		var parts []string
		for _, f := range v {
			parts = append(parts, Words(f))
		}
		return strings.Join(parts, ", ")
	case []string:
		return strings.Join(v, ", ")
	}
	return fmt.Sprint(v)
}

func number(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}
