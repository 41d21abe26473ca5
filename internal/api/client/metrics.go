package client

import (
	"iter"
	"strconv"
	"strings"
)

// Metric is one line of Prometheus' text format.
type Metric struct {
	Name   string // with what stands before its colon: sglang:num_running_reqs
	Labels string // with their braces; "": none
	Value  float64
}

// Metrics are those of a reply of /metrics.
func Metrics(text string) iter.Seq[Metric] {
	return func(yield func(Metric) bool) {
		for line := range strings.Lines(text) {
			if m, ok := parseMetric(strings.TrimSpace(line)); ok && !yield(m) {
				return
			}
		}
	}
}

func parseMetric(line string) (m Metric, ok bool) {
	if line == "" || line[0] == '#' {
		return m, false
	}
	at := strings.IndexAny(line+" ", "{ ")
	m.Name, line = line[:at], line[at:]
	if end := strings.LastIndexByte(line, '}'); end >= 0 && line[0] == '{' {
		m.Labels, line = line[:end+1], line[end+1:]
	}
	var err error
	if f := strings.Fields(line); len(f) > 0 { // behind the value there may be a time
		m.Value, err = strconv.ParseFloat(f[0], 64)
		ok = err == nil
	}
	return m, ok
}
