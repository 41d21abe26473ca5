package report

import (
	"fmt"
	"path"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// sitesLead explains the column of sources: how many kernels have one, and why the others do not.
func sitesLead(s *result.Sites) string {
	text := fmt.Sprintf("The source is known for %s of %s kernels and copies", metric.Count(s.Told), metric.Count(s.Kernels))
	if s.Carried > 0 {
		text += fmt.Sprintf(", of %s from the other window", metric.Count(s.Carried))
	}
	if s.InGraphs > 0 {
		text += fmt.Sprintf("; %s in graphs are not told", metric.Count(s.InGraphs))
		if len(s.Graphs) == 0 {
			text += " (--source-from)"
		}
	}
	return text + "."
}

// sourceCell names the place in the program that launches a kernel.
func sourceCell(k *result.KernelRow) cell {
	var full []string
	for i := range k.Sources {
		full = append(full, sourceText(&k.Sources[i]))
	}
	if len(k.Fused) > 0 {
		full = append(full, "compiled from "+strings.Join(k.Fused, ", "))
	}
	if len(full) == 0 {
		return cell{text: dash}
	}
	short := strings.TrimPrefix(full[0], "compiled from ")
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
