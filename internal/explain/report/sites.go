package report

import (
	"fmt"
	"path"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// sitesLead explains the column of sources: the number of kernels that have one, and why the others do not.
func sitesLead(s *result.Sites) string {
	if s.Told == 0 && len(s.Aligned) == 0 {
		return ""
	}
	text := fmt.Sprintf(" Sources are known for %s of %s kernels and copies", metric.Count(s.Told), metric.Count(s.Kernels))
	if s.Carried > 0 {
		text += fmt.Sprintf(", %s of them from the other window", metric.Count(s.Carried))
	}
	if s.InGraphs > 0 {
		text += fmt.Sprintf("; not for %s in graphs", metric.Count(s.InGraphs))
		if len(s.Aligned) == 0 {
			text += " (--source-from)"
		}
	}
	for i := range s.Aligned {
		if a := &s.Aligned[i]; !a.Known {
			text += fmt.Sprintf("; %s steps cannot be aligned with the other window: %s", a.Kind, Words(a.Why))
		}
	}
	return text + "."
}

// Source names the place in the program that launches a kernel, and all places if there are several. Both are "" if none
// is known.
func Source(k *result.KernelRow) (short, all string) {
	c := sourceCell(k)
	if c.text == dash {
		return "", ""
	}
	return c.text, c.full
}

// sourceCell names the place in the program that launches a kernel.
func sourceCell(k *result.KernelRow) cell {
	var full []string
	rest := k.Count
	for i := range k.Sources {
		full = append(full, sourceText(&k.Sources[i]))
		rest -= k.Sources[i].Count
	}
	short := dash
	if k.InGraphs > 0 {
		short = "graph replay"
		full = append(full, fmt.Sprintf("graph replay (%s)", metric.Count(k.InGraphs)))
	}
	if rest -= k.InGraphs; len(full) > 0 && rest > 0 {
		full = append(full, fmt.Sprintf("unknown (%s)", metric.Count(rest)))
	}
	if len(k.Fused) > 0 {
		short = strings.Join(k.Fused, ", ")
		full = append(full, "compiled from "+short)
	}
	if len(k.Sources) > 0 {
		s := &k.Sources[0]
		classes := strings.Split(s.Module, ".")
		short = strings.Join(classes[max(0, len(classes)-2):], ".")
		if s.Frame != "" {
			short = strings.TrimSpace(short + " " + path.Base(s.Frame))
		}
		if n := len(k.Sources); n > 1 {
			short = fmt.Sprintf("%s +%d", short, n-1)
		}
	}
	return nameCell(short, strings.Join(full, "; "))
}

// sourceText describes a source completely.
func sourceText(s *result.KernelSource) string {
	text := s.Module
	if s.Layers != "" {
		text += " of layers " + s.Layers
	}
	if text != "" && s.Frame != "" {
		text += ", "
	}
	text += s.Frame
	if s.Op != "" {
		text += ", " + s.Op
	}
	return fmt.Sprintf("%s (%s)", text, metric.Count(s.Count))
}
