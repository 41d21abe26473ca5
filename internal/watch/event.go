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
	KindBegin     = "begin"     // a server is followed
	KindAlarm     = "alarm"     // what a rule looks for is there
	KindOver      = "over"      // and is not any more
	KindCapture   = "capture"   // one begins
	KindSkipped   = "skipped"   // one would have been made
	KindFailed    = "failed"    // it came to nothing
	KindVerdict   = "verdict"   // what came of it
	KindLost      = "lost"      // a server does not answer
	KindBack      = "back"      // it does again
	KindRestarted = "restarted" // its counters began anew
	KindEnd       = "end"
)

// Event is a line of the log of events, docs/formats/watch.md.
type Event struct {
	Format int       `json:"format"` // 1
	Kind   string    `json:"kind"`
	At     time.Time `json:"at"`
	Server string    `json:"server,omitempty"` // or servers, that are compared with each other

	Ranks int      `json:"ranks,omitempty"` // begin: data-parallel ranks
	Lacks []string `json:"lacks,omitempty"` // begin: what the server does not tell

	Rule   string     `json:"rule,omitempty"`
	Signal string     `json:"signal,omitempty"`
	Rank   string     `json:"rank,omitempty"`        // that stands out
	Value  float64    `json:"value,omitempty"`       // the mean since the onset
	Normal float64    `json:"normal,omitempty"`      // the mean of a minute before
	Limit  float64    `json:"limit,omitempty"`       // of the rule
	After  *time.Time `json:"onset_after,omitempty"` // the change lies after this
	Onset  *time.Time `json:"onset,omitempty"`       // and not after that

	Capture  string   `json:"capture,omitempty"` // its name
	Dir      string   `json:"dir,omitempty"`
	Verdict  *Verdict `json:"verdict,omitempty"`
	Error    string   `json:"error,omitempty"`
	Seconds  float64  `json:"seconds,omitempty"`  // back: that it was gone; end: that was watched
	Captures int      `json:"captures,omitempty"` // end
	Blind    float64  `json:"blind_s,omitempty"`  // end: for how long windows of its own were open, in which nothing is judged
}

// tell notes an event, and says lines to people.
func (m *coordinator) tell(e *Event, lines ...string) {
	e.Format = 1
	m.counts.event(e)
	text, err := json.Marshal(e)
	if err != nil { // a figure that JSON has no word for costs this event its figures, and no other anything
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
	if m.w.Hear != nil {
		m.w.Hear(e, e.says(lines))
	}
	for _, l := range lines {
		m.w.Tell(l)
	}
}

// says is an event in a sentence, for who sees its time, its server and its rank beside it.
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

// eventOf is what a rule found.
func eventOf(a *alarm) *Event {
	e := &Event{
		Kind: KindAlarm, At: a.At, Server: a.of.name, Rule: a.Rule.Name, Signal: a.Rule.Signal, Value: a.Value, Normal: a.Normal, Limit: a.Limit,
		After: &a.After, Onset: &a.Onset, Rank: a.of.rank(a.Who),
	}
	if a.Ended {
		e.Kind = KindOver
	}
	return e
}

// text says it for people.
func (a *alarm) text() string {
	if a.Ended {
		return fmt.Sprintf("%s: over: %s", a.of.name, a.Rule.Name)
	}
	who := a.of.name
	if a.Who >= 0 {
		who += ": " + a.of.rank(a.Who)
	}
	text := fmt.Sprintf("%s: %s since %s", who, a.Rule.Name, clock(a.Onset))
	switch a.Rule.Kind {
	case detect.Imbalance:
		what := map[string]string{
			detect.MaxOverMean: "the largest over the mean", detect.MaxOverRest: "the largest over the median of the others", detect.Variation: "standard deviation over mean",
		}[a.Rule.Measure]
		text += fmt.Sprintf(": %s is %.2f in %s, and was %.2f", what, a.Value, a.Rule.Signal, a.Normal)
		if a.Value < a.Limit { // the mean since the onset, which may begin below
			text += fmt.Sprintf(" (now above %.2f)", a.Limit)
		}
	case detect.Latency:
		if a.Rule.Above > 0 {
			text += fmt.Sprintf(": %s is %s, and was %s", a.Rule.Signal, metric.Duration(a.Value*1e9), metric.Duration(a.Normal*1e9))
		} else {
			text += fmt.Sprintf(": %s is %.2f times its median of the last minutes", a.Rule.Signal, a.Value)
		}
	case detect.Queue:
		text += fmt.Sprintf(": by %.1f requests a second", a.Value)
	case detect.Throughput:
		text += fmt.Sprintf(": %s of the tokens that as many requests got before", metric.Percent(1/a.Value))
	}
	return text
}
