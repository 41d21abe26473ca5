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

// Words returns a fact as a sentence or as a part of a sentence.
func Words(f fact.Fact) string {
	text, ok := wordings[f.Key]
	if f.Key == "" || !ok {
		return f.String()
	}
	var b strings.Builder
	from := 0
	for _, at := range blank.FindAllStringIndex(text, -1) {
		name, format, formatted := strings.Cut(text[at[0]+1:at[1]-1], ":")
		name, to, pair := strings.Cut(name, arrow)
		show := plainWords
		if formatted {
			show = formats[format]
		}
		said := show(f.Get(name))
		if pair {
			said = fromTo(said, show(f.Get(to)))
		}
		b.WriteString(text[from:at[0]])
		b.WriteString(said)
		from = at[1]
		// If a blank is replaced by "", the space after the blank is removed, too.
		if before := b.String(); said == "" && strings.HasPrefix(text[from:], " ") && (before == "" || strings.HasSuffix(before, " ")) {
			from++
		}
	}
	b.WriteString(text[from:])
	text = b.String()
	return strings.TrimRight(text, " ")
}

// blank matches the blanks of a wording, which the values of a fact replace: {name}, {name:format}, or {from→to:format}
// for a change.
var blank = regexp.MustCompile(`\{\w+(→\w+)?(:\w+)?\}`)

const arrow = "→"

// fromTo joins two values and writes a common unit once: "43.3 → 41.5 ms".
func fromTo(from, to string) string {
	if n, unit, ok := strings.Cut(from, " "); ok && strings.HasSuffix(to, " "+unit) {
		from = n
	}
	return from + " " + arrow + " " + to
}

// formats maps the name of a format to the function that formats a value.
var formats = map[string]func(any) string{
	"ns":     func(v any) string { return metric.Duration(number(v)) },
	"share":  func(v any) string { return metric.Percent(number(v)) },
	"change": func(v any) string { return metric.PercentChange(number(v)) },
	"count":  func(v any) string { return metric.Count(int64(number(v))) },
	"gbs":    func(v any) string { return metric.Rate(number(v) * 1e9) },
	"tflops": func(v any) string { return three(number(v)/1e12) + " TFLOP/s" },
	"mean":   func(v any) string { return fmt.Sprintf("%.1f", number(v)) },
	"whole":  func(v any) string { return fmt.Sprintf("%.0f", number(v)) },
	"times":  func(v any) string { return fmt.Sprintf("%.2f", number(v)) },
	"factor": func(v any) string { return fmt.Sprintf("%.2g", number(v)) },
	"kernel": func(v any) string { return kernel.Short(fmt.Sprint(v)) },
	"kernels": func(v any) string {
		var names []string
		list, _ := v.([]string)
		for _, name := range list[:min(1, len(list))] {
			names = append(names, shortenName(kernel.Short(name), 60))
		}
		if len(list) > 1 {
			names = append(names, fmt.Sprintf("%d more", len(list)-1))
		}
		return strings.Join(names, " and ")
	},
	"signed": func(v any) string { return signed(durCell, number(v)) },
	"rows":   func(v any) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", number(v)), ".0") },
	"spaced": func(v any) string { return strings.ReplaceAll(fmt.Sprint(v), "_", " ") },
	"about":  func(v any) string { return about(number(v)) },
	"p":      func(v any) string { return fmt.Sprintf("%.2g", number(v)) },
	// A change of a duration.
	"slower": func(v any) string {
		switch by := number(v); {
		case by < 0:
			return about(-by) + " faster"
		case by >= 1:
			return three(1+by) + " times as slow"
		default:
			return about(by) + " slower"
		}
	},
	// A noun with its indefinite article: "a decode", "an idle".
	"a": func(v any) string {
		noun, _ := v.(string)
		if noun != "" && strings.Contains("aeiou", noun[:1]) {
			return "an " + noun
		}
		return strings.TrimRight("a "+noun, " ")
	},
	// The kind of steps as the subject of a sentence: "decode", or "a step" if no kind is known.
	"kind": func(v any) string {
		if kind, _ := v.(string); kind != "" {
			return kind
		}
		return "a step"
	},
	// A probability. Below 0.1 %, the exact value is meaningless.
	"chance": func(v any) string {
		if number(v) < 0.001 {
			return "less than 0.1 %"
		}
		return metric.Percent(number(v))
	},
	// The excess of a duration, followed by the duration with which it is compared.
	"more": func(v any) string {
		if by := number(v); by >= 9 {
			return metric.Count(int64(1+by)) + " times as long as"
		}
		return metric.Percent(number(v)) + " longer than"
	},
	// A range of steps, given by the first and the last step.
	"range": func(v any) string {
		steps, _ := v.([]int)
		if len(steps) == 2 && steps[0] == steps[1] {
			return fmt.Sprintf("step %d", steps[0])
		}
		return "steps " + strings.ReplaceAll(strings.Trim(fmt.Sprint(steps), "[]"), " ", "-")
	},
	// The first few of many steps.
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
	// The first few of many ranks, without their number.
	"names": func(v any) string {
		names, _ := v.([]string)
		if len(names) > 4 {
			return rankRuns(names)
		}
		return strings.Join(names, ", ")
	},
	// The first few of many ranks.
	"ranks": func(v any) string {
		names, _ := v.([]string)
		if len(names) > 4 {
			return fmt.Sprintf("%d ranks (%s)", len(names), rankRuns(names))
		}
		return strings.Join(names, ", ")
	},
}

// about formats a share without decimals, unless the share is below 1 %.
func about(share float64) string {
	if share >= 0.01 {
		return fmt.Sprintf("%.0f %%", 100*share)
	}
	return metric.Percent(share)
}

// rankRuns lists the first few of many ranks. Consecutive ranks are written as "TP00 to TP04".
func rankRuns(names []string) string {
	runs := trace.LabelRuns(names)
	if len(runs) > 4 {
		runs = append(runs[:4:4], "…")
	}
	return strings.Join(runs, ", ")
}

// plainWords formats a value that needs no unit.
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
