package client

import (
	"iter"
	"strconv"
	"strings"
)

// Metric is one sample line of the Prometheus text format.
type Metric struct {
	Name   string // with the prefix before a colon, if any: sglang:num_running_reqs
	Labels string // including the braces; "": none
	Value  float64
}

// Metrics iterates over the samples in the text of a /metrics reply.
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
	if f := strings.Fields(line); len(f) > 0 { // a timestamp may follow the value
		m.Value, err = strconv.ParseFloat(f[0], 64)
		ok = err == nil
	}
	return m, ok
}

// Label returns the value of the label name, or "" if there is none.
func (m *Metric) Label(name string) string {
	for rest := strings.TrimPrefix(m.Labels, "{"); ; {
		key, after, ok := strings.Cut(rest, `="`)
		if !ok {
			return ""
		}
		end, escaped := 0, false
		for end < len(after) && after[end] != '"' {
			if after[end] == '\\' {
				escaped = true
				end++
			}
			end++
		}
		end = min(end, len(after))
		if strings.TrimLeft(key, ", ") == name {
			if value := after[:end]; !escaped {
				return value
			}
			return unescape.Replace(after[:end])
		}
		rest = after[min(end+1, len(after)):]
	}
}

var unescape = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n")
