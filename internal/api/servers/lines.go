package servers

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Line is a line of a server's log about its load. SGLang and stepscope write one for each prefill batch, and one for
// the decode batches since the previous line. vLLM writes one for each engine every 10 s. Missing values are NaN.
type Line struct {
	At      time.Time // time on the server's clock in whole seconds, parsed in the local time zone
	DP      int
	Prefill bool

	Running, Queued, Context, Usage float64
	Rate                            float64 // decode: tokens/s
	New                             float64 // prefill: tokens computed
}

// longest is larger than the length of any such line.
const longest = 4 << 10

// ParseLine parses a line of the log of any kind of server; ok is false if the line is not about the load.
func ParseLine(text string) (l Line, ok bool) {
	text = strings.TrimSpace(text[:min(len(text), longest)])
	for i := range Table {
		if parse := Table[i].Line; parse != nil {
			if l, ok = parse(text); ok {
				return l, true
			}
		}
	}
	return l, false
}

func blank() Line {
	nan := math.NaN()
	return Line{Running: nan, Queued: nan, Context: nan, Usage: nan, Rate: nan, New: nan}
}

// sglangLine parses a batch line. Releases differ in the fields and in the punctuation after the title, so fields are
// found by name. See SGLang's metrics_reporter.py.
func sglangLine(text string) (l Line, ok bool) {
	head, rest, found := strings.Cut(text, "] ")
	if !found || len(head) < 1+len(time.DateTime) || head[0] != '[' {
		return l, false
	}
	at, err := time.ParseInLocation(time.DateTime, head[1:1+len(time.DateTime)], time.Local)
	if err != nil {
		return l, false
	}
	l = blank()
	l.At = at
	for _, part := range strings.Fields(head[1+len(time.DateTime):]) {
		if n, is := Number(strings.TrimPrefix(part, "DP")); is && strings.HasPrefix(part, "DP") {
			l.DP = n
		}
	}
	for title, prefill := range map[string]bool{"Prefill batch": true, "Decode batch": false} {
		if after, is := strings.CutPrefix(rest, title); is {
			l.Prefill, rest, ok = prefill, after, true
		}
	}
	if !ok {
		return l, false
	}
	return l, l.fields(rest, map[string]*float64{
		"#running-req": &l.Running, "#queue-req": &l.Queued, "#token": &l.Context, "#full token": &l.Context,
		"token usage": &l.Usage, "full token usage": &l.Usage, "gen throughput (token/s)": &l.Rate, "#new-token": &l.New,
	})
}

// vllmLine parses a line of the throughput of an engine. See vLLM's v1/metrics/loggers.py; releases before 0.8 name no
// engine and call waiting requests pending.
func vllmLine(text string) (l Line, ok bool) {
	const title = "Avg prompt throughput: "
	head, rest, found := strings.Cut(text, title)
	if !found {
		return l, false
	}
	l = blank()
	at := head
	if i := strings.Index(head, "INFO"); i >= 0 { // before it: colours and the name of the process
		at = head[i+len("INFO"):]
	}
	// Lines have no year: take the latest year in which the line is not in the future.
	const stamp = "01-02 15:04:05"
	at = strings.TrimSpace(strings.TrimPrefix(at, "\x1b[0m"))
	if now := time.Now(); len(at) >= len(stamp) {
		if t, err := time.ParseInLocation(stamp, at[:len(stamp)], time.Local); err == nil {
			l.At = t.AddDate(now.Year()-t.Year(), 0, 0)
			if l.At.After(now.Add(24 * time.Hour)) {
				l.At = l.At.AddDate(-1, 0, 0)
			}
		}
	}
	if _, engine, named := strings.Cut(head, "Engine "); named {
		name, _, _ := strings.Cut(engine, ":")
		l.DP, _ = Number(name)
	}
	onCPU := math.NaN() // the usage on a CPU; releases before 0.8 report it beside that of the GPU
	ok = l.fields(title+rest, map[string]*float64{
		"CPU KV cache usage": &onCPU, "Running": &l.Running, "Waiting": &l.Queued, "Pending": &l.Queued, "GPU KV cache usage": &l.Usage, "Avg generation throughput": &l.Rate,
	})
	if math.IsNaN(l.Usage) {
		l.Usage = onCPU
	}
	l.Usage /= 100
	return l, ok
}

// fields sets the values of the named fields of a text such as "a: 1, b: 2 reqs, c: 3%". It reports whether there was
// any field with a value.
func (l *Line) fields(text string, into map[string]*float64) (any bool) {
	for field := range strings.SplitSeq(text, ", ") {
		key, value, _ := strings.Cut(field, ": ")
		// A title may be followed by ". " or " [12], " before the first field.
		key = strings.TrimLeft(key, ".,[]0123456789 ")
		value, _, _ = strings.Cut(strings.TrimRight(value, ", "), " ")
		v, err := strconv.ParseFloat(strings.TrimSuffix(value, "%"), 64)
		if err != nil || !(v >= 0) {
			continue
		}
		any = true
		if to := into[key]; to != nil {
			*to = v
		}
	}
	return any
}

// most is larger than any real number of ranks.
const most = 1 << 20

// Number parses a rank number. It refuses numbers above a million.
func Number(s string) (n int, ok bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' || n > most {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, s != ""
}
