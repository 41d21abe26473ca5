package watch

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/watch/detect"
)

// Kinds of events.
const (
	KindBegin     = "begin"     // a server is being watched
	KindAlarm     = "alarm"     // a rule detected its condition
	KindOver      = "over"      // the condition has ended
	KindCapture   = "capture"   // a capture begins
	KindSkipped   = "skipped"   // a capture was refused
	KindFailed    = "failed"    // a capture failed
	KindVerdict   = "verdict"   // the result of a capture
	KindLost      = "lost"      // a server has stopped answering
	KindBack      = "back"      // a lost server answers again
	KindRestarted = "restarted" // a server's counters were reset
	KindEnd       = "end"
)

// Event is a line of the event log: docs/formats/watch.md.
type Event struct {
	Format int       `json:"format"` // 1
	Kind   string    `json:"kind"`
	At     time.Time `json:"at"`
	Server string    `json:"server,omitempty"` // a server, or servers that are compared with each other

	Ranks int      `json:"ranks,omitempty"` // begin: data-parallel ranks
	Lacks []string `json:"lacks,omitempty"` // begin: data that the server does not provide

	Rule   string     `json:"rule,omitempty"`
	Signal string     `json:"signal,omitempty"`
	Rank   string     `json:"rank,omitempty"`        // the outlier rank
	Value  float64    `json:"value,omitempty"`       // mean of the statistic since the onset
	Normal float64    `json:"normal,omitempty"`      // mean over the minute before the onset
	Limit  float64    `json:"limit,omitempty"`       // limit of the rule
	After  *time.Time `json:"onset_after,omitempty"` // the change lies after this time
	Onset  *time.Time `json:"onset,omitempty"`       // and not after this time

	Capture  string   `json:"capture,omitempty"` // name of the capture
	Dir      string   `json:"dir,omitempty"`
	Verdict  *Verdict `json:"verdict,omitempty"`
	Error    string   `json:"error,omitempty"`
	Seconds  float64  `json:"seconds,omitempty"`  // back: length of the outage; end: duration of the watch
	Captures int      `json:"captures,omitempty"` // end
	// Blind is set at the end of a watch. It is the total length of the watch's windows, in which no rule is applied.
	Blind float64 `json:"blind_s,omitempty"`

	ruleKind detect.Kind
}

// tell logs an event and prints lines.
func (m *coordinator) tell(e *Event, lines ...string) {
	e.Format = 1
	m.counts.event(e)
	text, err := json.Marshal(e)
	if err != nil { // JSON cannot encode one of the figures: log the event without figures
		text, err = json.Marshal(&Event{Format: 1, At: e.At, Kind: e.Kind, Server: e.Server, Rule: e.Rule, Rank: e.Rank, Capture: e.Capture, Dir: e.Dir, Error: err.Error()})
	}
	if err == nil && m.w.Log != nil && m.err == nil {
		_, err = m.w.Log.Write(append(text, '\n'))
	}
	if m.err == nil {
		m.err = err
	}
	if m.exec != nil {
		m.exec.event(text)
	}
	if m.alerts != nil {
		m.alerts.event(e, lines)
	}
	if m.w.Hear != nil {
		m.w.Hear(e, e.says(lines))
	}
	for _, l := range lines {
		m.w.Tell(l)
	}
}

// says describes an event in a sentence that does not repeat the event's time, server and rank, because these are shown
// next to the sentence.
func (e *Event) says(lines []string) string {
	switch {
	case e.Verdict != nil:
		return e.Verdict.Says
	case e.Error != "":
		return e.Error
	case e.Kind == KindCapture:
		return e.Capture + ", for " + e.Rule
	case e.Kind == KindOver:
		return e.Rule
	case len(lines) == 0:
		return ""
	}
	_, text, _ := strings.Cut(lines[0], e.Server+": ")
	return strings.TrimPrefix(text, e.Rank+": ")
}

// eventOf converts an alarm to an event.
func eventOf(a *alarm) *Event {
	e := &Event{
		Kind: KindAlarm, At: a.At, Server: a.of.name, Rule: a.Rule.Name, Signal: a.Rule.Signal, Value: a.Value, Normal: a.Normal, Limit: a.Limit,
		After: &a.After, Onset: &a.Onset, Rank: a.of.rank(a.Who), ruleKind: a.Rule.Kind,
	}
	if a.Ended {
		e.Kind = KindOver
	}
	return e
}

// text formats the alarm for the console.
func (a *alarm) text() string {
	if a.Ended {
		return fmt.Sprintf("%s: %s is over", a.of.name, a.Rule.Name)
	}
	who := a.of.name
	if a.Who >= 0 {
		who += ": " + a.of.rank(a.Who)
	}
	text := fmt.Sprintf("%s: %s since %s", who, a.Rule.Name, clock(a.Onset))
	switch a.Rule.Kind {
	case detect.Imbalance:
		what := map[string]string{
			detect.MaxOverMean: "the largest %s is %.2f times the mean", detect.MaxOverRest: "the largest %s is %.2f times the median of the others", detect.Variation: "the standard deviation of %s is %.2f times the mean",
		}[a.Rule.Measure]
		text += fmt.Sprintf(": "+what+" (%.2f before)", a.Rule.Signal, a.Value, a.Normal)
		if a.Value < a.Limit { // the mean since the onset may still be below the limit
			text += fmt.Sprintf(", now above %.2f", a.Limit)
		}
	case detect.Latency:
		if a.Rule.Above > 0 {
			text += fmt.Sprintf(": %s is %s (%s before)", a.Rule.Signal, metric.Duration(a.Value*1e9), metric.Duration(a.Normal*1e9))
		} else {
			text += fmt.Sprintf(": %s is %.2f times its recent median", a.Rule.Signal, a.Value)
		}
	case detect.Queue:
		text += fmt.Sprintf(": the queue grows by %.1f requests per second", a.Value)
	case detect.Throughput:
		text += fmt.Sprintf(": throughput fell to %s of what this many requests got before", metric.Percent(1/a.Value))
	}
	return text
}
